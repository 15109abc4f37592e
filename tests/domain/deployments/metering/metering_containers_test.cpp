// Several containers of one deployment that are charged by the hour, and runs of its commands.
#include <catch2/catch.hpp>

#include "tests/domain/deployments/metering/metering_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using deployments::ContainerSpec;
using deployments::Status;

constexpr std::int64_t hour_price = point_a_second;

struct Fixture : MeteringWorld {
  tiers::Tier many = [this] {
    tiers::Tier tier = hourly_tier("many", hour_price);
    tier.max_replicas = 10;
    return new_tier(tier);
  }();

  std::string run_with(int replicas) {
    deployments::Order wanted = order("shop", "many");
    wanted.container.replicas = replicas;
    const std::string id = deploy(app, wanted).id;
    seen_running(id);
    for (int i = 0; i < replicas; ++i) begin(id);
    look();
    return id;
  }
  void scale(const std::string& id, int replicas) {
    deployments::Change wanted;
    wanted.set(&ContainerSpec::replicas, replicas);
    change(id, wanted);
  }
  // One container of the deployment ends.
  void end_one(const std::string& id) {
    for (metering::Run& run : cluster[id])
      if (!run.ended_at) {
        run.ended_at = clock.now();
        break;
      }
    report(id);
  }
  void admit_run(const std::string& id) {
    write([&](db::Tx& tx) { metering::admit_run(tx, id); });
  }
};

TEST_CASE("an hour of as many containers as there may be is held before one starts") {
  Fixture f;
  f.give(6 * hour_price - 1);
  deployments::Order wanted = order("shop", "many");
  wanted.container.processes = {{"web", {.scale = deployments::Scale{1, 4, 20}}},
                                {"worker", {.replicas = 2}}};
  CHECK(refusal([&] { f.deploy(f.app, wanted); }) == "422 insufficient_balance");
  CHECK(f.held() == 0);
  f.give(1);
  const std::string id = f.deploy(f.app, wanted).id;
  CHECK(f.held() == 6 * hour_price);
  f.look();
  CHECK(f.held() == 6 * hour_price);
  const auto account = f.read([&](db::Tx& tx) { return metering::account(tx, f.app.id); });
  CHECK(account.points_per_hour == 6 * hour_price);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("each container that runs is charged by the second") {
  Fixture f;
  f.give(1'000'000);
  const std::string id = f.run_with(3);
  CHECK(f.held() == 3 * hour_price);
  f.clock.advance(100s);
  f.end_one(id);
  f.clock.advance(50s);
  f.stop(f.app, id);
  f.end(id);
  f.look();
  CHECK(f.points() == 1'000'000 - 100 - 2 * 150);
  CHECK(f.held() == 0);
  CHECK(f.total(id).milliseconds == 400s / 1ms);
  CHECK(f.total(id).points == 400);
  CHECK(f.intervals(id).size() == 3);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("a hundred containers that have crashed and run again are recorded once") {
  Fixture f;
  f.give(1'000'000);
  const std::string id = f.deploy_on("many").id;
  f.clock.advance(100s);
  const Instant now = f.clock.now();
  std::vector<metering::Run> runs;
  for (int i = 0; i < 100; ++i) {
    const std::string pod = "p" + std::to_string(i);
    runs.push_back({.name = pod + "/0", .started_at = now - 60s, .ended_at = now - 30s});
    runs.push_back({.name = pod + "/1", .started_at = now - 30s, .ended_at = {}});
  }
  const auto recorded = f.record_runs(id, runs);
  CHECK(recorded.opened == 200);
  CHECK(recorded.closed == 100);
  CHECK_FALSE(f.record_runs(id, runs).is_changed());
  CHECK(f.total(id).milliseconds == 100 * (60s / 1ms));
  f.look();
  CHECK(f.held() == 100 * (hour_price + 60));  // a hundred run, although one may
}

TEST_CASE("more containers need an hour of each, and fewer give it back") {
  Fixture f;
  f.give(3 * hour_price);
  const std::string id = f.run_with(2);
  CHECK(refusal([&] { f.scale(id, 4); }) == "422 insufficient_balance");
  CHECK(f.find_deployment(id).container.replicas == 2);
  CHECK(f.held() == 2 * hour_price);
  f.scale(id, 3);
  CHECK(f.held() == 3 * hour_price);
  f.begin(id);
  f.scale(id, 1);
  f.look();
  CHECK(f.held() == 3 * hour_price);  // three of them run
  f.end_one(id);
  f.end_one(id);
  f.look();
  CHECK(f.held() == hour_price);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("fewer containers are never refused, however few points are left") {
  Fixture f;
  f.give(2 * hour_price);
  const std::string id = f.run_with(2);
  f.pass(50min);
  REQUIRE(f.status(id) == Status::running);
  deployments::Change wanted;
  wanted.set(&ContainerSpec::image, "ghcr.io/acme/web:2");
  CHECK(refusal([&] { f.change(id, wanted); }) == "422 insufficient_balance");
  f.scale(id, 1);
  f.end_one(id);
  f.pass(15min);
  CHECK(f.status(id) == Status::running);  // with two it would have been stopped
}

TEST_CASE("what was stopped for want of points waits for an hour of all of its containers") {
  Fixture f;
  f.give(3 * hour_price);
  const std::string id = f.run_with(3);
  f.pass(61min);
  REQUIRE(f.status(id) == Status::stopped);
  const std::int64_t left = f.points();
  f.give(3 * hour_price - 1 - left);
  f.look();
  CHECK(f.status(id) == Status::stopped);
  f.give(2);
  f.look();
  CHECK(f.status(id) == Status::deploying);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("a budget that is spent lets no more containers start") {
  Fixture f;
  f.give(1'000'000);
  const std::string id = f.run_with(1);
  f.clock.advance(100s);
  f.write([&](db::Tx& tx) {
    metering::set_budget(tx, {.app_id = f.app.id,
                              .deployment_id = {},
                              .period = metering::BudgetPeriod::day,
                              .limit = 50});
  });
  CHECK(refusal([&] { f.scale(id, 2); }) == "409 budget_reached");
  CHECK(f.find_deployment(id).container.replicas == 1);
  CHECK(refusal([&] { f.admit_run(id); }) == "409 budget_reached");
}

TEST_CASE("a run of a command needs an hour of one container more") {
  Fixture f;
  f.give(4 * hour_price);
  const std::string id = f.run_with(2);
  f.admit_run(id);
  CHECK(f.held() == 3 * hour_price);
  f.take(hour_price);
  f.look();
  CHECK(f.held() == 2 * hour_price);  // nothing has come of it
  f.take(1);
  CHECK(refusal([&] { f.admit_run(id); }) == "422 insufficient_balance");
  CHECK(f.held() == 2 * hour_price);
  f.stop(f.app, id);
  f.end(id);
  f.look();
  f.admit_run(id);  // of a deployment that is stopped, too, and of nothing else of it
  CHECK(f.held() == hour_price);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("a run of a command needs the present 30 days to be paid") {
  Fixture f;
  f.give(2 * price);
  deployments::Order wanted = order("shop", "paid");
  wanted.container.replicas = 2;
  const std::string id = f.deploy(f.app, wanted).id;
  f.admit_run(id);
  CHECK(f.held() == 0);  // it costs nothing more
  f.stop(f.app, id);
  f.clock.advance(31 * 24h);
  CHECK(refusal([&] { f.admit_run(id); }) == "422 insufficient_balance");
  f.give(2 * price);
  CHECK(refusal([&] { f.admit_run(id); }) == "422 insufficient_balance");
  f.restart(f.app, id);
  f.admit_run(id);
}

TEST_CASE("what a price would do counts containers") {
  Fixture f;
  f.give(100 * hour_price);
  f.run_with(3);
  const auto effect =
      f.read([&](db::Tx& tx) { return metering::effect_of(tx, f.many.id, 2 * hour_price); });
  CHECK(effect.deployments == 1);
  CHECK(effect.points_per_hour_before == 3 * hour_price);
  CHECK(effect.points_per_hour_after == 6 * hour_price);
  CHECK(effect.apps_short_of_points == 1);
  const auto apps =
      f.read([&](db::Tx& tx) { return metering::short_apps(tx, f.many.id, 2 * hour_price); });
  REQUIRE(apps.first.size() == 1);
  CHECK(apps.first[0].points_a_day == 24 * 6 * hour_price);
}

}  // namespace
