#include "controller/domain/oauth/connections.h"

#include <catch2/catch.hpp>

#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

struct Fixture {
  World world;
  accounts::User ada = world.verified_user("ada");
  accounts::User bob = world.verified_user("bob");
  apps::App app = world.approved_app(ada, {Scope::points_spend});

  connections::Connection connection() {
    return world.read([&](db::Tx& tx) { return connections::get(tx, bob.id, app.id); });
  }
  std::string spend(const std::string& grant_id, std::int64_t amount) {
    return refusal([&] {
      world.write([&](db::Tx& tx) { connections::count_spending(tx, grant_id, amount); });
    });
  }
  void limit(const std::optional<std::int64_t>& points) {
    world.write(
        [&](db::Tx& tx) { connections::set_daily_spend_limit(tx, bob.id, app.id, points); });
  }
};

TEST_CASE(
    "users see the apps that they have connected, newest first, with all scopes that they "
    "granted") {
  Fixture f;
  const auto connected_at = f.world.clock.now();
  f.world.authorize(f.app, f.bob, "points:spend");
  f.world.clock.advance(1s);
  const auto second = f.world.new_app(f.ada).app;
  f.world.authorize(second, f.bob);
  f.world.authorize(f.app, f.bob, "profile:read");
  f.world.authorize(f.app, f.ada, "profile:read");
  const auto page = f.world.read([&](db::Tx& tx) { return connections::list(tx, f.bob.id, {}); });
  REQUIRE(page.total == 2);
  CHECK(page.items.at(0).app_id == second.id);
  CHECK(page.items.at(1).app_id == f.app.id);
  CHECK(page.items.at(1).scopes == ScopeSet{Scope::profile_read, Scope::points_spend});
  CHECK(page.items.at(1).connected_at == connected_at);
  CHECK_FALSE(page.items.at(1).last_used);
}

TEST_CASE("an app that a user hasn't connected isn't found") {
  Fixture f;
  f.world.authorize(f.app, f.ada);
  const auto refused = [&](auto&& work) { return refusal([&] { f.world.write(work); }); };
  CHECK(refused([&](db::Tx& tx) { connections::get(tx, f.bob.id, f.app.id); }) ==
        "404 app_not_found");
  CHECK(refused([&](db::Tx& tx) { connections::disconnect(tx, f.bob.id, f.app.id); }) ==
        "404 app_not_found");
  CHECK(refused([&](db::Tx& tx) {
          connections::set_daily_spend_limit(tx, f.bob.id, f.app.id, 1);
        }) == "404 app_not_found");
}

TEST_CASE("a daily limit stops spending at its last point and begins anew each UTC day") {
  Fixture f;
  f.world.authorize(f.app, f.bob, "points:spend");
  const std::string grant = f.connection().grant_id;
  CHECK(f.spend(grant, 40) == "");  // counts, although there is no limit yet
  f.limit(100);
  CHECK(f.connection().daily_spend_limit == 100);
  CHECK(f.connection().spent_today == 40);
  CHECK(f.spend(grant, 61) == "422 spend_limit_reached");
  CHECK(f.spend(grant, 60) == "");
  CHECK(f.spend(grant, 1) == "422 spend_limit_reached");
  f.world.clock.advance(12h - 1ms);  // the clock stood at noon
  CHECK(f.spend(grant, 1) == "422 spend_limit_reached");
  f.world.clock.advance(1ms);
  CHECK(f.connection().spent_today == 0);
  CHECK(f.spend(grant, 100) == "");
  f.limit(0);
  f.world.clock.advance(24h);
  CHECK(f.spend(grant, 1) == "422 spend_limit_reached");
  f.limit(std::nullopt);
  CHECK(f.spend(grant, 1'000'000) == "");
}

TEST_CASE("uses are collected in memory and written when told to") {
  Fixture f;
  f.world.authorize(f.app, f.bob);
  const std::string grant = f.connection().grant_id;
  connections::UseLog uses;
  const Instant later = f.world.clock.now() + 5s;
  uses.note(grant, later);
  uses.note(grant, f.world.clock.now());  // from a slower thread
  uses.note("gone", later);
  CHECK(uses.last(grant) == later);
  CHECK_FALSE(f.connection().last_used);
  uses.flush(f.world.db);
  CHECK(f.connection().last_used == later);
  CHECK(uses.last(grant) == later);  // for readers whose snapshot is older
  const auto writes = f.world.db.writes();
  uses.flush(f.world.db);
  CHECK(f.world.db.writes() == writes);
  CHECK_FALSE(uses.last(grant));
}

TEST_CASE("more uses than fit into one transaction are written all the same") {
  Fixture f;
  f.world.authorize(f.app, f.bob);
  connections::UseLog uses;
  for (int i = 0; i < 1'200; ++i) uses.note("grant " + std::to_string(i), f.world.clock.now());
  uses.note(f.connection().grant_id, f.world.clock.now());
  uses.flush(f.world.db);
  CHECK(f.connection().last_used == f.world.clock.now());
  uses.flush(f.world.db);
  CHECK_FALSE(uses.last("grant 1199"));
}

}  // namespace
