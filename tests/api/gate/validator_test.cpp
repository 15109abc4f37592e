#include "api/gate/validator.h"

#include <catch2/catch.hpp>

#include "api/gate/body.h"

namespace {

using namespace berth;
using namespace berth::api;
using nlohmann::json;

// Checks a valid create request after applying a patch to it.
Details deployment(const std::string& patch) {
  static const Validator validator("CreateDeploymentRequest");
  json body = json::parse(R"({"name": "my-app", "image": "ghcr.io/a/b", "tier": "free"})");
  body.merge_patch(json::parse(patch));
  return validator.check(body);
}
Details wrong(const char* schema, const std::string& text) {
  return Validator(schema).check(parse_body(text));
}

TEST_CASE("valid values are accepted") {
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
  // In merge_patch, null removes a field; a field whose value is null is something else.
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
        Details{{"scopes", {"must be an array of 1 to 16 items"}}});
  CHECK(wrong("ScopeList", R"({"scopes": "x"})") ==
        Details{{"scopes", {"must be an array of 1 to 16 items"}}});
  CHECK(wrong("MintRequest", R"({"account": {"kind": "king"}, "amount": 1, "reason": "x"})") ==
        Details{{"account.kind", {R"(must be one of "treasury", "user", "app")"}}});
  CHECK(wrong("MintRequest",
              R"({"account": {"kind": "app", "id": "x"}, "amount": 1, "reason": "x"})") ==
        Details{{"account.id", {"must be a string of the format uuid"}}});
  CHECK(
      wrong("RegisterRequest", R"({"email": "ada", "password": "12345678", "username": "ada"})") ==
      Details{{"email", {"must be a string of the format email"}}});
}

TEST_CASE("fifty variables are accepted, and fifty-one aren't") {
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

TEST_CASE("all errors are reported at once") {
  const Details all = deployment(R"({"name": "-", "port": 0, "tier": 7, "env_vars": {"A": null}})");
  std::vector<std::string> fields;
  for (const auto& [field, reasons] : all) fields.push_back(field);
  // merge_patch drops the null.
  CHECK(fields == std::vector<std::string>{"name", "port", "tier"});
}

TEST_CASE("a body that isn't an object is refused as a whole") {
  for (const char* text : {"[]", "1", "\"x\"", "null", "true"}) {
    INFO(text);
    const Details all = wrong("CreateDeploymentRequest", text);
    CHECK(all == Details{{"body", {"must be an object"}}});
  }
}

TEST_CASE("integers are exact beyond the precision of a double") {
  const auto amount = [](const std::string& number) {
    return wrong("MintRequest",
                 R"({"account": {"kind": "treasury"}, "reason": "x", "amount": )" + number + "}");
  };
  CHECK(amount("1").empty());
  CHECK(amount("9007199254740991").empty());
  // JSON Schema 2020-12, core, section 4.2.3: a number without a fraction is an integer.
  for (const char* number : {"1.0", "1e3", "1.50e1", "9007199254740991.0"}) {
    INFO(number);
    CHECK(amount(number).empty());
  }
  const Details refused = {{"amount", {"must be an integer from 1 to 9007199254740991"}}};
  for (const char* number : {"1.5", "0.0", "1e-3", "0", "-1", "9007199254740992",
                             "9223372036854775807", "9223372036854775808", "18446744073709551615",
                             "18446744073709551616", "18446744073709551617", "-9223372036854775809",
                             "9007199254740992.0", "1e300", "\"1\"", "true"}) {
    INFO(number);
    CHECK(amount(number) == refused);
  }
}

TEST_CASE("a list that is too long isn't examined") {
  json list = json::array();
  for (int i = 0; i < 9'000; ++i) list.push_back(i);
  const json body = {{"app_name", "x"}, {"redirect_uris", list}};
  CHECK(Validator("CreateAppRequest").check(body) ==
        Details{{"redirect_uris", {"must be an array of 1 to 10 items"}}});
}

TEST_CASE("the first twenty wrong items are named") {
  CHECK(wrong("ScopeList", R"({"scopes": ["profile:read", 1, "points:read", null]})") ==
        Details{{"scopes.1", {"must be a string"}}, {"scopes.3", {"must be a string"}}});
  CHECK(wrong("BuyAdPackageRequest", R"({"campaign_id": "01936f5e-7c1a-7000-8000-00000000000a",
              "surfaces": [{"surface_type": "banner", "impressions": 0}, {"impressions": 1}]})")
            .contains("surfaces.0.impressions"));
  json words = json::array();
  for (int i = 0; i < 5'000; ++i) words.push_back(i);
  CHECK(Validator("ChatWords").check({{"words", words}}).size() == max_reported_errors);
  json variables = json::object();
  for (int i = 0; i < 50; ++i) variables["K" + std::to_string(i)] = i;
  CHECK(deployment(json{{"env_vars", variables}}.dump()).size() == max_reported_errors);
}

TEST_CASE("the message about a name of any length contains its beginning only") {
  const Details all = deployment(json{{"env_vars", {{std::string(1'000'000, 'a'), 1}}}}.dump());
  REQUIRE(all.size() == 1);
  CHECK(all.begin()->first.starts_with("env_vars.aaa"));
  CHECK(all.begin()->first.size() < 100);
}

TEST_CASE("a pattern also applies to texts with more bytes than characters") {
  std::string name;
  for (int i = 0; i < 20; ++i) name += "ä";  // 40 bytes; a name has at most 32 characters
  CHECK(deployment(json{{"name", name}}.dump()).contains("name"));
}

}  // namespace
