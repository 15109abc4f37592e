#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

// The schemas of schemas/*.yaml: JSON Schema draft 7, as far as OpenAPI 3.1 shares it and Validator
// checks it. They check request bodies and are published in openapi.json.
namespace berth::api {

// What every field of a schema must have, and which keywords one may use, is checked when the
// first of these is called; a mistake throws std::logic_error, which stops the start.
const nlohmann::json& all_schemas();  // name -> schema

// The schema of this name with each $ref replaced by what it names; ours have no cycles. Throws
// std::logic_error where there is none.
nlohmann::json inlined_schema(std::string_view name);

// Throws std::logic_error where the schema has a keyword, a type or a format that nobody checks, or
// a field without a description; `where` names it.
void check_schema(const nlohmann::json& schema, const std::string& where);

// Throws std::logic_error where an inlined schema, of a request, takes an array or a map of any
// size: an array has maxItems, and an object whose names aren't all listed has maxProperties.
void check_sizes(const nlohmann::json& schema, const std::string& where);

}  // namespace berth::api
