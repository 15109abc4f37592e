#include "api/gate/schema.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <stdexcept>
// Without this valijson ends the process where it is in doubt.
#define VALIJSON_USE_EXCEPTIONS 1
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "controller/base/clock.h"
#include "controller/base/embedded.h"
#include "controller/base/id.h"
#include "controller/base/yaml.h"

namespace berth::api {

namespace schemas {
const std::vector<EmbeddedFile>& files();  // schemas/*.yaml
}

namespace {

using nlohmann::json;

constexpr std::string_view reference_prefix = "#/components/schemas/";

// Keywords that valijson checks, or that we do, or that say something to readers only.
const std::set<std::string, std::less<>> known_keywords = {
    "type",        "properties",    "required",      "additionalProperties",
    "items",       "enum",          "const",         "minimum",
    "maximum",     "minLength",     "maxLength",     "minItems",
    "maxItems",    "minProperties", "maxProperties", "pattern",
    "uniqueItems", "propertyNames", "allOf",         "anyOf",
    "$ref",        "format",        "description",   "example",
    "default"};
const std::set<std::string, std::less<>> known_formats = {"email", "uuid", "date-time", "uri",
                                                          "date"};

[[noreturn]] void mistake(const std::string& where, const std::string& what) {
  throw std::logic_error("schema " + where + ": " + what);
}

}  // namespace

void check_schema(const json& schema, const std::string& where) {
  if (!schema.is_object()) mistake(where, "is no object");
  for (const auto& [keyword, value] : schema.items())
    if (!known_keywords.contains(keyword)) mistake(where, "has the unknown keyword " + keyword);
  if (schema.contains("format") && !known_formats.contains(schema["format"].get<std::string>()))
    mistake(where, "has the unknown format " + schema["format"].get<std::string>());
  const json properties = schema.value("properties", json::object());
  for (const auto& [name, field] : properties.items()) {
    if (!field.contains("description")) mistake(where + "." + name, "has no description");
    check_schema(field, where + "." + name);
  }
  if (schema.contains("items")) check_schema(schema["items"], where + "[]");
  if (schema.contains("additionalProperties") && schema["additionalProperties"].is_object())
    check_schema(schema["additionalProperties"], where + ".*");
  if (schema.contains("pattern") && !schema.contains("maxLength"))
    mistake(where, "has a pattern and no maxLength");
  for (const char* list : {"allOf", "anyOf"})
    for (const json& part : schema.value(list, json::array())) check_schema(part, where);
}

namespace {

json load() {
  json all = json::object();
  for (const EmbeddedFile& file : schemas::files()) {
    const json content = parse_yaml(file.text, std::string(file.name));
    for (const auto& [name, schema] : content.items()) {
      if (all.contains(name)) mistake(name, "stands twice");
      check_schema(schema, name);
      all[name] = schema;
    }
  }
  return all;
}

// What check_own() sees to: valijson aborts on `format` where the value is no string, and runs
// `pattern` over texts that are too long for it.
json without_own_keywords(const json& schema) {
  json result = schema;
  if (schema.is_array())
    for (json& item : result) item = without_own_keywords(item);
  if (!schema.is_object()) return result;
  for (const char* keyword : {"format", "pattern"})
    if (result.contains(keyword) && result[keyword].is_string()) result.erase(keyword);
  for (auto& [key, value] : result.items()) value = without_own_keywords(value);
  return result;
}

void collect_patterns(const json& schema, std::map<std::string, std::regex>& patterns) {
  if (!schema.is_structured()) return;
  if (schema.is_object() && schema.contains("pattern") && schema["pattern"].is_string())
    patterns.emplace(schema["pattern"], std::regex(schema["pattern"].get<std::string>()));
  for (const auto& [key, value] : schema.items()) collect_patterns(value, patterns);
}

// std::regex needs some hundred bytes of stack for each character, so that a long text would end
// the process: `pattern` goes with `maxLength`.
bool matches_pattern(const std::string& text, const json& schema) {
  static const auto patterns = [] {
    std::map<std::string, std::regex> all;
    collect_patterns(all_schemas(), all);
    return all;
  }();
  if (text.size() > schema["maxLength"].get<size_t>()) return true;  // refused for its length
  return std::regex_search(text, patterns.at(schema["pattern"].get<std::string>()));
}

// The schema with each $ref replaced by what it names. Ours have no cycles.
json inlined(const json& schema) {
  if (schema.is_array()) {
    json list = json::array();
    for (const json& item : schema) list.push_back(inlined(item));
    return list;
  }
  if (!schema.is_object()) return schema;
  json result = json::object();
  if (schema.contains("$ref")) {
    const std::string name = schema["$ref"].get<std::string>().substr(reference_prefix.size());
    if (!all_schemas().contains(name)) mistake(name, "is referred to and isn't there");
    result = inlined(all_schemas()[name]);
  }
  for (const auto& [key, value] : schema.items())
    if (key != "$ref") result[key] = inlined(value);
  return result;
}

bool allows(const json& schema, std::string_view type) {
  if (!schema.contains("type")) return true;
  const json& types = schema["type"];
  return types.is_array() ? std::ranges::find(types, json(type)) != types.end()
                          : types == json(type);
}

// "a", "a or b", "from a to b": what the field must be, for people.
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
  if (format == "date") return text.size() == 10 && parse_iso8601(text + "T00:00:00Z").has_value();
  if (format == "email")
    return text.find('@') != std::string::npos;  // accounts::check_email knows the rest
  return true;
}

// What valijson leaves out: names of missing fields, formats, and numbers beyond 64 bits, which
// the parser turned into a double and which draft 7 takes for integers.
void check_own(const json& value, const json& schema, const std::string& where, Details& wrong) {
  const auto refuse = [&](const std::string& field, const std::string& reason) {
    auto& reasons = wrong[field.empty() ? "body" : field];
    if (std::ranges::find(reasons, reason) == reasons.end()) reasons.push_back(reason);
  };
  if (value.is_number_float() && !allows(schema, "number") && allows(schema, "integer"))
    refuse(where, described(schema));
  if (value.is_string() && schema.contains("format") &&
      !has_format(value.get_ref<const std::string&>(), schema["format"]))
    refuse(where, described(schema));
  if (value.is_string() && schema.contains("pattern") &&
      !matches_pattern(value.get_ref<const std::string&>(), schema))
    refuse(where, described(schema));
  if (value.is_array() && schema.contains("items"))
    for (const json& item : value) check_own(item, schema["items"], where, wrong);
  if (!value.is_object()) return;
  const std::string prefix = where.empty() ? "" : where + ".";
  if (const auto required = schema.find("required"); required != schema.end())
    for (const json& field : *required)
      if (!value.contains(field.get_ref<const std::string&>()))
        refuse(prefix + field.get<std::string>(), "is required");
  const auto properties = schema.find("properties");
  if (properties == schema.end()) return;
  for (const auto& [key, inner] : value.items())
    if (const auto property = properties->find(key); property != properties->end())
      check_own(inner, *property, prefix + key, wrong);
}

// "<root>[env_vars][A]" as valijson has it -> {"env_vars", "A"}.
std::vector<std::string> path_of(const std::vector<std::string>& context) {
  std::vector<std::string> path;
  for (const std::string& step : context)
    if (step.size() > 2 && step.front() == '[') path.push_back(step.substr(1, step.size() - 2));
  return path;
}

const json* schema_at(const json& schema, const std::vector<std::string>& path) {
  const json* at = &schema;
  for (const std::string& step : path) {
    if (at->contains("properties") && (*at)["properties"].contains(step))
      at = &(*at)["properties"][step];
    else if (at->contains("items"))
      at = &(*at)["items"];
    else if (at->contains("additionalProperties") && (*at)["additionalProperties"].is_object())
      at = &(*at)["additionalProperties"];
    else
      return nullptr;
  }
  return at;
}

}  // namespace

const json& all_schemas() {
  static const json all = load();
  return all;
}

struct Validator::State {
  json schema;
  valijson::Schema compiled;
};

Validator::Validator(std::string_view schema_name) : state_(std::make_unique<State>()) {
  if (!all_schemas().contains(schema_name)) mistake(std::string(schema_name), "is not there");
  state_->schema = inlined(all_schemas()[std::string(schema_name)]);
  valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
  const json checked = without_own_keywords(state_->schema);
  const valijson::adapters::NlohmannJsonAdapter adapter(checked);
  parser.populateSchema(adapter, state_->compiled);
}
Validator::~Validator() = default;
Validator::Validator(Validator&&) noexcept = default;

Details Validator::check(const json& value) const {
  Details wrong;
  check_own(value, state_->schema, "", wrong);
  valijson::Validator validator(valijson::Validator::kStrongTypes);
  valijson::ValidationResults results;
  const valijson::adapters::NlohmannJsonAdapter adapter(value);
  if (validator.validate(state_->compiled, adapter, &results)) return wrong;
  valijson::ValidationResults::Error error;
  // The deepest context says most; those above it only say that something below is wrong.
  std::map<std::vector<std::string>, bool> paths;
  while (results.popError(error)) paths[path_of(error.context)] = true;
  for (const auto& [path, unused] : paths) {
    const bool has_deeper = std::ranges::any_of(paths, [&](const auto& other) {
      return other.first.size() > path.size() &&
             std::equal(path.begin(), path.end(), other.first.begin());
    });
    if (has_deeper || (path.empty() && value.is_object())) continue;
    std::string field;
    for (const std::string& step : path) field += (field.empty() ? "" : ".") + step;
    // Fields that are missing from it were named above.
    const auto below = wrong.lower_bound(field + ".");
    if (below != wrong.end() && below->first.starts_with(field + ".")) continue;
    const json* at = schema_at(state_->schema, path);
    auto& reasons = wrong[field.empty() ? "body" : field];
    if (reasons.empty()) reasons.push_back(at == nullptr ? "is wrong" : described(*at));
  }
  if (wrong.empty()) wrong["body"].push_back("doesn't match the schema");
  return wrong;
}

namespace {

// How many names the objects in it have.
size_t names_in(const json& value) {
  if (!value.is_structured()) return 0;
  size_t count = value.is_object() ? value.size() : 0;
  for (const json& item : value) count += names_in(item);
  return count;
}

// For a parser that names the first one that an object has twice.
class UniqueNames {
 public:
  bool operator()(int, json::parse_event_t event, const json& parsed) {
    if (event == json::parse_event_t::object_start)
      open_.emplace_back();
    else if (event == json::parse_event_t::object_end)
      open_.pop_back();
    else if (event == json::parse_event_t::key && !open_.back().insert(parsed).second)
      throw Error(Code::invalid_json, parsed.get<std::string>() + " is there more than once");
    return true;
  }

 private:
  std::vector<std::set<std::string>> open_;  // the names in each object that isn't complete yet
};

}  // namespace

json parse_body(std::string_view text) {
  int depth = 0;
  size_t names = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > max_json_depth)
        throw Error(Code::invalid_json, "the body is nested deeper than 32 levels");
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == ':') {
      ++names;
    }
  }
  // nlohmann::json takes a NUL for the end, whatever comes behind it.
  if (text.find('\0') != std::string_view::npos)
    throw Error(Code::invalid_json, "the body is not valid JSON");
  try {
    json body = json::parse(text);
    // A name that is there twice is refused: readers differ in which of the values counts (RFC
    // 8259, section 4), and whoever stands before us may have read the other.
    if (names_in(body) != names) return json::parse(text, UniqueNames());
    return body;
  } catch (const json::exception&) {
    throw Error(Code::invalid_json, "the body is not valid JSON");
  }
}

}  // namespace berth::api
