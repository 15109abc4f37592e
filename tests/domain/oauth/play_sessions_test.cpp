#include "controller/domain/oauth/play_sessions.h"

#include <catch2/catch.hpp>

#include "controller/domain/oauth/connections.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

struct Fixture {
  World world;
  accounts::User ada = world.verified_user("ada");
  accounts::User bob = world.verified_user("bob");
  apps::App app = world.new_app(ada).app;
  oauth::Tokens tokens = world.tokens(app, bob);
  std::string token = *tokens.session_token;

  play::Session session(const std::string& text) {
    return world.read([&](db::Tx& tx) { return play::check(tx, text); });
  }
  std::string check(const std::string& text) {
    return refusal([&] { session(text); });
  }
  template <typename Work>
  std::string write(Work&& work) {
    return refusal([&] { world.write(work); });
  }
};

TEST_CASE("a session is alive for a minute after each heartbeat") {
  Fixture f;
  const auto alive = [&] { return play::is_alive(f.session(f.token), f.world.clock.now()); };
  CHECK(f.session(f.token).user_id == f.bob.id);
  CHECK(f.session(f.token).app_id == f.app.id);
  CHECK_FALSE(alive());
  const auto beat = [&] {
    return f.write([&](db::Tx& tx) { play::heartbeat(tx, play::check(tx, f.token), {}); });
  };
  CHECK(beat() == "");
  CHECK(alive());
  f.world.clock.advance(60s - 1ms);
  CHECK(alive());
  f.world.clock.advance(1ms);
  CHECK_FALSE(alive());
  CHECK(beat() == "");
  CHECK(alive());
}

TEST_CASE("an ended session can be read, and nothing more can be done with it") {
  Fixture f;
  const auto end = [&] {
    return f.write([&](db::Tx& tx) { play::end(tx, play::check(tx, f.token)); });
  };
  CHECK(end() == "");
  CHECK(end() == "");
  CHECK(f.session(f.token).ended_at);
  CHECK(f.write([&](db::Tx& tx) { play::heartbeat(tx, play::check(tx, f.token), {}); }) ==
        "409 invalid_state");
  CHECK(f.write([&](db::Tx& tx) { play::refresh(tx, play::check(tx, f.token)); }) ==
        "409 invalid_state");
}

TEST_CASE("a session without a heartbeat ends by itself") {
  Fixture f;
  const auto beat = [&] {
    return f.write([&](db::Tx& tx) { play::heartbeat(tx, play::check(tx, f.token), {}); });
  };
  const auto refresh = [&] {
    return f.write([&](db::Tx& tx) { play::refresh(tx, play::check(tx, f.token)); });
  };
  SECTION("from its start on") {}
  SECTION("from the last one on") {
    f.world.clock.advance(play::ends_after - 1ms);
    CHECK(beat() == "");
  }
  f.world.clock.advance(play::ends_after - 1ms);
  CHECK_FALSE(f.session(f.token).ended_at);
  const auto before = f.session(f.token);
  f.world.clock.advance(1ms);
  CHECK(f.session(f.token).ended_at == f.world.clock.now());
  CHECK(beat() == "409 invalid_state");
  CHECK(refresh() == "409 invalid_state");
  // The session was read before, and has ended since.
  CHECK(f.write([&](db::Tx& tx) { play::heartbeat(tx, before, {}); }) == "409 invalid_state");
  const auto end = f.world.clock.now();
  f.world.clock.advance(1h);
  CHECK(f.write([&](db::Tx& tx) { play::end(tx, play::check(tx, f.token)); }) == "");
  CHECK(f.session(f.token).ended_at == end);
}

TEST_CASE("a refreshed session continues under its new token only") {
  Fixture f;
  const auto keep_alive = [&](const std::string& token, Duration time) {
    for (Duration passed{}; passed < time; passed += 15min) {
      f.world.write([&](db::Tx& tx) { play::heartbeat(tx, play::check(tx, token), {}); });
      f.world.clock.advance(15min);
    }
  };
  keep_alive(f.token, 23h);
  const auto before = f.session(f.token);
  const auto next = f.world.write([&](db::Tx& tx) { return play::refresh(tx, before); });
  CHECK(next.token.starts_with("st_live_"));
  CHECK(next.expires_at == f.world.clock.now() + 24h);
  CHECK(f.check(f.token) == "401 invalid_token");
  CHECK(f.session(next.token).id == before.id);
  // If two calls have checked the same token, one of them refreshes it.
  CHECK(f.write([&](db::Tx& tx) { play::refresh(tx, before); }) == "409 invalid_state");
  keep_alive(next.token, 24h);
  CHECK(f.check(next.token) == "401 token_expired");
}

// Returns the app after setting whether it takes session tokens.
apps::App with_session_tokens(Fixture& f, bool wanted) {
  return f.world.write([&](db::Tx& tx) {
    return apps::update(tx, f.app,
                        {.app_name = "My game",
                         .app_description = "",
                         .logo_url = {},
                         .website_url = {},
                         .redirect_uris = {redirect_uri},
                         .allowed_scopes = f.app.allowed_scopes,
                         .session_tokens = wanted},
                        apps::Listing::unlisted)
        .app;
  });
}

TEST_CASE("an app without session tokens gets none, and those that it has don't work") {
  Fixture f;
  const apps::App without = with_session_tokens(f, false);
  CHECK_FALSE(without.session_tokens);
  CHECK(f.check(f.token) == "401 token_revoked");
  const oauth::Tokens tokens = f.world.tokens(without, f.bob);
  CHECK_FALSE(tokens.session_token);
  CHECK_FALSE(tokens.session_token_expires_at);
  CHECK_FALSE(tokens.refresh_token.empty());
  with_session_tokens(f, true);
  CHECK(f.check(f.token) == "");
}

TEST_CASE("an app that enables session tokens gets none for an earlier consent") {
  Fixture f;
  const std::string code = f.world.authorize(with_session_tokens(f, false), f.bob);
  const apps::App with = with_session_tokens(f, true);
  CHECK_FALSE(f.world.exchange(with, code).value().session_token);
  CHECK(f.world.tokens(with, f.bob).session_token);
}

TEST_CASE("without a page, an app gets session tokens only from those who have seen that it does") {
  Fixture f;
  const auto carol = f.world.verified_user("carol");
  f.world.tokens(with_session_tokens(f, false), carol);
  const apps::App with = with_session_tokens(f, true);
  const auto silently = [&] {
    auto request = f.world.authorization(with);
    request.prompt = "none";
    const std::string session = f.world.log_in(carol).id;
    const std::string code = f.world.write(
        [&](db::Tx& tx) { return oauth::authorize(tx, carol, request, {}, session).value().code; });
    return f.world.exchange(with, code).value().session_token.has_value();
  };
  const auto chosen = [&] {
    return f.world.read(
        [&](db::Tx& tx) { return connections::session_access(tx, carol.id, with.id); });
  };
  CHECK_FALSE(silently());
  CHECK_FALSE(chosen());
  CHECK(f.world.tokens(with, carol).session_token);
  CHECK(chosen() == play::SessionAccess::full);
  CHECK(silently());
  f.world.write([&](db::Tx& tx) { connections::disconnect(tx, carol.id, with.id); });
  f.world.tokens(with_session_tokens(f, false), carol);
  with_session_tokens(f, true);
  CHECK_FALSE(silently());
}

TEST_CASE("the user decides what an app may do with its session tokens, at once") {
  Fixture f;
  const auto access = [&] { return f.session(f.token).access; };
  const auto set = [&](play::SessionAccess wanted) {
    f.world.write(
        [&](db::Tx& tx) { connections::set_session_access(tx, f.bob.id, f.app.id, wanted); });
  };
  CHECK(access() == play::SessionAccess::full);
  set(play::SessionAccess::read);
  CHECK(access() == play::SessionAccess::read);
  // Neither a refresh nor another consent without a choice restores the access.
  const auto next =
      f.world.write([&](db::Tx& tx) { return play::refresh(tx, play::check(tx, f.token)); });
  CHECK(f.session(next.token).access == play::SessionAccess::read);
  CHECK(f.session(*f.world.tokens(f.app, f.bob).session_token).access == play::SessionAccess::read);
  // A consent with a choice applies to all of the app's tokens.
  f.world.write([&](db::Tx& tx) {
    REQUIRE(oauth::authorize(tx, f.bob, f.world.authorization(f.app), play::SessionAccess::full));
  });
  CHECK(f.session(next.token).access == play::SessionAccess::full);
  // After disconnecting and connecting again, the access has its initial value.
  set(play::SessionAccess::read);
  f.world.write([&](db::Tx& tx) { connections::disconnect(tx, f.bob.id, f.app.id); });
  CHECK(f.session(*f.world.tokens(f.app, f.bob).session_token).access == play::SessionAccess::full);
  CHECK(f.write([&](db::Tx& tx) {
    connections::set_session_access(tx, f.ada.id, f.app.id, play::SessionAccess::read);
  }) == "404 app_not_found");
}

TEST_CASE("a session ends with the consent and family that it came from") {
  {
    Fixture f;
    f.world.write([&](db::Tx& tx) { connections::disconnect(tx, f.bob.id, f.app.id); });
    CHECK(f.check(f.token) == "401 token_revoked");
  }
  {
    Fixture f;
    f.world.write([&](db::Tx& tx) { oauth::revoke(tx, f.app, f.tokens.refresh_token); });
    CHECK(f.check(f.token) == "401 token_revoked");
  }
  {
    Fixture f;
    f.world.suspend_user(f.bob.id);
    CHECK(f.check(f.token) == "403 account_suspended");
  }
  Fixture f;
  for (const std::string& other : {std::string(), std::string("st_live_unknown"),
                                   f.tokens.access_token, f.tokens.refresh_token})
    CHECK(f.check(other) == "401 invalid_token");
}

}  // namespace
