#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "controller/base/address_range.h"

// Which addresses belong to the public internet. One table serves the check of addresses that
// webhooks are sent to and the network policy of operators' containers.
namespace berth {

// Whether an address belongs to the public internet, so that berthd may send a request there at
// somebody else's wish. Not public are this host, private and shared networks, link-local
// addresses (such as a cloud's metadata service), the address of a cloud's services on its hosts,
// multicast, documentation and benchmark ranges, and all forms that contain an IPv4 address
// (mapped, 6to4, Teredo, NAT64), because the address that they lead to isn't the one that would be
// checked. The source is the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890). The
// ranges of a cluster's pods and services are private, or are configured.
bool is_public_address(const sockaddr& address);
bool is_public_address(const IpAddress& address);
// Whether the text is a public address that is in none of the ranges `closed`.
bool is_public_address(std::string_view text, const std::vector<AddressRange>& closed);

// A range of addresses, and the ranges within it that don't belong to it, in the notation that
// parse_address_range() reads.
struct PublicBlock {
  std::string range;
  std::vector<std::string> except;
};
// Returns the public addresses of IPv4 and IPv6, without those in `closed`. A block that is closed
// as a whole is left out. Each exception is a strict subset of its range, as Kubernetes requires.
std::vector<PublicBlock> public_blocks(const std::vector<AddressRange>& closed);

}  // namespace berth
