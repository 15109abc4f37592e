#pragma once

#include <string_view>

namespace berth::api {

extern const std::string_view version;                          // of berthd, from CMakeLists.txt
inline constexpr std::string_view interface_version = "3.0.0";  // of the HTTP API

}  // namespace berth::api
