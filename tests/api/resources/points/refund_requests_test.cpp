// Refund requests over HTTP, and what two admins decide about points.
#include <catch2/catch.hpp>

#include "controller/domain/accounts/two_factor.h"
#include "controller/domain/deployments/tiers.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "tests/api/gate_world.h"
#include "tests/totp.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;
using Fields = std::vector<Header>;

const std::string cookie_name = "__Host-berth_session";

struct Fixture {
  GateWorld g;
  accounts::User owner = g.world.verified_user("owner");
  accounts::User bob = g.world.verified_user("bob");
  apps::App app = g.world.approved_app(owner, {Scope::points_spend, Scope::deploy_manage});
  Header owners = bearer(g.world.tokens(app, owner, "deploy:manage").access_token);
  Header bobs = bearer(g.world.jwt(bob));
  std::string spend_id;

  Fixture() {
    g.world.mint(ledger::user_account(bob.id), 100'000);
    spend_id = spend(60);
  }
  std::string spend(std::int64_t amount) {
    const Header player = bearer(g.world.tokens(app, bob, "points:spend").access_token);
    const auto spent =
        g.ask("POST", "/api/external/points/spend", {player}, json{{"amount", amount}}.dump());
    REQUIRE(spent.status == 200);
    return spent.body.at("spend_id");
  }
  Answered post(const Fields& fields, const std::string& path, const json& body) {
    return g.ask("POST", path, fields, body.empty() ? "" : body.dump());
  }
  Answered ask(const std::string& spend, const json& more = json::object()) {
    json body = {{"spend_id", spend}, {"reason", "it broke"}};
    body.update(more);
    return post({bobs}, "/api/points/refund-requests", body);
  }
  std::string asked(const std::string& spend) {
    const auto made = ask(spend);
    REQUIRE(made.status == 201);
    return made.body.at("request").at("id");
  }
  Answered answer(const Fields& fields, const std::string& id, const json& body) {
    return post(fields, "/api/operator/refund-requests/" + id + "/answer", body);
  }
  // A login in the console of a new admin who has just proven their second factor.
  Fields admin(const std::string& name, accounts::AdminRole role = accounts::AdminRole::admin) {
    const accounts::User user = g.world.verified_user(name);
    std::string secret;
    const auto code = [&] {
      return berth::test::totp(secret, to_millis(g.world.clock.now()) / 1000);
    };
    g.world.write([&](db::Tx& tx) {
      accounts::promote(tx, user.id, {.tier = {}, .is_admin = {}, .admin_role = role}, "root");
    });
    g.world.write([&](db::Tx& tx) {
      secret = two_factor::set_up(tx, user, g.world.keys).secret;
      two_factor::enable(tx, user, code(), g.world.keys, "https://api.example.org");
    });
    g.world.clock.advance(30s);  // each code works once
    const Fields fields = {{"Cookie", cookie_name + "=" + g.world.jwt(user)},
                           {"Sec-Fetch-Site", "same-origin"},
                           {"Berth-Console", "1"}};
    REQUIRE(post(fields, "/api/auth/step-up", {{"totp_code", code()}}).status == 200);
    return fields;
  }
  std::int64_t points() { return g.world.balance(ledger::user_account(bob.id)); }
};

TEST_CASE("a user asks, lists and withdraws, and nobody else sees it") {
  Fixture f;
  const std::string id = f.asked(f.spend_id);
  CHECK(f.ask(f.spend_id).error() == "409 invalid_state");
  const auto listed = f.g.ask("GET", "/api/points/refund-requests", {f.bobs});
  REQUIRE(listed.status == 200);
  CHECK(listed.body.at("total") == 1);
  const json request = listed.body.at("refund_requests").at(0);
  CHECK(request.at("spend_id") == f.spend_id);
  CHECK(request.at("amount") == 60);
  CHECK(request.at("app_name") == "My game");
  CHECK(request.at("status") == "open");
  CHECK_FALSE(request.contains("username"));
  const Header owner = bearer(f.g.world.jwt(f.owner));
  CHECK(f.g.ask("GET", "/api/points/refund-requests", {owner}).body.at("total") == 0);
  CHECK(f.g.ask("DELETE", "/api/points/refund-requests/" + id, {owner}).error() == "404 not_found");
  CHECK(f.g.ask("DELETE", "/api/points/refund-requests/" + id, {f.bobs}).status == 200);
  CHECK(f.answer({f.owners}, id, {{"approve", true}}).error() == "409 invalid_state");
  CHECK(f.points() == 100'000 - 60);
}

TEST_CASE("a request names a spend or a deployment, an amount and a reason") {
  Fixture f;
  const auto refused = [&](const json& body) {
    return f.post({f.bobs}, "/api/points/refund-requests", body).error();
  };
  CHECK(refused({{"reason", "x"}}) == "422 validation_failed");
  CHECK(refused({{"spend_id", f.spend_id}, {"deployment_id", f.spend_id}, {"reason", "x"}}) ==
        "422 validation_failed");
  CHECK(refused({{"spend_id", f.spend_id}}) == "422 validation_failed");
  CHECK(refused({{"spend_id", f.spend_id}, {"reason", ""}}) == "422 validation_failed");
  CHECK(refused({{"spend_id", f.spend_id}, {"reason", "x"}, {"amount", 0}}) ==
        "422 validation_failed");
  CHECK(refused({{"spend_id", f.spend_id}, {"reason", "x"}, {"amount", 61}}) ==
        "422 refund_exceeds_spend");
  CHECK(refused({{"deployment_id", f.spend_id}, {"reason", "x"}}) == "404 deployment_not_found");
}

TEST_CASE("the app's owner answers, and nobody else") {
  Fixture f;
  const std::string id = f.asked(f.spend_id);
  const Header player = bearer(f.g.world.tokens(f.app, f.bob, "points:spend").access_token);
  const Header narrow = bearer(f.g.world.tokens(f.app, f.owner).access_token);
  CHECK(f.answer({player}, id, {{"approve", true}}).error() == "403 forbidden");
  CHECK(f.answer({narrow}, id, {{"approve", true}}).error() == "403 insufficient_scope");
  CHECK(f.g.ask("GET", "/api/operator/refund-requests", {narrow}).error() ==
        "403 insufficient_scope");
  const auto other = f.g.world.approved_app(f.bob, {Scope::deploy_manage});
  const Header others = bearer(f.g.world.tokens(other, f.bob, "deploy:manage").access_token);
  CHECK(f.answer({others}, id, {{"approve", true}}).error() == "404 not_found");
  const auto listed = f.g.ask("GET", "/api/operator/refund-requests?status=open", {f.owners});
  REQUIRE(listed.status == 200);
  CHECK(listed.body.at("refund_requests").at(0).at("username") == "bob");
  CHECK(f.answer({f.owners}, id, {{"approve", true}, {"amount", 61}}).error() ==
        "422 validation_failed");
  const auto closed = f.answer({f.owners}, id, {{"approve", true}, {"note", "sorry"}});
  REQUIRE(closed.status == 200);
  CHECK(closed.body.at("request").at("status") == "approved");
  CHECK(closed.body.at("request").at("refunded") == 60);
  CHECK(f.points() == 100'000);
}

TEST_CASE("an admin answers what a deployment was charged, from the treasury") {
  Fixture f;
  f.g.world.mint(ledger::app_account(f.app.id), 100);
  f.g.world.mint(ledger::treasury(), 1'000);
  f.g.world.write([&](db::Tx& tx) { apps::promote(tx, f.app.id, "basic", "root"); });
  const std::string deployment =
      f.g.world.deploy(f.g.world.find_app(f.app.id), berth::test::order("shop", "basic")).id;
  const Header owner = bearer(f.g.world.jwt(f.owner));
  const json body = {{"deployment_id", deployment}, {"reason", "the node was down"}};
  CHECK(f.post({f.bobs}, "/api/points/refund-requests", body).error() ==
        "404 deployment_not_found");
  const auto made = f.post({owner}, "/api/points/refund-requests", body);
  REQUIRE(made.status == 201);
  CHECK(made.body.at("request").at("amount") == 100);
  const std::string id = made.body.at("request").at("id");
  // The owner can't answer it for themselves.
  CHECK(f.answer({f.owners}, id, {{"approve", true}}).error() == "404 not_found");
  CHECK(f.g.ask("GET", "/api/operator/refund-requests", {f.owners}).body.at("total") == 0);
  const auto open = f.g.ask("GET", "/api/internal/refund-requests?status=open", f.g.admin);
  CHECK(open.body.at("total") == 1);
  const std::int64_t before = f.g.world.balance(ledger::app_account(f.app.id));
  const auto closed = f.post(f.g.admin, "/api/internal/refund-requests/" + id + "/answer",
                             {{"approve", true}, {"amount", 40}});
  REQUIRE(closed.status == 200);
  CHECK(closed.body.at("request").at("answered_by") == "admin");
  // The operator's words aren't copied to where they would stay after the account is deleted.
  f.g.world.read([&](db::Tx& tx) {
    CHECK(tx.number("SELECT count(*) FROM deployment_refunds WHERE reason LIKE '%node%'") == 0);
    CHECK(tx.number("SELECT count(*) FROM audit_log WHERE details LIKE '%node%'") == 0);
  });
  CHECK(closed.body.at("request").at("refunded") == 40);
  CHECK(f.g.world.balance(ledger::app_account(f.app.id)) == before + 40);
}

TEST_CASE("points that an admin gives back of a charge aren't given back again by a request") {
  Fixture f;
  f.g.world.mint(ledger::app_account(f.app.id), 100);
  f.g.world.mint(ledger::treasury(), 1'000);
  f.g.world.write([&](db::Tx& tx) { apps::promote(tx, f.app.id, "basic", "root"); });
  const std::string deployment =
      f.g.world.deploy(f.g.world.find_app(f.app.id), berth::test::order("shop", "basic")).id;
  const auto made =
      f.post({bearer(f.g.world.jwt(f.owner))}, "/api/points/refund-requests",
             {{"deployment_id", deployment}, {"amount", 40}, {"reason", "the node was down"}});
  REQUIRE(made.status == 201);
  const std::int64_t before = f.g.world.balance(ledger::app_account(f.app.id));
  REQUIRE(f.post(f.g.admin, "/api/internal/deploy/apps/" + deployment + "/refund",
                 {{"amount", 40}, {"reason", "the node was down"}})
              .status == 201);
  const std::string id = made.body.at("request").at("id");
  CHECK(f.post(f.g.admin, "/api/internal/refund-requests/" + id + "/answer", {{"approve", true}})
            .error() == "409 invalid_state");
  CHECK(f.g.world.balance(ledger::app_account(f.app.id)) == before + 40);
  const auto closed = f.g.ask("GET", "/api/internal/refund-requests?status=approved", f.g.admin);
  REQUIRE(closed.body.at("total") == 1);
  CHECK(closed.body.at("refund_requests").at(0).at("refunded") == 40);
}

TEST_CASE("nothing is proposed for a request that was answered already") {
  Fixture f;
  const std::string id = f.asked(f.spend(20'000));
  const Fields ada = f.admin("ada");
  const std::string path = "/api/internal/refund-requests/" + id + "/answer";
  REQUIRE(f.post(ada, path, {{"approve", false}}).status == 200);
  CHECK(f.post(ada, path, {{"approve", true}}).error() == "409 invalid_state");
  CHECK(f.g.ask("GET", "/api/internal/points/proposals", ada).body.at("total") == 0);
}

TEST_CASE("a large refund waits for another admin, who is known by name") {
  Fixture f;
  const std::string spend = f.spend(20'000);
  const Fields ada = f.admin("ada"), eve = f.admin("eve");
  const auto made = f.post(ada, "/api/internal/points/refunds",
                           {{"spend_id", spend}, {"amount", 15'000}, {"reason", "broken"}});
  REQUIRE(made.status == 201);
  CHECK_FALSE(made.body.contains("refund"));
  const std::string id = made.body.at("proposal").at("id");
  CHECK(f.points() == 79'940);
  const std::string confirm = "/api/internal/points/proposals/" + id + "/confirm";
  CHECK(f.post(ada, confirm, json::object()).error() == "403 forbidden");
  CHECK(f.post(f.g.admin, confirm, json::object()).error() == "403 forbidden");
  const auto open = f.g.ask("GET", "/api/internal/points/proposals?status=open", eve);
  CHECK(open.body.at("total") == 1);
  CHECK(f.post(eve, confirm, json::object()).body.at("proposal").at("status") == "confirmed");
  CHECK(f.points() == 94'940);
  CHECK(f.post(eve, confirm, json::object()).error() == "409 invalid_state");
  CHECK(f.points() == 94'940);
  // What exceeds the spend isn't proposed.
  CHECK(f.post(ada, "/api/internal/points/refunds",
               {{"spend_id", spend}, {"amount", 15'000}, {"reason", "broken"}})
            .error() == "422 refund_exceeds_spend");
}

TEST_CASE("a small refund by an admin needs nobody else") {
  Fixture f;
  const Fields ada = f.admin("ada");
  const auto made = f.post(ada, "/api/internal/points/refunds",
                           {{"spend_id", f.spend_id}, {"amount", 10}, {"reason", "broken"}});
  REQUIRE(made.status == 201);
  CHECK(made.body.at("refundable") == 50);
  CHECK_FALSE(made.body.contains("proposal"));
  CHECK(f.points() == 100'000 - 50);
}

TEST_CASE("a confirmed proposal doesn't answer a request that was withdrawn meanwhile") {
  Fixture f;
  const std::string spend = f.spend(20'000);
  const std::string id = f.asked(spend);
  const Fields ada = f.admin("ada"), eve = f.admin("eve");
  const auto proposed = f.post(ada, "/api/internal/refund-requests/" + id + "/answer",
                               {{"approve", true}, {"note", "sorry"}});
  REQUIRE(proposed.status == 200);
  CHECK(proposed.body.at("request").at("status") == "open");
  const std::string proposal = proposed.body.at("proposal").at("id");
  CHECK(f.g.ask("DELETE", "/api/points/refund-requests/" + id, {f.bobs}).status == 200);
  const std::string path = "/api/internal/points/proposals/" + proposal;
  CHECK(f.post(eve, path + "/confirm", json::object()).error() == "409 invalid_state");
  CHECK(f.points() == 79'940);
  // Nothing of the confirmation was stored, so the proposal is still there.
  CHECK(f.post(eve, path + "/reject", json::object()).body.at("proposal").at("status") ==
        "rejected");
}

TEST_CASE("a large claw-back waits for another admin, a small one is done") {
  Fixture f;
  const auto minted = f.post(f.g.admin, "/api/internal/points/mint",
                             {{"account", {{"kind", "user"}, {"id", f.bob.id}}},
                              {"amount", 50'000},
                              {"reason", "by mistake"}});
  const std::string transaction = minted.body.at("transaction_id");
  const auto take = [&](const Fields& who, std::int64_t amount) {
    return f.post(who, "/api/internal/points/claw-backs",
                  {{"transaction_id", transaction}, {"amount", amount}, {"reason", "twice"}});
  };
  const std::int64_t before = f.points();
  const auto small = take(f.g.admin, 10);
  REQUIRE(small.status == 201);
  CHECK(small.body.at("claw_back").at("amount") == 10);
  CHECK(small.body.at("left") == 49'990);
  CHECK(f.points() == before - 10);
  const auto large = take(f.g.admin, 40'000);
  CHECK(f.points() == before - 10);
  const std::string confirm = "/api/internal/points/proposals/" +
                              large.body.at("proposal").at("id").get<std::string>() + "/confirm";
  // The internal secret has proposed it, so it takes two persons.
  CHECK(f.post(f.admin("ada"), confirm, json::object()).body.at("proposal").at("status") == "open");
  CHECK(f.points() == before - 10);
  CHECK(f.post(f.admin("eve"), confirm, json::object()).body.at("proposal").at("status") ==
        "confirmed");
  CHECK(f.points() == before - 40'010);
  CHECK(take(f.g.admin, 9'991).error() == "422 validation_failed");
}

TEST_CASE("owners see their app's money and movements, and move points to it") {
  Fixture f;
  f.g.world.mint(ledger::user_account(f.owner.id), 500);
  const Header owner = bearer(f.g.world.jwt(f.owner));
  const auto moved = f.post({owner}, "/api/points/top-up", {{"app_id", f.app.id}, {"amount", 200}});
  REQUIRE(moved.status == 200);
  CHECK(moved.body.at("points") == 300);
  CHECK(moved.body.at("app_balance") == 260);
  CHECK(f.post({f.bobs}, "/api/points/top-up", {{"app_id", f.app.id}, {"amount", 1}}).error() ==
        "403 forbidden");
  const auto money = f.g.ask("GET", "/api/operator/money?days=7", {f.owners});
  REQUIRE(money.status == 200);
  CHECK(money.body.at("balance") == 260);
  CHECK(money.body.at("earned") == 60);
  CHECK(money.body.at("next_charge").is_null());
  const auto history = f.g.ask("GET", "/api/operator/money/history", {f.owners});
  REQUIRE(history.status == 200);
  CHECK(history.body.at("total") == 2);
  const json newest = history.body.at("entries").at(0);
  CHECK(newest.at("kind") == "top_up");
  CHECK(newest.at("counterparty").at("name") == "owner");
  // What other users are called is for apps with profile:read.
  CHECK(history.body.at("entries").at(1).at("counterparty").at("name").is_null());
  const Header player = bearer(f.g.world.tokens(f.app, f.bob, "points:spend").access_token);
  CHECK(f.g.ask("GET", "/api/operator/money", {player}).error() == "403 insufficient_scope");
  CHECK(f.g.ask("GET", "/api/operator/money/history", {player}).error() ==
        "403 insufficient_scope");
}

TEST_CASE("a person who is logged in names the app whose money they look at") {
  Fixture f;
  const auto second = f.g.world.approved_app(f.owner, {Scope::deploy_manage});
  const std::string path = "/api/operator/money?app_id=";
  const Header owner = bearer(f.g.world.jwt(f.owner));
  const auto money = f.g.ask("GET", path + f.app.id, {owner});
  REQUIRE(money.status == 200);
  CHECK(money.body.at("app_id") == f.app.id);
  CHECK(money.body.at("balance") == 60);
  CHECK(f.g.ask("GET", path + second.id, {owner}).body.at("app_id") == second.id);
  // Without a name, it isn't known which one is meant.
  CHECK(f.g.ask("GET", "/api/operator/money", {owner}).error() == "400 malformed_request");
  const Fields console = {{"Cookie", cookie_name + "=" + f.g.world.jwt(f.owner)},
                          {"Sec-Fetch-Site", "same-origin"},
                          {"Berth-Console", "1"}};
  CHECK(f.g.ask("GET", path + second.id, console).body.at("app_id") == second.id);
  CHECK(f.g.ask("GET", path + f.app.id, {f.bobs}).error() == "403 forbidden");
  // A token of an app is about that app, also if its owner has others.
  CHECK(f.g.ask("GET", path + f.app.id, {f.owners}).body.at("app_id") == f.app.id);
  CHECK(f.g.ask("GET", path + second.id, {f.owners}).error() == "403 forbidden");
}

TEST_CASE("admins see the platform's money") {
  Fixture f;
  const auto money = f.g.ask("GET", "/api/internal/money?days=2", f.g.admin);
  REQUIRE(money.status == 200);
  CHECK(money.body.at("supply") == 100'000);
  CHECK(money.body.at("owed") == 100'000);
  CHECK(money.body.at("movers").at(0).at("app_id") == f.app.id);
  CHECK(money.body.at("anomalies").is_array());
  CHECK(f.g.ask("GET", "/api/internal/money?days=32", f.g.admin).error() ==
        "422 validation_failed");
}

TEST_CASE("support gives back few points a day; what is more waits for another admin") {
  Fixture f;
  f.g.services.rules.support_refund_limit = 50;
  const Fields support = f.admin("sue", accounts::AdminRole::support);
  const Fields finance = f.admin("fay", accounts::AdminRole::finance);
  const auto refund = [&](std::int64_t amount) {
    return f.post(support, "/api/internal/points/refunds",
                  {{"spend_id", f.spend_id}, {"amount", amount}, {"reason", "x"}});
  };
  CHECK(refund(40).body.contains("refund"));
  CHECK(refund(10).body.contains("refund"));  // 50 on this day, in two parts
  const auto beyond = refund(1);
  REQUIRE(beyond.status == 201);
  REQUIRE(beyond.body.contains("proposal"));
  const std::string proposal =
      "/api/internal/points/proposals/" + beyond.body.at("proposal").at("id").get<std::string>();
  CHECK(f.points() == 100'000 - 10);
  CHECK(f.post(support, proposal + "/confirm", {}).error() == "403 forbidden");
  CHECK(f.post(finance, proposal + "/confirm", {}).status == 200);
  CHECK(f.points() == 100'000 - 9);
}

}  // namespace
