// The user's daily limit for an app holds for everything that leaves their account through the
// app's tokens.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "controller/domain/apps/built_in.h"
#include "controller/domain/oauth/connections.h"
#include "controller/domain/oauth/device.h"
#include "tests/api/gate_world.h"
#include "tests/domain/items/items_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

constexpr std::int64_t limit = 50;

// A user with points of their own, and somebody who may get them.
struct Payer {
  GateWorld g;
  accounts::User owner = g.world.verified_user("owner");
  accounts::User ada = g.world.verified_user("ada");
  accounts::User bob = g.world.verified_user("bob");
  apps::App app = g.world.approved_app(owner, {Scope::points_spend, Scope::points_transfer});
  std::string item = berth::test::new_item(g.world, "hat", limit + 1).id;

  Payer() {
    g.world.write([](db::Tx& tx) { apps::add_built_in(tx); });
    g.world.mint(ledger::user_account(ada.id), 1'000);
  }
  Header token(const apps::App& of) {
    return bearer(g.world.tokens(of, ada, "points:spend points:transfer").access_token);
  }
  std::int64_t points() { return g.world.balance(ledger::user_account(ada.id)); }
  void set_limit(const apps::App& of, std::optional<std::int64_t> points) {
    g.world.write(
        [&](db::Tx& tx) { connections::set_daily_spend_limit(tx, ada.id, of.id, points); });
  }
};

struct Member {
  const char* name;  // of the route
  // Its body; the item's price and the amounts are one more than the limit.
  json (*body)(const Payer&);
};
const Member members[] = {{"spendPoints",
                           [](const Payer&) {
                             return json{{"amount", limit + 1}};
                           }},
                          {"externalTransferPoints",
                           [](const Payer& p) {
                             return json{{"amount", limit + 1}, {"to_user_id", p.bob.id}};
                           }},
                          {"purchaseCosmetic", [](const Payer&) { return json::object(); }},
                          {"giveCosmetic", [](const Payer& p) {
                             return json{{"to_user_id", p.bob.id}};
                           }}};

// Operations that an app's token may call, and that take points from the account of the app itself,
// for which its owner's budgets are there. transferPoints and topUpApp take the tokens of the
// built-in client, which stand for the user themselves; the first one is tried below.
const std::set<std::string_view> others = {"createPreview",
                                           "createDeployment",
                                           "changeDeployment",
                                           "restartDeployment",
                                           "rollbackDeployment",
                                           "createCampaign",
                                           "createMarketCampaign",
                                           "changeCampaign",
                                           "buyAdPackage",
                                           "createRun",
                                           "runCron",
                                           "createBuild",
                                           "createFirstBuild",
                                           "transferPoints",
                                           "refundSpend",
                                           "topUpApp",
                                           "answerRefundRequest"};

bool takes_apps_token(const Route& route) {
  return route.guards.access.kind == Access::Kind::oauth ||
         route.guards.access.kind == Access::Kind::session_or_oauth ||
         route.guards.access.first_party == Access::FirstParty::console_and_client;
}

const Route& route_called(std::string_view name) {
  return *std::ranges::find(routes(), name, &Route::name);
}

TEST_CASE("the daily limit of an app holds for each operation that takes a user's points") {
  std::set<std::string_view> found;
  for (const Route& route : routes()) {
    const bool takes_points =
        std::ranges::find(route.errors, Code::insufficient_balance) != route.errors.end();
    if (!takes_apps_token(route) || !takes_points) continue;
    INFO(route.name);
    const bool is_member =
        std::ranges::find(members, route.name, &Member::name) != std::end(members);
    CHECK((is_member || others.contains(route.name)));
    const bool says_so =
        std::ranges::find(route.errors, Code::spend_limit_reached) != route.errors.end();
    const bool is_of_client = route.name == "transferPoints" || route.name == "topUpApp";
    CHECK(says_so == (is_member || is_of_client));
    if (is_member) found.insert(route.name);
  }
  CHECK(found.size() == 4);
  for (const Member& member : members) {
    INFO(member.name);
    Payer p;
    const Header token = p.token(p.app);
    p.set_limit(p.app, limit);
    std::string path(route_called(member.name).path());
    if (const size_t id = path.find("{id}"); id != path.npos) path.replace(id, 4, p.item);
    const auto ask = [&] { return p.g.ask("POST", path, {token}, member.body(p).dump()); };
    CHECK(ask().error() == "422 spend_limit_reached");
    CHECK(p.points() == 1'000);
    p.set_limit(p.app, limit + 1);
    CHECK(ask().status < 300);
    CHECK(p.points() == 1'000 - limit - 1);
    // Together they have one limit.
    CHECK(p.g.ask("POST", "/api/external/points/spend", {token}, R"({"amount": 1})").error() ==
          "422 spend_limit_reached");
    CHECK(p.g.ask("POST", "/api/external/points/transfer", {token},
                  json{{"amount", 1}, {"to_user_id", p.bob.id}}.dump())
              .error() == "422 spend_limit_reached");
  }
}

TEST_CASE("a limit of berth's own client holds for its transfers") {
  Payer p;
  const auto started =
      p.g.ask("POST", "/api/oauth/device_authorization", {},
              json{{"client_id", "berth"}, {"scope", "points:transfer profile:read"}}.dump());
  p.g.world.write([&](db::Tx& tx) {
    oauth::decide_device_request(tx, p.ada, started.body.at("user_code"),
                                 oauth::DeviceDecision::allow, p.g.world.keys.data);
  });
  const auto polled = p.g.ask("POST", "/api/oauth/token", {},
                              json{{"grant_type", "urn:ietf:params:oauth:grant-type:device_code"},
                                   {"device_code", started.body.at("device_code")},
                                   {"client_id", "berth"}}
                                  .dump());
  REQUIRE(polled.status == 200);
  const auto client = p.g.world.read([](db::Tx& tx) {
    return apps::find_by_client_id(tx, std::string(apps::built_in_client_id));
  });
  p.set_limit(*client, limit);
  const auto transfer = [&](std::int64_t points) {
    return p.g.ask("POST", "/api/points/transfer", {bearer(polled.body.at("access_token"))},
                   json{{"amount", points}, {"to_user_id", p.bob.id}}.dump());
  };
  CHECK(transfer(limit + 1).error() == "422 spend_limit_reached");
  CHECK(transfer(limit).status == 200);
  CHECK(transfer(1).error() == "422 spend_limit_reached");
}

}  // namespace
