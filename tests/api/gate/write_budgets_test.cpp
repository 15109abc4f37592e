// What operations may store on a day, and who may store anything: walks over the table of routes.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "api/pages/pages.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using write_budgets::Counts;

bool may_write(const Route& route) {
  return route.method() != "GET" || std::holds_alternative<WriteHandler>(route.run);
}

std::string text_of(const Route& route) {
  return std::string(route.method()) + " " + std::string(route.path());
}

TEST_CASE("each operation that may write says what it stores") {
  // They remove or end something, change nothing, or keep what they change in memory. None of them
  // lets a row appear that its own limits don't bound.
  const std::set<std::string_view> that_store_nothing = {"askToLogInByPasskey",
                                                         "awardPoints",
                                                         "cancelBuild",
                                                         "cancelCampaign",
                                                         "cancelRun",
                                                         "declineInvitation",
                                                         "deleteAlert",
                                                         "deleteDeployment",
                                                         "deleteMe",
                                                         "deleteOperatorApp",
                                                         "deletePushHook",
                                                         "deleteTrust",
                                                         "deleteWebhook",
                                                         "disconnectApp",
                                                         "dryRunDeployments",
                                                         "endDevice",
                                                         "endPlaySession",
                                                         "endSession",
                                                         "introspect",
                                                         "leaveChannel",
                                                         "previewGuestMerge",
                                                         "logout",
                                                         "rejectFriend",
                                                         "removeCampaignPlacement",
                                                         "removeCreative",
                                                         "removeFriend",
                                                         "removeMember",
                                                         "reportToken",
                                                         "revoke",
                                                         "revokePersonalToken",
                                                         "stopDeployment",
                                                         "takePushHook",
                                                         "unblockUser",
                                                         "userinfoByPost",
                                                         "verifyToken",
                                                         "withdrawFriendRequest",
                                                         "withdrawInvitation",
                                                         "withdrawRefundRequest",
                                                         "withdrawScopeRequest"};
  int walked = 0;
  std::set<std::string_view> found;
  for (const Route& route : routes()) {
    if (!may_write(route)) continue;
    ++walked;
    INFO(text_of(route));
    CHECK(route.stores != Stores::unsaid);
    const bool is_internal = route.guards.access.kind == Access::Kind::internal;
    CHECK(is_internal == (route.stores == Stores::administration));
    if (route.stores == Stores::nothing) found.insert(route.name);
    CHECK((write_budgets::find(route.stores) != nullptr || is_internal ||
           route.stores == Stores::nothing));
  }
  CHECK(found == that_store_nothing);
  WARN(walked << " operations that may write");
  CHECK(walked >= 118);
}

TEST_CASE("each form of the hosted pages says what it stores") {
  const std::set<std::string_view> that_store_nothing = {"/logout",
                                                         "/account/sessions/end",
                                                         "/account/sessions/end-others",
                                                         "/account/devices/end",
                                                         "/account/delete",
                                                         "/connected-apps/disconnect",
                                                         "/api/oauth/authorize",
                                                         "/end-session",
                                                         "/end-session/confirm"};
  int walked = 0;
  for (const pages::PageRow& row : pages::Pages::rows()) {
    if (row.method != "POST") continue;
    ++walked;
    INFO(row.path);
    CHECK((row.stores == Stores::nothing) == that_store_nothing.contains(row.path));
    CHECK((row.stores == Stores::administration) == (row.who == pages::Who::admin));
  }
  WARN(walked << " forms");
  CHECK(walked >= 29);
}

// Everybody who may call: with the tokens of a user who owns an app with all scopes.
struct Callers {
  Callers() {
    ScopeSet all;
    for (const ScopeInfo& scope : all_scopes()) all.add(scope.scope);
    app = g.world.approved_app(user, all);
    jwt = g.world.jwt(user);
    tokens = g.world.tokens(app, user, all.text());
  }
  void unverify() {
    g.world.write([&](db::Tx& tx) {
      tx.execute("UPDATE users SET email_verified_at = NULL WHERE id = $1", user.id);
    });
  }
  std::vector<Header> headers(const Route& route) const {
    switch (route.guards.access.kind) {
      case Access::Kind::open:
        return {};
      case Access::Kind::internal:
        return g.admin;
      case Access::Kind::oauth:
        return {bearer(tokens.access_token)};
      case Access::Kind::play_session:
        return {bearer(tokens.session_token.value())};
      case Access::Kind::session:
      case Access::Kind::session_or_play_session:
      case Access::Kind::session_or_oauth:
        return {bearer(jwt)};
    }
    return {};
  }
  Answered call(const Route& route, std::vector<Header> headers) {
    return g.ask(std::string(route.method()), path_with(route, app.id), headers,
                 !route.has_body() ? "" : "{}");
  }
  Answered call(const Route& route) { return call(route, headers(route)); }

  GateWorld g;
  accounts::User user = g.world.verified_user("ada");
  apps::App app;
  std::string jwt;
  oauth::Tokens tokens;
};

std::string code_of(const Answered& answer) {
  if (!answer.body.is_object()) return "";
  if (answer.body.contains("errors")) return answer.body["errors"].value("code", "");
  if (!answer.body.contains("error")) return "";
  const json& error = answer.body["error"];
  return error.is_string() ? error.get<std::string>() : error.value("code", "");
}

// Those that end the login or delete the app, which the walk needs, come last.
std::vector<const Route*> writing_routes() {
  std::vector<const Route*> rows, last;
  for (const Route& route : routes()) {
    if (!may_write(route) || route.guards.access.kind == Access::Kind::internal) continue;
    const bool ends = route.name == "logout" || route.name == "endPlaySession" ||
                      route.name == "deleteOperatorApp";
    (ends ? last : rows).push_back(&route);
  }
  rows.insert(rows.end(), last.begin(), last.end());
  return rows;
}

TEST_CASE("before its address is verified, an account may do nothing but what is its own") {
  Callers c;
  int refused = 0, asked = 0;
  for (const bool by_app : {true, false})
    for (const Route* route : writing_routes()) {
      if (by_app && route->guards.access.kind != Access::Kind::session_or_play_session) continue;
      const auto headers =
          by_app ? std::vector{bearer(c.tokens.session_token.value())} : c.headers(*route);
      if (headers.empty()) continue;
      c.unverify();  // again, because one of the operations verifies it
      ++asked;
      const auto* budget = write_budgets::find(route->stores);
      const bool is_for_verified = budget != nullptr && budget->unverified.bytes == 0;
      const Answered answer = c.call(*route, headers);
      INFO(text_of(*route) << " " << answer.text);
      CHECK((code_of(answer) == "email_not_verified") == is_for_verified);
      if (!is_for_verified) continue;
      CHECK(answer.status == 403);
      ++refused;
    }
  WARN(refused << " of " << asked << " calls are refused");
  CHECK(refused >= 28);
}

TEST_CASE("so it is where nothing is counted") {
  Callers c;
  c.g.services.admission.write_limits = false;
  c.unverify();
  CHECK(c.g.ask("POST", "/api/social/chat/channels", {bearer(c.jwt)}, "{}").error() ==
        "403 email_not_verified");
}

TEST_CASE("whoever has used up a budget is refused in the operation's own shape, until midnight") {
  Callers c;
  // Budgets of 0.
  c.g.services.admission.write_counts = std::make_shared<Counts>("key", 1'000'000'000);
  int refused = 0, asked = 0;
  for (const Route* route : writing_routes()) {
    ++asked;
    const Answered answer = c.call(*route);
    INFO(text_of(*route) << " " << answer.text);
    const bool has_budget = write_budgets::find(route->stores) != nullptr;
    // Nothing is known of the account where no account is given, and nothing counts for the network
    // where an approved app calls.
    CHECK((code_of(answer) == "rate_limited") == has_budget);
    if (!has_budget) continue;
    ++refused;
    CHECK(answer.status == 429);
    CHECK(answer.header("Retry-After") == "43200");  // the clock stands at noon
    CHECK(answer.body.contains("error_description") == is_oauth(route->guards.shape));
  }
  WARN(refused << " of " << asked << " operations are refused");
  CHECK(refused >= 62);
  // Admins aren't.
  CHECK(c.g.ask("POST", "/api/internal/points/mint", c.g.admin,
                json{{"account", {{"kind", "treasury"}}}, {"amount", 1}, {"reason", "test"}}.dump())
            .status < 300);
}

TEST_CASE("near a full disk strangers are refused first, then operators, and payments not at all") {
  DiskSpace space = {.total = 1'000, .free = 1'000};
  std::map<std::string, int> refused;
  for (const auto& [name, free] : {std::pair("ample", 1'000), {"low", 80}, {"very low", 10}}) {
    Callers c;
    c.g.services.admission.disk_room = std::make_shared<DiskRoom>(
        [free = free] { return DiskSpace{.total = 1'000, .free = free}; });
    space.free = free;
    for (const Route* route : writing_routes()) {
      const Answered answer = c.call(*route);
      INFO(name << " " << text_of(*route) << " " << answer.text);
      const auto* budget = write_budgets::find(route->stores);
      const bool is_refused = budget != nullptr && budget->stops_at != DiskStage::ample &&
                              stage_of(space) >= budget->stops_at;
      CHECK((answer.status == 503) == is_refused);
      if (!is_refused) continue;
      CHECK(code_of(answer) == "unavailable");
      CHECK(answer.body.contains(json::json_pointer("/errors/detail")));
      CHECK(answer.has("Retry-After"));
      ++refused[name];
    }
  }
  WARN(refused["low"] << " operations are refused at first, " << refused["very low"] << " then");
  CHECK(refused["ample"] == 0);
  CHECK(refused["low"] >= 25);
  CHECK(refused["very low"] >= refused["low"] + 20);
}

TEST_CASE("an answer that is kept is given again also to somebody who may store nothing more") {
  Callers c;
  c.g.world.mint(ledger::user_account(c.user.id), 100);
  const auto spend = [&](const std::string& key) {
    return c.g.ask("POST", "/api/external/points/spend",
                   {bearer(c.tokens.access_token), {"Idempotency-Key", key}}, R"({"amount": 1})");
  };
  const Answered first = spend("one");
  REQUIRE(first.status == 200);
  c.g.services.admission.write_counts->charge(
      {.account_id = c.user.id, .is_verified = {}, .address = {}}, Stores::payments,
      {.bytes = 10'000'000, .rows = 1}, c.g.world.clock.now());
  CHECK(spend("two").error() == "429 rate_limited");
  const Answered again = spend("one");
  CHECK(again.status == 200);
  CHECK(again.text == first.text);
  c.g.world.clock.advance(std::chrono::hours(24));
  CHECK(spend("two").status != 429);
}

TEST_CASE("in an approved app, somebody whose address isn't verified may pay as others do") {
  Callers c;
  c.g.world.mint(ledger::user_account(c.user.id), 1'000);
  c.unverify();
  for (int i = 0; i < 100; ++i)
    REQUIRE(c.g.ask("POST", "/api/external/points/spend", {bearer(c.tokens.access_token)},
                    json{{"amount", 1}, {"description", std::string(100, 'x')}}.dump())
                .status == 200);
  c.g.services.admission.write_counts->charge(
      {.account_id = c.user.id, .is_verified = {}, .address = {}}, Stores::payments,
      {.bytes = 10'000'000, .rows = 1}, c.g.world.clock.now());
  CHECK(c.g.ask("POST", "/api/external/points/spend", {bearer(c.tokens.access_token)},
                R"({"amount": 1})")
            .error() == "429 rate_limited");
}

TEST_CASE("an app's server doesn't use up the budget of its network, and everybody else does") {
  Callers c;
  c.g.world.mint(ledger::user_account(c.user.id), 100);
  c.g.services.admission.write_counts->charge(
      {.account_id = {}, .is_verified = {}, .address = "192.0.2.1"}, Stores::payments,
      {.bytes = 100'000'000, .rows = 1}, c.g.world.clock.now());
  CHECK(c.g.ask("POST", "/api/external/points/spend", {bearer(c.tokens.access_token)},
                R"({"amount": 1})")
            .status == 200);
  CHECK(c.g.ask("POST", "/api/points/transfer", {bearer(c.jwt)}, "{}").error() ==
        "429 rate_limited");
  c.g.remote_address = "198.51.100.1";
  CHECK(c.g.ask("POST", "/api/points/transfer", {bearer(c.jwt)}, "{}").status == 422);
}

}  // namespace
