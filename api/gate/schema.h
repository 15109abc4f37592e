#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

// The schemas in gate/*.yaml and resources/*.yaml: JSON Schema, as far as Validator checks
// it. They check request bodies and are published in openapi.json. One more is made here:
// ErrorCode, the names of all error codes; and the fields of a container are added to those of
// deployments, from their rows (base/container_spec.h).
//
// A text of a request must be one visible line (refusal_of_text() in base/visible_text.h), unless
// its keyword x-text says something else: `lines`, a text of several lines; `raw`, a text that
// nobody but a program reads, such as a password or a token, which stays as it is.
namespace berth::api {

// Returns all schemas by name. The first call also checks what each field of a schema must have and
// which keywords are allowed; a mistake throws std::logic_error, which keeps berthd from starting.
const nlohmann::json& all_schemas();  // name -> schema

// Returns the schema with each $ref replaced by what it refers to, and each allOf by one object
// with the fields of all its parts; there are no cycles. Throws std::logic_error if there is no
// schema with this name.
nlohmann::json inlined_schema(std::string_view name);

// Throws std::logic_error, which names `where`, if the schema has a keyword, type or format that
// Validator doesn't check, a field without a description, or a pattern without maxLength.
void check_schema(const nlohmann::json& schema, const std::string& where);

// Throws std::logic_error if an inlined schema of a request accepts an array or map of any size. An
// array must have maxItems, and an object must have maxProperties unless all its names are listed.
void check_sizes(const nlohmann::json& schema, const std::string& where);

}  // namespace berth::api
