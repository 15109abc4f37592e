#include "api/gate/validator.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "api/gate/canonical_id.h"
#include "api/gate/schema.h"
#include "controller/base/ascii.h"
#include "controller/base/clock.h"
#include "controller/base/id.h"
#include "controller/base/spelling.h"
#include "controller/base/text.h"
#include "controller/base/visible_text.h"

namespace berth::api {
namespace {

using nlohmann::json;

// Returns the limits of a size or value as a part of a sentence, such as " 1 to 10 bytes". Returns
// an empty text if there are none.
std::string described_range(const json& schema, const char* low, const char* high,
                            const std::string& unit) {
  const auto bound = [&](const char* key) { return schema[key].dump(); };
  if (schema.contains(low) && schema.contains(high))
    return " " + bound(low) + " to " + bound(high) + unit;
  if (schema.contains(low)) return " at least " + bound(low) + unit;
  if (schema.contains(high)) return " at most " + bound(high) + unit;
  return "";
}

std::string described(const json& schema) {
  if (schema.contains("enum")) {
    std::string list;
    for (const json& value : schema["enum"]) list += (list.empty() ? "" : ", ") + value.dump();
    return "must be one of " + list;
  }
  if (schema.contains("format") && !schema.contains("properties"))
    return "must be a string of the format " + schema["format"].get<std::string>();
  const std::string type = schema.value("type", json("value")).is_array()
                               ? schema["type"][0].get<std::string>()
                               : schema.value("type", std::string("value"));
  if (type == "string") {
    const std::string length = described_range(schema, "minLength", "maxLength", " characters");
    std::string text = "must be a string" + (length.empty() ? "" : " of" + length);
    if (schema.contains("pattern")) text += " that matches " + schema["pattern"].get<std::string>();
    return text;
  }
  if (type == "integer" || type == "number") {
    const std::string range = described_range(schema, "minimum", "maximum", "");
    return std::string("must be ") + (type == "integer" ? "an integer" : "a number") +
           (range.empty()
                ? ""
                : (schema.contains("minimum") && schema.contains("maximum") ? " from" : " of") +
                      range);
  }
  if (type == "array") {
    const std::string range = described_range(schema, "minItems", "maxItems", " items");
    return "must be an array" + (range.empty() ? "" : " of" + range);
  }
  if (type == "object") {
    const std::string range = described_range(schema, "minProperties", "maxProperties", " keys");
    return "must be an object" + (range.empty() ? "" : " of" + range);
  }
  return type == "boolean" ? "must be true or false" : "has a wrong value";
}

bool has_format(const std::string& text, const std::string& format) {
  if (format == "uuid") return is_uuid(text);
  if (format == "date-time") return parse_iso8601(text).has_value();
  if (format == "date") return text.size() == 10 && parse_iso8601(text).has_value();
  if (format == "email")
    return text.find('@') != std::string::npos;  // accounts::check_email() checks the rest
  return true;
}

// Whether the value has the type. A number that doesn't fit into 64 bits isn't an integer, but 1.0
// is one: parse_body() has converted it.
bool is_of(const json& value, std::string_view type) {
  switch (value.type()) {
    case json::value_t::null:
      return type == "null";
    case json::value_t::boolean:
      return type == "boolean";
    case json::value_t::number_integer:
    case json::value_t::number_unsigned:
      return type == "integer" || type == "number";
    case json::value_t::number_float:
      return type == "number";
    case json::value_t::string:
      return type == "string";
    case json::value_t::array:
      return type == "array";
    case json::value_t::object:
      return type == "object";
    default:
      return false;
  }
}

// How many digits a code of an authenticator has (RFC 6238; two_factor.h).
constexpr size_t one_time_code_digits = 6;

void write_code_in_digits(json& value) {
  if (!value.is_number_integer() || value < 0) return;
  std::string digits = value.dump();
  if (digits.size() < one_time_code_digits)
    digits.insert(0, one_time_code_digits - digits.size(), '0');
  value = std::move(digits);
}

void compose(std::string& text, Lines lines) {
  if (!is_ascii(text) || (lines == Lines::several && text.find('\r') != std::string::npos))
    text = composed(text, lines);
}

// Composes all texts in a value that no schema describes.
void compose_all(json& value) {
  if (value.is_string()) compose(value.get_ref<std::string&>(), Lines::one);
  if (value.is_structured())
    for (json& each : value) compose_all(each);
}

// The limits of a size or of a value, both included.
template <typename T>
struct Range {
  T low;
  T high;
  Range(const json& schema, const char* low_key, const char* high_key)
      : low(schema.value(low_key, std::numeric_limits<T>::lowest())),
        high(schema.value(high_key, std::numeric_limits<T>::max())) {}
  bool holds(T value) const { return low <= value && value <= high; }
};

}  // namespace

// A schema in the form in which values are checked against it.
struct Validator::Rule {
  std::vector<std::string> types;  // if empty, all types are allowed
  std::vector<json> one_of;        // if empty, all values are allowed
  // Doubles are exact here, because the limits are below 2^53.
  Range<double> number;
  Range<size_t> length, items, names;
  std::optional<std::regex> pattern;
  std::string format;
  std::optional<Lines> text;  // the rule for texts that others read; empty: it doesn't apply
  bool is_free = false;       // an object whose fields no schema describes
  std::vector<std::string> required;
  std::map<std::string, Rule, std::less<>> fields;
  std::unique_ptr<Rule> item;   // for each item of an array
  std::unique_ptr<Rule> other;  // for the fields of an object that aren't in `fields`
  std::string must;             // the error message for a value that breaks the rule

  explicit Rule(const json& schema)
      : number(schema, "minimum", "maximum"),
        length(schema, "minLength", "maxLength"),
        items(schema, "minItems", "maxItems"),
        names(schema, "minProperties", "maxProperties"),
        format(schema.value("format", "")),
        required(schema.value("required", std::vector<std::string>())),
        must(described(schema)) {
    if (schema.contains("type")) {
      const json& type = schema["type"];
      types = type.is_array() ? type.get<std::vector<std::string>>()
                              : std::vector<std::string>{type.get<std::string>()};
    }
    if (schema.contains("enum")) one_of = schema["enum"].get<std::vector<json>>();
    if (schema.contains("pattern")) pattern.emplace(schema["pattern"].get<std::string>());
    if (schema.contains("properties"))
      for (const auto& [name, field] : schema["properties"].items()) fields.emplace(name, field);
    if (schema.contains("items")) item = std::make_unique<Rule>(schema["items"]);
    if (schema.contains("additionalProperties"))
      other = std::make_unique<Rule>(schema["additionalProperties"]);
    const std::string kind = schema.value("x-text", "line");
    if (takes("string") && kind != "raw") text = kind == "lines" ? Lines::several : Lines::one;
    is_free = takes("object") && fields.empty() && !other && kind != "raw";
  }

  bool takes(std::string_view type) const { return std::ranges::find(types, type) != types.end(); }
  bool requires_field(const std::string& name) const {
    return std::ranges::find(required, name) != required.end();
  }

  // Whether the value itself fits. The items or fields in it are checked by Run.
  bool fits(const json& value) const {
    if (!types.empty() &&
        std::ranges::none_of(types, [&](const auto& type) { return is_of(value, type); }))
      return false;
    if (!one_of.empty() && std::ranges::find(one_of, value) == one_of.end()) return false;
    if (value.is_number()) return number.holds(value.get<double>());
    if (value.is_array()) return items.holds(value.size());
    if (value.is_object()) return names.holds(value.size());
    return !value.is_string() || fits_text(value.get_ref<const std::string&>());
  }

  // The length comes first: a format and a pattern may be slow for long texts.
  bool fits_text(const std::string& given) const {
    return length.holds(characters(given)) && (format.empty() || has_format(given, format)) &&
           (!pattern || std::regex_search(given, *pattern));
  }
};

// The check of one body, which collects what is wrong.
class Validator::Run {
 public:
  Details wrong;

  void look(const json& value, const Rule& rule, const std::string& where) {
    if (is_full()) return;
    if (!rule.fits(value)) return refuse(where, rule.must);
    if (value.is_string() && rule.text) {
      look_at_text(value.get_ref<const std::string&>(), *rule.text, where);
    } else if (value.is_object() && rule.is_free) {
      look_at_all(value, where);
    } else if (value.is_array() && rule.item) {
      for (size_t i = 0; i < value.size() && !is_full(); ++i)
        look(value[i], *rule.item, below(where, std::to_string(i)));
    } else if (value.is_object()) {
      look_into(value, rule, where);
    }
  }

 private:
  void look_into(const json& object, const Rule& rule, const std::string& where) {
    for (const std::string& name : rule.required)
      if (!object.contains(name)) refuse(below(where, name), "is required");
    if (!rule.other) {
      for (const auto& [name, field] : rule.fields)
        if (const auto value = object.find(name); value != object.end())
          look(*value, field, below(where, name));
      return;
    }
    for (const auto& [name, value] : object.items()) {
      if (is_full()) return;
      const auto field = rule.fields.find(name);
      look(value, field == rule.fields.end() ? *rule.other : field->second,
           below(where, shown(name)));
    }
  }

  void look_at_text(const std::string& text, Lines lines, const std::string& where) {
    if (const auto refusal = refusal_of_text(text, lines)) refuse(where, std::string(*refusal));
  }

  // Checks a value that no schema describes, whose texts and field names may be shown, too. `where`
  // stays the path of the field that the schema knows, because these names may not be fit to be
  // repeated in an error.
  void look_at_all(const json& value, const std::string& where) {
    if (is_full()) return;
    if (value.is_string()) look_at_text(value.get_ref<const std::string&>(), Lines::one, where);
    if (value.is_object())
      for (const auto& [name, field] : value.items()) look_at_text(name, Lines::one, where);
    if (value.is_structured())
      for (const json& each : value) look_at_all(each, where);
  }

  static std::string below(const std::string& where, const std::string& name) {
    return where.empty() ? name : where + "." + name;
  }

  bool is_full() const { return found_ >= max_reported_errors; }

  void refuse(const std::string& where, const std::string& reason) {
    if (is_full()) return;
    ++found_;
    auto& reasons = wrong[where.empty() ? "body" : where];
    if (std::ranges::find(reasons, reason) == reasons.end()) reasons.push_back(reason);
  }

  size_t found_ = 0;
};

// The search for fields of one body that the schema doesn't have.
class Validator::Unknown {
 public:
  std::vector<std::string> sentences;

  void look(const json& value, const Rule& rule, const std::string& where) {
    if (value.is_array() && rule.item) {
      for (size_t i = 0; i < value.size() && !is_full(); ++i)
        look(value[i], *rule.item, below(where, std::to_string(i)));
      return;
    }
    if (!value.is_object() || rule.fields.empty()) return;
    for (const auto& [name, inner] : value.items()) {
      if (is_full()) return;
      const auto field = rule.fields.find(name);
      if (field != rule.fields.end())
        look(inner, field->second, below(where, name));
      else if (!rule.other)
        tell(where, name, rule);
    }
  }

 private:
  bool is_full() const { return sentences.size() >= max_reported_errors; }

  void tell(const std::string& where, const std::string& name, const Rule& rule) {
    std::vector<std::string> names;
    for (const auto& [known, field] : rule.fields) names.push_back(known);
    const auto nearest = nearest_spelling(name, names);
    sentences.push_back(below(where, shown(name)) +
                        " was ignored: this operation has no such field" +
                        (nearest ? "; did you mean " + below(where, *nearest) + "?" : ""));
  }

  static std::string below(const std::string& where, const std::string& name) {
    return where.empty() ? name : where + "." + name;
  }
};

Validator::Validator(std::string_view schema_name)
    : rule_(std::make_unique<const Rule>(inlined_schema(schema_name))) {}
Validator::~Validator() = default;
Validator::Validator(Validator&&) noexcept = default;

void Validator::normalize(json& value) const { normalize(value, *rule_); }

void Validator::normalize(json& value, const Rule& rule) {
  if (rule.format == "uuid" && value.is_string())
    write_id_in_lower_case(value.get_ref<std::string&>());
  if (rule.format == "one-time-code") write_code_in_digits(value);
  if (rule.text && value.is_string()) compose(value.get_ref<std::string&>(), *rule.text);
  if (rule.is_free && value.is_object()) compose_all(value);
  if (value.is_array() && rule.item)
    for (json& each : value) normalize(each, *rule.item);
  if (!value.is_object()) return;
  for (const auto& [name, field] : rule.fields) {
    const auto found = value.find(name);
    if (found == value.end()) continue;
    const bool empty = found->is_string() && found->get_ref<const std::string&>().empty() &&
                       (field.takes("null") || !field.fits(*found));
    if (rule.requires_field(name) || !(found->is_null() || empty))
      normalize(*found, field);
    else if (field.takes("null"))
      *found = nullptr;
    else
      value.erase(found);
  }
}

std::vector<std::string> Validator::unknown_fields(const json& value) const {
  Unknown unknown;
  unknown.look(value, *rule_, "");
  return std::move(unknown.sentences);
}

Details Validator::check(const json& value) const {
  Run run;
  run.look(value, *rule_, "");
  return std::move(run.wrong);
}

}  // namespace berth::api
