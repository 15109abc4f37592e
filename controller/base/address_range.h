#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

// An IP address. An IPv4 address in the notation of IPv6 (::ffff:192.0.2.1, RFC 4291, section
// 2.5.5.2) is stored as the IPv4 address.
struct IpAddress {
  int family = AF_UNSPEC;                // AF_INET or AF_INET6
  std::array<std::uint8_t, 16> bytes{};  // an IPv4 address is in the first four bytes
};

// Parses "192.0.2.1" or "2001:db8::1". Returns nothing for any other text, also for one with
// brackets, a port or a zone.
std::optional<IpAddress> parse_ip_address(std::string_view text);
// Returns the usual notation (RFC 5952 for IPv6).
std::string to_string(const IpAddress& address);

// Returns the network by which an address is counted and remembered: an IPv4 address itself, or the
// /64 of an IPv6 address, all of which belongs to one customer. Of text that isn't an address, the
// first 64 bytes are returned.
std::string network_of(std::string_view address);

// The networks to which an address belongs, from the narrowest to the widest, by which whoever has
// many addresses is counted.
struct Networks {
  std::string narrow;  // network_of(): an IPv4 address, the /64 of an IPv6 address
  std::string middle;  // IPv4 /24, IPv6 /56; empty if it isn't an address
  std::string wide;    // IPv6 /48; empty for all others
};
Networks networks_of(std::string_view address);

// A range of IP addresses.
struct AddressRange {
  int family = AF_UNSPEC;                  // AF_INET or AF_INET6
  std::array<std::uint8_t, 16> network{};  // an IPv4 address is in the first four bytes
  int bits = 0;                            // the number of leading bits that have to match
};

// Parses "10.96.0.0/12" or "fd00:10:96::/108" (RFC 4632, section 3.1; RFC 4291, section 2.3), or a
// single address. Returns nothing for any other text.
std::optional<AddressRange> parse_address_range(std::string_view text);

// Returns the usual notation with a prefix length, also for a single address. The bits behind the
// prefix are zero.
std::string to_string(const AddressRange& range);

// False for addresses of another family.
bool contains(const AddressRange& range, const IpAddress& address);
// The same for a socket's address. Its family is taken as it is: an IPv4 address in the notation of
// IPv6 is in no range of IPv4.
bool contains(const AddressRange& range, const sockaddr& address);

}  // namespace berth
