#pragma once

#include <optional>
#include <string_view>

#include "controller/transport/http.h"

namespace berth::api {

// Returns the name of a header field that was sent more than once although it must be unique, if
// there is one. Fields that say who calls, what they send or where it came from are only meaningful
// once (RFC 9110, section 5.3), because a proxy may have read another of the lines. All other
// fields are either lists, of which every line counts (Accept, Cookie, X-Forwarded-For), or only
// shown.
std::optional<std::string_view> repeated_field(const Headers& headers);

}  // namespace berth::api
