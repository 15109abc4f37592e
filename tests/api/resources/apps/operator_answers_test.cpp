// What operators are told: of what belongs to another of their apps, of what they register, and in
// which form of errors.
#include <catch2/catch.hpp>

#include "api/gate/errors.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

std::string message_of(const Answered& answer) { return answer.body["error"].value("message", ""); }

TEST_CASE("what belongs to another of one's own apps is said to, and nobody else's is") {
  Operator o;
  const ScopeSet scopes = {Scope::deploy_manage, Scope::campaigns_manage};
  const auto token_of = [&](const accounts::User& user) {
    return bearer(
        o.g.world
            .tokens(o.g.world.approved_app(user, scopes), user, "deploy:manage campaigns:manage")
            .access_token);
  };
  const auto first_app = o.g.world.approved_app(o.user, scopes);
  const Header first =
      bearer(o.g.world.tokens(first_app, o.user, "deploy:manage campaigns:manage").access_token);
  const Header second = token_of(o.user);
  const Header stranger = token_of(o.g.world.verified_user("eve"));
  o.g.world.mint(ledger::app_account(first_app.id), 1'000);
  const std::string campaign = o.g.ask("POST", "/api/external/campaigns", {first},
                                       json{{"name", "Spring"},
                                            {"surface_type", "banner"},
                                            {"total_payment", 100},
                                            {"payout_rate", 1}}
                                           .dump())
                                   .body["campaign"]
                                   .value("id", "");
  const std::string deployment =
      o.g.ask("POST", "/api/deploy/apps", {first}, o.order()).body.value("id", "");
  for (const std::string& path :
       {"/api/deploy/apps/" + deployment, "/api/deploy/apps/" + deployment + "/status",
        "/api/external/campaigns/" + campaign}) {
    INFO(path);
    const auto mine = o.g.ask("GET", path, {second});
    CHECK(mine.error() == "403 forbidden");
    CHECK(message_of(mine).find("belongs to another of your apps") != std::string::npos);
    const auto theirs = o.g.ask("GET", path, {stranger});
    CHECK(theirs.error() == "403 forbidden");
    CHECK(message_of(theirs).find("belongs to another operator") != std::string::npos);
    CHECK(message_of(theirs).find("your apps") == std::string::npos);
  }
  const auto sandbox = o.g.ask("GET", "/api/deploy/sandbox-status", {second});
  CHECK(sandbox.body["deployments"].empty());  // the order was for another tier
}

TEST_CASE("the sandbox names the deployments that use up the cap, and their apps") {
  Operator o;
  const auto other = o.g.world.approved_app(o.user, {Scope::deploy_manage});
  const Header second = bearer(o.g.world.tokens(other, o.user, "deploy:manage").access_token);
  json order = json::parse(o.order("shop"));
  order["tier"] = "free";
  const auto created = o.g.ask("POST", "/api/deploy/apps", {o.token}, order.dump());
  REQUIRE(created.status == 201);
  const auto sandbox = o.g.ask("GET", "/api/deploy/sandbox-status", {second});
  CHECK(sandbox.body["eligible"] == false);
  CHECK(sandbox.body["deployments"] == json::array({{{"id", created.body["id"]},
                                                     {"name", "shop"},
                                                     {"status", "pending"},
                                                     {"app_id", o.app.id},
                                                     {"app_name", o.app.app_name}}}));
}

TEST_CASE("login has one form for all of its errors") {
  GateWorld g;
  g.world.verified_user("ada");
  const auto form = [](const Answered& answer) {
    return answer.body["error"].is_string() && answer.body["message"].is_string();
  };
  const auto wrong = g.ask("POST", "/api/auth/login", {},
                           R"({"email": "ada@example.org", "password": "wrong one"})");
  CHECK(wrong.error() == "401 invalid_credentials");
  CHECK(form(wrong));
  const auto missing = g.ask("POST", "/api/auth/login", {}, R"({"email": "ada@example.org"})");
  CHECK(missing.error() == "422 validation_failed");
  CHECK(form(missing));
  CHECK(missing.body["details"]["password"] == json::array({"is required"}));
  CHECK(form(g.ask("POST", "/api/auth/login", {}, "{")));
}

TEST_CASE("an operation has one form for all its refusals, but for those of who calls") {
  for (const Route& route : routes()) {
    INFO(route.name);
    const bool is_session = route.path().starts_with("/api/auth/");
    const bool is_internal = route.path().starts_with("/api/internal/");
    CHECK((route.guards.shape != Shape::nested_but_access || is_session || is_internal));
    for (const int status : {404, 409, 422, 429})
      CHECK(body_of(route.guards.shape, status) == body_of(route.guards.shape, 400));
  }
}

TEST_CASE("a scheme that isn't a domain in reverse is taken with a warning") {
  Operator o;
  const auto created = o.g.ask(
      "POST", "/api/oauth/apps", {bearer(o.jwt)},
      json{{"app_name", "Native"},
           {"redirect_uris", {"myapp://callback", "com.example.app:/cb", "http://127.0.0.1/cb"}}}
          .dump());
  REQUIRE(created.status == 201);
  REQUIRE(created.body["warnings"].size() == 1);
  CHECK(created.body["warnings"][0].get<std::string>().starts_with("myapp://callback: "));
  const auto changed =
      o.g.ask("PUT", "/api/operator/apps/" + created.body["app"].value("id", ""), {bearer(o.jwt)},
              json{{"redirect_uris", {"com.example.app:/cb"}}}.dump());
  CHECK(changed.body["warnings"].empty());
}

TEST_CASE("the creation of an app names the scope request that it made") {
  Operator o;
  const auto create = [&](const json& scopes) {
    return o.g.ask("POST", "/api/oauth/apps", {bearer(o.jwt)},
                   json{{"app_name", "An app"},
                        {"redirect_uris", {berth::test::redirect_uri}},
                        {"allowed_scopes", scopes}}
                       .dump());
  };
  CHECK(create({"profile:read", "points:read"}).body["scope_request"] == nullptr);
  const auto created = create({"profile:read", "deploy:manage"});
  CHECK(created.body["app"]["is_approved"] == false);
  const json request = created.body["scope_request"];
  CHECK(request["status"] == "pending");
  CHECK(request["requested_scopes"] == json::array({"deploy:manage"}));
  const std::string path =
      "/api/oauth/my-apps/" + created.body["app"].value("id", "") + "/scope-request";
  const auto ask = [&](const json& scopes) {
    return o.g.ask("POST", path, {bearer(o.jwt)}, json{{"requested_scopes", scopes}}.dump());
  };
  const auto same = ask({"deploy:manage"});
  CHECK(same.status == 201);
  CHECK(same.body["id"] == request["id"]);
  const auto others = ask({"deploy:manage", "campaigns:manage"});
  CHECK(others.status == 201);
  CHECK(others.body["id"] != request["id"]);
  const auto list = o.g.ask("GET", path + "s?status=pending", {bearer(o.jwt)});
  CHECK(list.body["total"] == 1);
  CHECK(o.g.ask("POST", "/api/internal/scope-requests/" + request.value("id", "") + "/approve",
                o.g.admin)
            .error() == "409 invalid_state");
}

}  // namespace
