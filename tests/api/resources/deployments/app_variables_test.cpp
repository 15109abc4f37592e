// The variables that all deployments of an app inherit, by the API.
#include <catch2/catch.hpp>

#include "controller/domain/deployments/deployments.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

const std::string path = "/api/deploy/variables";

struct Variables : Operator {
  Answered set(const json& variables) {
    return g.ask("PATCH", path, {token}, json{{"variables", variables}}.dump());
  }
  std::string deploy(const std::string& name, const json& env = json::object()) {
    json wanted = json::parse(order(name));
    wanted["env_vars"] = env;
    const auto made = g.ask("POST", "/api/deploy/apps", {token}, wanted.dump());
    REQUIRE(made.status == 201);
    return made.body["id"];
  }
  json get(const std::string& target) {
    const auto answer = g.ask("GET", target, {token});
    REQUIRE(answer.status == 200);
    return answer.body;
  }
};

json names(const json& list) {
  json found = json::array();
  for (const json& one : list) found.push_back(one.at("name"));
  return found;
}

}  // namespace

TEST_CASE("an app's variables are set, listed without values, and removed") {
  Variables v;
  CHECK(v.get(path)["variables"] == json::array());
  const auto made = v.set({{"B", "secret-1"}, {"A", "secret-2"}});
  REQUIRE(made.status == 200);
  CHECK(names(made.body["variables"]) == json::array({"A", "B"}));
  CHECK(made.body["deployments"] == json::array());
  CHECK_FALSE(made.body.contains("warnings"));
  CHECK(made.text.find("secret") == std::string::npos);
  const json listed = v.get(path);
  CHECK(listed["variables"] == made.body["variables"]);
  CHECK(listed["variables"][0]["set_at"] == "2026-01-31T12:00:00.000Z");
  CHECK(listed["variables"][0]["digest"].get<std::string>().size() == 16);
  CHECK(names(v.set({{"A", nullptr}}).body["variables"]) == json::array({"B"}));
}

TEST_CASE(
    "the answer says which deployments are replaced, and a deployment's list says the origin") {
  Variables v;
  const std::string own = v.deploy("own", {{"LEVEL", "debug"}, {"MINE", "1"}});
  const std::string plain = v.deploy("plain");
  const auto answer = v.set({{"LEVEL", "info"}});
  REQUIRE(answer.status == 200);
  CHECK(answer.body["deployments"] == json::array({json{{"id", plain}, {"name", "plain"}}}));
  const json of_own = v.get("/api/deploy/apps/" + own + "/env")["variables"];
  REQUIRE(names(of_own) == json::array({"LEVEL", "MINE"}));
  CHECK(of_own[0]["from"] == "deployment");
  CHECK(of_own[0]["overrides"] == true);
  CHECK(of_own[1]["overrides"] == false);
  const json of_plain = v.get("/api/deploy/apps/" + plain + "/env")["variables"];
  REQUIRE(of_plain.size() == 1);
  CHECK(of_plain[0]["from"] == "app");
  CHECK(of_plain[0]["overrides"] == false);
  CHECK(of_plain[0]["digest"] == answer.body["variables"][0]["digest"]);
  CHECK(v.get("/api/deploy/apps/" + plain)["env_keys"] == json::array());
}

TEST_CASE("what an app's variables can't be is refused, and PORT is left out") {
  Variables v;
  const auto reserved = v.set({{"BERTH_X", "1"}, {"OK", "2"}});
  CHECK(reserved.error() == "422 validation_failed");
  CHECK(reserved.body["error"]["details"].contains("variables.BERTH_X"));
  CHECK(reserved.body["error"]["details"].size() == 1);
  CHECK(v.g.ask("PATCH", path, {v.token}, "{}").error() == "422 validation_failed");
  CHECK(v.set({{"A", 1}}).error() == "422 validation_failed");
  CHECK(v.get(path)["variables"].empty());
  const auto port = v.set({{"PORT", "80"}, {"A", "1"}});
  CHECK(names(port.body["variables"]) == json::array({"A"}));
  CHECK(port.body["warnings"].at(0).get<std::string>().starts_with("variables.PORT was ignored"));
  CHECK_FALSE(v.set({{"PORT", nullptr}}).body.contains("warnings"));
}

TEST_CASE("an app's variables belong to the token's app, and need deploy:manage") {
  Variables v;
  v.set({{"A", "1"}});
  const auto eve = v.g.world.verified_user("eve");
  const auto other = v.g.world.approved_app(eve, {Scope::deploy_manage});
  const Header others =
      bearer(v.g.world.tokens(other, eve, "profile:read deploy:manage").access_token);
  CHECK(v.g.ask("GET", path, {others}).body["variables"].empty());
  const Header reader = bearer(v.g.world.tokens(v.app, v.user, "profile:read").access_token);
  CHECK(v.g.ask("GET", path, {reader}).error() == "403 insufficient_scope");
  CHECK(v.g.ask("PATCH", path, {reader}, R"({"variables": {"A": null}})").error() ==
        "403 insufficient_scope");
  CHECK(v.g.ask("GET", path).status == 401);
  CHECK(v.get(path)["variables"].size() == 1);
}
