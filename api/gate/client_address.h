#pragma once

#include <string>
#include <vector>

#include "api/transport/http.h"

namespace berth::api {

// Who calls. X-Forwarded-For counts only as far as trusted proxies wrote it: from the right.
std::string client_address(const Request& request, const std::vector<std::string>& trusted_proxies);

}  // namespace berth::api
