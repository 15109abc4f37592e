// Personal access tokens over the API: making and revoking them, what they open, and reports.
#include <catch2/catch.hpp>

#include "api/gate/event_stream.h"
#include "controller/domain/apps/invitations.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;

constexpr const char* some_id = "01936f5e-7c1a-7000-8000-000000000001";

struct Person {
  GateWorld g;
  accounts::User user = g.world.verified_user("ada");
  apps::App app = g.world.approved_app(user, {Scope::deploy_manage, Scope::app_balance_read});
  Header jwt = bearer(g.world.jwt(user));

  Answered make(const json& more = json::object()) {
    json body = {{"name", "CI"}, {"scopes", {"deploy:read"}}};
    body.update(more);
    return g.ask("POST", "/api/auth/tokens", {jwt}, body.dump());
  }
  // Returns the field that shows a new token.
  Header token(const json& more = json::object()) {
    const Answered made = make(more);
    REQUIRE(made.status == 201);
    return bearer(made.body.at("token"));
  }
  Header with(const json& scopes, const json& more = json::object()) {
    json body = {{"scopes", scopes}};
    body.update(more);
    return token(body);
  }
  std::string ask(const std::string& method, const std::string& path,
                  const std::vector<Header>& headers, const std::string& body = "") {
    const auto answer = g.ask(method, path, headers, body);
    return answer.status < 400 ? std::to_string(answer.status) : answer.error();
  }
  std::string deploy(const apps::App& to, const std::string& name) {
    return g.world.deploy(to, berth::test::order(name)).id;
  }
};

TEST_CASE("a personal token is shown once, listed, and revoked") {
  Person p;
  const Answered made = p.make({{"expires_in_days", 30}});
  REQUIRE(made.status == 201);
  CHECK(made.header("Cache-Control") == "no-store");
  const std::string secret = made.body.at("token");
  const json& shown = made.body.at("personal_token");
  CHECK(secret.starts_with("pat_live_"));
  CHECK(shown.at("name") == "CI");
  CHECK(shown.at("scopes") == json({"deploy:read"}));
  CHECK(shown.at("hint") == secret.substr(secret.size() - 4));
  CHECK(shown.at("app_id").is_null());
  CHECK(shown.at("deployment_id").is_null());
  CHECK(shown.at("last_used_at").is_null());
  CHECK(shown.at("expires_at") == "2026-03-02T12:00:00.000Z");

  CHECK(p.ask("GET", "/api/deploy/apps", {bearer(secret)}) == "200");
  const Answered list = p.g.ask("GET", "/api/auth/tokens", {p.jwt});
  REQUIRE(list.body.at("tokens").size() == 1);
  CHECK(list.text.find(secret) == std::string::npos);
  CHECK(list.body.at("tokens")[0].at("last_used_at") == "2026-01-31T12:00:00.000Z");
  CHECK(list.body.at("tokens")[0].at("last_used_from") == "192.0.2.1");

  const std::string path = "/api/auth/tokens/" + shown.at("id").get<std::string>();
  const Header bobs = bearer(p.g.world.jwt(p.g.world.verified_user("bob")));
  CHECK(p.ask("DELETE", path, {bobs}) == "404 not_found");
  CHECK(p.ask("DELETE", path, {p.jwt}) == "200");
  CHECK(p.ask("DELETE", path, {p.jwt}) == "404 not_found");
  CHECK(p.ask("GET", "/api/deploy/apps", {bearer(secret)}) == "401 token_revoked");
  CHECK(p.g.ask("GET", "/api/auth/tokens", {p.jwt}).body.at("tokens").empty());
}

TEST_CASE("making a token takes a session with a fresh proof") {
  Person p;
  CHECK(p.make().status == 201);
  p.g.world.clock.advance(10min);
  CHECK(p.make().error() == "401 insufficient_user_authentication");
}

TEST_CASE("a mistyped token is refused as such, and one of nobody as unknown") {
  Person p;
  Header token = p.token();
  token.value.back() = token.value.back() == 'x' ? 'y' : 'x';
  const Answered typed = p.g.ask("GET", "/api/deploy/apps", {token});
  CHECK(typed.error() == "401 invalid_token");
  CHECK(typed.text.find("mistyped") != std::string::npos);
}

TEST_CASE("wishes that can't be met are refused") {
  Person p;
  for (const json& wrong :
       {json{{"name", ""}}, json{{"scopes", json::array()}}, json{{"scopes", {"admins:all"}}},
        json{{"scopes", {"points:spend"}}}, json{{"expires_in_days", 0}},
        json{{"expires_in_days", 366}}, json{{"app_id", "x"}}}) {
    INFO(wrong.dump());
    CHECK(p.make(wrong).error() == "422 validation_failed");
  }
  CHECK(p.make({{"app_id", some_id}}).error() == "404 app_not_found");
  CHECK(p.make({{"deployment_id", some_id}}).error() == "404 deployment_not_found");
  const auto bob = p.g.world.verified_user("bob");
  const apps::App bobs = p.g.world.approved_app(bob, {Scope::deploy_manage});
  CHECK(p.make({{"app_id", bobs.id}}).error() == "403 forbidden");
  CHECK(p.make({{"deployment_id", p.deploy(bobs, "bobs")}}).error() == "403 forbidden");
  const std::string own = p.deploy(p.app, "own");
  const apps::App second = p.g.world.approved_app(p.user, {Scope::deploy_manage});
  CHECK(p.make({{"app_id", second.id}, {"deployment_id", own}}).error() == "422 validation_failed");
}

TEST_CASE("each deploy operation takes the narrower scope, and deploy:manage as before") {
  Person p;
  const std::string id = p.deploy(p.app, "shop");
  const std::string path = "/api/deploy/apps/" + id;
  const auto outcomes = [&](const Header& token) {
    std::string text;
    for (const auto& [method, target] : {std::pair{"GET", path},
                                         {"POST", path + "/stop"},
                                         {"GET", path + "/container-logs"},
                                         {"GET", path + "/exec?command=ls"}})
      text += p.g.ask(method, target, {token}).text.find("insufficient_scope") == std::string::npos
                  ? "+"
                  : "-";
    return text;
  };
  CHECK(outcomes(p.with({"deploy:read"})) == "+---");
  CHECK(outcomes(p.with({"deploy:write"})) == "-+--");
  CHECK(outcomes(p.with({"logs:read"})) == "--+-");
  CHECK(outcomes(p.with({"deploy:manage"})) == "+++-");
  CHECK(outcomes(p.with({"profile:read"})) == "----");
  // Tokens of the app work as they did, and can be narrowed.
  const auto of_app = [&](const std::string& scope) {
    return bearer(
        p.g.world.write([&](db::Tx& tx) { return oauth::client_credentials(tx, p.app, scope); })
            .access_token);
  };
  CHECK(outcomes(of_app("deploy:manage")) == "+++-");
  CHECK(outcomes(of_app("deploy:read")) == "+---");
  CHECK(outcomes(of_app("deploy:read logs:read")) == "+-+-");
}

TEST_CASE("the scopes of a token are cut at use to what the app is approved for") {
  Person p;
  const Header token = p.with({"deploy:read", "deploy:write"});
  CHECK(p.ask("GET", "/api/deploy/tiers", {token}) == "200");
  CHECK(p.ask("GET", "/api/deploy/variables", {token}) == "200");
  p.g.world.write(
      [&](db::Tx& tx) { apps::revoke_scopes(tx, p.app.id, {Scope::deploy_write}, "root"); });
  CHECK(p.ask("GET", "/api/deploy/variables", {token}) == "200");
  CHECK(p.ask("PATCH", "/api/deploy/variables", {token}, "{}") == "403 insufficient_scope");
  p.g.world.write(
      [&](db::Tx& tx) { apps::revoke_scopes(tx, p.app.id, {Scope::deploy_read}, "root"); });
  CHECK(p.ask("GET", "/api/deploy/variables", {token}) == "403 insufficient_scope");
}

TEST_CASE("Berth-App chooses one of the owner's apps, unless the token is for one") {
  Person p;
  const apps::App second = p.g.world.approved_app(p.user, {Scope::app_balance_read});
  const apps::App bobs =
      p.g.world.approved_app(p.g.world.verified_user("bob"), {Scope::app_balance_read});
  const std::string path = "/api/external/app/balance";
  const Header all = p.with({"app:balance:read"});
  const Header one = p.with({"app:balance:read"}, {{"app_id", second.id}});
  const auto asked = [&](const std::vector<Header>& headers) {
    const Answered answer = p.g.ask("GET", path, headers);
    return answer.status == 200 ? answer.body.at("app_id").get<std::string>() : answer.error();
  };
  CHECK(asked({all}) == "400 malformed_request");
  CHECK(asked({all, {"Berth-App", p.app.client_id}}) == p.app.id);
  CHECK(asked({all, {"Berth-App", second.id}}) == second.id);
  CHECK(asked({all, {"Berth-App", bobs.id}}) == "403 forbidden");
  CHECK(asked({one}) == second.id);
  CHECK(asked({one, {"Berth-App", second.client_id}}) == second.id);
  CHECK(asked({one, {"Berth-App", p.app.id}}) == "403 forbidden");
}

TEST_CASE("a token of one deployment opens that one alone") {
  Person p;
  const std::string mine = p.deploy(p.app, "mine"), other = p.deploy(p.app, "other");
  const Header token = p.with({"deploy:read", "deploy:write"}, {{"deployment_id", mine}});
  CHECK(p.ask("GET", "/api/deploy/apps/" + mine, {token}) == "200");
  CHECK(p.ask("POST", "/api/deploy/apps/" + mine + "/stop", {token}) == "200");
  CHECK(p.ask("GET", "/api/deploy/apps/" + other, {token}) == "403 forbidden");
  CHECK(p.ask("POST", "/api/deploy/apps", {token},
              R"({"name": "new", "image": "ghcr.io/a/b:1"})") == "403 forbidden");
  CHECK(p.ask("GET", "/api/deploy/variables", {token}) == "403 forbidden");
  CHECK(p.ask("GET", "/api/deploy/tiers", {token}) == "200");
  const Answered list = p.g.ask("GET", "/api/deploy/apps", {token});
  REQUIRE(list.body.at("deployments").size() == 1);
  CHECK(list.body.at("deployments")[0].at("id") == mine);
  CHECK(list.body.at("total") == 1);
  CHECK(p.g.ask("GET", "/api/deploy/apps?label=a%3Db", {token}).body.at("total") == 0);
}

TEST_CASE(
    "a member's token asks for no role where the app doesn't matter, and ends with the role") {
  Person p;
  const auto bob = p.g.world.verified_user("bob");
  const apps::MemberChange by_ada = {
      .actor = p.user, .keys = p.g.world.keys, .base_url = p.g.services.base_url};
  const apps::MemberChange by_bob = {
      .actor = bob, .keys = p.g.world.keys, .base_url = p.g.services.base_url};
  p.g.world.write([&](db::Tx& tx) {
    const auto invitation = apps::invite(
        tx, by_ada, p.app.id,
        {.email = {}, .username = "bob", .role = apps::Role::viewer, .deployments = {}});
    apps::accept(tx, by_bob, invitation.id);
  });
  const json body = {{"name", "bob"}, {"scopes", {"deploy:read"}}, {"app_id", p.app.id}};
  const Answered made =
      p.g.ask("POST", "/api/auth/tokens", {bearer(p.g.world.jwt(bob))}, body.dump());
  REQUIRE(made.status == 201);
  const Header token = bearer(made.body.at("token"));
  CHECK(p.ask("GET", "/api/deploy/apps", {token}) == "200");
  CHECK(p.ask("GET", "/api/deploy/tiers", {token}) == "200");
  CHECK(p.ask("GET", "/api/deploy/names/free", {token}) == "200");
  // Whoever works on an app can't go on where its account was suspended.
  p.g.world.write([&](db::Tx& tx) { accounts::suspend(tx, p.user.id, "root", p.g.world.keys); });
  CHECK(p.ask("GET", "/api/deploy/apps", {token}) == "403 account_suspended");
  p.g.world.write([&](db::Tx& tx) { accounts::reactivate(tx, p.user.id, "root"); });
  CHECK(p.ask("GET", "/api/deploy/apps", {token}) == "200");
  p.g.world.write([&](db::Tx& tx) { apps::remove_member(tx, by_ada, p.app.id, bob.id); });
  CHECK(p.ask("GET", "/api/deploy/apps", {token}) == "403 forbidden");
  CHECK(p.ask("GET", "/api/deploy/tiers", {token}) == "403 forbidden");
}

TEST_CASE("a token for one deployment makes no preview of it, which would be another one") {
  Person p;
  const std::string shop = p.deploy(p.app, "shop");
  const json scopes = {"deploy:read", "deploy:write"};
  const std::string path = "/api/deploy/apps/" + shop + "/previews";
  const std::string body = R"({"name": "other"})";
  CHECK(p.ask("POST", path, {p.with(scopes, {{"deployment_id", shop}})}, body) == "403 forbidden");
  CHECK(p.ask("POST", path, {p.with(scopes)}, body) == "201");
}

TEST_CASE("a session that has ended meanwhile gives no other way in") {
  Person p;
  const std::string session = p.g.world.log_in(p.user).id;
  p.g.world.write([&](db::Tx& tx) {
    CHECK_NOTHROW(accounts::require_session(tx, session));
    accounts::end_sessions(tx, p.user.id);
    CHECK_THROWS_AS(accounts::require_session(tx, session), Error);
  });
}

TEST_CASE("a personal token opens nothing of the account and moves none of its points") {
  Person p;
  json every = json::array();
  for (const ScopeInfo& scope : all_scopes())
    if (scope.name != "points:spend" && scope.name != "points:transfer" &&
        scope.name != "points:award")
      every.push_back(scope.name);
  const Header token = p.with(every);
  for (const auto& [method, path] :
       {std::pair{"POST", "/api/auth/tokens"},
        {"GET", "/api/auth/tokens"},
        {"DELETE", "/api/auth/tokens/01936f5e-7c1a-7000-8000-000000000001"},
        {"GET", "/api/auth/me"},
        {"PATCH", "/api/auth/me"},
        {"DELETE", "/api/auth/me"},
        {"GET", "/api/auth/sessions"},
        {"POST", "/api/auth/change-password"},
        {"POST", "/api/auth/step-up"},
        {"POST", "/api/auth/logout"},
        {"POST", "/api/oauth/apps"},
        {"DELETE", "/api/operator/apps/01936f5e-7c1a-7000-8000-000000000001"},
        {"POST", "/api/points/transfer"},
        {"POST", "/api/points/top-up"},
        {"GET", "/api/oauth/authorize"},
        {"POST", "/api/sessions/heartbeat"},
        {"GET", "/api/social/friends"}}) {
    INFO(path);
    CHECK(p.ask(method, path, {token}, "{}") == "401 wrong_token_type");
  }
  CHECK(p.ask("GET", "/api/internal/treasury", {token}) == "403 insufficient_scope");
  for (const char* path : {"/api/external/points/spend", "/api/external/points/transfer"})
    CHECK(p.ask("POST", path, {token}, "{}") == "403 insufficient_scope");
  CHECK(p.ask("GET", "/api/external/profile", {token}) == "200");
  CHECK(p.ask("GET", "/api/external/points/balance", {token}) == "200");
  CHECK(p.ask("GET", "/api/v1/ads/campaigns", {token}) == "403 insufficient_scope");  // the app
  // It isn't an app's token: apps can't ask what it is, or end it.
  const json body = {{"token", token.value.substr(7)}};
  const Answered seen = p.g.ask("POST", "/api/oauth/token/verify", {}, body.dump());
  CHECK(seen.body.at("active") == false);
  CHECK(seen.body.at("reason") == "not_found");
}

TEST_CASE("what concerns the points of an app needs app:balance:read") {
  Person p;
  const Header without = p.with({"deploy:manage"}), reads = p.with({"app:balance:read"});
  for (const char* path :
       {"/api/operator/money", "/api/operator/money/history", "/api/operator/analytics"}) {
    INFO(path);
    CHECK(p.ask("GET", path, {without}) == "403 insufficient_scope");
    CHECK(p.ask("GET", path, {reads}) == "200");
  }
  const apps::App second = p.g.world.approved_app(p.user, {Scope::app_balance_read});
  const Header one = p.with({"app:balance:read"}, {{"app_id", p.app.id}});
  CHECK(p.ask("GET", "/api/operator/money", {one}) == "200");
  CHECK(p.ask("GET", "/api/operator/money?app_id=" + second.id, {one}) == "403 forbidden");
}

TEST_CASE("a stream looks at its personal token again, and ends with it") {
  Person p;
  const std::string id = p.deploy(p.app, "shop");
  const Answered made = p.make();
  const auto route = std::ranges::find(routes(), "deploymentEvents", &Route::name);
  REQUIRE(route != routes().end());
  Request request;
  request.method = "GET";
  const std::string shown = "Bearer " + made.body.at("token").get<std::string>();
  request.headers.add("Authorization", shown);
  const Call call = {
      .http = request, .route = &*route, .path = {{"id", id}}, .address = "192.0.2.1"};
  const BearerCheck check(call, p.g.services);
  const auto look = [&] { p.g.world.read([&](db::Tx& tx) { check.in(tx); }); };
  CHECK_NOTHROW(look());
  CHECK(bearer_check_interval <= 5s);
  p.g.ask("DELETE",
          "/api/auth/tokens/" + made.body.at("personal_token").at("id").get<std::string>(),
          {p.jwt});
  CHECK(berth::test::refusal(look) == "401 token_revoked");
}

TEST_CASE("whoever finds a token can report it, and learns nothing") {
  Person p;
  const Header token = p.token();
  const auto report = [&](const std::string& text) {
    return p.g.ask("POST", "/api/tokens/report", {}, json{{"token", text}}.dump());
  };
  const Answered first = report(token.value.substr(7)), second = report(token.value.substr(7)),
                 nonsense = report("x");
  for (const Answered& answer : {first, second, nonsense}) {
    CHECK(answer.status == 202);
    CHECK(answer.text == first.text);
  }
  CHECK(p.ask("GET", "/api/deploy/apps", {token}) == "401 token_revoked");
  int told = 0;
  for (const auto& mail :
       p.g.world.read([&](db::Tx& tx) { return outbox::list(tx, p.g.world.keys.data); }))
    told += mail.subject == "A token of your account was found in public" ? 1 : 0;
  CHECK(told == 1);
  CHECK(p.ask("POST", "/api/tokens/report", {}, "{}") == "422 validation_failed");
}

}  // namespace
