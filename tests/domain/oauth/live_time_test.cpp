// Points for live minutes.
#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "controller/domain/ledger/ledger_audit.h"
#include "controller/domain/oauth/play_sessions.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

struct Fixture {
  World world;
  rewards::Rules rules = {.session = 3};
  accounts::User ada = world.verified_user("ada");
  accounts::User bob = world.verified_user("bob");
  apps::App app = world.new_app(ada).app;
  std::string token = start(app, bob);

  Fixture() { world.mint(ledger::treasury(), 1'000); }

  std::string start(const apps::App& in, const accounts::User& user) {
    return *world.tokens(in, user).session_token;
  }
  play::Session beat(const std::string& with) {
    return world.write(
        [&](db::Tx& tx) { return play::heartbeat(tx, play::check(tx, with), rules); });
  }
  play::Session beat() { return beat(token); }
  // Sends a heartbeat every `step` for this long.
  play::Session play(Duration time, Duration step) {
    play::Session session = beat();
    for (Duration passed = step; passed <= time; passed += step) {
      world.clock.advance(step);
      session = beat();
    }
    return session;
  }
  std::int64_t points(const accounts::User& user) {
    return world.balance(ledger::user_account(user.id));
  }
};

TEST_CASE("each live minute earns its points, however the heartbeats are spaced") {
  for (const Duration step : {Duration(1s), Duration(7s), Duration(30s), Duration(59s),
                              Duration(60s), Duration(61s), Duration(75s)}) {
    INFO(step.count());
    Fixture f;
    const auto minutes = Duration(10min) / step * step / 1min;
    CHECK(f.play(10min, step).points_earned == 3 * minutes);
    CHECK(f.points(f.bob) == 3 * minutes);
    CHECK(f.world.balance(ledger::treasury()) == 1'000 - 3 * minutes);
  }
}

TEST_CASE("minutes without frequent heartbeats earn nothing") {
  Fixture f;
  CHECK(f.beat().points_earned == 0);
  f.world.clock.advance(75s + 1ms);
  CHECK(f.beat().points_earned == 0);
  f.world.clock.advance(29min);
  CHECK(f.beat().points_earned == 0);
  f.world.clock.advance(59s);
  CHECK(f.beat().points_earned == 0);
  f.world.clock.advance(1s);
  CHECK(f.beat().points_earned == 3);
}

TEST_CASE("a heartbeat a minute by a timer that runs late earns a point a minute, and no more") {
  Fixture f;
  f.beat();
  Duration passed(0);
  CHECK(rc::check([&] {
    const Duration gap = 60s + Duration(*rc::gen::inRange(0, 15'001));
    f.world.clock.advance(gap);
    passed += gap;
    RC_ASSERT(f.beat().points_earned == 3 * (passed / 1min));
  }));
}

TEST_CASE("many heartbeats at one moment count once") {
  Fixture f;
  f.beat();
  f.world.clock.advance(59s);
  for (int i = 0; i < 50; ++i) CHECK(f.beat().points_earned == 0);
  // Each of these was read before the others were written.
  const auto early = f.world.read([&](db::Tx& tx) { return play::check(tx, f.token); });
  f.world.clock.advance(59s);
  for (int i = 0; i < 5; ++i)
    f.world.write([&](db::Tx& tx) { play::heartbeat(tx, early, f.rules); });
  CHECK(f.points(f.bob) == 3);
}

TEST_CASE("a minute in two apps at the same time counts once") {
  Fixture f;
  const auto other = f.world.new_app(f.ada).app;
  const std::string second = f.start(other, f.bob);
  for (int i = 0; i <= 20; ++i) {
    f.beat();
    f.beat(second);
    f.world.clock.advance(15s);
    f.beat(second);
    f.world.clock.advance(15s);
  }
  // 10 minutes and a half, of which the last half minute had no heartbeat.
  CHECK(f.points(f.bob) >= 3 * 9);
  CHECK(f.points(f.bob) <= 3 * 10);
}

TEST_CASE("limits, an unverified address and an empty treasury end the points, and nothing else") {
  Fixture f;
  SECTION("the user's day") {
    f.rules.user_daily = 7;
    CHECK(f.play(10min, 30s).points_earned == 6);
  }
  SECTION("the owner's daily cap, over all of the owner's apps") {
    f.rules.owner_daily = 3;
    CHECK(f.play(2min, 30s).points_earned == 3);
    const auto eve = f.world.verified_user("eve");
    f.token = f.start(f.world.new_app(f.ada).app, eve);
    CHECK(f.play(2min, 30s).points_earned == 0);
  }
  SECTION("an address that isn't verified") {
    const auto guest = f.world.new_user("guest");
    f.token = f.start(f.app, guest);
    CHECK(f.play(2min, 30s).points_earned == 0);
  }
  SECTION("an empty treasury") {
    f.rules.session = 2'000;
    f.rules.user_daily = 1'000'000;
    CHECK(f.play(2min, 30s).points_earned == 0);
  }
  SECTION("no points for sessions") {
    f.rules.session = 0;
    CHECK(f.play(2min, 30s).points_earned == 0);
  }
  f.world.read([](db::Tx& tx) {
    for (const auto& check : ledger::audit(tx)) CHECK(check.ok);
  });
}

TEST_CASE("a daily limit ends with the day") {
  Fixture f;
  f.rules.user_daily = 3;
  CHECK(f.play(5min, 30s).points_earned == 3);
  f.world.clock.advance(12h);  // it began at noon
  f.token = f.start(f.app, f.bob);
  CHECK(f.play(5min, 30s).points_earned == 3);
  CHECK(f.points(f.bob) == 6);
}

TEST_CASE("an ended session earns nothing") {
  Fixture f;
  f.play(1min, 30s);
  f.world.write([&](db::Tx& tx) { play::end(tx, play::check(tx, f.token)); });
  f.world.clock.advance(30s);
  CHECK(refusal([&] { f.beat(); }) == "409 invalid_state");
  CHECK(f.points(f.bob) == 3);
}

}  // namespace
