// Every operation that changes something leaves an entry in the audit log, which says who did what,
// on whom or what, when and from where.
#include "api/gate/audit_entry.h"

#include <catch2/catch.hpp>
#include <set>

#include "controller/base/crypto.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/kernel/audit.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

using Entries = std::vector<audit::Entry>;

Entries entries(GateWorld& g, const audit::Filter& filter = {}) {
  return g.world.read(
      [&](db::Tx& tx) { return audit::list(tx, filter, {.page = 1, .page_size = 100}).items; });
}

const std::string password = "correct horse battery";
const json ada = {{"email", "ada@example.org"}, {"username", "ada"}, {"password", password}};

TEST_CASE("each operation that changes something leaves an entry, or its row says why not") {
  const std::set<std::string_view> unaudited = {"spendPoints",
                                                "externalTransferPoints",
                                                "sessionHeartbeat",
                                                "refreshSession",
                                                "token",
                                                "refresh",
                                                "authorizeDevice",
                                                "sendMessage",
                                                "recordAdEvent",
                                                "takePushHook",
                                                "dryRunDeployments",
                                                "reportToken"};
  std::set<std::string_view> found;
  int walked = 0;
  for (const Route& route : routes()) {
    if (!request_changes(route)) {
      CHECK(route.unaudited.empty());
      continue;
    }
    ++walked;
    if (!route.unaudited.empty()) found.insert(route.name);
    // An admin's actions have no other record.
    if (route.guards.access.kind == Access::Kind::internal) CHECK(route.unaudited.empty());
  }
  CHECK(found == unaudited);
  WARN(walked << " operations change something; " << found.size() << " leave no entry");
  CHECK(walked >= 150);
}

// Calls each operation as its owner, with an empty body, and compares the entries with the answers.
// tests/operations calls each of them so that it succeeds, and looks for its entry as well.
TEST_CASE("whatever succeeds and has changed something has one entry, and what was refused none") {
  Operator o;
  int succeeded = 0;
  for (const Route& route : routes()) {
    if (!request_changes(route) || route.name == "deleteOperatorApp" || route.name == "logout")
      continue;
    using AccessKind = Access::Kind;
    const AccessKind kind = route.guards.access.kind;
    std::vector<Header> headers = kind == AccessKind::internal ? o.g.admin
                                  : kind == AccessKind::oauth  ? std::vector{o.token}
                                                               : std::vector{bearer(o.jwt)};
    const std::string id = "walk-" + std::string(route.name);
    headers.push_back({"X-Request-Id", id});
    const Answered answer = o.g.ask(std::string(route.method()), path_with(route, o.app.id),
                                    headers, route.has_body() ? "{}" : "");
    const int count = int(o.g.world.read([&](db::Tx& tx) {
      return tx.number("SELECT count(*) FROM audit_log WHERE request_id = $1", id);
    }));
    INFO(route.name << " " << answer.status << " " << answer.text);
    if (answer.status >= 400) CHECK(count == 0);
    if (answer.status >= 400) continue;
    ++succeeded;
    CHECK(count <= (route.unaudited.empty() ? 1 : 0));
  }
  WARN(succeeded << " succeeded");
  CHECK(succeeded >= 5);
}

TEST_CASE("an entry says who, what, on what, for which app, and from where") {
  Operator o;
  const std::string path = "/api/operator/apps/" + o.app.id;
  const Answered changed = o.g.ask("PUT", path, {bearer(o.jwt), {"X-Request-Id", "change"}},
                                   json{{"app_name", "another"}}.dump());
  REQUIRE(changed.status == 200);
  const Entries found = entries(o.g, {.action = "updateOperatorApp"});
  REQUIRE(found.size() == 1);
  const audit::Entry& entry = found[0];
  CHECK(entry.actor == "user:" + o.user.id);
  CHECK(entry.user_id == o.user.id);
  CHECK(entry.operation == "updateOperatorApp");
  CHECK(entry.target_kind == "app");
  CHECK(entry.target == o.app.id);
  CHECK(entry.app_id == o.app.id);
  CHECK(entry.token_kind == "session");
  CHECK(entry.token_id.has_value());
  CHECK(entry.network == accounts::network_of("192.0.2.1"));
  CHECK(entry.request_id == "change");
  CHECK(entry.at == o.g.world.clock.now());
  for (const audit::Filter& filter :
       {audit::Filter{.user_id = o.user.id}, audit::Filter{.app_id = o.app.id},
        audit::Filter{.network = entry.network}, audit::Filter{.target = o.app.id},
        audit::Filter{.user_id = o.user.id, .token_id = entry.token_id}})
    CHECK(entries(o.g, filter).size() >= 1);
  CHECK(entries(o.g, {.user_id = o.user.id, .token_id = "another"}).empty());
  CHECK(entries(o.g, {.network = "198.51.100.1"}).empty());
  // A thing that was made is the target, and not the app to which it belongs.
  const Answered made = o.g.ask(
      "POST", path + "/webhooks", {bearer(o.jwt)},
      json{{"url", "https://hooks.example.org/a"}, {"events", json::array({"deployment.status"})}}
          .dump());
  REQUIRE(made.status == 201);
  const Entries hooks = entries(o.g, {.action = "createWebhook"});
  REQUIRE(hooks.size() == 1);
  CHECK(hooks[0].app_id == o.app.id);
  CHECK(hooks[0].target != o.app.id);
  CHECK_FALSE(hooks[0].target.empty());
}

TEST_CASE("a consent's entry names the app") {
  Operator o;
  REQUIRE(o.g.ask("GET",
                  "/api/oauth/authorize?response_type=code&client_id=" + o.app.client_id +
                      "&redirect_uri=" + berth::test::redirect_uri +
                      "&scope=profile:read&code_challenge=" + base64url(sha256("v")) +
                      "&code_challenge_method=S256",
                  {bearer(o.jwt)})
              .status == 200);
  const Entries found = entries(o.g, {.user_id = o.user.id});
  REQUIRE(found.size() == 1);
  CHECK(found[0].action == "authorize");
  CHECK(found[0].target_kind == "app");
  CHECK(found[0].target == o.app.id);
}

TEST_CASE("what an app did with its session token names the app") {
  Operator o;
  REQUIRE(o.tokens.session_token);
  REQUIRE(o.g.ask("PUT", "/api/avatars/me", {bearer(*o.tokens.session_token)},
                  R"({"display_name": "mine"})")
              .status == 200);
  const Entries found = entries(o.g, {.user_id = o.user.id});
  REQUIRE(found.size() == 1);
  CHECK(found[0].token_kind == "play_session");
  CHECK(found[0].app_id == o.app.id);
}

TEST_CASE("what a person does with their connection to an app isn't told to the app's admins") {
  Operator o;
  const std::string path = "/api/oauth/connected-apps/" + o.app.id;
  REQUIRE(o.g.ask("DELETE", path, {bearer(o.jwt)}).status == 200);
  const Entries found = entries(o.g, {.action = "disconnectApp"});
  REQUIRE(found.size() == 1);
  CHECK(found[0].target_kind == "app");
  CHECK(found[0].target == o.app.id);
  CHECK_FALSE(found[0].app_id);
  // An app that was made is what its creation is about, also if it asks for scopes.
  const Answered made = o.g.ask("POST", "/api/oauth/apps", {bearer(o.jwt)},
                                json{{"app_name", "another"},
                                     {"redirect_uris", {"https://example.org/back"}},
                                     {"allowed_scopes", {"deploy:manage"}}}
                                    .dump());
  INFO(made.text);
  REQUIRE(made.status == 201);
  REQUIRE(made.body["scope_request"].is_object());
  const Entries creations = entries(o.g, {.target = made.body["app"]["id"].get<std::string>()});
  REQUIRE(creations.size() == 1);
  CHECK(creations[0].app_id == creations[0].target);
}

TEST_CASE("registering and logging in have entries, and failed logins one of their own") {
  GateWorld g;
  const Answered registered = g.ask("POST", "/api/auth/register", {}, ada.dump());
  REQUIRE(registered.status == 201);
  const std::string id = registered.body["user"]["id"];
  json login = {{"email", "ada@example.org"}, {"password", "wrong"}};
  CHECK(g.ask("POST", "/api/auth/login", {}, login.dump()).status == 401);
  login["password"] = password;
  REQUIRE(g.ask("POST", "/api/auth/login", {}, login.dump()).status == 200);
  const Entries found = entries(g, {.user_id = id});
  REQUIRE(found.size() == 2);
  for (const audit::Entry& entry : found) {
    CHECK(entry.actor == "user:" + id);
    CHECK(entry.target == id);
    CHECK_FALSE(entry.token_kind);
  }
  CHECK(found[0].action == "login");
  CHECK(found[1].action == "register");
  // The login's entry leads to what was done in its session.
  const auto session = g.world.read(
      [&](db::Tx& tx) { return accounts::list_sessions(tx, id, {.page = 1, .page_size = 2}); });
  REQUIRE(session.items.size() == 1);
  CHECK(found[0].token_id == session.items[0].id);
  CHECK_FALSE(found[1].token_id);
  CHECK(entries(g).size() == 2);
  // It is written later, so that the answer doesn't take longer than for an unknown address.
  CHECK(g.security.write_entries(g.world.db) == 1);
  const Entries failed = entries(g, {.action = "login.failed"});
  REQUIRE(failed.size() == 1);
  CHECK(failed[0].actor == "anonymous");
  CHECK(failed[0].operation == "login");
  CHECK(failed[0].user_id == id);
  CHECK(failed[0].target == id);
  CHECK(failed[0].network == accounts::network_of("192.0.2.1"));
  CHECK(failed[0].details == R"({"reason":"wrong_password"})");
  CHECK(failed[0].request_id.has_value());
}

TEST_CASE("a repeated request with its Idempotency-Key, and one that changes nothing, leave none") {
  Operator o;
  const std::string body =
      json{{"account", {{"kind", "treasury"}}}, {"amount", 5}, {"reason", "test"}}.dump();
  for (int i = 0; i < 2; ++i) {
    auto headers = o.g.admin;
    headers.push_back({"Idempotency-Key", "one"});
    CHECK(o.g.ask("POST", "/api/internal/points/mint", headers, body).status == 201);
  }
  // Its module has recorded it, so the gate hasn't.
  const Entries mints = entries(o.g, {.actor = "internal"});
  REQUIRE(mints.size() == 1);
  CHECK(mints[0].action == "points.mint");
  CHECK(mints[0].operation == "mint");
  CHECK(mints[0].token_kind == "internal_secret");
  const json unknown = {{"client_id", o.app.client_id},
                        {"client_secret", o.registered.client_secret},
                        {"token", "at_live_unknown"}};
  CHECK(o.g.ask("POST", "/api/oauth/revoke", {}, unknown.dump()).status == 200);
  CHECK(entries(o.g, {.action = "revoke"}).empty());
  json known = unknown;
  known["token"] = o.tokens.access_token;
  CHECK(o.g.ask("POST", "/api/oauth/revoke", {}, known.dump()).status == 200);
  CHECK(entries(o.g, {.action = "revoke"}).size() == 1);
}

TEST_CASE("a deleted account's network and requests go, also of the deletion itself") {
  GateWorld g;
  REQUIRE(g.ask("POST", "/api/auth/register", {}, ada.dump()).status == 201);
  const json login = {{"email", "ada@example.org"}, {"password", password}};
  const Answered in = g.ask("POST", "/api/auth/login", {}, login.dump());
  REQUIRE(in.status == 200);
  const std::string id = in.body["user"]["id"];
  REQUIRE(g.ask("DELETE", "/api/auth/me", {bearer(in.body["token"])},
                json{{"password", password}}.dump())
              .status == 200);
  g.world.write([&](db::Tx& tx) { audit::erase_of_user(tx, id, 100); });
  CHECK(entries(g, {.user_id = id}).empty());
  const Entries left = entries(g, {.actor = "user:" + id});
  REQUIRE(left.size() == 3);
  for (const audit::Entry& entry : left) {
    CHECK_FALSE(entry.network);
    CHECK_FALSE(entry.request_id);
    CHECK_FALSE(entry.operation.empty());
  }
}

}  // namespace
