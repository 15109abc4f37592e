#include "api/gate/schema.h"

#include <catch2/catch.hpp>

namespace {

using namespace berth;
using namespace berth::api;
using nlohmann::json;

// A create request that is right, changed.
Details deployment(const std::string& patch) {
  static const Validator validator("CreateDeploymentRequest");
  json body = json::parse(R"({"name": "my-app", "image": "ghcr.io/a/b", "tier": "free"})");
  body.merge_patch(json::parse(patch));
  return validator.check(body);
}
Details wrong(const char* schema, const std::string& text) {
  return Validator(schema).check(parse_body(text));
}

Code refused(const std::string& text) {
  try {
    parse_body(text);
  } catch (const Error& error) {
    return error.code;
  }
  return Code::internal_error;
}

TEST_CASE("what is right is right") {
  CHECK(deployment("{}").empty());
  CHECK(
      deployment(
          R"({"port": 65535, "custom_domain": null, "env_vars": {"A": "1"}, "registry_credentials":
                       {"username": "u", "password": "p"}, "unknown": [1, 2]})")
          .empty());
  CHECK(deployment(R"({"port": null, "env_vars": null})").empty());
}

TEST_CASE("a missing field is named") {
  CHECK(wrong("CreateDeploymentRequest", "{}") ==
        Details{{"name", {"is required"}}, {"image", {"is required"}}, {"tier", {"is required"}}});
  CHECK(deployment(R"({"registry_credentials": {"username": "u"}})") ==
        Details{{"registry_credentials.password", {"is required"}}});
  // merge_patch with null removes: the field itself being null is another thing.
  CHECK(wrong("TokenRequest", R"({"token": null})") ==
        Details{{"token", {"must be a string of at most 4096 characters"}}});
}

TEST_CASE("each keyword says what the field must be") {
  const std::string name =
      "must be a string of 1 to 32 characters that matches ^[a-z0-9]([a-z0-9-]*[a-z0-9])?$";
  CHECK(deployment(R"({"name": ""})") == Details{{"name", {name}}});
  CHECK(deployment(R"({"name": "-x"})") == Details{{"name", {name}}});
  CHECK(deployment(R"({"name": "abcdefghijklmnopqrstuvwxyz0123456"})") ==
        Details{{"name", {name}}});
  CHECK(deployment(R"({"name": 5})") == Details{{"name", {name}}});
  CHECK(deployment(R"({"name": ["my-app"]})") == Details{{"name", {name}}});
  const Details port = {{"port", {"must be an integer from 1 to 65535"}}};
  for (const char* value : {"0", "65536", "-1", "\"80\"", "true", "[]"}) {
    INFO(value);
    CHECK(deployment(R"({"port": )" + std::string(value) + "}") == port);
  }
  CHECK(deployment(R"({"env_vars": []})") ==
        Details{{"env_vars", {"must be an object of at most 50 keys"}}});
  CHECK(deployment(R"({"env_vars": {"A": 1, "B": "ok"}})") ==
        Details{{"env_vars.A", {"must be a string"}}});
  CHECK(wrong("ScopeList", R"({"scopes": []})") ==
        Details{{"scopes", {"must be an array of 1 to 9 items"}}});
  CHECK(wrong("ScopeList", R"({"scopes": "x"})") ==
        Details{{"scopes", {"must be an array of 1 to 9 items"}}});
  CHECK(wrong("MintRequest", R"({"account": {"kind": "king"}, "amount": 1, "reason": "x"})") ==
        Details{{"account.kind", {R"(must be one of "treasury", "user", "app")"}}});
  CHECK(wrong("MintRequest",
              R"({"account": {"kind": "app", "id": "x"}, "amount": 1, "reason": "x"})") ==
        Details{{"account.id", {"must be a string of the format uuid"}}});
  CHECK(
      wrong("RegisterRequest", R"({"email": "ada", "password": "12345678", "username": "ada"})") ==
      Details{{"email", {"must be a string of the format email"}}});
}

TEST_CASE("fifty variables are right, and fifty-one aren't") {
  const auto variables = [](int count) {
    json env = json::object();
    for (int i = 0; i < count; ++i) env["K" + std::to_string(i)] = "";
    return json{{"env_vars", env}}.dump();
  };
  CHECK(deployment(variables(50)).empty());
  CHECK(deployment(variables(51)) ==
        Details{{"env_vars", {"must be an object of at most 50 keys"}}});
}

TEST_CASE("lengths count characters") {
  const auto password = [](const std::string& text) {
    return wrong("RegisterRequest",
                 json{{"email", "a@b.co"}, {"username", "ada"}, {"password", text}}.dump());
  };
  CHECK(password("ßßßßßßßß").empty());
  CHECK(password("🌱🌱🌱🌱🌱🌱🌱") == Details{{"password", {"must be a string of 8 to 256 characters"}}});
}

TEST_CASE("everything that is wrong is said at once") {
  const Details all = deployment(R"({"name": "-", "port": 0, "tier": 7, "env_vars": {"A": null}})");
  std::vector<std::string> fields;
  for (const auto& [field, reasons] : all) fields.push_back(field);
  // (merge_patch drops the null.)
  CHECK(fields == std::vector<std::string>{"name", "port", "tier"});
}

TEST_CASE("a body that is no object is refused as a whole") {
  for (const char* text : {"[]", "1", "\"x\"", "null", "true"}) {
    INFO(text);
    const Details all = wrong("CreateDeploymentRequest", text);
    CHECK(all == Details{{"body", {"must be an object"}}});
  }
}

TEST_CASE("an integer is an integer, whatever a double could hold") {
  const auto amount = [](const std::string& number) {
    return wrong("MintRequest",
                 R"({"account": {"kind": "treasury"}, "reason": "x", "amount": )" + number + "}");
  };
  CHECK(amount("1").empty());
  CHECK(amount("9007199254740991").empty());
  const Details refused = {{"amount", {"must be an integer from 1 to 9007199254740991"}}};
  for (const char* number :
       {"1.0", "1.5", "1e3", "0", "-1", "9007199254740992", "9223372036854775807",
        "9223372036854775808", "18446744073709551615", "18446744073709551616",
        "18446744073709551617", "-9223372036854775809", "1e300", "\"1\"", "true"}) {
    INFO(number);
    CHECK(amount(number) == refused);
  }
}

TEST_CASE("what isn't JSON is refused") {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("{'a': 1}"), std::string("{\"a\": 1,}"),
        std::string("{} x"), std::string("nul"), std::string("{\"a\": NaN}"), std::string("// {}"),
        std::string("{\"a\": \"\xff\"}"), std::string("\"\xc3\""), std::string("\"\xed\xa0\x80\""),
        std::string("\"\\ud800\""), std::string("{\"a\": 01}"), std::string("{\"a\": 1e400}"),
        std::string("[-1e400]"), std::string("\"\n\""), std::string("{\"a\": 1}\0", 9)}) {
    INFO(text);
    CHECK(refused(text) == Code::invalid_json);
  }
}

TEST_CASE("a name that an object has twice is refused, at any depth; in two objects it isn't") {
  for (const char* text :
       {R"({"a": 1, "a": 1})", R"({"a": 1, "b": {}, "a": 2})", R"([{"a": 1, "a": 2}])",
        R"({"b": {"a": 1, "a": 2}})", R"({"a": 1, "\u0061": 2})"}) {
    INFO(text);
    CHECK(refused(text) == Code::invalid_json);
  }
  CHECK_NOTHROW(parse_body(R"({"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}], "A": "a"})"));
}

TEST_CASE("32 levels are read, and 33 aren't") {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  CHECK_NOTHROW(parse_body(nested(32)));
  CHECK(refused(nested(33)) == Code::invalid_json);
  CHECK(refused(std::string(500'000, '[')) == Code::invalid_json);
  CHECK(refused(std::string(500'000, '{')) == Code::invalid_json);
  // Brackets inside of strings are text, also behind a quote that is escaped.
  CHECK_NOTHROW(parse_body(
      R"(["[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["])"));
}

TEST_CASE("a schema with a keyword that nobody checks stops the start") {
  const auto refusal = [](const char* text) -> std::string {
    try {
      check_schema(json::parse(text), "Test");
      return "";
    } catch (const std::logic_error& mistake) {
      return mistake.what();
    }
  };
  CHECK(refusal(
            R"({"type": "object", "properties": {"a": {"type": "string", "description": "x"}}})") ==
        "");
  CHECK(refusal(R"({"type": "string", "minLenght": 3})").find("unknown keyword minLenght") !=
        std::string::npos);
  CHECK(refusal(R"({"properties": {"a": {"description": "x", "if": {}}}})").find("Test.a") !=
        std::string::npos);
  CHECK(refusal(R"({"items": {"oneOf": []}})").find("Test[]") != std::string::npos);
  CHECK(refusal(R"({"additionalProperties": {"nope": 1}})").find("Test.*") != std::string::npos);
  CHECK(refusal(R"({"anyOf": [{"nope": 1}]})") != "");
  CHECK(refusal(R"({"type": "string", "format": "ipv7"})").find("unknown format") !=
        std::string::npos);
  CHECK(refusal(R"({"properties": {"a": {"type": "string"}}})").find("no description") !=
        std::string::npos);
  CHECK(refusal("[]") != "");
}

TEST_CASE("a schema that isn't there is a mistake") {
  CHECK_THROWS_AS(Validator("Nothing"), std::logic_error);
}

TEST_CASE("every schema can be compiled") {
  for (const auto& [name, schema] : all_schemas().items()) {
    INFO(name);
    CHECK_NOTHROW(Validator(name));
  }
}

}  // namespace
