// Bodies, queries, and the form of each refusal.
#include <catch2/catch.hpp>
#include <future>
#include <latch>
#include <thread>

#include "api/gate/openapi.h"
#include "api/gate/schema.h"
#include "api/gate/validator.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;

const Header form = {"Content-Type", "application/x-www-form-urlencoded"};

struct Fixture : Operator {
  std::string credentials =
      "client_id=" + registered.app.client_id + "&client_secret=" + registered.client_secret;
  Answered token_form(const std::string& body) {
    return g.ask("POST", "/api/oauth/token", {form}, body);
  }
  std::string code_form() {
    return "grant_type=authorization_code&code=" + g.world.authorize(app, user) +
           "&redirect_uri=https%3A%2F%2Fgame.example.org%2Fcallback&code_verifier=" +
           berth::test::code_verifier + "&" + credentials;
  }
};

TEST_CASE("validation_failed contains the reasons by field") {
  Fixture f;
  const auto answer =
      f.g.ask("POST", "/api/deploy/apps", {f.token}, R"({"name": "-", "image": "ghcr.io/a/b"})");
  CHECK(answer.error() == "422 validation_failed");
  CHECK(answer.body["error"]["details"].size() == 2);
  CHECK(answer.body["error"]["details"]["tier"] == json::array({"is required"}));
  CHECK(answer.body["error"]["details"]["name"].is_array());
}

TEST_CASE("an unreadable body is invalid_json, in the nested form or OAuth's") {
  Fixture f;
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("{\"a\": \"\xff\"}"),
        std::string("{\"a\": 1e400}"), std::string(R"({"tier": "free", "tier": "basic"})"),
        std::string(33, '[') + std::string(33, ']')}) {
    INFO(body);
    CHECK(f.g.ask("POST", "/api/deploy/apps", {f.token}, body).error() == "400 invalid_json");
    const auto token = f.g.ask("POST", "/api/oauth/token", {}, body);
    CHECK(token.error() == "400 invalid_request");
    CHECK(token.body["error_description"].is_string());
  }
}

TEST_CASE("a form without its Content-Type is told what it lacks") {
  Fixture f;
  const auto token = f.g.ask("POST", "/api/oauth/token", {}, f.code_form());
  CHECK(token.error() == "400 invalid_request");
  CHECK(token.body["error_description"].get<std::string>().ends_with(
      "a form needs Content-Type: application/x-www-form-urlencoded"));
  const auto create = f.g.ask("POST", "/api/deploy/apps", {f.token, form}, "name=shop&tier=free");
  CHECK(create.error() == "400 invalid_json");
  CHECK(create.body["error"]["message"].get<std::string>().ends_with(
      "this operation takes no form, but JSON with Content-Type: application/json"));
}

TEST_CASE("fields that an operation doesn't have are named in its answer") {
  Fixture f;
  json order = json::parse(f.order());
  order.update({{"replica_count", 3}, {"env_var", {{"A", "1"}}}, {"env_vars", {{"B", "2"}}}});
  const auto post = [&](const std::string& key) {
    return f.g.ask("POST", "/api/deploy/apps", {f.token, {"Idempotency-Key", key}}, order.dump());
  };
  const auto created = post("key");
  REQUIRE(created.status == 201);
  CHECK(created.body["warnings"] ==
        json({"env_var was ignored: this operation has no such field; did you mean env_vars?",
              "replica_count was ignored: this operation has no such field"}));
  CHECK(post("key").text == created.text);  // the stored answer has them, too
  const std::string one = "/api/deploy/apps/" + created.body["id"].get<std::string>();
  CHECK(f.g.ask("PATCH", one, {f.token}, R"({"imagee": "ghcr.io/a/b"})").body["warnings"].size() ==
        1);
  CHECK_FALSE(
      f.g.ask("PATCH", one, {f.token}, R"({"env_vars": {"C": "3"}})").body.contains("warnings"));
  // OAuth's own endpoints ignore what they don't know without a word (RFC 6749, section 3.2).
  const auto token = f.token_form(f.code_form() + "&audience=x");
  REQUIRE(token.status == 200);
  CHECK_FALSE(token.body.contains("warnings"));
}

TEST_CASE("each operation with a JSON body finds a field that it doesn't have, and says so") {
  int members = 0;
  const json document = openapi(routes(), Environment::development, "https://api.example.org");
  for (const Route& route : routes()) {
    if (!route.has_body() || is_oauth(route.guards.shape)) continue;
    INFO(route.name);
    ++members;
    const json unknown = {{"no_such_field", 1}};
    const bool is_map =
        all_schemas().at(std::string(route.body.schema)).contains("additionalProperties");
    CHECK(Validator(route.body.schema).unknown_fields(unknown).size() == (is_map ? 0 : 1));
    // The document has a place for it in each answer that is an object. The answer of `backup` is a
    // file, which has no place for warnings.
    const json& schema = document["components"]["schemas"][std::string(route.answer.schema)];
    const bool is_object = schema.value("type", "object") == "object";
    CHECK((schema.dump().find("\"warnings\"") != std::string::npos) == is_object);
  }
  CHECK(members > 50);
  WARN("operations with a body whose unknown fields are named: " << members);
}

TEST_CASE("bodies are read and refused even if every reader of the database is busy") {
  Fixture f;
  const auto status = [&](const std::string& path, const std::string& body) {
    return f.g.ask("POST", path, f.g.admin, body).status;
  };
  CHECK(status("/api/oauth/token/verify", "{") == 400);  // creates the gate
  constexpr int readers = 2;  // the number of readers of World's database
  std::latch busy(readers);
  std::latch over(1);
  std::vector<std::jthread> threads;
  for (int i = 0; i < readers; ++i)
    threads.emplace_back([&] {
      f.g.world.db.read([&](db::Tx&) {
        busy.count_down();
        over.wait();
      });
    });
  busy.wait();
  auto answers = std::async(std::launch::async, [&] {
    return std::vector<int>{status("/api/oauth/token/verify", R"({"token": 1})"),
                            status("/api/oauth/token", "{"),
                            status("/api/internal/points/mint", "{}")};
  });
  const bool are_there = answers.wait_for(30s) == std::future_status::ready;
  over.count_down();
  CHECK(are_there);
  CHECK(answers.get() == std::vector<int>{400, 400, 422});
}

TEST_CASE("a segment's metadata has at most 4,096 bytes") {
  Fixture f;
  const auto made = [&](size_t bytes) {
    const json metadata = {{"a", std::string(bytes - std::string(R"({"a":""})").size(), 'x')}};
    const json body = {{"name", "x"}, {"geography", "DE"}, {"metadata", metadata}};
    return f.g.ask("POST", "/api/internal/ads/segments", f.g.admin, body.dump());
  };
  CHECK(made(4'096).status == 201);
  CHECK(made(4'097).error() == "422 validation_failed");
}

TEST_CASE(
    "refusals of account operations are simple if the caller isn't known, and nested otherwise") {
  Fixture f;
  const auto login = f.g.ask("POST", "/api/auth/login", {},
                             R"({"email": "nobody@example.org", "password": "12345678"})");
  CHECK(login.error() == "401 invalid_credentials");
  CHECK(login.body["message"].is_string());
  CHECK(f.g.ask("GET", "/api/auth/me").body["error"] == "invalid_token");
  const auto register_ = f.g.ask("POST", "/api/auth/register", {},
                                 R"({"email": "x", "password": "1", "username": "ada"})");
  CHECK(register_.error() == "422 validation_failed");
  CHECK(register_.body["error"]["details"].size() == 2);
}

TEST_CASE("the token endpoint accepts forms and JSON, and its answers aren't cached") {
  Fixture f;
  const auto by_form = f.token_form(f.code_form());
  CHECK(by_form.status == 200);
  CHECK(by_form.header("Cache-Control") == "no-store");
  CHECK(by_form.body["token_type"] == "Bearer");
  CHECK(by_form.body["expires_in"] == 3600);
  CHECK(by_form.body["player_id"] == f.user.id);
  CHECK(by_form.body["scope"] == "profile:read");
  const json body = {{"grant_type", "refresh_token"},
                     {"refresh_token", by_form.body["refresh_token"]},
                     {"client_id", f.registered.app.client_id},
                     {"client_secret", f.registered.client_secret}};
  const auto by_json = f.g.ask("POST", "/api/oauth/token", {}, body.dump());
  CHECK(by_json.status == 200);
  CHECK_FALSE(by_json.body.contains("session_token"));
}

TEST_CASE("a form's media type may have any case, and parameters") {
  Fixture f;
  for (const char* type :
       {"Application/X-WWW-Form-Urlencoded", "application/x-www-form-urlencoded ;charset=UTF-8",
        "application/x-www-form-urlencoded;charset=UTF-8"}) {
    INFO(type);
    CHECK(f.g.ask("POST", "/api/oauth/token", {{"Content-Type", type}},
                  "grant_type=client_credentials&" + f.credentials)
              .status == 200);
  }
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded2", ""})
    CHECK(f.g.ask("POST", "/api/oauth/token", {{"Content-Type", type}},
                  "grant_type=client_credentials&" + f.credentials)
              .error() == "400 invalid_request");
}

TEST_CASE("each refusal of the token endpoint has OAuth's form") {
  Fixture f;
  CHECK(f.token_form("grant_type=password&" + f.credentials).error() ==
        "400 unsupported_grant_type");
  CHECK(f.token_form(f.credentials).error() == "400 invalid_request");
  CHECK(f.token_form("grant_type=authorization_code&code=x&" + f.credentials).error() ==
        "400 invalid_request");
  CHECK(
      f.token_form("grant_type=refresh_token&grant_type=refresh_token&" + f.credentials).error() ==
      "400 invalid_request");
  CHECK(f.token_form("grant_type=%zz").error() == "400 invalid_request");
  CHECK(f.token_form("grant_type=%ff").error() == "400 invalid_request");
  CHECK(f.token_form("grant_type=refresh_token&refresh_token=x").error() == "401 invalid_client");
  CHECK(f.token_form("grant_type=refresh_token&refresh_token=x&client_id=a&client_secret=b")
            .error() == "401 invalid_client");
  const auto refused = f.token_form("grant_type=refresh_token&refresh_token=x&" + f.credentials);
  CHECK(refused.error() == "401 invalid_grant");
  CHECK_FALSE(refused.has("WWW-Authenticate"));
  CHECK(refused.header("Cache-Control") == "no-store");
}

TEST_CASE("a client may use Basic, and is then asked for Basic") {
  Fixture f;
  const auto basic = [&](const std::string& id, const std::string& secret) {
    return Header{"Authorization", "Basic " + base64(id + ":" + secret)};
  };
  const std::string body = "grant_type=refresh_token&refresh_token=" + f.tokens.refresh_token;
  const auto wrong =
      f.g.ask("POST", "/api/oauth/token", {form, basic(f.registered.app.client_id, "wrong")}, body);
  CHECK(wrong.error() == "401 invalid_client");
  CHECK(wrong.header("WWW-Authenticate").starts_with("Basic realm=\"berth\""));
  const Header right = basic(f.registered.app.client_id, f.registered.client_secret);
  CHECK(f.g.ask("POST", "/api/oauth/token", {form, right}, body + "&" + f.credentials).error() ==
        "400 invalid_request");
  CHECK(f.g.ask("POST", "/api/oauth/token", {form, {"Authorization", "Basic ***"}}, body).error() ==
        "401 invalid_client");
  CHECK(f.g.ask("POST", "/api/oauth/token", {form, right}, body).status == 200);
}

TEST_CASE("a client that isn't who it says is asked for Basic, and for no token") {
  Fixture f;
  const auto refused = f.token_form("grant_type=refresh_token&refresh_token=x&client_id=a");
  CHECK(refused.error() == "401 invalid_client");
  CHECK(refused.header("WWW-Authenticate") == "Basic realm=\"berth\"");
}

TEST_CASE("a public client may send its id by Basic, with an empty password") {
  Fixture f;
  const auto created = f.g.ask("POST", "/api/oauth/apps", {bearer(f.jwt)},
                               json{{"app_name", "Phone"},
                                    {"redirect_uris", {berth::test::redirect_uri}},
                                    {"token_endpoint_auth_method", "none"}}
                                   .dump());
  REQUIRE(created.status == 201);
  const auto app = f.g.world.find_app(created.body["app"].value("id", ""));
  const auto with = [&](const std::string& client_id) {
    return f.g.ask("POST", "/api/oauth/token",
                   {form, {"Authorization", "Basic " + base64(client_id + ":")}},
                   "grant_type=authorization_code&code=" + f.g.world.authorize(app, f.user) +
                       "&redirect_uri=https%3A%2F%2Fgame.example.org%2Fcallback&code_verifier=" +
                       berth::test::code_verifier);
  };
  CHECK(with(app.client_id).status == 200);
  CHECK(with(f.registered.app.client_id).error() == "401 invalid_client");
}

TEST_CASE("a refusal of authorize says why in the redirect, too") {
  Fixture f;
  const auto refused =
      f.g.ask("GET",
              "/api/oauth/authorize?response_type=code&client_id=" + f.registered.app.client_id +
                  "&redirect_uri=https%3A%2F%2Fgame.example.org%2Fcallback&scope=points:sped"
                  "&code_challenge_method=S256&code_challenge=" +
                  base64url(sha256(berth::test::code_verifier)),
              {bearer(f.jwt)});
  CHECK(refused.error() == "400 invalid_scope");
  CHECK(refused.body.value("redirect_to", "")
            .find("&error_description=points%3Asped%20isn%27t%20a%20scope") != std::string::npos);
}

TEST_CASE("what an authorization request without a scope gets stands in the metadata") {
  Fixture f;
  CHECK(f.g.ask("GET", "/.well-known/oauth-authorization-server").body["default_scope"] ==
        "profile:read points:read");
}

TEST_CASE("the scheme Basic is matched regardless of case, and refused as Basic") {
  Fixture f;
  const std::string id = f.registered.app.client_id;
  const std::string body = "grant_type=client_credentials";
  for (const char* scheme : {"basic ", "BASIC ", "bAsIc ", "Basic  "}) {
    INFO(scheme);
    const auto with = [&](const std::string& secret) {
      return f.g.ask("POST", "/api/oauth/token",
                     {form, {"Authorization", scheme + base64(id + ":" + secret)}}, body);
    };
    CHECK(with(f.registered.client_secret).status == 200);
    CHECK(with("wrong").header("WWW-Authenticate").starts_with("Basic realm=\"berth\""));
  }
  // Nothing follows the scheme; or another scheme begins like it.
  CHECK(f.g.ask("POST", "/api/oauth/token", {form, {"Authorization", "Basic"}}, body)
            .header("WWW-Authenticate")
            .starts_with("Basic realm"));
  const auto other = f.g.ask(
      "POST", "/api/oauth/token",
      {form, {"Authorization", "Basics " + base64(id + ":" + f.registered.client_secret)}}, body);
  CHECK(other.error() == "401 invalid_client");
}

TEST_CASE("a replay is refused, and what it revokes stays revoked") {
  Fixture f;
  const std::string body =
      "grant_type=refresh_token&refresh_token=" + f.tokens.refresh_token + "&" + f.credentials;
  CHECK(f.token_form(body).status == 200);
  f.g.world.clock.advance(10s);
  CHECK(f.token_form(body).error() == "401 invalid_grant");
  CHECK(f.g.ask("GET", "/api/deploy/tiers", {f.token}).error() == "401 token_revoked");
}

TEST_CASE("/api/auth/refresh answers like token, and its refusals have a message too") {
  Fixture f;
  const auto good = f.g.ask("POST", "/api/auth/refresh", {},
                            json{{"refresh_token", f.tokens.refresh_token}}.dump());
  CHECK(good.status == 200);
  CHECK(good.body["refresh_token"].is_string());
  const auto bad = f.g.ask("POST", "/api/auth/refresh", {},
                           json{{"refresh_token", f.tokens.refresh_token}}.dump());
  CHECK(bad.error() == "401 invalid_grant");
  CHECK(bad.body["error_description"].is_string());
  CHECK(bad.body["message"] == bad.body["error_description"]);
}

TEST_CASE("page numbers must be in their range") {
  Fixture f;
  for (const char* query :
       {"page=0", "page=-1", "page=x", "page=", "page=1.5", "page=99999999999999999999",
        "page_size=0", "page_size=101", "page=1000001"}) {
    INFO(query);
    CHECK(f.g.ask("GET", "/api/deploy/apps?" + std::string(query), {f.token}).error() ==
          "422 validation_failed");
  }
  const auto page = f.g.ask("GET", "/api/deploy/apps?page=2&page_size=100", {f.token});
  CHECK(page.body == json::parse(R"({"deployments": [], "page": 2, "page_size": 100, "total": 0,
                          "total_is_at_least": false, "next_page": null,
                          "next_cursor": null})"));
  CHECK(f.g.ask("GET", "/api/deploy/apps", {f.token}).body["page_size"] == 20);
}

TEST_CASE("ids of any form are simply not found") {
  Fixture f;
  for (const char* id :
       {"x", "01936f5e-7c1a-7000-8000-000000000005", "%00", "%27%20OR%201=1", "%ff"})
    CHECK(f.g.ask("GET", "/api/deploy/apps/" + std::string(id), {f.token}).error() ==
          "404 deployment_not_found");
}

TEST_CASE(
    "an internal error is 500 in the framework's form, with the request's id and without details") {
  Fixture f;
  f.g.services.cluster.url_of = [](const std::string&) -> std::string {
    throw std::runtime_error("the secret reason");
  };
  const auto row = f.g.world.deploy(f.app, berth::test::order());
  const auto answer =
      f.g.ask("GET", "/api/deploy/apps/" + row.id, {f.token, {"X-Request-Id", "req-7"}});
  CHECK(answer.status == 500);
  CHECK(answer.body["errors"]["detail"].get<std::string>().find("req-7") != std::string::npos);
  CHECK(answer.text.find("secret reason") == std::string::npos);
}

TEST_CASE("a write that fails in its handler leaves nothing, with or without a key") {
  Fixture f;
  f.g.services.cluster.url_of = [](const std::string&) -> std::string {
    throw std::runtime_error("mine");
  };
  CHECK(f.g.ask("POST", "/api/deploy/apps", {f.token}, f.order()).status == 500);
  CHECK(f.g.ask("POST", "/api/deploy/apps", {f.token, {"Idempotency-Key", "key"}}, f.order())
            .status == 500);
  f.g.world.read([](db::Tx& tx) {
    CHECK(tx.number("SELECT count(*) FROM deployments") == 0);
    CHECK(tx.number("SELECT count(*) FROM idempotency_keys") == 0);
  });
}

TEST_CASE("values of variables are never returned") {
  Fixture f;
  const std::string body =
      R"({"name": "shop", "image": "ghcr.io/a/b", "tier": "wide", "env": {"PASSWORD": "hunter2"},
                               "registry_credentials": {"username": "robot", "password": "s3cret"}})";
  const auto created = f.g.ask("POST", "/api/deploy/apps", {f.token}, body);
  REQUIRE(created.status == 201);
  const std::string path = "/api/deploy/apps/" + created.body["id"].get<std::string>();
  CHECK(f.g.ask("GET", path, {f.token}).body["env_keys"] == json::array({"PASSWORD"}));
  for (const std::string& target :
       {std::string("/api/deploy/apps"), path, path + "/status", path + "/logs"}) {
    const auto answer = f.g.ask("GET", target, {f.token});
    CHECK(answer.status == 200);
    for (const char* secret : {"hunter2", "s3cret", "robot"})
      CHECK(answer.text.find(secret) == std::string::npos);
  }
  const auto both = f.g.ask(
      "POST", "/api/deploy/apps", {f.token},
      R"({"name": "x", "image": "ghcr.io/a/b", "tier": "wide", "env": {}, "env_vars": {}})");
  CHECK(both.error() == "422 validation_failed");
}

TEST_CASE("answers match the schemas that they are documented with") {
  Fixture f;
  const auto matches = [](const Answered& answer, const char* schema) {
    INFO(schema << " " << answer.text);
    CHECK(answer.status < 300);
    CHECK(Validator(schema).check(answer.body) == Details{});
  };
  const auto created = f.g.ask("POST", "/api/deploy/apps", {f.token}, f.order());
  const std::string path = "/api/deploy/apps/" + created.body["id"].get<std::string>();
  matches(created, "CreateDeploymentResponse");
  matches(f.g.ask("GET", path, {f.token}), "DeploymentEnvelope");
  matches(f.g.ask("POST", path + "/stop", {f.token}), "DeploymentEnvelope");
  matches(f.g.ask("POST", path + "/restart", {f.token}), "DeploymentEnvelope");
  matches(f.g.ask("GET", path + "/status", {f.token}), "DeploymentStatus");
  matches(f.g.ask("GET", path + "/logs", {f.token}), "DeployLogList");
  matches(f.g.ask("GET", path + "/logs?page=1", {f.token}), "DeployLogList");
  matches(f.g.ask("GET", "/api/deploy/apps", {f.token}), "DeploymentList");
  matches(f.g.ask("GET", "/api/deploy/tiers", {f.token}), "TierList");
  matches(f.g.ask("GET", "/api/deploy/sandbox-status", {f.token}), "SandboxStatus");
  matches(f.g.ask("DELETE", path, {f.token}), "DeletedDeployment");
  matches(f.g.ask("GET", path, {f.token}), "DeploymentEnvelope");
  matches(f.g.ask("GET", "/api/auth/me", {bearer(f.jwt)}), "MeResponse");
  matches(f.g.ask("GET", "/api/oauth/my-apps", {bearer(f.jwt)}), "AppList");
  matches(f.g.ask("GET", "/api/oauth/apps/" + f.app.client_id), "OAuthAppPublic");
  matches(f.token_form(f.code_form()), "OAuthTokenResponse");
  matches(
      f.g.ask("POST", "/api/oauth/token/verify", {}, json{{"token", f.tokens.access_token}}.dump()),
      "TokenIntrospection");
  matches(f.g.ask("POST", "/api/oauth/token/verify", {}, R"({"token": "x"})"),
          "TokenIntrospection");
  matches(f.g.ask("GET", "/api/internal/scope-requests", f.g.admin), "ScopeRequestList");
  matches(f.g.ask("GET", "/api/internal/treasury", f.g.admin), "Treasury");
  matches(f.g.ask("GET", "/api/internal/outbox", f.g.admin), "Outbox");
  matches(f.g.ask("GET", "/api/internal/clock", f.g.admin), "ClockState");
  matches(f.g.ask("GET", "/api/internal/deploy/orphans", f.g.admin), "Orphans");
  matches(f.g.ask("GET", "/api/internal/isolation", f.g.admin), "IsolationReport");
  matches(f.g.ask("GET", "/health"), "HealthResponse");
  matches(f.g.ask("GET", "/.well-known/openapi.json"), "OpenApiDocument");
  matches(f.g.ask("GET", "/.well-known/oauth-protected-resource"), "ProtectedResourceMetadata");
  matches(f.g.ask("GET", "/.well-known/oauth-authorization-server"), "AuthorizationServerMetadata");
}

TEST_CASE("register, verify, log in, and see oneself") {
  GateWorld g;
  const auto registered =
      g.ask("POST", "/api/auth/register", {},
            R"({"email": "Ada@example.org", "password": "correct horse", "username": "Ada"})");
  REQUIRE(registered.status == 201);
  CHECK(Validator("RegisterResponse").check(registered.body) == Details{});
  const auto outbox = g.ask("GET", "/api/internal/outbox", g.admin);
  const json token = {{"token", outbox.body["messages"][0]["token"]}};
  CHECK(g.ask("POST", "/api/auth/verify-email", {}, token.dump()).status == 200);
  CHECK(g.ask("POST", "/api/auth/verify-email", {}, token.dump()).error() ==
        "422 validation_failed");
  const auto login = g.ask("POST", "/api/auth/login", {},
                           R"({"email": "ada@EXAMPLE.org", "password": "correct horse"})");
  REQUIRE(login.status == 200);
  CHECK(Validator("AuthResponse").check(login.body) == Details{});
  CHECK(login.header("Cache-Control") == "no-store");
  const auto me = g.ask("GET", "/api/auth/me", {bearer(login.body["token"])});
  CHECK(me.body["user"]["email_verified"] == true);
  CHECK(me.body["user"]["id"] == registered.body["user"]["id"]);
  CHECK(g.ask("POST", "/api/auth/login", {},
              R"({"email": "ada@example.org", "password": "wrong horse"})")
            .error() == "401 invalid_credentials");
}

}  // namespace
