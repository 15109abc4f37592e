#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace berth {

// The first document of a YAML text as JSON. Plain scalars become null, booleans, integers and
// numbers by the YAML 1.2 core schema (section 10.3), quoted ones stay strings, and so do
// .inf and .nan, which JSON lacks. Anchors and merge keys (`<<`) are followed. Throws
// std::runtime_error that names `source` and the line.
nlohmann::json parse_yaml(std::string_view text, const std::string& source);

}  // namespace berth
