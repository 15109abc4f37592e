#include "api/gate/openapi.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "api/gate/document_texts.h"
#include "api/gate/errors.h"
#include "api/gate/schema.h"
#include "api/gate/validator.h"
#include "controller/domain/oauth/device.h"
#include "controller/domain/webhooks/webhooks.h"

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

// Returns what a reference to a component refers to; everything else as it is.
const json& resolved(const json& value) {
  if (!value.contains("$ref")) return value;
  return document().at(json::json_pointer(value["$ref"].get<std::string>().substr(1)));
}

std::string schema_of(const json& content) {
  return content.at("schema").at("$ref").get<std::string>().substr(
      std::string("#/components/schemas/").size());
}

// The example of a schema that readers see: composed of the examples of its fields. Optional fields
// whose example is null are left out.
json example_of(const json& schema) {
  if (schema.contains("example")) return schema["example"];
  if (schema.contains("items")) return json::array({example_of(schema["items"])});
  if (schema.contains("enum")) return schema["enum"][0];
  json example = json::object();
  const json properties = schema.value("properties", json::object());
  const json required = schema.value("required", json::array());
  for (const auto& [name, field] : properties.items())
    if (json value = example_of(field);
        !value.is_null() || std::find(required.begin(), required.end(), name) != required.end())
      example[name] = std::move(value);
  return example;
}

// Calls `visit(where, status, response)` for each refusal of each operation.
template <typename Visit>
void each_refusal(Visit&& visit) {
  each_operation([&](const std::string& where, const json& operation) {
    for (const auto& [status, response] : operation["responses"].items())
      if (status.starts_with('4') && status != "4XX")
        visit(where, std::stoi(status), resolved(response));
  });
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
    std::string method(route.method());
    for (char& c : method) c = char(std::tolower(static_cast<unsigned char>(c)));
    served.insert(method + " " + std::string(route.path()));
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
    for (const auto& [status, listed] : operation["responses"].items()) {
      INFO(status);
      const json& response = resolved(listed);
      CHECK_FALSE(response["description"].get<std::string>().empty());
      success = success || status.starts_with('2') || status == "101";
      if (status == "101" || status == "204" || status == "303" || status == "304") continue;
      REQUIRE_FALSE(response.at("content").empty());
      for (const auto& [type, content] : response["content"].items()) {
        INFO(type);
        // Beside a list's page, or instead of it.
        const bool is_text = type == "text/csv" ||
                             (type == "application/x-ndjson" && response["content"].size() > 1);
        CHECK(content["schema"].contains("$ref") != is_text);
      }
      if (!status.starts_with('4') && status != "default") continue;
      CHECK(response["content"].size() == 1);
      CHECK(schema_of(response["content"].begin().value()).ends_with("Error"));
    }
    CHECK(success);
  });
}

TEST_CASE("every operation has one response for all that the server itself may refuse") {
  std::set<std::string> references;
  each_operation([&](const std::string& where, const json& operation) {
    INFO(where);
    const json& responses = operation["responses"];
    references.insert(responses.at("default").at("$ref"));
    for (const char* status : {"413", "431", "500", "503"}) CHECK_FALSE(responses.contains(status));
    bool lists_refusal = false;
    for (const auto& [status, response] : responses.items())
      lists_refusal = lists_refusal || status.starts_with('4');
    CHECK(lists_refusal);
  });
  CHECK(references == std::set<std::string>{"#/components/responses/ServerRefusal"});
  const json& response = document()["components"]["responses"]["ServerRefusal"];
  CHECK(response["description"] ==
        "body_too_large (413), headers_too_large (431), internal_error (500), unavailable (503), "
        "too_slow (503): the server itself refuses the request.");
  const json& content = response["content"]["application/json"];
  CHECK(schema_of(content) == "FrameworkError");
  CHECK(Validator("FrameworkError").check(content.at("example")) == Details{});
}

TEST_CASE("an operation's errors follow from its row in the table") {
  each_operation([](const std::string& where, const json& operation) {
    INFO(where);
    const bool has_token = !operation["security"].empty();
    const bool is_internal = has_token && operation["security"][0].contains("internal");
    if (has_token && !is_internal) CHECK(operation["responses"].contains("401"));
    if (is_internal) CHECK(operation["responses"].contains("403"));
    if (operation.contains("x-rate-limit")) {
      const json& response = resolved(operation["responses"].at("429"));
      CHECK(response["headers"].contains("Retry-After"));
      CHECK(response["headers"].contains("RateLimit-Limit"));
    }
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
    const bool is_hook = where.find("/push-hook") != std::string::npos;  // has its own secret
    if (where.find("/api/deploy/") == std::string::npos || is_hook) return;
    INFO(where);
    const bool is_session = operation["responses"].contains("101");
    // What was done with a deployment isn't what its containers have written.
    const bool is_history = where.find("/api/deploy/apps/{id}/logs") != std::string::npos;
    const bool is_log = where.ends_with("logs") && !is_history;
    const bool is_read = where.starts_with("get ");
    const std::string scope = is_session ? "deploy:exec"
                              : is_log   ? "logs:read"
                              : is_read  ? "deploy:read"
                                         : "deploy:write";
    CHECK(operation["security"] ==
          json::parse(R"([{"oauth": [")" + scope + R"("]}, {"console": []}])"));
  });
  CHECK(document()["components"]["securitySchemes"]["oauth"]["flows"]["authorizationCode"]["scopes"]
            .size() == 16);
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
    const json list = operation.value("parameters", json::array());
    for (const json& listed : list)
      if (const json& parameter = resolved(listed); parameter["in"] == "path") {
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
      if (type == "application/octet-stream") continue;  // bytes
      const json example = example_of(inlined_schema(schema_of(content)));
      INFO(where << " " << type << " " << example.dump());
      CHECK(Validator(schema_of(content)).check(example) == Details{});
      CHECK_FALSE(example.empty());
      ++examples;
    }
  });
  CHECK(examples > 10);
}

TEST_CASE("every example of an answer passes its own schema, and lists show an entry") {
  each_operation([](const std::string& where, const json& operation) {
    for (const auto& [status, response] : operation["responses"].items()) {
      // The answer isn't a JSON document, but bytes or nothing.
      if (!response.contains("content") || !response["content"].contains("application/json"))
        continue;
      const std::string schema = schema_of(response["content"]["application/json"]);
      const json example = example_of(inlined_schema(schema));
      INFO(where << " " << status << " " << example.dump());
      CHECK(Validator(schema).check(example) == Details{});
      if (!example.contains("next_page") || schema == "DeployLogList") continue;
      CHECK(example["total"] == 1);
      CHECK(std::count_if(example.begin(), example.end(), [](const json& value) {
              return value.is_array() && value.size() == 1;
            }) == 1);
    }
  });
}

TEST_CASE("every refusal has an example with a code that it can have, with this status") {
  each_refusal([](const std::string& where, int status, const json& response) {
    const json& content = response["content"]["application/json"];
    const json& example = content.at("example");
    INFO(where << " " << status << " " << example.dump());
    CHECK(Validator(schema_of(content)).check(example) == Details{});
    const json& error = example["error"];
    const std::string code = error.is_string() ? error : error["code"];
    const std::string codes = ", " + response["description"].get<std::string>() + ", ";
    CHECK_THAT(codes, Catch::Contains(", " + code + ", "));
    const auto known = all_codes();
    CHECK(std::any_of(known.begin(), known.end(), [&](const CodeInfo& row) {
      return row.name == code && row.status == status;
    }));
    CHECK((code == "validation_failed") == example.dump().contains("is required"));
  });
}

TEST_CASE("a refusal lists WWW-Authenticate where one of its codes comes with it, and else not") {
  int missing_scopes = 0;
  each_refusal([&](const std::string& where, int status, const json& response) {
    const std::string codes = ", " + response["description"].get<std::string>() + ", ";
    bool is_sent = false;
    for (const CodeInfo& row : all_codes()) {
      if (row.status != status || codes.find(", " + std::string(row.name) + ", ") == codes.npos)
        continue;
      for (const auto& [name, unused] : reply_to(Error(row.code, "no"), Shape::nested, {}).headers)
        is_sent = is_sent || name == "WWW-Authenticate";
      if (row.code == Code::insufficient_scope) ++missing_scopes;
    }
    INFO(where << " " << status << codes);
    CHECK(response.value("headers", json::object()).contains("WWW-Authenticate") == is_sent);
  });
  CHECK(missing_scopes > 0);
}

TEST_CASE("an answer that may go on elsewhere, by pages or by has_more, lists Link") {
  std::set<std::string> seen;
  each_operation([&](const std::string& where, const json& operation) {
    const json ok = operation["responses"].value("200", json::object());
    for (const json& content : ok.value("content", json::object())) {
      const std::string schema = resolved(content.at("schema")).dump();
      for (const char* sign : {"#/components/schemas/Paging", "\"has_more\":"}) {
        if (schema.find(sign) == schema.npos) continue;
        seen.insert(sign);
        INFO(where);
        CHECK(ok.value("headers", json::object()).contains("Link"));
      }
    }
  });
  CHECK(seen.size() == 2);
}

TEST_CASE("every example of a parameter is a value of its schema") {
  const auto check = [](const std::string& where, const json& parameter) {
    INFO(where << " " << parameter.dump());
    CHECK_FALSE(parameter.value("description", "").empty());
    const json& schema = parameter["schema"];
    if (!parameter.contains("example")) return;
    const json& example = parameter["example"];
    CHECK(example.is_number_integer() == (schema["type"] == "integer"));
    CHECK(example.is_string() == (schema["type"] == "string"));
    if (schema.contains("enum"))
      CHECK(std::count(schema["enum"].begin(), schema["enum"].end(), example) == 1);
    if (schema.contains("minimum")) CHECK(example >= schema["minimum"]);
    if (schema.contains("maximum")) CHECK(example <= schema["maximum"]);
  };
  each_operation([&](const std::string& where, const json& operation) {
    const json list = operation.value("parameters", json::array());
    for (const json& parameter : list) check(where, resolved(parameter));
  });
  for (const auto& [name, header] : document()["components"]["headers"].items())
    check(name, header);
}

TEST_CASE("no parameter of a query is described in two places") {
  std::map<json, int> uses;
  each_operation([&](const std::string&, const json& operation) {
    const json list = operation.value("parameters", json::array());
    for (const json& parameter : list)
      if (!parameter.contains("$ref")) ++uses[parameter];
  });
  CHECK(uses.size() > 10);
  for (const auto& [parameter, count] : uses) {
    INFO(parameter);
    CHECK(count == 1);
  }
  CHECK(document()["components"]["parameters"]["Cursor"]["name"] == "cursor");
}

TEST_CASE("every operation says what it does and needs") {
  std::set<std::string> tags;
  each_operation([&](const std::string& where, const json& operation) {
    INFO(where);
    tags.insert(operation["tags"][0]);
    CHECK(operation["description"].get<std::string>().ends_with('.'));
    CHECK(operation.contains("security"));
  });
  std::set<std::string> described;
  for (const json& tag : document()["tags"]) {
    CHECK_FALSE(tag["description"].get<std::string>().empty());
    CHECK(described.insert(tag["name"]).second);
  }
  CHECK(described == tags);
}

TEST_CASE("the codes of errors are an enum") {
  std::set<std::string> names;
  for (const CodeInfo& code : all_codes()) names.emplace(code.name);
  for (const std::string_view text : texts_of(oauth::DeviceRefusal())) names.emplace(text);
  CHECK(document()["components"]["schemas"]["ErrorCode"]["enum"] == json(names));
  for (const char* pointer : {"/NestedError/properties/error/properties/code",
                              "/SimpleError/properties/error", "/OAuthError/properties/error"})
    CHECK(document()["components"]["schemas"].at(json::json_pointer(pointer))["$ref"] ==
          "#/components/schemas/ErrorCode");
}

TEST_CASE("the requests to webhooks are described: a schema for each type") {
  const json& requests = document()["webhooks"];
  std::set<std::string> types;
  for (const auto& [type, methods] : requests.items()) {
    INFO(type);
    types.insert(type);
    const json& schema = methods["post"]["requestBody"]["content"]["application/json"]["schema"];
    CHECK(schema["allOf"][1]["properties"]["type"]["const"] == type);
    std::set<std::string> headers;
    for (const json& parameter : methods["post"]["parameters"])
      headers.insert(resolved(parameter)["name"]);
    CHECK(headers.contains("webhook-signature"));
  }
  std::set<std::string> sent(webhooks::types.begin(), webhooks::types.end());
  sent.emplace(webhooks::test_type);
  CHECK(types == sent);
}

TEST_CASE("what operations have in common doesn't grow the document again") {
  constexpr size_t most_bytes = 820'000;
  const std::string text = document().dump();
  INFO(text.size());
  CHECK(text.size() < most_bytes);
}

void check_described(const json& schema, const std::string& where) {
  const json properties = schema.value("properties", json::object());
  for (const auto& [name, field] : properties.items()) {
    INFO(where << "." << name);
    CHECK_FALSE(field.value("description", "").empty());
    check_described(field, where + "." + name);
  }
  if (schema.contains("items")) check_described(schema["items"], where + "[]");
  const json parts = schema.value("allOf", json::array());
  for (const json& part : parts) check_described(part, where);
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
