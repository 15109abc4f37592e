// Who may give back what users spent in an app.
#include <catch2/catch.hpp>

#include "controller/domain/apps/built_in.h"
#include "controller/domain/oauth/device.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

struct Fixture {
  GateWorld g;
  accounts::User owner = g.world.verified_user("owner");
  accounts::User bob = g.world.verified_user("bob");
  apps::AppWithSecret registered = g.world.new_app(owner);
  apps::App app = [this] {
    g.world.write([&](db::Tx& tx) {
      apps::approve(
          tx,
          apps::request_scopes(tx, registered.app, {Scope::points_spend, Scope::deploy_manage}).id,
          "root");
    });
    return g.world.find_app(registered.app.id);
  }();
  Header player = bearer(g.world.tokens(app, bob, "points:spend").access_token);
  Header owners = bearer(g.world.tokens(app, owner, "deploy:manage").access_token);
  std::string spend_id;

  // A token of the grant client_credentials; with an empty text, one with all scopes.
  Header own_token(const std::string& scope = "") {
    json body = {{"grant_type", "client_credentials"},
                 {"client_id", app.client_id},
                 {"client_secret", registered.client_secret}};
    if (!scope.empty()) body["scope"] = scope;
    const auto credentials = g.ask("POST", "/api/oauth/token", {}, body.dump());
    REQUIRE(credentials.status == 200);
    return bearer(credentials.body.at("access_token"));
  }

  Fixture() {
    g.world.write([](db::Tx& tx) { apps::add_built_in(tx); });
    g.world.mint(ledger::user_account(bob.id), 100);
    const auto spent = g.ask("POST", "/api/external/points/spend", {player}, R"({"amount": 60})");
    REQUIRE(spent.status == 200);
    spend_id = spent.body.at("spend_id");
  }

  Answered refund(const std::vector<Header>& headers, std::int64_t amount = 1) {
    return g.ask("POST", "/api/external/points/refunds", headers,
                 json{{"spend_id", spend_id}, {"amount", amount}}.dump());
  }
  // Returns a token of the built-in client for the user.
  Header client_token(const accounts::User& of, const std::string& scope) {
    const auto started = g.ask("POST", "/api/oauth/device_authorization", {},
                               json{{"client_id", "berth"}, {"scope", scope}}.dump());
    g.world.write([&](db::Tx& tx) {
      oauth::decide_device_request(tx, of, started.body.at("user_code"),
                                   oauth::DeviceDecision::allow, g.world.keys.data);
    });
    return bearer(g.ask("POST", "/api/oauth/token", {},
                        json{{"grant_type", "urn:ietf:params:oauth:grant-type:device_code"},
                             {"device_code", started.body.at("device_code")},
                             {"client_id", "berth"}}
                            .dump())
                      .body.at("access_token"));
  }
  std::int64_t points() { return g.world.balance(ledger::user_account(bob.id)); }
};

TEST_CASE("tokens of the app's owner and of the app itself give points back, others don't") {
  Fixture f;
  CHECK(f.refund({}).error() == "401 invalid_token");
  CHECK(f.refund({f.player}).error() == "403 forbidden");
  CHECK(f.refund({bearer(f.g.world.jwt(f.owner))}).status == 401);
  CHECK(f.points() == 40);
  CHECK(f.refund({f.owners}).status == 201);
  CHECK(f.refund({f.own_token()}).status == 201);
  CHECK(f.points() == 42);
}

TEST_CASE("a token that was narrowed to less than the app's points gives none of them back") {
  Fixture f;
  const Header of_player = bearer(f.g.world.tokens(f.app, f.owner, "profile:read").access_token);
  CHECK(f.refund({of_player}).error() == "403 insufficient_scope");
  CHECK(f.refund({f.own_token("profile:read points:read")}).error() == "403 insufficient_scope");
  CHECK(f.points() == 40);
  CHECK(f.refund({f.own_token("deploy:manage")}).status == 201);
  CHECK(f.points() == 41);
  // An app that has no scopes of its own: all that every app has.
  f.g.world.write(
      [&](db::Tx& tx) { apps::revoke_scopes(tx, f.app.id, {Scope::deploy_manage}, "root"); });
  CHECK(f.refund({f.own_token("profile:read")}).error() == "403 insufficient_scope");
  CHECK(f.refund({f.own_token()}).status == 201);
}

TEST_CASE("berth's own client gives back what its scopes could spend") {
  Fixture f;
  const Header of_app = {"Berth-App", f.app.id};
  CHECK(f.refund({f.client_token(f.owner, "app:balance:read profile:read"), of_app}).error() ==
        "403 insufficient_scope");
  CHECK(f.refund({f.client_token(f.owner, "deploy:manage"), of_app}).status == 201);
  CHECK(f.refund({f.client_token(f.bob, "deploy:manage"), of_app}).status >= 400);
  CHECK(f.points() == 41);
}

TEST_CASE("a repeated refund has one effect and one answer") {
  Fixture f;
  const Header token = f.owners;
  const Header key = {"Idempotency-Key", "refund-1"};
  const auto first = f.refund({token, key}, 20);
  CHECK(first.status == 201);
  CHECK(f.refund({token, key}, 20).text == first.text);
  CHECK(f.refund({token, key}, 21).error() == "409 idempotency_conflict");
  // The whole spend, although the answer was stored before.
  CHECK(f.refund({token}, 41).error() == "422 refund_exceeds_spend");
  const auto rest = f.refund({token}, 40);
  CHECK(rest.body.at("refunded") == 60);
  CHECK(rest.body.at("refundable") == 0);
  CHECK(f.points() == 100);
}

TEST_CASE("a suspended or deleted app gives nothing back, but an administrator does for it") {
  Fixture f;
  const Header token = f.owners;
  f.g.world.write([&](db::Tx& tx) { apps::suspend(tx, f.app.id, "root"); });
  CHECK(f.refund({token}).status >= 401);
  const auto by_admin = [&] {
    return f.g.ask("POST", "/api/internal/points/refunds", f.g.admin,
                   json{{"spend_id", f.spend_id}, {"amount", 1}, {"reason", "broken"}}.dump());
  };
  CHECK(by_admin().status == 201);
  CHECK(f.points() == 41);
  f.g.world.write([&](db::Tx& tx) { apps::remove(tx, f.app); });
  CHECK(f.refund({token}).status == 401);
  CHECK(by_admin().error() == "422 insufficient_balance");
  CHECK(f.points() == 41);
}

}  // namespace
