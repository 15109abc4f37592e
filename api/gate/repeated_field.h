#pragma once

#include <optional>
#include <string_view>

#include "api/transport/http.h"

namespace berth::api {

// The header fields that say who calls, what they send or where it came from mean something only
// when they are there once (RFC 9110, section 5.3): of two lines, whoever stands before us may have
// read the other one. Returns the name of such a field that was sent more than once. All other
// fields are lists, of which each line counts (Accept, Cookie, X-Forwarded-For), or are only shown.
std::optional<std::string_view> repeated_field(const Headers& headers);

}  // namespace berth::api
