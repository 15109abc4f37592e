// Finding out who calls, on routes that accept several kinds of tokens.
#include "api/gate/authenticate.h"

#include <catch2/catch.hpp>

#include "api/gate/openapi.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;
using berth::test::refusal;

Route row(const Access& access) {
  return {.request = "GET /x",
          .name = "x",
          .tag = "X",
          .summary = "X",
          .text = "X.",
          .guards = {access},
          .answer = {200, "HealthResponse"},
          .run = ReadHandler{}};
}

// A player who uses another owner's app.
struct Player {
  GateWorld g;
  accounts::User owner = g.world.verified_user("ada");
  apps::App app =
      g.world.approved_app(owner, {Scope::profile_read, Scope::points_read, Scope::points_spend});
  accounts::User user = g.world.verified_user("bob");
  std::string jwt = g.world.jwt(user);
  oauth::Tokens tokens = g.world.tokens(app, user, "profile:read points:spend");

  // Calls `look` with the call that the token makes, and returns how it is refused.
  template <typename Look>
  std::string call(const Access& access, const std::string& token, Look&& look) {
    Request request = {.method = "GET",
                       .path = "/",
                       .raw_query = {},
                       .query = {},
                       .headers = {},
                       .host = {},
                       .remote_address = {},
                       .body = {}};
    const std::string credentials = "Bearer " + token;
    if (!token.empty()) request.headers.add("Authorization", credentials);
    return refusal([&] {
      g.world.read([&](db::Tx& tx) {
        const Route route = row(access);
        Call made = {.http = request, .route = &route};
        authenticate(tx, g.services, made);
        look(made);
      });
    });
  }
  std::string call(const Access& access, const std::string& token) {
    return call(access, token, [](const Call&) {});
  }
};

TEST_CASE("a session JWT and an app's session token both stand for the user") {
  Player p;
  int seen = 0;
  CHECK(p.call(jwt_or_play_session(), p.jwt, [&](const Call& call) {
    ++seen;
    CHECK(call.user.value().id == p.user.id);
    CHECK_FALSE(call.session_id.empty());
    CHECK_FALSE(call.play);
    CHECK_FALSE(call.caller);
  }) == "");
  CHECK(p.call(jwt_or_play_session(), *p.tokens.session_token, [&](const Call& call) {
    ++seen;
    CHECK(call.user.value().id == p.user.id);
    CHECK(call.user->username == "bob");
    CHECK(call.session_id.empty());
    CHECK(call.play.value().app_id == p.app.id);
    CHECK_FALSE(call.caller);
  }) == "");
  CHECK(seen == 2);
}

TEST_CASE("routes that require a session accept no other token") {
  Player p;
  const Access access = jwt_or_play_session();
  CHECK(p.call(access, "") == "401 invalid_token");
  CHECK(p.call(access, "nonsense") == "401 invalid_token");
  CHECK(p.call(access, "a.b.c") == "401 invalid_token");
  CHECK(p.call(access, "st_live_unknown") == "401 invalid_token");
  CHECK(p.call(access, p.tokens.access_token) == "401 wrong_token_type");
  CHECK(p.call(access, p.tokens.refresh_token) == "401 wrong_token_type");
  CHECK(p.call(access, p.g.world.authorize(p.app, p.user)) == "401 wrong_token_type");
}

TEST_CASE("an app's session token stands for the user only while the session lives") {
  Player p;
  const Access access = jwt_or_play_session();
  SECTION("ended") {
    p.g.world.write([&](db::Tx& tx) { play::end(tx, play::check(tx, *p.tokens.session_token)); });
    CHECK(p.call(access, *p.tokens.session_token) == "401 token_revoked");
    // The session's own routes report its end themselves.
    CHECK(p.call(play_session(), *p.tokens.session_token) == "");
  }
  SECTION("expired") {
    p.g.world.clock.advance(play::token_lifetime);
    CHECK(p.call(access, *p.tokens.session_token) == "401 token_expired");
  }
  SECTION("disconnected") {
    p.g.world.write([&](db::Tx& tx) { connections::disconnect(tx, p.user.id, p.app.id); });
    CHECK(p.call(access, *p.tokens.session_token) == "401 token_revoked");
    CHECK(p.call(access, p.jwt) == "");
  }
  SECTION("suspended") {
    p.g.world.suspend_user(p.user.id);
    CHECK(p.call(access, *p.tokens.session_token) == "403 account_suspended");
    CHECK(p.call(access, p.jwt) == "403 account_suspended");
  }
}

TEST_CASE("a session JWT needs no scope on routes where an OAuth token needs one") {
  Player p;
  const Access access = jwt_or_oauth({Scope::points_spend});
  int seen = 0;
  CHECK(p.call(access, p.jwt, [&](const Call& call) {
    ++seen;
    CHECK(call.user.value().id == p.user.id);
    CHECK_FALSE(call.caller);
  }) == "");
  CHECK(p.call(access, p.tokens.access_token, [&](const Call& call) {
    ++seen;
    CHECK(call.user.value().id == p.user.id);
    CHECK(call.caller.value().app_id == p.app.id);
    CHECK(call.session_id.empty());
  }) == "");
  CHECK(seen == 2);
  CHECK(p.call(access, p.g.world.tokens(p.app, p.user, "profile:read").access_token) ==
        "403 insufficient_scope");
  CHECK(p.call(access, *p.tokens.session_token) == "401 wrong_token_type");
  CHECK(p.call(access, p.tokens.refresh_token) == "401 wrong_token_type");
  CHECK(p.call(access, "nonsense") == "401 invalid_token");
  CHECK(p.call(access, "") == "401 invalid_token");
}

TEST_CASE("the document lists every kind of token that a route accepts") {
  const auto security_of = [](const Access& access) {
    return openapi({row(access)}, Environment::production,
                   "https://api.example.org")["paths"]["/x"]["get"]["security"];
  };
  CHECK(security_of(jwt_or_play_session()) ==
        json::parse(R"([{"session": []}, {"play_session": []}, {"console": []}])"));
  CHECK(security_of(jwt_or_oauth({Scope::points_spend})) ==
        json::parse(R"([{"session": []}, {"oauth": ["points:spend"]}, {"console": []}])"));
  CHECK(security_of(person()) ==
        json::parse(R"([{"session": []}, {"oauth": []}, {"console": []}])"));
  CHECK(security_of(session_jwt()) == json::parse(R"([{"session": []}])"));
}

}  // namespace
