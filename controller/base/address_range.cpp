#include "controller/base/address_range.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "controller/base/text.h"

namespace berth {
namespace {

constexpr int ipv4_bits = 32;
constexpr int ipv6_bits = 128;
// ::ffff:0:0/96, the prefix of IPv4-mapped addresses (RFC 4291, section 2.5.5.2).
constexpr std::array<std::uint8_t, 12> mapped_prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr int mapped_bits = 96;
// How much of an IPv6 address is its network: what one customer has whole (RFC 6177, section 2).
constexpr std::size_t network_bytes = 8;
// What providers and data centres give out (RFC 6177, section 2): an IPv4 /24 is the least that is
// routed, an IPv6 /56 is usual for a home, and a /48 for a site.
constexpr int ipv4_middle_bits = 24;
constexpr int ipv6_middle_bits = 56;
constexpr int ipv6_wide_bits = 48;

bool is_mapped(const std::array<std::uint8_t, 16>& bytes) {
  return std::equal(mapped_prefix.begin(), mapped_prefix.end(), bytes.begin());
}

// Moves the IPv4 address that follows the prefix to the front.
std::array<std::uint8_t, 16> unmapped(const std::array<std::uint8_t, 16>& bytes) {
  std::array<std::uint8_t, 16> result{};
  std::copy(bytes.begin() + mapped_prefix.size(), bytes.end(), result.begin());
  return result;
}

// Returns the address as the socket has it. An IPv4 address that is mapped to IPv6 stays an IPv6
// address.
IpAddress address_of(const sockaddr& address) {
  IpAddress result;
  if (address.sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    result.family = AF_INET;
    std::memcpy(result.bytes.data(), &in.sin_addr, sizeof in.sin_addr);
  } else if (address.sa_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &address, sizeof in);
    result.family = AF_INET6;
    std::memcpy(result.bytes.data(), &in.sin6_addr, sizeof in.sin6_addr);
  }
  return result;
}

}  // namespace

std::optional<IpAddress> parse_ip_address(std::string_view text) {
  std::array<char, INET6_ADDRSTRLEN> ended{};
  if (text.size() >= ended.size()) return std::nullopt;
  text.copy(ended.data(), text.size());
  IpAddress address;
  address.family = text.find(':') == std::string_view::npos ? AF_INET : AF_INET6;
  if (text.find('\0') != std::string_view::npos ||
      inet_pton(address.family, ended.data(), address.bytes.data()) != 1)
    return std::nullopt;
  if (address.family == AF_INET6 && is_mapped(address.bytes))
    return IpAddress{AF_INET, unmapped(address.bytes)};
  return address;
}

std::string to_string(const IpAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(address.family, address.bytes.data(), text.data(), text.size());
  return text.data();
}

// A text that isn't an address, which only a trusted proxy can send, is cut to this many bytes.
constexpr size_t kept_of_other_text = 64;

std::string network_of(std::string_view address) {
  auto parsed = parse_ip_address(address);
  if (!parsed) return std::string(address.substr(0, kept_of_other_text));
  // inet_pton() takes no IPv4 address but in the usual notation, so the text stays as it is. Every
  // request that changes something comes by here.
  if (parsed->family == AF_INET)
    return address.find(':') == std::string_view::npos ? std::string(address) : to_string(*parsed);
  std::fill(parsed->bytes.begin() + network_bytes, parsed->bytes.end(), std::uint8_t(0));
  return to_string(*parsed) + "/64";
}

Networks networks_of(std::string_view address) {
  Networks networks{.narrow = network_of(address), .middle = {}, .wide = {}};
  const auto parsed = parse_ip_address(address);
  if (!parsed) return networks;
  const auto with_bits = [&](int bits) {
    return to_string(
        AddressRange{.family = parsed->family, .network = parsed->bytes, .bits = bits});
  };
  networks.middle = with_bits(parsed->family == AF_INET ? ipv4_middle_bits : ipv6_middle_bits);
  if (parsed->family == AF_INET6) networks.wide = with_bits(ipv6_wide_bits);
  return networks;
}

std::optional<AddressRange> parse_address_range(std::string_view text) {
  const size_t slash = text.find('/');
  const std::string_view written = text.substr(0, slash);
  const auto address = parse_ip_address(written);
  if (!address) return std::nullopt;
  AddressRange range = {.family = address->family, .network = address->bytes, .bits = 0};
  // An IPv4 range that is written as an IPv6 one counts the bits of the prefix, too.
  const bool mapped = range.family == AF_INET && written.find(':') != std::string_view::npos;
  const int most = range.family == AF_INET && !mapped ? ipv4_bits : ipv6_bits;
  range.bits = most;
  if (slash != std::string_view::npos) {
    range.bits = parse_number<int>(text.substr(slash + 1)).value_or(-1);
    if (range.bits < 0 || range.bits > most) return std::nullopt;
  }
  if (mapped) range.bits -= mapped_bits;
  // A range with fewer bits than the prefix contains other IPv6 addresses, too.
  if (range.bits < 0) return std::nullopt;
  return range;
}

std::string to_string(const AddressRange& range) {
  IpAddress first = {.family = range.family, .bytes = range.network};
  for (size_t at = 0; at < first.bytes.size(); ++at) {
    const int kept = std::clamp(range.bits - int(at) * 8, 0, 8);
    first.bytes[at] = std::uint8_t(first.bytes[at] & (0xff00 >> kept));
  }
  return to_string(first) + "/" + std::to_string(range.bits);
}

bool contains(const AddressRange& range, const IpAddress& address) {
  if (address.family != range.family) return false;
  const auto whole = range.bits / 8;
  if (!std::equal(address.bytes.begin(), address.bytes.begin() + whole, range.network.begin()))
    return false;
  const int rest = range.bits % 8;
  return rest == 0 ||
         ((address.bytes[size_t(whole)] ^ range.network[size_t(whole)]) >> (8 - rest)) == 0;
}

bool contains(const AddressRange& range, const sockaddr& address) {
  return contains(range, address_of(address));
}

}  // namespace berth
