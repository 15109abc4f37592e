#pragma once

#include <string_view>

namespace berth::api {

// The version of the HTTP API; the program's own is in controller/base/version.h.
inline constexpr std::string_view interface_version = "3.0.0";

}  // namespace berth::api
