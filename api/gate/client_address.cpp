#include "api/gate/client_address.h"

#include <algorithm>
#include <iterator>

#include "controller/base/text.h"
#include "controller/transport/socket.h"

namespace berth::api {
namespace {

bool is_port(std::string_view text) {
  constexpr std::size_t longest = 5;
  return !text.empty() && text.size() <= longest &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// An entry of the list, as proxies write them: 192.0.2.1, 192.0.2.1:80, 2001:db8::1, [2001:db8::1]
// and [2001:db8::1]:80.
std::optional<IpAddress> address_in(std::string_view entry) {
  if (entry.starts_with('[')) {
    const std::size_t end = entry.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view rest = entry.substr(end + 1);
    if (!rest.empty() && !(rest.starts_with(':') && is_port(rest.substr(1)))) return std::nullopt;
    const auto address = parse_ip_address(entry.substr(1, end - 1));
    const bool ipv6 = entry.substr(0, end).find(':') != std::string_view::npos;
    return ipv6 ? address : std::nullopt;
  }
  const std::size_t colon = entry.find(':');
  if (colon != std::string_view::npos && is_port(entry.substr(colon + 1)))
    return parse_ip_address(entry.substr(0, colon));
  return parse_ip_address(entry);
}

}  // namespace

std::string client_address(const Request& request,
                           const std::vector<AddressRange>& trusted_proxies) {
  const auto trusted = [&](const IpAddress& address) {
    return std::ranges::any_of(trusted_proxies,
                               [&](const AddressRange& range) { return contains(range, address); });
  };
  // Only the proxy that berthd has started opens its Unix socket, whose file is for berthd alone.
  const bool by_own_proxy = request.remote_address == unix_peer;
  // The address that was read last; nothing before the first entry of the own proxy.
  auto address = parse_ip_address(request.remote_address);
  const auto result = [&] {
    return address ? to_string(*address) : std::string(request.remote_address);
  };
  if (!by_own_proxy && (!address || trusted_proxies.empty()))
    return std::string(request.remote_address);
  int passed = 0;
  // The newest entry is the last of the last field.
  const auto newest = std::make_reverse_iterator(request.headers.end());
  const auto oldest = std::make_reverse_iterator(request.headers.begin());
  for (auto field = newest; field != oldest; ++field) {
    if (!same_name(field->name, "X-Forwarded-For")) continue;
    std::string_view list = field->value;
    while (true) {
      if ((address && !trusted(*address)) || ++passed > max_forwarding_proxies) return result();
      const std::size_t comma = list.rfind(',');
      const auto entry =
          address_in(trimmed(comma == std::string_view::npos ? list : list.substr(comma + 1)));
      if (!entry) return result();
      address = entry;
      if (comma == std::string_view::npos) break;
      list = list.substr(0, comma);
    }
  }
  return result();
}

}  // namespace berth::api
