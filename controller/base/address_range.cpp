#include "controller/base/address_range.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace berth {
namespace {

using Bytes = std::array<std::uint8_t, 16>;

Bytes bytes_of(const sockaddr& address) {
  Bytes bytes{};
  if (address.sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    std::memcpy(bytes.data(), &in.sin_addr, sizeof in.sin_addr);
  } else if (address.sa_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &address, sizeof in);
    std::memcpy(bytes.data(), &in.sin6_addr, sizeof in.sin6_addr);
  }
  return bytes;
}

}  // namespace

std::optional<AddressRange> parse_address_range(const std::string& text) {
  const size_t slash = text.find('/');
  const std::string address = text.substr(0, slash);
  AddressRange range;
  range.family = address.find(':') == std::string::npos ? AF_INET : AF_INET6;
  if (inet_pton(range.family, address.c_str(), range.network.data()) != 1) return std::nullopt;
  const int most = range.family == AF_INET ? 32 : 128;
  range.bits = most;
  if (slash == std::string::npos) return range;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data() + slash + 1, end, range.bits);
  if (error != std::errc() || read != end || range.bits < 0 || range.bits > most)
    return std::nullopt;
  return range;
}

bool contains(const AddressRange& range, const sockaddr& address) {
  if (address.sa_family != range.family) return false;
  const Bytes bytes = bytes_of(address);
  const auto whole = range.bits / 8;
  if (!std::equal(bytes.begin(), bytes.begin() + whole, range.network.begin())) return false;
  const int rest = range.bits % 8;
  return rest == 0 || ((bytes[size_t(whole)] ^ range.network[size_t(whole)]) >> (8 - rest)) == 0;
}

}  // namespace berth
