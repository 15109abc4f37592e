// Access by the console: the cookie of a login, with what only berth's own pages send along.
#include <catch2/catch.hpp>
#include <set>

#include "controller/domain/accounts/two_factor.h"
#include "controller/domain/kernel/audit.h"
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
const std::string nobody = "01936f5e-7c1a-7000-8000-000000000001";

Fields console(const std::string& jwt, const Fields& more = {}) {
  Fields fields = {{"Cookie", cookie_name + "=" + jwt},
                   {"Sec-Fetch-Site", "same-origin"},
                   {"Berth-Console", "1"}};
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

ScopeSet all() {
  ScopeSet scopes;
  for (const ScopeInfo& scope : all_scopes()) scopes.add(scope.scope);
  return scopes;
}

struct Person {
  GateWorld g;
  accounts::User user = g.world.verified_user("ada");
  std::string jwt = g.world.jwt(user);

  Answered get(const std::string& target, const Fields& fields) {
    return g.ask("GET", target, fields);
  }
  // Returns how a request with these fields is refused, such as "401 invalid_token", or its status.
  std::string outcome(const std::string& method, const std::string& target, const Fields& fields,
                      const std::string& body = "") {
    return outcome(g.respond(method, target, fields, body));
  }
  static std::string outcome(const Response& response) {
    const json body = json::parse(response.body, nullptr, false);
    const std::string status = std::to_string(response.status);
    if (response.status < 400 || !body.is_object() || !body.contains("error")) return status;
    const json& error = body["error"];
    return status + " " + (error.is_string() ? error : error.at("code")).get<std::string>();
  }
};

std::string path_of(const Route& route) {
  std::string path;
  for (size_t at = 0; at < route.path().size();) {
    const size_t open = std::min(route.path().find('{', at), route.path().size());
    path += route.path().substr(at, open - at);
    if (open == route.path().size()) break;
    path += nobody;
    at = route.path().find('}', open) + 1;
  }
  return path;
}

// A login that nothing but the gate's own check can refuse.
bool is_refusal_of_token(const std::string& outcome) {
  static const std::set<std::string> refusals = {"401 invalid_token",      "401 wrong_token_type",
                                                 "401 token_expired",      "401 token_revoked",
                                                 "403 insufficient_scope", "403 account_suspended"};
  return refusals.contains(outcome);
}

// Requests with a cookie that no page of berth's has sent, each of which counts as one without a
// token.
std::vector<Fields> forged(const std::string& jwt) {
  const Header cookie = {"Cookie", cookie_name + "=" + jwt};
  const Header site = {"Sec-Fetch-Site", "same-origin"};
  const Header mark = {"Berth-Console", "1"};
  return {
      {cookie},
      {cookie, site},                                   // any same-origin GET of a browser
      {cookie, mark},                                   // no browser that says where it comes from
      {cookie, mark, {"Sec-Fetch-Site", "same-site"}},  // an app under apps-domain
      {cookie, mark, {"Sec-Fetch-Site", "cross-site"}},
      {cookie, mark, {"Sec-Fetch-Site", "none"}},  // typed into the address bar
      {cookie, mark, {"Sec-Fetch-Site", ""}},
      {cookie, site, {"Berth-Console", "0"}},
      {cookie, site, {"Berth-Console", "true"}},
      {cookie, site, mark, {"Origin", "https://evil.example.org"}},
      {cookie, site, mark, {"Origin", "https://shop.apps.example.org"}},
      {cookie, site, mark, {"Origin", "null"}},
      // Without the prefix, another host of the same domain could have planted it.
      {{"Cookie", "berth_session=" + jwt}, site, mark},
      // Planted beside the real one: nobody can tell which is which.
      {{"Cookie", cookie_name + "=" + jwt + "; " + cookie_name + "=" + jwt}, site, mark},
      {cookie, cookie, site, mark},
  };
}

TEST_CASE("every route knows the console's requests from those that other pages cause") {
  Person p;
  p.g.world.approved_app(p.user, all());
  for (const Route& route : routes()) {
    if (route.guards.access.kind == Access::Kind::open) continue;
    const std::string method(route.method());
    INFO(method << " " << route.path());
    const std::string path = path_of(route);
    const bool is_internal = route.guards.access.kind == Access::Kind::internal;
    const std::string without = is_internal ? "403 forbidden" : "401 invalid_token";
    for (const Fields& fields : forged(p.jwt)) {
      INFO(fields.back().name << ": " << fields.back().value);
      CHECK(p.outcome(method, path, fields) == without);
    }
    // A token in the Authorization field counts alone.
    const std::string bearer_alone = p.outcome(method, path, {bearer("nonsense")});
    CHECK(p.outcome(method, path, console(p.jwt, {bearer("nonsense")})) == bearer_alone);
    // The one that logs out, among others, ends the login that it gets.
    const std::string own = p.outcome(method, path, console(p.g.world.jwt(p.user)));
    if (is_internal)
      CHECK(own == "403 forbidden");
    else if (route.guards.access.first_party == Access::FirstParty::none)
      CHECK(own == "401 wrong_token_type");
    else if (route.name == "spendPoints" || route.name == "externalTransferPoints")
      CHECK(own == "403 insufficient_scope");
    else
      CHECK_FALSE(is_refusal_of_token(own));
  }
}

TEST_CASE("the console gets no further than the login does") {
  Person p;
  p.g.world.approved_app(p.user, all());
  const auto check_all = [&](const std::string& expected) {
    for (const Route& route : routes()) {
      const bool is_open = route.guards.access.kind == Access::Kind::open;
      if (is_open || route.guards.access.first_party == Access::FirstParty::none) continue;
      INFO(route.method() << " " << route.path());
      CHECK(p.outcome(std::string(route.method()), path_of(route), console(p.jwt)) == expected);
    }
  };
  SECTION("expired") {
    p.g.world.clock.advance(24h);
    check_all("401 token_expired");
  }
  SECTION("ended") {
    p.g.world.write([&](db::Tx& tx) { accounts::end_sessions(tx, p.user.id); });
    check_all("401 token_revoked");
  }
  SECTION("suspended") {
    p.g.world.suspend_user(p.user.id);
    check_all("403 account_suspended");
  }
  SECTION("not berth's") {
    p.jwt = "eyJhbGciOiJub25lIn0.e30.";
    check_all("401 invalid_token");
  }
}

TEST_CASE("a session JWT in the Authorization field opens no deployments, as ever") {
  Person p;
  p.g.world.approved_app(p.user, all());
  CHECK(p.outcome("GET", "/api/deploy/apps", {bearer(p.jwt)}) == "401 wrong_token_type");
  CHECK(p.outcome("GET", "/api/deploy/apps", console(p.jwt, {bearer(p.jwt)})) ==
        "401 wrong_token_type");
  CHECK(p.outcome("GET", "/api/deploy/apps", console(p.jwt)) == "200");
}

TEST_CASE("in development, where there is no TLS, the cookie has no prefix") {
  Person p;
  p.g.services.base_url = "http://127.0.0.1:8080";
  const Fields fields = {{"Cookie", "berth_session=" + p.jwt},
                         {"Sec-Fetch-Site", "same-origin"},
                         {"Berth-Console", "1"}};
  CHECK(p.outcome("GET", "/api/auth/me", fields) == "200");
}

TEST_CASE("no answer to the console's requests may be read by pages of other origins") {
  Person p;
  p.g.world.approved_app(p.user, all());
  const auto answer = p.get("/api/points/balance", console(p.jwt));
  CHECK(answer.status == 200);
  CHECK_FALSE(answer.has("Access-Control-Allow-Origin"));
  CHECK_FALSE(answer.has("Access-Control-Allow-Credentials"));
  const auto preflight = p.g.ask("OPTIONS", "/api/points/balance",
                                 {{"Origin", "https://shop.apps.example.org"},
                                  {"Access-Control-Request-Method", "GET"},
                                  {"Access-Control-Request-Headers", "berth-console"}});
  CHECK_FALSE(preflight.has("Access-Control-Allow-Origin"));
}

TEST_CASE("Berth-App chooses among the person's apps") {
  Person p;
  const apps::App first = p.g.world.approved_app(p.user, all());
  const auto balance = [&](const Fields& more) {
    return p.get("/api/external/app/balance", console(p.jwt, more));
  };
  CHECK(balance({}).body.at("app_id") == first.id);  // the only one
  const apps::App second = p.g.world.approved_app(p.user, {Scope::app_balance_read});
  CHECK(balance({}).error() == "400 malformed_request");
  CHECK(balance({{"Berth-App", first.id}}).body.at("app_id") == first.id);
  CHECK(balance({{"Berth-App", second.client_id}}).body.at("app_id") == second.id);
  CHECK(balance({{"Berth-App", nobody}}).error() == "404 app_not_found");
  CHECK(balance({{"Berth-App", first.id}, {"Berth-App", first.id}}).error() ==
        "400 malformed_request");
  const apps::App of_bob = p.g.world.approved_app(p.g.world.verified_user("bob"), all());
  CHECK(balance({{"Berth-App", of_bob.id}}).error() == "403 forbidden");
  CHECK(balance({{"Berth-App", of_bob.client_id}}).error() == "403 forbidden");
  // What the app isn't approved for.
  CHECK(p.outcome("POST", "/api/deploy/apps", console(p.jwt, {{"Berth-App", second.id}}), "{}") ==
        "403 insufficient_scope");
  CHECK(p.outcome("GET", "/api/deploy/apps", console(p.jwt, {{"Berth-App", second.id}})) ==
        "403 insufficient_scope");
  p.g.world.write([&](db::Tx& tx) { apps::suspend(tx, first.id, "root"); });
  CHECK(balance({{"Berth-App", first.id}}).error() == "403 account_suspended");
}

TEST_CASE("a person without an app is told so where an operation needs one") {
  Person p;
  CHECK(p.outcome("GET", "/api/external/app/balance", console(p.jwt)) == "404 app_not_found");
  CHECK(p.outcome("GET", "/api/deploy/tiers", console(p.jwt)) == "200");
  CHECK(p.get("/api/deploy/apps", console(p.jwt)).body.at("total") == 0);
}

TEST_CASE("without Berth-App, the console lists the deployments of all of the person's apps") {
  Person p;
  const apps::App first = p.g.world.approved_app(p.user, all());
  const apps::App second = p.g.world.approved_app(p.user, all());
  const apps::App of_bob = p.g.world.approved_app(p.g.world.verified_user("bob"), all());
  p.g.world.deploy(first, berth::test::order("one"));
  p.g.world.clock.advance(1s);
  p.g.world.deploy(second, berth::test::order("two"));
  p.g.world.deploy(of_bob, berth::test::order("three"));
  const auto names = [&](const Fields& more, const std::string& query = "") {
    std::vector<std::string> found;
    const auto answer = p.get("/api/deploy/apps" + query, console(p.jwt, more));
    for (const json& row : answer.body.at("deployments")) found.push_back(row.at("name"));
    return found;
  };
  CHECK(names({}) == std::vector<std::string>{"two", "one"});
  CHECK(names({{"Berth-App", first.id}}) == std::vector<std::string>{"one"});
  const auto page = p.get("/api/deploy/apps?page_size=1&page=2", console(p.jwt));
  CHECK(page.body.at("total") == 2);
  CHECK(page.body.at("deployments").at(0).at("app_id") == first.id);
  const std::string one = page.body.at("deployments").at(0).at("id");
  CHECK(p.outcome("GET", "/api/deploy/apps/" + one, console(p.jwt, {{"Berth-App", first.id}})) ==
        "200");
  CHECK(p.outcome("GET", "/api/deploy/apps/" + one, console(p.jwt, {{"Berth-App", second.id}})) ==
        "403 forbidden");
}

TEST_CASE("event streams work by the cookie, and end with its login") {
  Person p;
  const apps::App app = p.g.world.approved_app(p.user, all());
  const std::string id = p.g.world.deploy(app, berth::test::order()).id;
  const Response stream = p.g.respond("GET", "/api/deploy/apps/" + id + "/events", console(p.jwt));
  CHECK(stream.status == 200);
  CHECK(stream.content_type == "text/event-stream");
  REQUIRE(stream.stream);
  std::string seen;
  const Sink sink = [&](std::string_view text) { seen += text; };
  CHECK(stream.stream(sink) == Next::news);
  CHECK(seen.find("event: status") != std::string::npos);
  seen.clear();
  p.g.world.write([&](db::Tx& tx) { accounts::end_sessions(tx, p.user.id); });
  p.g.world.stop(app, id);
  p.g.services.memory.events->wake(db::Topic::deployment_seen, id);
  CHECK(stream.stream(sink) == Next::end);
  CHECK(seen == "");
}

// A person who uses the console as an admin.
struct Admin : Person {
  std::string secret;

  void promote() {
    g.world.write([&](db::Tx& tx) {
      accounts::promote(tx, user.id, {.tier = {}, .is_admin = true}, "root");
    });
  }
  void enable_second_factor() {
    g.world.write([&](db::Tx& tx) {
      secret = two_factor::set_up(tx, user, g.world.keys).secret;
      two_factor::enable(tx, user, code(), g.world.keys, "https://api.example.org");
    });
    g.world.clock.advance(30s);  // each code works once
  }
  std::string code() { return berth::test::totp(secret, to_millis(g.world.clock.now()) / 1000); }
  std::string step_up(const json& proof) {
    return outcome("POST", "/api/auth/step-up", console(jwt), proof.dump());
  }
  // What only reads.
  Answered treasury(const Fields& more = {}) {
    return get("/api/internal/treasury", console(jwt, more));
  }
  // What changes something.
  std::string mint() {
    return outcome("POST", "/api/internal/points/mint", console(jwt),
                   R"({"account": {"kind": "treasury"}, "amount": 1, "reason": "test"})");
  }
};

TEST_CASE("admins use the console with a second factor that they have just proven") {
  Admin a;
  CHECK(a.treasury().error() == "403 forbidden");
  CHECK_FALSE(a.treasury().body.contains("details"));
  CHECK(a.get("/api/internal/nothing", console(a.jwt)).error() == "403 forbidden");
  a.promote();
  CHECK(a.treasury().error() == "403 forbidden");
  CHECK(a.treasury().body.at("details").at("step_up") == json({"enable_second_factor"}));
  a.enable_second_factor();
  const auto stale = a.treasury();
  CHECK(stale.error() == "403 forbidden");
  CHECK(stale.body.at("details").at("step_up") == json({"prove_second_factor"}));
  CHECK(a.get("/api/internal/nothing", console(a.jwt)).error() == "403 forbidden");

  CHECK(a.step_up({{"totp_code", "000000"}}) == "401 invalid_totp");
  CHECK(a.step_up(json::object()) == "422 validation_failed");
  CHECK(a.treasury().status == 403);
  CHECK(a.step_up({{"totp_code", a.code()}}) == "200");
  CHECK(a.treasury().status == 200);
  CHECK(a.get("/api/internal/nothing", console(a.jwt)).status == 404);
  a.g.world.clock.advance(15min - 1s);
  CHECK(a.mint() == "201");
  a.g.world.clock.advance(1s);
  CHECK(a.mint() == "403 forbidden");
  CHECK(a.treasury().status == 200);
  a.g.world.clock.advance(12h - 15min - 1s);
  CHECK(a.treasury().status == 200);
  a.g.world.clock.advance(1s);
  CHECK(a.treasury().error() == "403 forbidden");
  // Another login of the same person has proven nothing.
  CHECK(a.step_up({{"totp_code", a.code()}}) == "200");
  a.jwt = a.g.world.jwt(a.user);
  CHECK(a.treasury().error() == "403 forbidden");
}

TEST_CASE("what an admin does in the console is recorded under their own id") {
  Admin a;
  a.promote();
  a.enable_second_factor();
  a.step_up({{"totp_code", a.code()}});
  const std::string bob = a.g.world.verified_user("bob").id;
  const auto promoted =
      a.g.ask("POST", "/api/internal/users/" + bob + "/promote",
              console(a.jwt, {{"X-Admin-Actor", "somebody else"}}), R"({"is_admin": true})");
  CHECK(promoted.status == 200);
  const auto entry = a.g.world.read(
      [](db::Tx& tx) { return audit::list(tx, {}, {.page = 1, .page_size = 1}).items.at(0); });
  CHECK(entry.action == "user.make_admin");
  CHECK(entry.actor == "user:" + a.user.id);
  // An admin who isn't one any more.
  a.g.world.write([&](db::Tx& tx) {
    accounts::promote(tx, a.user.id, {.tier = {}, .is_admin = false}, "root");
  });
  CHECK(a.treasury().error() == "403 forbidden");
}

TEST_CASE("an admin's cookie opens nothing to other pages, and no backup") {
  Admin a;
  a.promote();
  a.enable_second_factor();
  a.step_up({{"totp_code", a.code()}});
  CHECK(a.treasury().status == 200);
  for (const Fields& fields : forged(a.jwt)) {
    INFO(fields.back().name << ": " << fields.back().value);
    CHECK(a.outcome("GET", "/api/internal/treasury", fields) == "403 forbidden");
  }
  // A copy of everything, with the keys.
  CHECK(a.outcome("POST", "/api/internal/backup", console(a.jwt), "{}") == "403 forbidden");
  // A wrong secret isn't made up for by a cookie.
  CHECK(a.treasury({{"x-internal-secret", "wrong"}}).error() == "403 forbidden");
  CHECK(a.treasury({{"x-internal-secret", "internal secret"}}).status == 200);
}

TEST_CASE("a login with the second factor is a proof of it") {
  Admin a;
  a.promote();
  a.enable_second_factor();
  a.g.world.write([&](db::Tx& tx) {
    tx.execute("UPDATE users SET password_hash = $2 WHERE id = $1", a.user.id,
               a.g.passwords.hash("correct horse battery"));
  });
  const auto login = a.g.ask(
      "POST", "/api/auth/login", {},
      json{{"email", a.user.email}, {"password", "correct horse battery"}, {"totp_code", a.code()}}
          .dump());
  CHECK(login.status == 200);
  a.jwt = login.body.at("token");
  CHECK(a.treasury().status == 200);
  // A password alone, later, proves no second factor.
  a.g.world.clock.advance(15min);
  CHECK(a.step_up({{"password", "correct horse battery"}}) == "200");
  CHECK(a.mint() == "403 forbidden");
}

TEST_CASE("setting up the second factor is a proof of it") {
  Admin a;
  a.promote();
  a.g.world.write([&](db::Tx& tx) {
    a.secret = two_factor::set_up(tx, a.user, a.g.world.keys).secret;
    tx.execute("UPDATE sessions SET authenticated_at = $1", tx.now());
  });
  CHECK(a.mint() == "403 forbidden");
  CHECK(a.outcome("POST", "/api/auth/totp/enable", console(a.jwt),
                  json{{"code", a.code()}}.dump()) == "200");
  CHECK(a.mint() == "201");
}

}  // namespace
