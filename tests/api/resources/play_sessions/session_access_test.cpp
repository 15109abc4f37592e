// What an app may do with its session token (st_live_), and how the user decides about it.
#include <catch2/catch.hpp>

#include "api/gate/openapi.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

struct Player {
  GateWorld g;
  accounts::User owner = g.world.verified_user("ada");
  apps::App app = g.world.new_app(owner).app;
  accounts::User user = g.world.verified_user("bob");
  Header jwt = bearer(g.world.jwt(user));
  Header token = bearer(*g.world.tokens(app, user).session_token);

  Answered change(const json& body) {
    return g.ask("PATCH", "/api/oauth/connected-apps/" + app.id, {jwt}, body.dump());
  }
  json connected_app() {
    return g.ask("GET", "/api/oauth/connected-apps/" + app.id, {jwt}).body.at("connected_app");
  }
};

// Returns the path with an id in place of each placeholder.
std::string filled(std::string_view path) {
  std::string result(path);
  for (size_t open = result.find('{'); open != std::string::npos; open = result.find('{'))
    result.replace(open, result.find('}') - open + 1, "01936f5e-7c1a-7000-8000-000000000001");
  return result;
}

bool opens_to_session_token(const Route& route) {
  return route.guards.access.kind == Access::Kind::session_or_play_session;
}

TEST_CASE("an app that may only read is refused every write, and nothing else") {
  Player p;
  REQUIRE(p.g.ask("PUT", "/api/avatars/me", {p.token}, R"({"display_name": "mine"})").status ==
          200);
  REQUIRE(p.change({{"session_access", "read"}}).status == 200);
  int reads = 0, writes = 0;
  for (const Route& route : routes()) {
    if (!opens_to_session_token(route)) continue;
    INFO(route.name);
    const std::string method(route.method()), path = filled(route.path());
    const Response answer = p.g.respond(method, path, {p.token}, "{}");
    if (method == "GET") {
      ++reads;
      CHECK(answer.status != 401);
      CHECK((answer.status != 403 || answer.body.find("insufficient_scope") == std::string::npos));
    } else {
      ++writes;
      CHECK(answer.status == 403);
      CHECK(json::parse(answer.body)["error"]["code"] == "insufficient_scope");
    }
    // The user's own session isn't restricted by the app's setting.
    CHECK(p.g.respond(method, path, {p.jwt}, "{}").body.find("insufficient_scope") ==
          std::string::npos);
  }
  CHECK(reads > 5);
  CHECK(writes > 15);
  CHECK(p.g.ask("GET", "/api/avatars/me", {p.token}).body["display_name"] == "mine");
  CHECK(p.g.ask("GET", "/api/avatars/me", {p.token}).status == 200);
  CHECK(p.g.ask("HEAD", "/api/avatars/me", {p.token}).status == 200);
}

TEST_CASE("the refusal says what is missing, without suggesting a scope") {
  Player p;
  p.change({{"session_access", "read"}});
  const auto refused =
      p.g.ask("POST", "/api/social/blocks", {p.token}, json{{"user_id", p.owner.id}}.dump());
  CHECK(refused.error() == "403 insufficient_scope");
  CHECK_THAT(refused.body["error"]["message"].get<std::string>(),
             Catch::Contains("only to read with its session token"));
  CHECK_THAT(refused.header("WWW-Authenticate"),
             Catch::Contains("error=\"insufficient_scope\"") && !Catch::Contains("scope=\"\""));
}

TEST_CASE("the session's own routes stay open to an app that may only read") {
  Player p;
  p.change({{"session_access", "read"}});
  CHECK(p.g.ask("POST", "/api/sessions/heartbeat", {p.token}).status == 200);
  CHECK(p.g.ask("GET", "/api/sessions/status", {p.token}).status == 200);
  const auto next = p.g.ask("POST", "/api/sessions/refresh", {p.token});
  CHECK(next.status == 200);
  const Header fresh = bearer(next.body["session_token"]);
  CHECK(p.g.ask("PUT", "/api/avatars/me", {fresh}, R"({"display_name": "x"})").error() ==
        "403 insufficient_scope");
  CHECK(p.g.ask("POST", "/api/sessions/end", {fresh}).status == 200);
}

TEST_CASE("the user sees and changes what an app may do with its session token") {
  Player p;
  CHECK(p.connected_app()["session_access"] == "full");
  CHECK(p.change({{"session_access", "read"}}).body["connected_app"]["session_access"] == "read");
  // Fields that aren't sent stay as they are.
  const auto limited = p.change({{"daily_spend_limit", 5}}).body["connected_app"];
  CHECK(limited["session_access"] == "read");
  CHECK(limited["daily_spend_limit"] == 5);
  const auto both = p.change({{"session_access", "full"}, {"daily_spend_limit", nullptr}});
  CHECK(both.body["connected_app"]["session_access"] == "full");
  CHECK(both.body["connected_app"]["daily_spend_limit"].is_null());
  CHECK(p.g.ask("PUT", "/api/avatars/me", {p.token}, R"({"display_name": "x"})").status == 200);
  for (const json& wrong : {json::object(), json{{"session_access", "none"}},
                            json{{"session_access", nullptr}}, json{{"nothing", 1}}})
    CHECK(p.change(wrong).error() == "422 validation_failed");
  CHECK(p.change({{"session_access", "read"}, {"daily_spend_limit", -1}}).status == 422);
  CHECK(p.connected_app()["session_access"] == "full");
}

TEST_CASE("an app can do without session tokens") {
  GateWorld g;
  const accounts::User owner = g.world.verified_user("ada");
  const Header jwt = bearer(g.world.jwt(owner));
  const auto create = [&](json body) {
    body.update({{"app_name", "A game"}, {"redirect_uris", {berth::test::redirect_uri}}});
    return g.ask("POST", "/api/oauth/apps", {jwt}, body.dump());
  };
  CHECK(create({}).body["app"]["session_tokens"] == true);
  CHECK(create({{"session_tokens", "no"}}).error() == "422 validation_failed");
  const json app = create({{"session_tokens", false}}).body["app"];
  CHECK(app["session_tokens"] == false);
  const std::string path = "/api/operator/apps/" + app["id"].get<std::string>();
  CHECK(g.ask("GET", path, {jwt}).body["app"]["session_tokens"] == false);
  const auto named = g.ask("PUT", path, {jwt}, R"({"app_name": "Another"})");
  CHECK(named.body["app"]["session_tokens"] == false);

  const auto exchanged = [&] {
    const std::string code = g.world.authorize(g.world.find_app(app["id"]), owner);
    const json body = {{"grant_type", "authorization_code"},
                       {"code", code},
                       {"redirect_uri", berth::test::redirect_uri},
                       {"code_verifier", berth::test::code_verifier},
                       {"client_id", app["client_id"]},
                       {"client_secret", app["client_secret"]}};
    return g.ask("POST", "/api/oauth/token", {}, body.dump());
  };
  const auto without = exchanged();
  REQUIRE(without.status == 200);
  CHECK(without.body.contains("refresh_token"));
  CHECK_FALSE(without.body.contains("session_token"));
  CHECK_FALSE(without.body.contains("session_token_expires_at"));
  CHECK(g.ask("PUT", path, {jwt}, R"({"session_tokens": true})").status == 200);
  CHECK(exchanged().body.contains("session_token"));
}

TEST_CASE("the document says that a session token may be refused a write") {
  const json document = openapi(routes(), Environment::production, "https://api.example.org");
  const auto refusals = [&](const char* path, const char* method) {
    const json& responses = document["paths"][path][method]["responses"];
    if (!responses.contains("403")) return std::string();
    const auto component = responses["403"]["$ref"].get<std::string>().substr(1);
    return document.at(json::json_pointer(component))["description"].get<std::string>();
  };
  CHECK_THAT(refusals("/api/social/blocks", "post"), Catch::Contains("insufficient_scope"));
  CHECK_THAT(refusals("/api/social/blocks", "get"), !Catch::Contains("insufficient_scope"));
}

// An app of ada's that closed /api/auth/refresh for its tokens, and another one that didn't.
struct Client {
  GateWorld g;
  accounts::User user = g.world.verified_user("ada");
  Header jwt = bearer(g.world.jwt(user));
  apps::AppWithSecret registered = g.world.new_app(user);
  const apps::App& app = registered.app;
  std::string token = g.world.tokens(app, user).refresh_token;

  Client() { REQUIRE(set(true).body["app"]["refresh_requires_client"] == true); }
  Answered set(bool wanted) {
    return g.ask("PUT", "/api/operator/apps/" + app.id, {jwt},
                 json{{"refresh_requires_client", wanted}}.dump());
  }
  Answered refresh(json body, const std::vector<Header>& headers = {}) {
    body["refresh_token"] = token;
    return g.ask("POST", "/api/auth/refresh", headers, body.dump());
  }
  Header basic(const std::string& secret) const {
    return {"Authorization", "Basic " + base64(app.client_id + ":" + secret)};
  }
};

TEST_CASE("an app can restrict /api/auth/refresh to clients with its secret") {
  Client c;
  const json wrong = {{"client_id", c.app.client_id}, {"client_secret", "cs_live_wrong"}};
  for (const auto& refused : {c.refresh({}), c.refresh({{"client_id", c.app.client_id}}),
                              c.refresh(wrong), c.refresh({}, {c.basic("cs_live_wrong")})}) {
    CHECK(refused.error() == "401 invalid_client");
    CHECK(refused.body["error_description"] == refused.body["message"]);
    CHECK(refused.header("Cache-Control") == "no-store");
  }
  SECTION("with it in the body") {
    const auto given =
        c.refresh({{"client_id", c.app.client_id}, {"client_secret", c.registered.client_secret}});
    CHECK(given.status == 200);  // none of the attempts has consumed the token
  }
  SECTION("with it in Basic") {
    CHECK(c.refresh({}, {c.basic(c.registered.client_secret)}).status == 200);
  }
  SECTION("with it in both") {
    CHECK(c.refresh({{"client_secret", c.registered.client_secret}},
                    {c.basic(c.registered.client_secret)})
              .error() == "400 invalid_request");
  }
  SECTION("another client's secret") {
    const apps::AppWithSecret other = c.g.world.new_app(c.user);
    const auto refused =
        c.refresh({{"client_id", other.app.client_id}, {"client_secret", other.client_secret}});
    CHECK(refused.error() == "401 invalid_grant");
    CHECK(c.refresh({}, {c.basic(c.registered.client_secret)}).status == 200);
  }
  SECTION("opened again") {
    CHECK(c.set(false).body["app"]["refresh_requires_client"] == false);
    CHECK(c.refresh({}).status == 200);
  }
}

TEST_CASE("whether /api/auth/refresh asks for the client is shown to the app's owner") {
  Client c;
  CHECK(c.g.ask("GET", "/api/oauth/my-apps", {c.jwt}).body["apps"][0]["refresh_requires_client"] ==
        true);
  const json body = {{"app_name", "A game"},
                     {"redirect_uris", {berth::test::redirect_uri}},
                     {"refresh_requires_client", true}};
  CHECK(c.g.ask("POST", "/api/oauth/apps", {c.jwt}, body.dump())
            .body["app"]["refresh_requires_client"] == true);
}

}  // namespace
