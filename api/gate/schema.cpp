#include "api/gate/schema.h"

#include <set>
#include <stdexcept>

#include "controller/base/container_spec.h"
#include "controller/base/embedded.h"
#include "controller/base/error.h"
#include "controller/domain/oauth/device.h"

namespace berth::api {

namespace schemas {
// The contents of gate/errors.yaml and resources/*.yaml as JSON.
const std::vector<EmbeddedFile>& files();
}  // namespace schemas

namespace {

using nlohmann::json;
using Names = std::set<std::string, std::less<>>;

constexpr std::string_view reference_prefix = "#/components/schemas/";

// The keywords that a schema may have: those that Validator checks, and those that are for readers.
const Names known_keywords = {"type",          "properties",    "required",  "additionalProperties",
                              "items",         "enum",          "minimum",   "maximum",
                              "pattern",       "minLength",     "maxLength", "minItems",
                              "minProperties", "maxProperties", "maxItems",  "format",
                              "description",   "example",       "default",   "$ref",
                              "allOf",         "x-text"};
const Names known_types = {"null", "boolean", "integer", "number", "string", "array", "object"};
const Names known_texts = {"lines", "raw"};
const Names known_formats = {"email", "uuid", "date-time", "uri", "date", "one-time-code"};

[[noreturn]] void mistake(const std::string& where, const std::string& what) {
  throw std::logic_error("schema " + where + ": " + what);
}

json types_of(const json& schema) {
  const json types = schema.value("type", json::array());
  return types.is_array() ? types : json::array({types});
}

bool takes(const json& schema, std::string_view type) {
  for (const json& each : types_of(schema))
    if (each == type) return true;
  return false;
}

void check_words(const json& schema, const std::string& where) {
  for (const auto& [keyword, value] : schema.items())
    if (!known_keywords.contains(keyword)) mistake(where, "has the unknown keyword " + keyword);
  for (const json& type : types_of(schema))
    if (!known_types.contains(type.get<std::string>()))
      mistake(where, "has the unknown type " + type.get<std::string>());
  if (schema.contains("format") && !known_formats.contains(schema["format"].get<std::string>()))
    mistake(where, "has the unknown format " + schema["format"].get<std::string>());
  if (schema.contains("x-text") && !known_texts.contains(schema["x-text"].get<std::string>()))
    mistake(where, "has the unknown kind of text " + schema["x-text"].get<std::string>());
}

json error_codes() {
  std::set<std::string_view> names;  // two codes may share a name
  for (const CodeInfo& code : all_codes()) names.insert(code.name);
  for (const std::string_view text : texts_of(oauth::DeviceRefusal())) names.insert(text);
  return {{"type", "string"}, {"description", "What went wrong."}, {"enum", names}};
}

using deployments::ContainerField;

// The schema of a field, with or without its limits.
json schema_of(const ContainerField& field, const ContainerField::Words& words, bool takes_null,
               bool is_limited) {
  if (field.is_structure())
    return {{"$ref", std::string(reference_prefix) + std::string(field.schema)},
            {"description", words.text},
            {"example", json::parse(words.example)}};
  if (field.kind() == ContainerField::Kind::flag)
    return {
        {"type", "boolean"}, {"description", words.text}, {"example", json::parse(words.example)}};
  const bool is_number = field.kind() == ContainerField::Kind::number;
  const bool is_list = field.kind() == ContainerField::Kind::texts;
  json schema = {{"type", is_number ? "integer" : "string"}};
  if (is_limited && field.least > 0) schema[is_number ? "minimum" : "minLength"] = field.least;
  if (is_limited) schema[is_number ? "maximum" : "maxLength"] = field.most;
  if (is_limited && is_list) schema["x-text"] = "raw";
  if (is_list) schema = {{"type", "array"}, {"items", schema}};
  if (is_limited && is_list) schema["maxItems"] = field.most_texts;
  if (takes_null) schema["type"] = {schema["type"], "null"};
  schema["description"] = words.text;
  schema["example"] = json::parse(words.example);
  return schema;
}

// Adds the fields that are rows of container_spec.h.
void add_container_fields(json& all) {
  for (const ContainerField& field : deployments::container_fields) {
    const bool has_default = field.is_removable() || field.kind() == ContainerField::Kind::number;
    const bool may_be_null = field.is_removable() && field.kind() == ContainerField::Kind::text;
    all["CreateDeploymentRequest"]["properties"][std::string(field.name)] =
        schema_of(field, field.in_order, has_default, true);
    all["ChangeDeploymentRequest"]["properties"][std::string(field.name)] =
        schema_of(field, field.in_change, field.is_removable(), true);
    all["Deployment"]["properties"][std::string(field.answered_as)] =
        schema_of(field, field.in_answer, may_be_null, false);
  }
  for (const char* name : {"CreateDeploymentRequest", "ChangeDeploymentRequest", "Deployment"})
    check_schema(all[name], name);
}

json load_schemas() {
  json all = {{"ErrorCode", error_codes()}};
  for (const EmbeddedFile& file : schemas::files()) {
    const json content = json::parse(file.text);
    for (const auto& [name, schema] : content.items()) {
      if (all.contains(name)) mistake(name, "is defined twice");
      check_schema(schema, name);
      all[name] = schema;
    }
  }
  add_container_fields(all);
  return all;
}

// Merges one of the schemas of an allOf into `whole`.
void merge(json& whole, const json& part) {
  for (const auto& [key, value] : part.items()) {
    if (key == "properties" && whole.contains(key))
      whole[key].update(value);
    else if (key == "required" && whole.contains(key))
      whole[key].insert(whole[key].end(), value.begin(), value.end());
    else
      whole[key] = value;
  }
}

json inlined(const json& schema) {
  if (schema.is_array()) {
    json list = json::array();
    for (const json& item : schema) list.push_back(inlined(item));
    return list;
  }
  if (!schema.is_object()) return schema;
  json result = json::object();
  if (schema.contains("$ref"))
    result = inlined_schema(
        schema["$ref"].get_ref<const std::string&>().substr(reference_prefix.size()));
  for (const json& part : schema.value("allOf", json::array())) merge(result, inlined(part));
  for (const auto& [key, value] : schema.items())
    if (key != "$ref" && key != "allOf") result[key] = inlined(value);
  return result;
}

}  // namespace

void check_schema(const json& schema, const std::string& where) {
  if (!schema.is_object()) mistake(where, "isn't an object");
  check_words(schema, where);
  const json properties = schema.value("properties", json::object());
  for (const auto& [name, field] : properties.items()) {
    if (!field.contains("description")) mistake(where + "." + name, "has no description");
    check_schema(field, where + "." + name);
  }
  for (const json& part : schema.value("allOf", json::array())) check_schema(part, where);
  if (schema.contains("items")) check_schema(schema["items"], where + "[]");
  if (schema.contains("additionalProperties"))
    check_schema(schema["additionalProperties"], where + ".*");
  // std::regex needs some hundred bytes of stack for each character of a text, so the length of a
  // text with a pattern has to be limited.
  if (schema.contains("pattern") && !schema.contains("maxLength"))
    mistake(where, "has a pattern and no maxLength");
}

void check_sizes(const json& schema, const std::string& where) {
  const bool is_map = schema.contains("additionalProperties") || !schema.contains("properties");
  if (takes(schema, "array") && !schema.contains("maxItems"))
    mistake(where, "is an array without maxItems");
  if (takes(schema, "object") && is_map && !schema.contains("maxProperties"))
    mistake(where, "is a map without maxProperties");
  const json properties = schema.value("properties", json::object());
  for (const auto& [name, field] : properties.items()) check_sizes(field, where + "." + name);
  if (schema.contains("items")) check_sizes(schema["items"], where + "[]");
  if (schema.contains("additionalProperties"))
    check_sizes(schema["additionalProperties"], where + ".*");
}

const json& all_schemas() {
  static const json all = load_schemas();
  return all;
}

json inlined_schema(std::string_view name) {
  if (!all_schemas().contains(name)) mistake(std::string(name), "isn't defined");
  return inlined(all_schemas()[std::string(name)]);
}

}  // namespace berth::api
