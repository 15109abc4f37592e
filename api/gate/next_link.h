#pragma once

#include <string>
#include <string_view>

#include "api/gate/route.h"

namespace berth::api {

// The path of a request as the route has it, with the values of its placeholders: the same for each
// way to write it (a slash at the end, letters that are percent-encoded, an id in capitals).
// `encoded` says whether the values are percent-encoded, as they stand in a URL.
enum class Values { plain, encoded };
std::string canonical_path(const Call& call, Values values);

// The Link header (RFC 8288) for what comes behind this answer: the URL of the request with the
// parameter `name` set to `value` and the others of the route's parameters as they are, and
// rel="next". Nothing where it would be longer than max_link_length.
inline constexpr size_t max_link_length = 4096;
std::optional<std::string> next_link(const Call& call, const std::string& base_url,
                                     std::string_view name, const std::string& value);

}  // namespace berth::api
