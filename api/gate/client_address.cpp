#include "api/gate/client_address.h"

#include <algorithm>

namespace berth::api {

std::string client_address(const Request& request,
                           const std::vector<std::string>& trusted_proxies) {
  const auto trusted = [&](std::string_view address) {
    return std::ranges::find(trusted_proxies, address) != trusted_proxies.end();
  };
  std::string_view address = request.remote_address;
  std::string_view forwarded = request.headers.get("X-Forwarded-For");
  while (trusted(address) && !forwarded.empty()) {
    const size_t comma = forwarded.rfind(',');
    address = forwarded.substr(comma == std::string_view::npos ? 0 : comma + 1);
    const size_t first = address.find_first_not_of(' ');
    if (first == std::string_view::npos) break;
    address = address.substr(first, address.find_last_not_of(' ') - first + 1);
    forwarded = comma == std::string_view::npos ? std::string_view() : forwarded.substr(0, comma);
  }
  return std::string(address);
}

}  // namespace berth::api
