// Access to routes, by tokens, scopes and the internal secret.
#include <catch2/catch.hpp>

#include "controller/base/id.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;

const std::string metadata =
    R"(resource_metadata="https://api.example.org/.well-known/oauth-protected-resource")";

TEST_CASE("requests below /api/internal/ without the secret are forbidden before routing") {
  GateWorld g;
  for (const char* path :
       {"/api/internal/treasury", "/api/internal/nothing", "/api/internal", "/api/internal/"}) {
    for (const auto& headers :
         std::vector<std::vector<Header>>{{},
                                          {{"x-internal-secret", ""}},
                                          {{"x-internal-secret", "internal secre"}},
                                          {{"x-internal-secret", "internal secret "}},
                                          {{"Authorization", "Bearer internal secret"}}}) {
      INFO(path);
      const auto answer = g.ask("GET", path, headers);
      CHECK(answer.status == 403);
      CHECK(answer.body["error"] == "forbidden");
      CHECK(answer.body["message"].is_string());
      CHECK_FALSE(answer.has("Allow"));
    }
    CHECK(g.ask("DELETE", path).status == 403);
  }
  CHECK(g.ask("GET", "/api/internal/treasury", g.admin).status == 200);
  CHECK(g.ask("GET", "/api/internal/treasury", {{"X-INTERNAL-SECRET", "internal secret"}}).status ==
        200);
  CHECK(g.ask("GET", "/api/internal/nothing", g.admin).status == 404);
  CHECK(g.ask("PUT", "/api/internal/treasury", g.admin).status == 405);
  CHECK(g.ask("GET", "/api/internalx").status == 404);
}

TEST_CASE("without a configured secret, nobody can use internal routes") {
  GateWorld g;
  g.services.admission.internal_secret = "";
  CHECK(g.ask("GET", "/api/internal/treasury", {{"x-internal-secret", ""}}).status == 403);
  CHECK(g.ask("GET", "/api/internal/treasury").status == 403);
}

TEST_CASE("unknown paths and methods get the framework's body") {
  GateWorld g;
  const auto missing = g.ask("GET", "/api/nothing");
  CHECK(missing.status == 404);
  CHECK(missing.body == json::parse(R"({"errors": {"detail": "Not Found"}})"));
  const auto method = g.ask("DELETE", "/api/deploy/apps");
  CHECK(method.status == 405);
  CHECK(method.body == json::parse(R"({"errors": {"detail": "Method Not Allowed"}})"));
  CHECK(method.header("Allow") == "GET, HEAD, POST");
  const auto options = g.ask("OPTIONS", "/api/deploy/apps");
  CHECK(options.status == 204);
  CHECK(options.text == "");
  CHECK(options.header("Allow") == "GET, HEAD, POST");
  CHECK(g.ask("HEAD", "/health").status == 200);
}

TEST_CASE("a missing token is answered with where to get one, a wrong one with the reason") {
  Operator o;
  for (const char* path : {"/api/deploy/tiers", "/api/oauth/my-apps"}) {
    for (const auto& headers :
         std::vector<std::vector<Header>>{{},
                                          {{"Authorization", ""}},
                                          {{"Authorization", "Bearer"}},
                                          {{"Authorization", "Basic YTpi"}}}) {
      const auto answer = o.g.ask("GET", path, headers);
      CHECK(answer.error() == "401 invalid_token");
      CHECK(answer.header("WWW-Authenticate") == "Bearer realm=\"berth\", " + metadata);
    }
    const auto wrong = o.g.ask("GET", path, {bearer("nonsense")});
    CHECK(wrong.error() == "401 invalid_token");
    CHECK(wrong.header("WWW-Authenticate")
              .starts_with("Bearer realm=\"berth\", error=\"invalid_token\", error_description="));
    CHECK(wrong.header("WWW-Authenticate").ends_with(metadata));
  }
  CHECK(o.g.ask("GET", "/api/deploy/tiers", {{"Authorization", "Basic YTpi"}}).error() ==
        "401 invalid_token");
  CHECK(o.g.ask("GET", "/api/deploy/tiers", {{"Authorization", o.tokens.access_token}}).error() ==
        "401 invalid_token");
}

TEST_CASE("the authentication scheme is matched regardless of case") {
  Operator o;
  for (const char* scheme : {"Bearer ", "bearer ", "BEARER ", "Bearer   "})
    CHECK(o.g.ask("GET", "/api/deploy/tiers", {{"Authorization", scheme + o.tokens.access_token}})
              .status == 200);
}

TEST_CASE("a token of the wrong kind is reported as such") {
  Operator o;
  for (const std::string& token : {o.jwt, o.tokens.refresh_token, *o.tokens.session_token}) {
    const auto answer = o.g.ask("GET", "/api/deploy/tiers", {bearer(token)});
    CHECK(answer.error() == "401 wrong_token_type");
    CHECK(answer.has("WWW-Authenticate"));
  }
  for (const std::string& token :
       {o.tokens.access_token, o.tokens.refresh_token, *o.tokens.session_token})
    CHECK(o.g.ask("GET", "/api/oauth/my-apps", {bearer(token)}).error() == "401 wrong_token_type");
  CHECK(o.g.ask("GET", "/api/oauth/my-apps", {bearer(o.jwt)}).status == 200);
}

TEST_CASE("expired and revoked tokens are reported as such") {
  Operator o;
  o.g.world.clock.advance(1h);
  const auto expired = o.g.ask("GET", "/api/deploy/tiers", {o.token});
  CHECK(expired.error() == "401 token_expired");
  CHECK(expired.header("WWW-Authenticate").find("error=\"invalid_token\"") != std::string::npos);
  o.g.world.write([](db::Tx& tx) { tx.execute("UPDATE token_families SET revoked_at = 1"); });
  CHECK(o.g.ask("GET", "/api/deploy/tiers", {o.token}).error() == "401 token_revoked");
  o.g.world.suspend_user(o.user.id);
  CHECK(o.g.ask("GET", "/api/oauth/my-apps", {bearer(o.jwt)}).error() == "403 account_suspended");
}

TEST_CASE("a token without the scope is told which scope it lacks") {
  Operator o;
  const auto weak = o.g.world.tokens(o.app, o.user, "profile:read points:read");
  for (const auto& [path, scope] : {std::pair{"/api/deploy/apps", "deploy:read"},
                                    {"/api/external/app/balance", "app:balance:read"}}) {
    const auto answer = o.g.ask("GET", path, {bearer(weak.access_token)});
    CHECK(answer.error() == "403 insufficient_scope");
    CHECK(answer.header("WWW-Authenticate") ==
          "Bearer realm=\"berth\", error=\"insufficient_scope\", scope=\"" + std::string(scope) +
              "\", " + metadata);
  }
}

TEST_CASE("a scope that an admin revokes is lost at the next request") {
  Operator o;
  CHECK(o.g.ask("GET", "/api/deploy/apps", {o.token}).status == 200);
  const auto revoked = o.g.ask("POST", "/api/internal/apps/" + o.app.id + "/scopes/revoke",
                               o.g.admin, R"({"scopes": ["deploy:manage"]})");
  CHECK(revoked.status == 200);
  CHECK(o.g.ask("GET", "/api/deploy/apps", {o.token}).error() == "403 insufficient_scope");
}

TEST_CASE("the caller's request id is returned if it can be logged unchanged") {
  GateWorld g;
  for (const std::string& id :
       {std::string("req-1"), std::string("a/b:c,d=\"e\""), std::string(128, 'x')})
    CHECK(g.ask("GET", "/health", {{"X-Request-Id", id}}).header("X-Request-Id") == id);
  for (const std::string& id :
       {std::string(), std::string(129, 'x'), std::string("a b"), std::string("a\tb"),
        std::string("\xc3\xa4"), std::string("a\x7f"), std::string("a\r\nX: y")}) {
    const std::string given =
        g.ask("GET", "/health", {{"X-Request-Id", id}}).header("X-Request-Id");
    INFO(given);
    CHECK(is_uuid(given));
  }
  CHECK(is_uuid(g.ask("GET", "/api/nothing").header("X-Request-Id")));
  CHECK(g.ask("GET", "/health").header("X-Request-Id") !=
        g.ask("GET", "/health").header("X-Request-Id"));
}

TEST_CASE("production doesn't serve the paths of development") {
  GateWorld g;
  g.services.environment = Environment::production;
  for (const char* path : {"/api/internal/clock", "/api/internal/outbox"})
    CHECK(g.ask("GET", path, g.admin).status == 404);
  CHECK(g.ask("POST", "/api/auth/self-verify-email").status == 404);
}

TEST_CASE("an admin's name is in the audit log") {
  Operator o;
  auto headers = o.g.admin;
  headers.push_back({"X-Admin-Actor", "grace"});
  const std::string body =
      json{{"account", {{"kind", "treasury"}}}, {"amount", 5}, {"reason", "test"}}.dump();
  CHECK(o.g.ask("POST", "/api/internal/points/mint", headers, body).status == 201);
  CHECK(o.g.ask("POST", "/api/internal/points/mint", o.g.admin, body).status == 201);
  o.g.world.read([](db::Tx& tx) {
    CHECK(tx.number(
              "SELECT count(*) FROM audit_log WHERE actor = 'grace' AND action = 'points.mint'") ==
          1);
    CHECK(
        tx.number(
            "SELECT count(*) FROM audit_log WHERE actor = 'internal' AND action = 'points.mint'") ==
        1);
  });
}

// Callers choose methods, so a series for each would fill the memory.
TEST_CASE("metrics are labelled with a few methods and with no paths") {
  GateWorld g;
  const auto series = [&] {
    size_t count = 0;
    for (const auto& family : g.registry().Collect()) count += family.metric.size();
    return count;
  };
  g.ask("METHOD", "/path");
  g.ask("GET", "/health");
  const size_t before = series();
  for (int i = 0; i < 50; ++i) g.ask("METHOD" + std::to_string(i), "/path/" + std::to_string(i));
  CHECK(series() == before);
}

}  // namespace
