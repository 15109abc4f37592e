#pragma once

#include <sys/socket.h>

namespace berth::reconcilers {

// Whether an address is one of the public internet: where a request that somebody else made us send
// may go. Not public are this host, private and shared networks, link-local addresses (a cloud's
// metadata service), multicast, documentation, benchmarks, and every form that holds an IPv4
// address inside (mapped, 6to4, Teredo, NAT64), because what that leads to isn't what is looked at.
// After the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890); clusters' ranges for
// pods and services are among the private ones, or configured.
bool is_public_address(const sockaddr& address);

}  // namespace berth::reconcilers
