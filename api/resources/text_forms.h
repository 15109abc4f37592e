#pragma once

#include <string>
#include <string_view>

#include "api/gate/call.h"
#include "api/gate/decode.h"
#include "controller/base/enum_text.h"

// The forms of long lists that are sent while they are read: JSON, CSV (RFC 4180) or JSON lines.
namespace berth::api {

enum class TextForm { object, csv, jsonl };
constexpr auto texts_of(TextForm) { return EnumTexts<TextForm::jsonl>{"json", "csv", "jsonl"}; }

inline const char* content_type_of(TextForm form) {
  if (form == TextForm::csv) return "text/csv; charset=utf-8";
  return form == TextForm::jsonl ? "application/x-ndjson" : "application/json";
}

// Returns what the parameter `format` says; an object of JSON without one. Throws
// validation_failed.
inline TextForm text_form(const Call& call) {
  const auto text = call.query("format");
  if (!text) return TextForm::object;
  const auto form = parse_enum<TextForm>(*text);
  if (!form) throw invalid_field("format", "must be json, csv or jsonl");
  return *form;
}

inline std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// A field of CSV (RFC 4180, section 2). Others write descriptions and names, and programs that show
// tables take a text that begins with one of these characters for a formula; an apostrophe before
// it keeps it a text.
inline std::string csv_text(const std::string& text) {
  const bool is_formula = !text.empty() && std::string_view("=+-@\t\r").contains(text[0]);
  std::string field = is_formula ? "\"'" : "\"";
  for (const char c : text) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + "\"";
}

}  // namespace berth::api
