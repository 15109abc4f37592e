#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "api/gate/cursor.h"
#include "controller/base/clock.h"
#include "controller/domain/kernel/page.h"

// Encoding and decoding that several handlers share.
namespace berth::api {

template <typename T>
nlohmann::json or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}
inline nlohmann::json or_null(const std::optional<Instant>& value) {
  return value ? nlohmann::json(to_iso8601(*value)) : nlohmann::json(nullptr);
}
// An empty text is null.
inline nlohmann::json text_or_null(std::string_view text) {
  return text.empty() ? nlohmann::json() : nlohmann::json(text);
}

// Returns the object that is stored as JSON text; null if there is none.
inline nlohmann::json or_null_object(const std::optional<std::string>& text) {
  return text ? nlohmann::json::parse(*text) : nlohmann::json(nullptr);
}

// Encodes a page of a list: {<plural>: […], page, page_size, total, total_is_at_least, next_page,
// next_cursor}. The gate turns the position in next_cursor into a cursor and a Link header.
template <typename T, typename Encode>
nlohmann::json encode_page(const char* plural, const Page<T>& page, Encode&& encode) {
  nlohmann::json items = nlohmann::json::array();
  for (const T& item : page.items) items.push_back(encode(item));
  return {{plural, std::move(items)},
          {"page", page.page},
          {"page_size", page.page_size},
          {"total", page.total},
          {"total_is_at_least", page.total_is_at_least},
          {"next_page", page.next ? nlohmann::json(page.page + 1) : nlohmann::json(nullptr)},
          {"next_cursor", encode_position(page.next)}};
}

// Returns the fields of an object, and in addition the object itself under the name `name`.
inline nlohmann::json enveloped(const char* name, const nlohmann::json& object) {
  nlohmann::json body = object;
  body[name] = object;
  return body;
}

// The text of a field; nothing if it is missing or null.
inline std::optional<std::string> text_or_nothing(const nlohmann::json& body, const char* field) {
  const auto value = body.find(field);
  return value == body.end() || value->is_null() ? std::nullopt
                                                 : std::optional(value->get<std::string>());
}

// The same for a whole number.
inline std::optional<std::int64_t> integer_or_nothing(const nlohmann::json& body,
                                                      const char* field) {
  const auto value = body.find(field);
  return value == body.end() || value->is_null() ? std::nullopt
                                                 : std::optional(value->get<std::int64_t>());
}
// Returns the time of a field whose format the schema has checked; nothing if it is missing or
// null.
inline std::optional<Instant> instant_or_nothing(const nlohmann::json& body, const char* field) {
  const auto text = text_or_nothing(body, field);
  return text ? parse_iso8601(*text) : std::nullopt;
}
// The same for the end of a time: with a date alone, the day is included.
inline std::optional<Instant> end_or_nothing(const nlohmann::json& body, const char* field) {
  const auto text = text_or_nothing(body, field);
  return text ? parse_iso8601_end(*text) : std::nullopt;
}

// Returns a field's object as JSON text; nothing if it is missing or null.
inline std::optional<std::string> object_or_nothing(const nlohmann::json& body, const char* field) {
  const auto value = body.find(field);
  return value == body.end() || value->is_null() ? std::nullopt : std::optional(value->dump());
}

}  // namespace berth::api
