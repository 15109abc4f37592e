#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

// Request bodies as JSON values.
namespace berth::api {

// How deep a body may be nested: copying deep values overflows the stack.
inline constexpr size_t max_json_depth = 32;
// How many values a body may have, counting containers and everything in them. In memory a value
// takes fifty times the two bytes that it takes in the text, and each value is examined several
// times. The longest list that a route takes, the words of the chat filter, has 5,000.
inline constexpr size_t max_json_values = 10'000;

// Parses a JSON text (RFC 8259). Throws Error invalid_json if it isn't JSON or UTF-8, contains a
// number that doesn't fit a double, has a name twice in one object, is nested deeper than
// max_json_depth, or has more than max_json_values values; parsing stops there. In the result, a
// number without a fraction (1.0, 1e2) is an integer if a double represents it exactly.
nlohmann::json parse_body(std::string_view text);

// Parses a form (application/x-www-form-urlencoded) into an object of strings. Throws Error
// invalid_request if it isn't a form, has more than max_form_fields fields, has a name twice, or
// isn't UTF-8.
nlohmann::json parse_form_body(std::string_view text);

}  // namespace berth::api
