// The rotation of refresh tokens (RFC 9700, section 4.14.2).
#include <catch2/catch.hpp>

#include "controller/domain/oauth/oauth.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

struct Fixture {
  World world;
  accounts::User ada = world.verified_user("ada");
  apps::App app = world.new_app(ada).app;
  oauth::Tokens first = world.tokens(app, ada);

  bool works(const std::string& access_token) {
    return refusal([&] { world.check(access_token); }).empty();
  }
  std::string refresh(const std::string& token) { return refusal_of(world.refresh(app, token)); }
};

constexpr const char* refused = "401 invalid_grant";

TEST_CASE("a refresh token gives a new pair for the same user and scopes, and no session token") {
  Fixture f;
  const auto second = f.world.refresh(f.app, f.first.refresh_token).value();
  CHECK(second.refresh_token != f.first.refresh_token);
  CHECK(second.access_token != f.first.access_token);
  CHECK(second.scopes == f.first.scopes);
  CHECK(second.user_id == f.ada.id);
  CHECK_FALSE(second.session_token);
  CHECK(f.works(second.access_token));
  CHECK(f.works(f.first.access_token));
  CHECK(f.refresh(second.refresh_token) == "");
}

TEST_CASE("refreshing works without client authentication, but not as another client") {
  Fixture f;
  const auto other = f.world.new_app(f.ada).app;
  CHECK(refusal_of(f.world.refresh(other, f.first.refresh_token)) == refused);
  CHECK(refusal_of(f.world.refresh(std::nullopt, f.first.refresh_token)) == "");
}

// Returns the app after its owner has closed /api/auth/refresh for it.
apps::App closed(Fixture& f) {
  return f.world.write([&](db::Tx& tx) {
    return apps::update(tx, f.app,
                        {.app_name = "My game",
                         .app_description = "",
                         .logo_url = {},
                         .website_url = {},
                         .redirect_uris = {redirect_uri},
                         .allowed_scopes = f.app.allowed_scopes,
                         .refresh_requires_client = true},
                        apps::Listing::unlisted)
        .app;
  });
}

TEST_CASE(
    "an app can require its client credentials, and an attempt without them changes nothing") {
  Fixture f;
  CHECK(closed(f).refresh_requires_client);
  CHECK(refusal_of(f.world.refresh(std::nullopt, f.first.refresh_token)) == "401 invalid_client");
  // The token wasn't consumed.
  const auto second = f.world.refresh(f.app, f.first.refresh_token).value();
  // A replay without client authentication revokes nothing, however late it comes.
  f.world.clock.advance(1min);
  CHECK(refusal_of(f.world.refresh(std::nullopt, f.first.refresh_token)) == "401 invalid_client");
  CHECK(f.works(second.access_token));
  CHECK(f.refresh(second.refresh_token) == "");
}

TEST_CASE("what isn't a refresh token is refused") {
  Fixture f;
  for (const std::string& token : {std::string(), std::string("rt_live_unknown"),
                                   f.first.access_token, *f.first.session_token})
    CHECK(f.refresh(token) == refused);
  CHECK(f.works(f.first.access_token));
}

TEST_CASE("a token that is used again within the grace is refused, and nothing else happens") {
  Fixture f;
  const auto second = f.world.refresh(f.app, f.first.refresh_token).value();
  f.world.clock.advance(10s - 1ms);
  CHECK(f.refresh(f.first.refresh_token) == refused);
  CHECK(f.works(second.access_token));
  CHECK(f.refresh(second.refresh_token) == "");
}

TEST_CASE("reusing a token after the grace revokes its whole family, and no other") {
  Fixture f;
  const auto other_family = f.world.tokens(f.app, f.ada);
  const auto second = f.world.refresh(f.app, f.first.refresh_token).value();
  f.world.clock.advance(10s);
  CHECK(f.refresh(f.first.refresh_token) == refused);
  CHECK_FALSE(f.works(f.first.access_token));
  CHECK_FALSE(f.works(second.access_token));
  CHECK(f.refresh(second.refresh_token) == refused);
  CHECK(f.works(other_family.access_token));
  CHECK(f.refresh(other_family.refresh_token) == "");
}

TEST_CASE("another client's replay revokes nothing") {
  Fixture f;
  const auto other = f.world.new_app(f.ada).app;
  const auto second = f.world.refresh(f.app, f.first.refresh_token).value();
  f.world.clock.advance(1h - 1s);
  CHECK(refusal_of(f.world.refresh(other, f.first.refresh_token)) == refused);
  CHECK(f.works(second.access_token));
}

TEST_CASE("with no grace the first replay revokes") {
  Fixture f;
  f.world.policy.refresh_reuse_grace = 0s;
  const auto second = f.world.refresh(f.app, f.first.refresh_token).value();
  CHECK(f.refresh(f.first.refresh_token) == refused);
  CHECK_FALSE(f.works(second.access_token));
}

TEST_CASE("a refresh token works for less than 30 days") {
  for (const auto& [waited, expected] :
       {std::pair<Duration, std::string>{std::chrono::days(30) - 1ms, ""},
        {std::chrono::days(30), refused}}) {
    Fixture f;
    f.world.clock.advance(waited);
    CHECK(f.refresh(f.first.refresh_token) == expected);
  }
}

TEST_CASE("a family ends after its lifetime, however often it is refreshed") {
  Fixture f;
  std::string token = f.first.refresh_token;
  for (int i = 0; i < 4; ++i) {
    f.world.clock.advance(std::chrono::days(20));
    token = f.world.refresh(f.app, token).value().refresh_token;
  }
  f.world.clock.advance(std::chrono::days(10) - 1ms);
  token = f.world.refresh(f.app, token).value().refresh_token;
  f.world.clock.advance(1ms);
  CHECK(f.refresh(token) == refused);
  // The answer doesn't advise to refresh.
  CHECK(f.world.refresh(f.app, token).error().what() ==
        std::string("the refresh token has expired; ask the user again"));
}

}  // namespace
