#pragma once

#include <nlohmann/json.hpp>
#include <optional>

// Decoding that several handlers share, for bodies that name just the fields to change.
namespace berth::api {

// Sets `field` if the body has the field `name`. The second form sets an optional field, which null
// clears.
template <typename T>
void set(T& field, const nlohmann::json& body, const char* name) {
  if (const auto value = body.find(name); value != body.end()) field = value->get<T>();
}
template <typename T>
void set(std::optional<T>& field, const nlohmann::json& body, const char* name) {
  const auto value = body.find(name);
  if (value != body.end()) field = value->is_null() ? std::nullopt : std::optional(value->get<T>());
}

}  // namespace berth::api
