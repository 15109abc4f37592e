#include "tests/process/operations.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace berth::process {
namespace {

// Returns the value with each $ref replaced by what it refers to.
json inlined(const json& value, const json& document) {
  if (value.is_array()) {
    json list = json::array();
    for (const json& item : value) list.push_back(inlined(item, document));
    return list;
  }
  if (!value.is_object()) return value;
  json result = json::object();
  if (value.contains("$ref"))
    result = inlined(document.at(json::json_pointer(value["$ref"].get<std::string>().substr(1))),
                     document);
  for (const auto& [key, inner] : value.items())
    if (key != "$ref") result[key] = inlined(inner, document);
  return result;
}

// The example of a schema, composed of the examples of its fields. Optional fields whose example is
// null are left out.
json example_of(const json& schema) {
  if (schema.contains("example")) return schema["example"];
  json example = json::object();
  const json required = schema.value("required", json::array());
  const json properties = schema.value("properties", json::object());
  for (const auto& [name, field] : properties.items())
    if (json value = example_of(field);
        !value.is_null() || std::find(required.begin(), required.end(), name) != required.end())
      example[name] = std::move(value);
  return example;
}

// Returns the responses with each reference to a component replaced; those to schemas stay.
json listed_responses(const json& responses, const json& document) {
  json result = responses;
  for (json& response : result)
    if (response.contains("$ref"))
      response = document.at(json::json_pointer(response["$ref"].get<std::string>().substr(1)));
  return result;
}

Access access_of(const json& security) {
  if (security.empty()) return Access::open;
  const std::string scheme = security.at(0).begin().key();
  if (scheme == "session") return Access::session;
  if (scheme == "play_session") return Access::play_session;
  return scheme == "oauth" ? Access::oauth : Access::internal;
}

// Returns the name of an error's schema, determined by the form of its body.
std::string shape_of(const json& body) {
  if (!body.is_object()) return "none";
  if (body.contains("errors"))
    return body["errors"].value("detail", json()).is_string() ? "FrameworkError" : "none";
  if (!body.contains("error")) return "none";
  if (body["error"].is_object()) {
    const bool complete = body["error"].value("code", json()).is_string() &&
                          body["error"].value("message", json()).is_string();
    return complete ? "NestedError" : "none";
  }
  if (body.value("error_description", json()).is_string()) return "OAuthError";
  return body.value("message", json()).is_string() ? "SimpleError" : "none";
}

}  // namespace

std::string Operation::path_with(
    const std::function<std::string(const std::string&)>& value) const {
  std::string result;
  for (size_t at = 0; at < path.size();) {
    const size_t open = std::min(path.find('{', at), path.size());
    result += path.substr(at, open - at);
    if (open == path.size()) break;
    const size_t close = path.find('}', open);
    result += value(path.substr(open + 1, close - open - 1));
    at = close + 1;
  }
  return result;
}

void Operation::check_listed(const Answer& answer) const {
  INFO(answer.question << " answered " << answer.status << " " << answer.text.substr(0, 300));
  std::string status = std::to_string(answer.status);
  // Those of the server itself are listed together (the schema is checked below).
  if (!responses.contains(status) &&
      (answer.status >= 500 || answer.status == 413 || answer.status == 431))
    status = "default";
  CHECK(responses.contains(status));
  if (!responses.contains(status)) return;
  if (answer.status < 400) return;
  const json& response = responses.at(status);
  const std::string schema = response.at("content").at("application/json").at("schema").at("$ref");
  const std::string shape = shape_of(answer.body);
  CHECK(schema.substr(schema.rfind('/') + 1) == shape);
  if (shape == "FrameworkError") return;
  const std::string codes = ", " + response.at("description").get<std::string>() + ", ";
  CHECK_THAT(codes, Catch::Contains(", " + answer.code() + ", "));
}

std::vector<Operation> operations_of(const Berthd& berthd) {
  const json document = expect(200, Client(berthd).get("/.well-known/openapi.json")).body;
  std::vector<Operation> result;
  for (const auto& [path, methods] : document.at("paths").items())
    for (const auto& [method, row] : methods.items()) {
      Operation operation = {.id = row.at("operationId"),
                             .method = method,
                             .path = path,
                             .access = access_of(row.at("security")),
                             .needs_body = false,
                             .body_schema = {},
                             .body_example = {},
                             .responses = listed_responses(row.at("responses"), document)};
      std::transform(method.begin(), method.end(), operation.method.begin(),
                     [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      if (row.contains("requestBody") &&
          row["requestBody"].at("content").contains("application/json")) {
        const json& content = row["requestBody"].at("content").at("application/json");
        operation.needs_body = row["requestBody"].value("required", false);
        operation.body_schema = inlined(content.at("schema"), document);
        operation.body_example = example_of(operation.body_schema);
      }
      result.push_back(std::move(operation));
    }
  return result;
}

}  // namespace berth::process
