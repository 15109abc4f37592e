#pragma once

#include <string_view>

namespace berth::api {

extern const std::string_view version;  // berthd's version, from CMakeLists.txt
inline constexpr std::string_view interface_version = "3.0.0";  // version of the HTTP API

}  // namespace berth::api
