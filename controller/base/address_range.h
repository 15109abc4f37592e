#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

// An IP address. An IPv4 address that is written as an IPv6 one (::ffff:192.0.2.1, RFC 4291,
// section 2.5.5.2) is the IPv4 address.
struct IpAddress {
  int family = AF_UNSPEC;                // AF_INET or AF_INET6
  std::array<std::uint8_t, 16> bytes{};  // an IPv4 one is in the first four
};

// "192.0.2.1" or "2001:db8::1", without brackets, port and zone. Nothing where it is none of these.
std::optional<IpAddress> parse_ip_address(std::string_view text);
// The usual form (RFC 5952 for IPv6).
std::string to_string(const IpAddress& address);

// What an address belongs to as far as counting and remembering goes: an IPv4 address is one
// network, of IPv6 it is the /64, which one customer has whole. Text that isn't an address is
// returned as it is.
std::string network_of(std::string_view address);

// A range of IP addresses.
struct AddressRange {
  int family = AF_UNSPEC;                  // AF_INET or AF_INET6
  std::array<std::uint8_t, 16> network{};  // an IPv4 address is in the first four bytes
  int bits = 0;                            // the number of leading bits that have to match
};

// "10.96.0.0/12" or "fd00:10:96::/108" (RFC 4632, section 3.1; RFC 4291, section 2.3), or an
// address alone. Nothing where it is none of these.
std::optional<AddressRange> parse_address_range(std::string_view text);

// False for addresses of another family.
bool contains(const AddressRange& range, const IpAddress& address);
// The same for a socket's address, whose family is the socket's: an IPv4 address that is written as
// an IPv6 one is in no range of IPv4.
bool contains(const AddressRange& range, const sockaddr& address);

}  // namespace berth
