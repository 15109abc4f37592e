#include "reconcilers/loops/billing.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "reconcilers/loops/loops.h"
#include "tests/domain/deployments/runs/runs_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using deployments::Status;
using reconcilers::BillingLoop;

constexpr auto month = 30 * 24h;

int run(BillingLoop& loop, Round& round) {
  int looked = 0;
  round.run([&](Round& running) { looked = loop.run_once(running); });
  return looked;
}

bool eventually(const std::function<bool()>& holds) {
  const auto until = std::chrono::steady_clock::now() + 30s;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

TEST_CASE("the billing loop settles everything that is due, in any number of batches") {
  BillingWorld world;
  world.give(100 * price);
  std::vector<std::string> ids;
  for (int i = 0; i < 25; ++i)
    ids.push_back(world.deploy(world.app, order("d" + std::to_string(i), "paid")).id);
  BillingLoop loop(world.keys.data, {.sweep = 1h, .batch = 7});
  Round round(world.db);
  run(loop, round);
  CHECK(world.points() == 75 * price);
  world.clock.advance(month);
  CHECK(run(loop, round) == 25);
  CHECK(world.points() == 50 * price);
  const auto writes = world.db.writes();
  CHECK(run(loop, round) == 0);
  CHECK(world.db.writes() == writes);
  CHECK(world.charges(ids[24]).size() == 2);
}

TEST_CASE("a credit wakes the billing loop, and its clock may be moved") {
  BillingWorld world;
  BillingLoop loop(world.keys.data, {.sweep = 1h, .batch = 10});
  prometheus::Registry registry;
  reconcilers::Loops loops(world.db, nullptr, registry);
  Loop running = loop.loop();
  running.interval = 5ms;
  loops.add(running);
  world.db.subscribe([&](db::Topic topic, const std::string& id) {
    if (topic != db::Topic::app_balance) return;
    loop.credited(id);
    loops.wake(BillingLoop::name);
  });
  loops.start();
  world.give(price);
  const auto row = world.deploy(world.app, order("shop", "paid"));
  world.clock.advance(month - 24h);
  CHECK(eventually([&] { return world.billing_of(row.id) == billing::Status::warning; }));
  world.clock.advance(24h);
  CHECK(eventually([&] { return world.billing_of(row.id) == billing::Status::suspended; }));
  world.give(price);
  CHECK(eventually([&] { return world.find_deployment(row.id).status == Status::deploying; }));
  CHECK(world.points() == 0);
  loops.stop();
}

TEST_CASE("a release that couldn't be paid is run when the app is credited") {
  RunsWorld world;
  tiers::Tier tier = paid_tier("hourly", 0);
  tier.points_per_hour = 100;
  world.new_tier(tier);
  world.give(100);
  deployments::ContainerSpec container;
  container.release_command = {"./migrate"};
  const std::string id = world.deploy_with(container, "shop", "hourly").id;
  world.write([&](db::Tx& tx) {
    tx.execute("UPDATE ledger_accounts SET balance = 50, held = 0 WHERE id = $1",
               "app:" + world.app.id);
  });
  REQUIRE(world.begin_release(id).state == releases::State::failed);
  deployments::Observation seen;
  seen.status = Status::errored;
  seen.reason = deployments::Reason::release_failed;
  REQUIRE(world.record(id, world.find_deployment(id).generation, seen));
  BillingLoop loop(world.keys.data, {.sweep = 1h, .batch = 10});
  Round round(world.db);
  run(loop, round);
  CHECK(world.release_of(id).state == releases::State::failed);
  world.give(1'000);
  loop.credited(world.app.id);
  run(loop, round);
  CHECK(world.release_of(id).state == releases::State::under_way);
}

TEST_CASE("a credit from a time without a billing loop is found by the next one") {
  BillingWorld world;
  world.give(price);
  const auto row = world.deploy(world.app, order("shop", "paid"));
  world.run_until(world.start + month);
  REQUIRE(world.billing_of(row.id) == billing::Status::suspended);
  world.give(price);
  BillingLoop loop(world.keys.data);
  Round round(world.db);
  CHECK(run(loop, round) == 1);
  CHECK(world.billing_of(row.id) == billing::Status::current);
}

TEST_CASE("a deployment that can't be settled doesn't hold up the others") {
  BillingWorld world;
  world.give(10 * price);
  const auto broken = world.deploy(world.app, order("broken", "paid"));
  const auto well = world.deploy(world.app, order("well", "paid"));
  world.run();
  world.write([&](db::Tx& tx) {
    tx.execute(
        "UPDATE deployments SET billing_status = 'suspended', status = 'stopped' WHERE id = $1",
        broken.id);
    // Its charge fails after the debit.
    tx.execute(
        "CREATE TRIGGER no_charge BEFORE INSERT ON deployment_charges WHEN NEW.deployment_id = '" +
        broken.id + "' BEGIN SELECT RAISE(ABORT, 'broken'); END");
  });
  world.clock.advance(month);
  BillingLoop loop(world.keys.data);
  Round round(world.db);
  run(loop, round);
  CHECK(loop.outcomes().back().first == "failed");
  CHECK(loop.outcomes().back().second >= 1);
  CHECK(world.charges(well.id).size() == 2);
  CHECK(world.charges(broken.id).size() == 1);
  CHECK(world.points() == 7 * price);
  world.write([](db::Tx& tx) { tx.execute("DROP TRIGGER no_charge"); });
  world.clock.advance(1min);
  run(loop, round);
  CHECK(world.charges(broken.id).size() == 2);
}

TEST_CASE("the billing loop counts what it came to") {
  BillingWorld world;
  world.give(2 * price);
  const auto row = world.deploy(world.app, order("shop", "paid"));
  BillingLoop loop(world.keys.data);
  Round round(world.db);
  const auto counted = [&](const std::string& name) {
    const auto all = loop.outcomes();
    return std::ranges::find(all, name, &std::pair<std::string, std::uint64_t>::first)->second;
  };
  run(loop, round);
  for (const auto& [name, count] : loop.outcomes()) CHECK(count == 0);
  world.clock.advance(month);
  run(loop, round);
  CHECK(counted("renewed") == 1);
  world.clock.advance(month - 24h);
  run(loop, round);
  CHECK(counted("warned") == 1);
  world.clock.advance(24h);
  run(loop, round);
  CHECK(counted("suspended") == 1);
  REQUIRE(world.billing_of(row.id) == billing::Status::suspended);
  world.give(price);
  loop.credited(world.app.id);
  run(loop, round);
  CHECK(counted("reactivated") == 1);
  CHECK(counted("renewed") == 1);
  CHECK(counted("failed") == 0);
}

}  // namespace
