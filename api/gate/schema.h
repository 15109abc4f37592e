#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "controller/base/error.h"

// The schemas of schemas/*.yaml: JSON Schema draft 7, as far as OpenAPI 3.1 shares it. They check
// request bodies and are published in openapi.json.
namespace berth::api {

// What every field of a schema must have, and which keywords one may use, is checked when the
// first of these is called; a mistake throws std::logic_error, which stops the start.
const nlohmann::json& all_schemas();  // name -> schema

// Throws std::logic_error where the schema has a keyword or a format that nobody checks, or a field
// without a description; `where` names it.
void check_schema(const nlohmann::json& schema, const std::string& where);

class Validator {
 public:
  // Throws std::logic_error where there is no schema of this name.
  explicit Validator(std::string_view schema_name);
  ~Validator();
  Validator(Validator&&) noexcept;

  // What is wrong with `value`, by field; nothing is wrong where it is empty. Reasons say what the
  // field must be. Thread-safe.
  Details check(const nlohmann::json& value) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A JSON text as a value. Throws Error invalid_json where it isn't JSON, isn't UTF-8, holds a
// number that no double can hold, or is nested deeper than max_json_depth: copying deep values
// overflows the stack.
inline constexpr int max_json_depth = 32;
nlohmann::json parse_body(std::string_view text);

}  // namespace berth::api
