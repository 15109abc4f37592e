#include "reconcilers/loops/metering.h"

#include <catch2/catch.hpp>

#include "controller/domain/deployments/metering/meter.h"
#include "controller/domain/deployments/metering/usage.h"
#include "tests/domain/deployments/billing/billing_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using reconcilers::MeteringLoop;

constexpr std::int64_t points_per_hour = 3'600;  // a point a second
constexpr std::int64_t given = 1'000'000;

int run(MeteringLoop& loop, Round& round) {
  int looked = 0;
  round.run([&](Round& running) { looked = loop.run_once(running); });
  return looked;
}

// Apps with a metered deployment each, whose containers the test starts and ends.
struct MeteredWorld : BillingWorld {
  MeteredWorld() {
    tiers::Tier tier = paid_tier("metered", 0);
    tier.points_per_hour = points_per_hour;
    new_tier(tier);
  }

  struct One {
    apps::App app;
    std::string id;
  };
  One begin() {
    One one{.app = approved_app(ada, {Scope::deploy_manage}), .id = {}};
    mint(ledger::app_account(one.app.id), given);
    one.id = deploy(one.app, order("shop-" + std::to_string(++started), "metered")).id;
    tell(one.id, {});
    return one;
  }
  void tell(const std::string& id, std::optional<Instant> ended_at) {
    metering::Run run;
    run.name = id + "/0";  // the name of the pod doesn't matter
    run.started_at = start_at;
    run.ended_at = ended_at;
    write([&](db::Tx& tx) {
      metering::record(tx, id, {run}, std::nullopt);
      metering::set_watched_until(tx, tx.now());
    });
  }
  void end(const One& one) {
    stop(one.app, one.id);
    tell(one.id, clock.now());
  }
  std::int64_t points_of(const One& one) { return balance(ledger::app_account(one.app.id)); }

  Instant start_at = clock.now();
  int started = 0;
};

}  // namespace

TEST_CASE("the metering loop settles everything that is due, in any number of batches") {
  MeteredWorld world;
  std::vector<MeteredWorld::One> all;
  for (int i = 0; i < 5; ++i) all.push_back(world.begin());
  MeteringLoop loop(world.keys.data, {.batch = 2, .clean_up = 1h, .rows = 100});
  Round round(world.db);
  run(loop, round);
  world.clock.advance(30s);
  for (const auto& one : all) world.end(one);
  CHECK(run(loop, round) >= 5);
  for (const auto& one : all) CHECK(world.points_of(one) == given - 30);
  CHECK(loop.totals().done.settlements == 5);
  CHECK(loop.totals().done.points == 150);
  CHECK(loop.totals().failed == 0);
  const auto writes = world.db.writes();
  CHECK(run(loop, round) == 0);
  CHECK(world.db.writes() == writes);
}

TEST_CASE("an app that can't be settled doesn't hold up the others") {
  MeteredWorld world;
  const auto broken = world.begin();
  const auto well = world.begin();
  world.clock.advance(30s);
  world.end(broken);
  world.end(well);
  world.write([&](db::Tx& tx) {
    // Its settlement fails after the debit.
    tx.execute(
        "CREATE TRIGGER no_settlement BEFORE INSERT ON meter_settlements WHEN NEW.app_id = '" +
        broken.app.id + "' BEGIN SELECT RAISE(ABORT, 'broken'); END");
  });
  MeteringLoop loop(world.keys.data);
  Round round(world.db);
  run(loop, round);
  CHECK(loop.totals().failed == 1);
  CHECK(world.points_of(well) == given - 30);
  CHECK(world.points_of(broken) == given);
  world.write([](db::Tx& tx) { tx.execute("DROP TRIGGER no_settlement"); });
  run(loop, round);
  CHECK(world.points_of(broken) == given);  // it is tried again a minute later
  world.clock.advance(1min);
  run(loop, round);
  CHECK(world.points_of(broken) == given - 30);
  CHECK(loop.totals().failed == 1);
}

TEST_CASE("an app with which a whole write fails doesn't hold up the others") {
  MeteredWorld world;
  const auto broken = world.begin();
  const auto well = world.begin();
  world.clock.advance(30s);
  world.end(broken);
  world.end(well);
  world.write([&](db::Tx& tx) {
    tx.execute(
        "CREATE TRIGGER no_settlement BEFORE INSERT ON meter_settlements WHEN NEW.app_id = '" +
        broken.app.id + "' BEGIN SELECT RAISE(ROLLBACK, 'broken'); END");
  });
  MeteringLoop loop(world.keys.data);
  Round round(world.db);
  REQUIRE_NOTHROW(run(loop, round));
  CHECK(loop.totals().failed == 1);
  CHECK(world.points_of(well) == given - 30);
  CHECK(world.points_of(broken) == given);
  world.write([](db::Tx& tx) { tx.execute("DROP TRIGGER no_settlement"); });
  world.clock.advance(1min);
  run(loop, round);
  CHECK(world.points_of(broken) == given - 30);
}

TEST_CASE("the metering loop removes what the meter has kept for long enough") {
  MeteredWorld world;
  const auto one = world.begin();
  world.clock.advance(30s);
  world.end(one);
  MeteringLoop loop(world.keys.data, {.batch = 50, .clean_up = 0ms, .rows = 1});
  Round round(world.db);
  const auto intervals = [&] {
    return world.read([&](db::Tx& tx) {
      return metering::interval_page(tx, one.id, 0, utc_day(tx.now()), {}).items.size();
    });
  };
  run(loop, round);
  CHECK(intervals() == 1);
  world.clock.advance(metering::intervals_kept_for);
  run(loop, round);
  CHECK(intervals() == 0);
  CHECK(world.points_of(one) == given - 30);
}
