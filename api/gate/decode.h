#pragma once

#include <nlohmann/json.hpp>
#include <optional>

// What the handlers' decodings share: bodies that name what changes, and leave the rest as it is.
namespace berth::api {

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
