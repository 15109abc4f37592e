#include "api/gate/openapi.h"

#include <catch2/catch.hpp>
#include <set>

#include "api/gate/schema.h"
#include "api/gate/validator.h"

namespace {

using namespace berth;
using namespace berth::api;

const json& document() {
  static const json value = openapi(routes(), Environment::development, "https://api.example.org");
  return value;
}

// Calls `visit(where, operation)` for each operation.
template <typename Visit>
void each_operation(Visit&& visit) {
  for (const auto& [path, methods] : document()["paths"].items())
    for (const auto& [method, operation] : methods.items()) visit(method + " " + path, operation);
}

template <typename Visit>
void each_value(const json& value, Visit&& visit) {
  visit(value);
  if (value.is_structured())
    for (const json& inner : value) each_value(inner, visit);
}

TEST_CASE("the document has its title, version and server") {
  CHECK(document()["openapi"] == "3.1.0");
  CHECK(document()["info"]["version"] == "3.0.0");
  CHECK(document()["servers"][0]["url"] == "https://api.example.org");
}

TEST_CASE("the document contains every route, and nothing else") {
  std::set<std::string> served, documented, names;
  for (const Route& route : routes()) {
    std::string method(route.method);
    for (char& c : method) c = char(std::tolower(static_cast<unsigned char>(c)));
    served.insert(method + " " + std::string(route.path));
  }
  each_operation([&](const std::string& where, const json& operation) {
    documented.insert(where);
    CHECK(names.insert(operation["operationId"]).second);
  });
  CHECK(served == documented);
}

TEST_CASE("production's document leaves out what exists in development only") {
  const json production = openapi(routes(), Environment::production, "https://api.example.org");
  CHECK_FALSE(production["paths"].contains("/api/internal/clock"));
  CHECK_FALSE(production["paths"].contains("/api/auth/self-verify-email"));
  CHECK(document()["paths"].contains("/api/internal/clock"));
  CHECK(production["paths"].contains("/health"));
}

TEST_CASE("every operation has a summary, a success, and a body for each error") {
  each_operation([](const std::string& where, const json& operation) {
    INFO(where);
    CHECK_FALSE(operation["summary"].get<std::string>().empty());
    CHECK(operation["tags"].size() == 1);
    bool success = false;
    for (const auto& [status, response] : operation["responses"].items()) {
      INFO(status);
      CHECK_FALSE(response["description"].get<std::string>().empty());
      success = success || status.starts_with('2');
      if (status == "204") continue;
      REQUIRE_FALSE(response.at("content").empty());
      for (const json& content : response["content"]) CHECK(content["schema"].contains("$ref"));
      if (!status.starts_with('4') && !status.starts_with('5')) continue;
      CHECK(response["content"].size() == 1);
      const json& content = response["content"].begin().value();
      CHECK(content["schema"]["$ref"].get<std::string>().ends_with("Error"));
    }
    CHECK(success);
    CHECK(operation["responses"].contains("500"));
    CHECK(operation["responses"].contains("503"));
  });
}

TEST_CASE("an operation's errors follow from its row in the table") {
  each_operation([](const std::string& where, const json& operation) {
    INFO(where);
    const bool has_token = !operation["security"].empty();
    const bool is_internal = has_token && operation["security"][0].contains("internal");
    if (has_token && !is_internal) CHECK(operation["responses"].contains("401"));
    if (is_internal) CHECK(operation["responses"].contains("403"));
    if (operation.contains("x-rate-limit")) {
      const json& response = operation["responses"].at("429");
      CHECK(response["headers"].contains("Retry-After"));
      CHECK(response["headers"].contains("RateLimit-Limit"));
    }
    if (operation.contains("requestBody")) CHECK(operation["responses"].contains("413"));
  });
}

TEST_CASE("the limits of the specification are in it") {
  const json& paths = document()["paths"];
  CHECK(paths["/api/deploy/tiers"]["get"]["x-rate-limit"]["limit"] == 30);
  CHECK(paths["/api/deploy/apps"]["get"]["x-rate-limit"]["limit"] == 30);
  CHECK(paths["/api/deploy/apps"]["post"]["x-rate-limit"] ==
        json{{"limit", 10}, {"window_seconds", 60}});
  CHECK(paths["/api/deploy/apps/{id}"]["delete"]["x-rate-limit"]["limit"] == 10);
  CHECK(paths["/api/deploy/apps/{id}/status"]["get"]["x-rate-limit"]["limit"] == 30);
}

TEST_CASE("the scopes of the specification are in it") {
  each_operation([](const std::string& where, const json& operation) {
    if (where.find("/api/deploy/") == std::string::npos) return;
    INFO(where);
    CHECK(operation["security"] == json::parse(R"([{"oauth": ["deploy:manage"]}])"));
  });
  CHECK(document()["components"]["securitySchemes"]["oauth"]["flows"]["authorizationCode"]["scopes"]
            .size() == 9);
}

TEST_CASE("every reference can be resolved") {
  int references = 0;
  each_value(document(), [&](const json& value) {
    if (!value.is_object() || !value.contains("$ref")) return;
    ++references;
    const std::string target = value["$ref"];
    INFO(target);
    REQUIRE(target.starts_with("#/"));
    CHECK(document().contains(json::json_pointer(target.substr(1))));
  });
  CHECK(references > 100);
}

TEST_CASE("the placeholders of a path are its parameters, and the other way round") {
  each_operation([](const std::string& where, const json& operation) {
    INFO(where);
    std::set<std::string> placeholders, parameters;
    for (size_t open = where.find('{'); open != std::string::npos; open = where.find('{', open + 1))
      placeholders.insert(where.substr(open + 1, where.find('}', open) - open - 1));
    for (const json& parameter : operation.value("parameters", json::array()))
      if (parameter["in"] == "path") {
        parameters.insert(parameter["name"]);
        CHECK(parameter["required"] == true);
      }
    CHECK(placeholders == parameters);
  });
}

TEST_CASE("every example of a request passes its own schema") {
  int examples = 0;
  each_operation([&](const std::string& where, const json& operation) {
    if (!operation.contains("requestBody")) return;
    for (const auto& [type, content] : operation["requestBody"]["content"].items()) {
      INFO(where << " " << type << " " << content["example"].dump());
      const std::string name = content["schema"]["$ref"].get<std::string>().substr(
          std::string("#/components/schemas/").size());
      CHECK(Validator(name).check(content["example"]) == Details{});
      CHECK_FALSE(content["example"].empty());
      ++examples;
    }
  });
  CHECK(examples > 10);
}

TEST_CASE("every example of an answer passes its own schema") {
  each_operation([](const std::string& where, const json& operation) {
    for (const auto& [status, response] : operation["responses"].items()) {
      // The answer isn't a JSON document, but bytes or nothing.
      if (!response.contains("content") || !response["content"].contains("application/json"))
        continue;
      const json& content = response["content"]["application/json"];
      INFO(where << " " << status << " " << content["example"].dump());
      const std::string name = content["schema"]["$ref"].get<std::string>().substr(
          std::string("#/components/schemas/").size());
      CHECK(Validator(name).check(content["example"]) == Details{});
    }
  });
}

void check_described(const json& schema, const std::string& where) {
  const json properties = schema.value("properties", json::object());
  for (const auto& [name, field] : properties.items()) {
    INFO(where << "." << name);
    CHECK_FALSE(field.value("description", "").empty());
    check_described(field, where + "." + name);
  }
  if (schema.contains("items")) check_described(schema["items"], where + "[]");
}

TEST_CASE("every field has a description") {
  for (const auto& [name, schema] : document()["components"]["schemas"].items())
    check_described(schema, name);
}

TEST_CASE("every required field is a field") {
  for (const auto& [name, schema] : document()["components"]["schemas"].items())
    each_value(schema, [&](const json& value) {
      if (!value.is_object() || !value.contains("required") || !value["required"].is_array())
        return;
      for (const json& field : value["required"]) {
        INFO(name << "." << field);
        CHECK(value.at("properties").contains(field.get<std::string>()));
      }
    });
}

}  // namespace
