#pragma once

#include <string>
#include <vector>

#include "controller/base/address_range.h"
#include "controller/transport/http.h"

namespace berth::api {

// How many trusted proxies may follow one another in X-Forwarded-For. Further entries aren't read.
inline constexpr int max_forwarding_proxies = 32;

// Returns the address of the caller. X-Forwarded-For counts only as far as trusted proxies wrote
// it: its lines form one list (RFC 9110, section 5.3), which is read from the right, past the
// addresses of trusted proxies, to the first other one. If an entry isn't an address, the result is
// the address of the proxy that wrote it. An IPv4 address in the notation of IPv6 is returned as
// IPv4. The other side of a Unix socket (unix_peer) is a proxy of berthd's own, and trusted.
std::string client_address(const Request& request,
                           const std::vector<AddressRange>& trusted_proxies);

}  // namespace berth::api
