// What an app's owner asks for: at once on one's own machine, and a deploy tier beside scopes.
#include <catch2/catch.hpp>

#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

struct OwnMachine {
  GateWorld g;
  OwnMachine() {
    g.services.rules.first_account_admin = true;
    g.remote_address = "127.0.0.1";
    g.host = "localhost:8080";
  }
  // Returns the JWT of a new account with a verified address.
  std::string sign_up(const std::string& name) {
    const json account = {{"email", name + "@example.org"}, {"password", "correct horse battery"}};
    json registration = account;
    registration["username"] = name;
    const auto registered = g.ask("POST", "/api/auth/register", {}, registration.dump());
    REQUIRE(registered.status == 201);
    CHECK(registered.body["user"]["email_verified"] == false);
    const auto login = g.ask("POST", "/api/auth/login", {}, account.dump());
    is_admin = login.body["user"]["is_admin"];
    const std::string jwt = login.body["token"];
    REQUIRE(g.ask("POST", "/api/auth/self-verify-email", {bearer(jwt)}).status == 200);
    return jwt;
  }
  json new_app(const std::string& jwt) {
    return g
        .ask("POST", "/api/oauth/apps", {bearer(jwt)},
             json{{"app_name", "My game"},
                  {"redirect_uris", {"http://127.0.0.1/callback"}},
                  {"allowed_scopes", {"deploy:manage"}}}
                 .dump())
        .body;
  }
  json requests_of(const std::string& jwt, const json& app) {
    return g
        .ask("GET", "/api/oauth/my-apps/" + app["id"].get<std::string>() + "/scope-requests",
             {bearer(jwt)})
        .body["scope_requests"];
  }
  bool is_admin = false;
};

TEST_CASE("on one's own machine the first account is the admin, and its requests are approved") {
  OwnMachine f;
  const std::string ada = f.sign_up("ada");
  CHECK(f.is_admin);
  const json made = f.new_app(ada);
  CHECK(made["app"]["is_approved"] == false);
  CHECK(made["scope_request"]["status"] == "pending");
  const json decided = f.requests_of(ada, made["app"]);
  REQUIRE(decided.size() == 1);
  CHECK(decided[0]["status"] == "approved");
  CHECK(decided[0]["reason"].get<std::string>().starts_with("Approved at once"));
  const auto own = f.g.ask("GET", "/api/oauth/my-apps", {bearer(ada)}).body["apps"][0];
  CHECK(own["is_approved"] == true);
  const std::string path = "/api/oauth/my-apps/" + own["id"].get<std::string>() + "/scope-request";
  // The reason is in the language of the account.
  REQUIRE(f.g.ask("PATCH", "/api/auth/me", {bearer(ada)}, json{{"language", "de"}}.dump()).status ==
          200);
  const auto more =
      f.g.ask("POST", path, {bearer(ada)}, json{{"requested_scopes", {"points:spend"}}}.dump());
  CHECK(more.body["status"] == "pending");
  for (const json& one : f.requests_of(ada, own)) {
    CHECK(one["status"] == "approved");
    if (one["id"] == more.body["id"])
      CHECK(one["reason"].get<std::string>().starts_with("Sofort freigegeben"));
  }

  const std::string bob = f.sign_up("bob");
  CHECK_FALSE(f.is_admin);
  const json others = f.new_app(bob);
  CHECK(f.requests_of(bob, others["app"])[0]["status"] == "pending");
}

TEST_CASE(
    "the first account is an ordinary one without the key, from elsewhere, or by another name") {
  OwnMachine f;
  SECTION("without the key") { f.g.services.rules.first_account_admin = false; }
  SECTION("from another machine") { f.g.remote_address = "192.0.2.1"; }
  SECTION("by a name that was made to lead here") { f.g.host = "evil.example.org:8080"; }
  SECTION("by a name that only begins well") { f.g.host = "localhost.evil.example.org"; }
  const std::string ada = f.sign_up("ada");
  CHECK_FALSE(f.is_admin);
  CHECK(f.requests_of(ada, f.new_app(ada)["app"])[0]["status"] == "pending");
}

TEST_CASE("everything that is wrong with a registration is named at once") {
  OwnMachine f;
  f.sign_up("ada");
  const auto refused = f.g.ask(
      "POST", "/api/auth/register", {},
      json{{"email", "ada@example.org"}, {"username", "a b"}, {"password", "password"}}.dump());
  CHECK(refused.error() == "422 validation_failed");
  CHECK(refused.body["error"]["details"].contains("email"));
  CHECK(refused.body["error"]["details"].contains("username"));
  CHECK(refused.body["error"]["details"].contains("password"));
}

TEST_CASE("a tier that isn't for everybody is asked for, and an approval promotes the app") {
  Operator o;
  const std::string path = "/api/oauth/my-apps/" + o.app.id + "/scope-request";
  o.g.world.write([&](db::Tx& tx) {
    tiers::Tier large = *tiers::find_by_slug(tx, "wide");
    large.name = "Large";
    large.slug = "large";
    large.auto_approve = false;
    tiers::create(tx, large);
  });
  const auto ask = [&](const json& body) {
    return o.g.ask("POST", path, {bearer(o.jwt)}, body.dump());
  };
  CHECK(ask(json::object()).error() == "422 validation_failed");
  CHECK(ask({{"tier", "nosuch"}}).error() == "422 unknown_tier");
  CHECK(ask({{"tier", "wide"}}).error() == "422 validation_failed");
  const auto order = json{{"name", "shop"}, {"image", "ghcr.io/acme/web:1"}, {"tier", "large"}};
  CHECK(o.g.ask("POST", "/api/deploy/apps", {o.token}, order.dump()).error() ==
        "403 tier_not_allowed");
  const auto asked = ask({{"tier", "large"}});
  CHECK(asked.status == 201);
  CHECK(asked.body["tier"] == "large");
  CHECK(asked.body["requested_scopes"] == json::array());
  CHECK(ask({{"tier", "large"}}).body["id"] == asked.body["id"]);
  const auto both = ask({{"requested_scopes", {"points:spend"}}});
  CHECK(both.body["replaces"] == asked.body["id"]);
  CHECK(both.body["tier"] == "large");
  const auto approved = o.g.ask(
      "POST", "/api/internal/scope-requests/" + both.body["id"].get<std::string>() + "/approve",
      o.g.admin);
  CHECK(approved.body["status"] == "approved");
  CHECK(o.g.ask("GET", "/api/operator/apps/" + o.app.id, {bearer(o.jwt)})
            .body["app"]["promoted_tier"] == "large");
  CHECK(o.g.ask("POST", "/api/deploy/apps", {o.token}, order.dump()).status == 201);
  CHECK(ask({{"tier", "large"}}).body["status"] == "approved");
}

TEST_CASE("a name is looked up for a form: free, taken with a proposal, or no name") {
  Operator o;
  o.g.services.rules.deployments.reserved_names = ReservedNames({"admin"});
  const auto look_up = [&](const std::string& name) {
    return o.g.ask("GET", "/api/deploy/names/" + name, {o.token}).body;
  };
  const json free = look_up("shop");
  CHECK(free["available"] == true);
  CHECK(free["reason"] == nullptr);
  CHECK(free["url"].get<std::string>().starts_with("https://shop."));
  REQUIRE(o.g.ask("POST", "/api/deploy/apps", {o.token}, o.order()).status == 201);
  const json taken = look_up("shop");
  CHECK(taken["available"] == false);
  CHECK(taken["proposal"] == "shop-2");
  const std::string longest(32, 'a');
  REQUIRE(o.g.ask("POST", "/api/deploy/apps", {o.token}, o.order(longest)).status == 201);
  CHECK(look_up(longest)["proposal"] == std::string(30, 'a') + "-2");
  CHECK(look_up("Shop")["proposal"] == nullptr);
  CHECK(look_up("admin")["available"] == false);
}

TEST_CASE("an image is taken as people write it, and stored in full") {
  Operator o;
  const auto create = [&](const std::string& image) {
    return o.g.ask("POST", "/api/deploy/apps", {o.token},
                   json{{"name", "shop"}, {"image", image}, {"tier", "wide"}}.dump());
  };
  const auto refused = create("acme/web");
  CHECK(refused.error() == "422 unsupported_registry");
  CHECK_THAT(refused.body["error"]["details"]["image"][0].get<std::string>(),
             Catch::Contains("docker.io/library/") && Catch::Contains("key registries"));
  const auto made = create("nginx:1.27");
  CHECK(made.body["deployment"]["container_image"] == "docker.io/library/nginx:1.27");
  const auto changed =
      o.g.ask("PATCH", "/api/deploy/apps/" + made.body["id"].get<std::string>(), {o.token},
              json{{"image", "https://github.com/Acme/shop/pkgs/container/web"}}.dump());
  CHECK(changed.body["container_image"] == "ghcr.io/acme/web");
}

}  // namespace
