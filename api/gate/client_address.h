#pragma once

#include <string>
#include <vector>

#include "api/transport/http.h"
#include "controller/base/address_range.h"

namespace berth::api {

// So many proxies may stand one behind the other; what further entries say isn't looked at.
inline constexpr int max_forwarding_proxies = 32;

// Who calls. X-Forwarded-For counts only as far as trusted proxies wrote it: its lines are one list
// (RFC 9110, section 5.3), which is read from the right, past the addresses of trusted proxies, to
// the first other one. An entry that isn't an address ends the reading: the answer is the address
// of the proxy that wrote it. An IPv4 address that is written as an IPv6 one is returned as IPv4.
std::string client_address(const Request& request,
                           const std::vector<AddressRange>& trusted_proxies);

}  // namespace berth::api
