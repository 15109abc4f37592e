#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

// Request bodies as JSON values.
namespace berth::api {

// How deep a body may be nested: copying deep values overflows the stack.
inline constexpr size_t max_json_depth = 32;
// How many values a body may have, containers and the values in them all counted. A value in memory
// takes fifty times the two bytes that it takes in a text, and each is looked at several times. The
// largest list that a route takes, the words of the chat filter, has 5,000.
inline constexpr size_t max_json_values = 10'000;

// Reads a JSON text (RFC 8259). Throws Error invalid_json where it isn't JSON, isn't UTF-8, holds a
// number that no double can hold, has a name twice in one object, is nested deeper than
// max_json_depth or has more than max_json_values values; reading ends where that is seen. A number
// without a fraction is an integer in the result, as far as a double holds it exactly: 1.0, 1e2.
nlohmann::json parse_body(std::string_view text);

// Reads a form (application/x-www-form-urlencoded) as an object of strings. Throws Error
// invalid_request where it isn't one, has more than max_form_fields fields or a name twice, or
// isn't UTF-8.
nlohmann::json parse_form_body(std::string_view text);

}  // namespace berth::api
