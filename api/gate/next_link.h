#pragma once

#include <string>
#include <string_view>

#include "api/gate/call.h"

namespace berth::api {

// Returns the path of a request as its route has it, with the percent-encoded values of the
// placeholders. All ways to write a path (with a slash at the end, letters that are
// percent-encoded, an id in capitals) give the same one.
std::string canonical_path(const Call& call);

// Returns the value of a Link header (RFC 8288) with rel="next": the request's URL with the
// parameter `name` set to `value`. The route's other parameters keep their values, and parameters
// that the route doesn't know are left out, and so is `left_out`. Returns nothing if the URL would
// be longer than max_link_length.
inline constexpr size_t max_link_length = 4096;
std::optional<std::string> next_link(const Call& call, const std::string& base_url,
                                     std::string_view name, const std::string& value,
                                     std::string_view left_out = {});

}  // namespace berth::api
