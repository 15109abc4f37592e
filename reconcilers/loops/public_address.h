#pragma once

#include <sys/socket.h>

namespace berth::reconcilers {

// Whether an address belongs to the public internet, so that a request that somebody else has us
// send may go there. Not public are this host, private and shared networks, link-local addresses
// (such as a cloud's metadata service), multicast, documentation and benchmark ranges, and all
// forms that contain an IPv4 address (mapped, 6to4, Teredo, NAT64), because the address that they
// lead to isn't the one that would be checked. The source is the IANA IPv4 and IPv6 Special-Purpose
// Address Registries (RFC 6890). The ranges of a cluster's pods and services are private, or are
// configured.
bool is_public_address(const sockaddr& address);

}  // namespace berth::reconcilers
