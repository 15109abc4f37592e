// Requests that browsers send for pages of other origins.
#include "api/gate/cors.h"

#include <catch2/catch.hpp>
#include <set>
#include <sstream>

#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

const std::string game = "https://game.example.org";
const std::string rival = "https://rival.example.org";
const std::string allow_origin = "Access-Control-Allow-Origin";

Header from(const std::string& origin) { return {"Origin", origin}; }

// Two apps with an origin each.
struct Fixture : Operator {
  Header game_token, rival_token, session;

  Fixture()
      : game_token(bearer(with_origin(game).access_token)),
        rival_token(bearer(with_origin(rival).access_token)),
        session(bearer(*with_origin(game).session_token)) {}

  oauth::Tokens with_origin(const std::string& origin) {
    const auto created = g.ask("POST", "/api/oauth/apps", {bearer(jwt)},
                               json{{"app_name", "A game"},
                                    {"redirect_uris", {berth::test::redirect_uri}},
                                    {"allowed_origins", {origin}}}
                                   .dump());
    REQUIRE(created.status == 201);
    return g.world.tokens(g.world.find_app(created.body["app"].value("id", "")), user);
  }
  std::string allowed(const std::string& path, const std::vector<Header>& headers) {
    return g.ask("GET", path, headers).header(allow_origin);
  }
};

TEST_CASE("a page of the token's app reads the answer, and one of another app doesn't") {
  Fixture f;
  const std::string serve = "/api/external/ads/serve?surface_type=banner";
  const auto answer = f.g.ask("GET", serve, {f.game_token, from(game)});
  CHECK(answer.error() == "404 no_ad_available");
  CHECK(answer.header(allow_origin) == game);
  CHECK(answer.header("Vary") == "Origin");
  for (const char* name : {"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
                           "Retry-After", "X-Request-Id", "Link"}) {
    INFO(name);
    CHECK(answer.header("Access-Control-Expose-Headers").find(name) != std::string::npos);
  }
  CHECK(f.allowed(serve, {f.game_token, from(rival)}) == "");
  CHECK(f.allowed(serve, {f.rival_token, from(game)}) == "");
  CHECK(f.allowed(serve, {f.rival_token, from(rival)}) == rival);
  CHECK(f.allowed(serve, {f.game_token, from("https://evil.example.org")}) == "");
  CHECK(f.allowed(serve, {f.game_token, from("null")}) == "");
  CHECK(f.allowed(serve, {f.game_token, from(game + ".evil.org")}) == "");
  CHECK(f.allowed(serve, {f.game_token, from("http://game.example.org")}) == "");
  CHECK(f.allowed(serve, {f.game_token}) == "");
  CHECK(f.g.ask("GET", serve, {f.game_token}).header("Vary") == "Origin");
}

TEST_CASE("a page reads the profile of its user") {
  Fixture f;
  CHECK(f.allowed("/api/external/profile", {f.game_token, from(game)}) == game);
  CHECK(f.allowed("/api/external/profile", {f.game_token, from(rival)}) == "");
}

TEST_CASE("a session token is held against its app, and a user's own session is of no app") {
  Fixture f;
  CHECK(f.allowed("/api/social/friends", {f.session, from(game)}) == game);
  CHECK(f.allowed("/api/social/friends", {f.session, from(rival)}) == "");
  CHECK(f.allowed("/api/avatars/me", {f.session, from(game)}) == game);
  CHECK(f.allowed("/api/sessions/status", {f.session, from(game)}) == game);
  CHECK(f.allowed("/api/social/friends", {bearer(f.jwt), from(game)}) == "");
  CHECK(f.allowed("/api/points/balance", {bearer(f.jwt), from(game)}) == "");
}

TEST_CASE("a page reads why its token was refused, but nobody's answer") {
  Fixture f;
  const auto refused =
      f.g.ask("GET", "/api/social/friends", {bearer("st_live_unknown"), from(game)});
  CHECK(refused.error() == "401 invalid_token");
  CHECK(refused.header(allow_origin) == game);
  CHECK(f.allowed("/api/social/friends", {from("https://evil.example.org")}) == "");
}

TEST_CASE("a preflight request is answered for the origins of all apps") {
  Fixture f;
  const auto ask = [&](const std::string& path, const std::string& origin,
                       const std::string& method = "POST") {
    return f.g.ask("OPTIONS", path,
                   {from(origin),
                    {"Access-Control-Request-Method", method},
                    {"Access-Control-Request-Headers", "authorization"}});
  };
  for (const char* path :
       {"/api/external/ads/event", "/api/external/points/spend", "/api/social/friends/requests",
        "/api/avatars/me/equip", "/api/sessions/heartbeat", "/api/points/transfer",
        "/api/oauth/token", "/api/oauth/revoke"}) {
    INFO(path);
    const auto answer = ask(path, game);
    CHECK(answer.status == 204);
    CHECK(answer.header(allow_origin) == game);
    CHECK(answer.header("Access-Control-Allow-Methods").find("POST") != std::string::npos);
    CHECK(answer.header("Access-Control-Allow-Headers").find("Authorization") != std::string::npos);
    CHECK(answer.header("Vary") == "Origin");
    CHECK(ask(path, rival).header(allow_origin) == rival);
    CHECK_FALSE(ask(path, "https://evil.example.org").has(allow_origin));
    CHECK_FALSE(ask(path, "null").has(allow_origin));
    CHECK_FALSE(ask(path, std::string(4'000, 'x')).has(allow_origin));
  }
  // The others stay closed: deployments, accounts, admins, hosted login.
  for (const char* path : {"/api/deploy/apps", "/api/auth/login", "/api/oauth/token/verify",
                           "/api/oauth/apps", "/api/external/campaigns"}) {
    INFO(path);
    const auto answer = ask(path, game);
    CHECK(answer.status == 204);
    CHECK(answer.has("Allow"));
    CHECK_FALSE(answer.has(allow_origin));
    CHECK_FALSE(answer.has("Access-Control-Allow-Methods"));
  }
  CHECK_FALSE(ask("/api/social/friends/requests", game, "BREW").has(allow_origin));
  CHECK(ask("/api/nowhere", game).status == 404);
}

TEST_CASE("the token endpoint answers to the origins of the client") {
  Fixture f;
  const auto created = f.g.ask("POST", "/api/oauth/apps", {bearer(f.jwt)},
                               json{{"app_name", "Third"},
                                    {"redirect_uris", {berth::test::redirect_uri}},
                                    {"allowed_origins", {"https://third.example.org"}}}
                                   .dump());
  json body = {{"grant_type", "refresh_token"},
               {"refresh_token", "rt_live_x"},
               {"client_id", created.body["app"]["client_id"]},
               {"client_secret", "wrong"}};
  const auto allowed = [&](const std::string& origin) {
    return f.g.ask("POST", "/api/oauth/token", {from(origin)}, body.dump()).header(allow_origin);
  };
  CHECK(allowed("https://third.example.org") == "https://third.example.org");
  CHECK(allowed(game) == "");
}

// Returns the names in a field that lists some, such as Access-Control-Allow-Headers.
std::set<std::string> names_in(const std::string& list) {
  std::set<std::string> names;
  std::istringstream words(list);
  for (std::string word; words >> word;) {
    if (word.ends_with(',')) word.pop_back();
    names.insert(word);
  }
  return names;
}

TEST_CASE("a page may read each field of an answer that the document describes") {
  Fixture f;
  const std::string path = "/.well-known/openapi.json";
  const auto answer = f.g.ask("GET", path, {from(game)});
  const auto exposed = names_in(answer.header("Access-Control-Expose-Headers"));
  // Browsers follow Location themselves, and no page has the internal secret that a backup needs.
  const std::set<std::string> unread = {"Location", "X-Archive-Size"};
  for (const auto& [name, header] : answer.body["components"]["headers"].items()) {
    if (unread.contains(name)) continue;
    INFO(name);
    CHECK(exposed.contains(name));
  }
}

TEST_CASE("a page may ask whether the document that it has is still the present one") {
  Fixture f;
  const std::string path = "/.well-known/openapi.json";
  const auto preflight =
      f.g.ask("OPTIONS", path, {from(game), {"Access-Control-Request-Method", "GET"}});
  CHECK(names_in(preflight.header("Access-Control-Allow-Headers")).contains("If-None-Match"));
  const std::string etag = f.g.ask("GET", path, {from(game)}).header("ETag");
  REQUIRE_FALSE(etag.empty());
  const Response same = f.g.respond("GET", path, {from(game), {"If-None-Match", etag}});
  CHECK(same.status == 304);
  CHECK(std::count(same.headers.begin(), same.headers.end(),
                   std::pair(allow_origin, std::string("*"))) == 1);
}

TEST_CASE("the well-known documents are for every page") {
  Fixture f;
  for (const char* path : {"/.well-known/openapi.json", "/.well-known/oauth-protected-resource",
                           "/.well-known/oauth-authorization-server",
                           "/.well-known/berth-receipts.json", "/.well-known/berth-ledger"}) {
    INFO(path);
    CHECK(f.allowed(path, {from("https://evil.example.org")}) == "*");
    CHECK(f.allowed(path, {}) == "*");
    CHECK(f.g.ask("OPTIONS", path,
                  {from("https://evil.example.org"), {"Access-Control-Request-Method", "GET"}})
              .header(allow_origin) == "*");
  }
}

TEST_CASE(
    "no answer lets a browser send credentials of its own, and no other route names an origin") {
  Fixture f;
  for (const Route& route : routes()) {
    std::string path(route.path());
    for (size_t open = path.find('{'); open != std::string::npos; open = path.find('{'))
      path.replace(open, path.find('}') + 1 - open, "01936f5e-7c1a-7000-8000-000000000001");
    INFO(route.method() << " " << path);
    for (const auto& answer :
         {f.g.respond(std::string(route.method()), path, {f.game_token, from(game)}, "{}"),
          f.g.respond(
              "OPTIONS", path,
              {from(game), {"Access-Control-Request-Method", std::string(route.method())}})})
      for (const auto& [name, value] : answer.headers) {
        CHECK(name != "Access-Control-Allow-Credentials");
        if (name == allow_origin) CHECK(route.guards.access.cors != Cors::none);
      }
  }
}

TEST_CASE("the owner changes the origins, and what is removed is refused at once") {
  Fixture f;
  const auto apps_list = f.g.ask("GET", "/api/operator/apps", {bearer(f.jwt)}).body["apps"];
  const auto mine = std::find_if(apps_list.begin(), apps_list.end(), [](const json& app) {
    return app["allowed_origins"] == json::array({rival});
  });
  REQUIRE(mine != apps_list.end());
  const std::string path = "/api/operator/apps/" + mine->value("id", "");
  const auto change = [&](const json& origins) {
    return f.g.ask("PUT", path, {bearer(f.jwt)}, json{{"allowed_origins", origins}}.dump());
  };
  const std::string serve = "/api/external/ads/serve?surface_type=banner";
  CHECK(f.allowed(serve, {f.rival_token, from(rival)}) == rival);
  const auto changed = change({"HTTPS://New.Example.org:443", "http://localhost:5173"});
  REQUIRE(changed.status == 200);
  CHECK(changed.body["app"]["allowed_origins"] ==
        json::array({"http://localhost:5173", "https://new.example.org"}));
  CHECK(f.allowed(serve, {f.rival_token, from(rival)}) == "");
  CHECK(f.allowed(serve, {f.rival_token, from("https://new.example.org")}) ==
        "https://new.example.org");
  for (const char* bad :
       {"*", "null", "game.example.org", "https://game.example.org/", "https://game.example.org/x",
        "https://*.example.org", "http://game.example.org", "https://a@game.example.org",
        "ftp://game.example.org", "https://game.example.org?x", "https://game.example.org#x",
        "capacitor://localhost", "https://game.example.org, https://b.example.org", ""}) {
    INFO(bad);
    const auto refused = change({bad});
    CHECK(refused.error() == "422 validation_failed");
    CHECK(refused.body["error"]["details"].contains("allowed_origins"));
  }
  json many = json::array();
  for (int i = 0; i < 11; ++i) many.push_back("https://a" + std::to_string(i) + ".example.org");
  CHECK(change(many).error() == "422 validation_failed");
  // What isn't named stays, and a deleted app has no origins left.
  f.g.ask("PUT", path, {bearer(f.jwt)}, R"({"app_name": "Another"})");
  CHECK(f.allowed(serve, {f.rival_token, from("https://new.example.org")}) != "");
  CHECK(f.g.ask("DELETE", path, {bearer(f.jwt)}).status == 200);
  CHECK(f.g.world.read([](db::Tx& tx) {
    return apps::is_origin_of_any(tx, "https://new.example.org");
  }) == false);
}

}  // namespace
