#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "api/gate/call.h"
#include "controller/base/enum_text.h"
#include "controller/base/error.h"

// Decoding that several handlers share.
namespace berth::api {

// For bodies that name just the fields to change: sets `field` if the body has the field `name`.
// The second form sets an optional field, which null clears.
template <typename T>
void set(T& field, const nlohmann::json& body, const char* name) {
  if (const auto value = body.find(name); value != body.end()) field = value->get<T>();
}
template <typename T>
void set(std::optional<T>& field, const nlohmann::json& body, const char* name) {
  const auto value = body.find(name);
  if (value != body.end()) field = value->is_null() ? std::nullopt : std::optional(value->get<T>());
}

// Returns the value that a query parameter names; nothing if it is missing. Throws
// validation_failed, which lists the valid texts, if the parameter has another one.
template <EnumWithTexts E>
std::optional<E> enum_query(const Call& call, const char* name) {
  const auto text = call.query(name);
  if (!text) return std::nullopt;
  const auto value = parse_enum<E>(*text);
  if (!value) throw invalid_field(name, "must be " + alternatives<E>());
  return value;
}

// Returns the time in a query parameter; nothing if it is missing. Throws validation_failed if the
// text isn't a time (parse_iso8601()).
using ParseInstant = std::optional<Instant> (*)(std::string_view text);
inline std::optional<Instant> instant_query(const Call& call, const char* name,
                                            ParseInstant parse = parse_iso8601) {
  const auto text = call.query(name, Kind::time);
  if (!text) return std::nullopt;
  const auto at = parse(*text);
  if (!at) throw invalid_field(name, "must be an ISO 8601 time such as 2026-01-31T12:00:00Z");
  return at;
}
// The same for the end of a time: with a date alone, the day is included.
inline std::optional<Instant> end_query(const Call& call, const char* name) {
  return instant_query(call, name, parse_iso8601_end);
}

}  // namespace berth::api
