#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace berth {

// A range of IP addresses.
struct AddressRange {
  int family = AF_UNSPEC;                  // AF_INET or AF_INET6
  std::array<std::uint8_t, 16> network{};  // an IPv4 address is in the first four bytes
  int bits = 0;                            // the number of leading bits that have to match
};

// Parses "10.96.0.0/12" or "fd00:10:96::/108" (RFC 4632, section 3.1; RFC 4291, section 2.3), or a
// single address. Returns nothing for any other text.
std::optional<AddressRange> parse_address_range(const std::string& text);

// Whether the address is in the range; false for addresses of the other family.
bool contains(const AddressRange& range, const sockaddr& address);

}  // namespace berth
