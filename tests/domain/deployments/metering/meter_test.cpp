// What the meter records of what the cluster says.
#include "controller/domain/deployments/metering/meter.h"

#include <catch2/catch.hpp>

#include "tests/domain/deployments/metering/metering_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using metering::Ending;
using metering::Run;

struct Fixture : MeteringWorld {
  Fixture() { give(1'000'000); }
  std::string id = [this] {
    give(1'000'000);
    return deploy_on("hourly").id;
  }();
  Instant at(Duration since) { return start + since; }
  metering::Recorded record(const std::vector<Run>& runs,
                            const std::optional<Instant>& vanished_at = {}) {
    return record_runs(id, runs, vanished_at);
  }
};

Run run(const std::string& name, Instant from, const std::optional<Instant>& to = {}) {
  return {.name = name, .started_at = from, .ended_at = to};
}

TEST_CASE("a run is an interval from its start to its end, however often it is reported") {
  Fixture f;
  f.clock.advance(10min);
  CHECK(f.record({run("a/0", f.at(1min))}).opened == 1);
  CHECK_FALSE(f.record({run("a/0", f.at(1min))}).is_changed());
  CHECK(f.total(f.id).milliseconds == 540'000);  // it still runs
  CHECK(f.record({run("a/0", f.at(1min), f.at(5min))}).closed == 1);
  CHECK_FALSE(f.record({run("a/0", f.at(1min), f.at(5min))}).is_changed());
  const auto intervals = f.intervals(f.id);
  REQUIRE(intervals.size() == 1);
  CHECK(intervals[0].run == "a/0");
  CHECK(intervals[0].started_at == f.at(1min));
  CHECK(intervals[0].ended_at == f.at(5min));
  CHECK(intervals[0].ending == Ending::finished);
  CHECK(f.total(f.id).milliseconds == 240'000);
  CHECK(f.total(f.id).pending_milliseconds == 240'000);
}

TEST_CASE("an end without a known start is a whole run, and old and new versions both count") {
  Fixture f;
  f.clock.advance(1h);
  CHECK(f.record({run("a/0", f.at(0s), f.at(30min)), run("b/0", f.at(20min))}).opened == 2);
  CHECK(f.total(f.id).milliseconds == (30min + 40min) / 1ms);
}

TEST_CASE("a run that the cluster no longer knows ends when it was seen last") {
  Fixture f;
  f.clock.advance(1h);
  f.record({run("a/0", f.at(1min)), run("b/0", f.at(2min))});
  CHECK(f.record({run("b/0", f.at(2min))}, f.at(20min)).vanished == 1);
  CHECK(f.record({run("b/0", f.at(2min))}, f.at(30min)).vanished == 0);
  CHECK(f.total(f.id).milliseconds == (19min + 58min) / 1ms);
  // Not before it began, and not in the future.
  CHECK(f.record({}, f.at(0s)).vanished == 1);
  CHECK(f.total(f.id).milliseconds == 19min / 1ms);
  const auto intervals = f.intervals(f.id);
  REQUIRE(intervals.size() == 2);
  CHECK(intervals[0].ending == Ending::vanished);
  CHECK(intervals[0].ended_at == f.at(2min));
}

TEST_CASE("what runs is recorded beside any number of pods that have ended") {
  Fixture f;
  f.clock.advance(10h);
  std::vector<Run> runs;
  for (size_t pod = 0; pod <= metering::max_runs_at_once; ++pod)
    runs.push_back(
        run("ended" + std::to_string(pod) + "/0", f.at(1min), f.at(2min + Duration(pod))));
  f.record(runs);
  runs.push_back(run("the-last-one/0", f.at(1h)));  // its name is behind the others'
  CHECK(f.record(runs).opened == 1);
  CHECK(f.record(runs, f.at(2h)).vanished == 0);
  runs.pop_back();
  CHECK(f.record(runs, f.at(3h)).vanished == 1);
}

TEST_CASE("what vanished and is there again has run all the time") {
  Fixture f;
  f.clock.advance(1h);
  f.record({run("a/0", f.at(0s))});
  f.record({}, f.at(10min));
  CHECK(f.total(f.id).milliseconds == 10min / 1ms);
  f.record({run("a/0", f.at(0s), f.at(40min))});
  CHECK(f.total(f.id).milliseconds == 40min / 1ms);
  CHECK(f.intervals(f.id)[0].ending == Ending::finished);
  // The later word counts, and an earlier one changes nothing.
  CHECK_FALSE(f.record({run("a/0", f.at(0s), f.at(5min))}).is_changed());
}

TEST_CASE("a restarted container ends the run before it, and runs that nobody saw cost nothing") {
  Fixture f;
  f.clock.advance(1h);
  f.record({run("a/0", f.at(0s))});
  // The cluster names the end of the last run, and so of run 3 alone.
  const auto done =
      f.record({run("a/3", f.at(30min), f.at(31min)), run("a/4", f.at(40min))}, f.at(10min));
  CHECK(done.opened == 2);
  CHECK(done.missed == 2);
  CHECK(done.vanished == 1);
  CHECK(f.total(f.id).milliseconds == (10min + 1min + 20min) / 1ms);
}

TEST_CASE("times that can't be are cut, and counted") {
  Fixture f;
  f.clock.advance(1h);
  SECTION("a start before the end of the pod's run before") {
    CHECK(f.record({run("a/0", f.at(0s), f.at(10min)), run("a/1", f.at(5min))}).skewed == 1);
    CHECK(f.total(f.id).milliseconds == 1h / 1ms);
  }
  SECTION("an end before the start") {
    CHECK(f.record({run("a/0", f.at(10min), f.at(5min))}).skewed == 1);
    CHECK(f.total(f.id).milliseconds == 0);
  }
  SECTION("a start far in the future") {
    CHECK(f.record({run("a/0", f.at(2h))}).skewed == 1);
    CHECK(f.intervals(f.id)[0].started_at == f.at(1h));
  }
  SECTION("a start a little ahead") {
    CHECK(f.record({run("a/0", f.at(1h + 2min))}).skewed == 0);
    CHECK(f.total(f.id).milliseconds == 0);
    f.clock.advance(3min);
    CHECK(f.total(f.id).milliseconds == 1min / 1ms);
  }
  SECTION("a start before the deployment") {
    CHECK(f.record({run("a/0", f.at(-1h))}).skewed == 1);
    CHECK(f.total(f.id).milliseconds == 1h / 1ms);
  }
  SECTION("a start before the deployment, by less than the runtime's second") {
    CHECK(f.record({run("a/0", f.at(-999ms))}).skewed == 0);
    CHECK(f.total(f.id).milliseconds == 1h / 1ms);
  }
  SECTION("a name that is none") {
    CHECK_THROWS_AS(f.record({run("a", f.at(0s))}), std::invalid_argument);
    CHECK_THROWS_AS(f.record({run("a/x", f.at(0s))}), std::invalid_argument);
    CHECK_THROWS_AS(f.record({run("/1", f.at(0s))}), std::invalid_argument);
  }
}

TEST_CASE("what costs nothing by the hour isn't recorded") {
  Fixture f;
  const auto free = f.deploy_on("wide", "free").id;
  CHECK_FALSE(f.record_runs(free, {run("a/0", f.at(0s))}).is_changed());
  CHECK(f.intervals(free).empty());
  CHECK_FALSE(f.record_runs("nothing", {run("a/0", f.at(0s))}).is_changed());
}

TEST_CASE("a price applies from the next midnight, and what ran before costs nothing") {
  Fixture f;
  const auto id = f.deploy_on("wide", "free").id;
  f.change_tier("wide", [](tiers::Tier& tier) { tier.points_per_hour = 60; });
  f.record_runs(id, {run("w/0", f.at(0s))});
  CHECK(f.intervals(id).size() == 1);
  f.clock.advance(12h);  // midnight
  CHECK(f.total(id).milliseconds == 0);
  f.clock.advance(90min);
  CHECK(f.total(id).milliseconds == 90min / 1ms);
}

TEST_CASE("each day has the price that was agreed for it") {
  Fixture f;
  const auto price_on = [&](std::int64_t day) {
    return f.read([&](db::Tx& tx) { return metering::Prices(tx).on(f.hourly.id, day); });
  };
  const std::int64_t day = f.today();
  f.change_tier("hourly", [](tiers::Tier& tier) { tier.points_per_hour = 7; });
  f.change_tier("hourly", [](tiers::Tier& tier) { tier.points_per_hour = 9; });
  CHECK(price_on(day - 1) == std::nullopt);
  CHECK(price_on(day) == point_a_second);
  CHECK(price_on(day + 1) == 9);
  f.change_tier("hourly", [](tiers::Tier& tier) { tier.points_per_hour.reset(); });
  CHECK(price_on(day) == point_a_second);
  CHECK(price_on(day + 1) == std::nullopt);
  // What runs is recorded until the price has ended.
  f.record({run("a/0", f.at(0s))});
  f.clock.advance(36h);
  CHECK(f.total(f.id).milliseconds == 12h / 1ms);
}

TEST_CASE("a price is from 1 to a million points, and for points alone") {
  Fixture f;
  const auto refused = [&](const std::string& slug, std::optional<std::int64_t> points) {
    return refusal(
        [&] { f.change_tier(slug, [&](tiers::Tier& tier) { tier.points_per_hour = points; }); });
  };
  CHECK(refused("hourly", 0) == "422 validation_failed");
  CHECK(refused("hourly", -1) == "422 validation_failed");
  CHECK(refused("hourly", metering::max_points_per_hour + 1) == "422 validation_failed");
  CHECK(refused("hourly", metering::max_points_per_hour).empty());
  CHECK(refused("sats", 5) == "422 validation_failed");
}

TEST_CASE("an admin sees what a price would do before it does") {
  Fixture f;
  f.deploy_on("hourly", "second");
  const auto bob = f.verified_user("bob");
  const auto other = f.approved_app(bob, {Scope::deploy_manage});
  f.mint(ledger::app_account(other.id), 24 * 5'000 - 1);
  f.deploy(other, order("third", "hourly"));
  const auto effect =
      f.read([&](db::Tx& tx) { return metering::effect_of(tx, f.hourly.id, 5'000); });
  CHECK(effect.from == f.midnight());
  CHECK(effect.today == point_a_second);
  CHECK(effect.next == point_a_second);
  CHECK(effect.deployments == 3);
  CHECK(effect.apps == 2);
  CHECK(effect.points_per_hour_before == 3 * point_a_second);
  CHECK(effect.points_per_hour_after == 15'000);
  CHECK(effect.apps_short_of_points == 1);
}

TEST_CASE("moving to another tier counts what ran at the old price") {
  Fixture f;
  f.new_tier(hourly_tier("slow", 36));
  f.record({run("a/0", f.at(0s))});
  f.clock.advance(100s);
  f.put_on(f.id, "slow");
  f.clock.advance(100s);
  f.record({run("a/0", f.at(0s), f.at(200s))});
  f.stop(f.app, f.id);
  f.look();
  CHECK(f.total(f.id).milliseconds == 200'000);
  CHECK(f.total(f.id).points == 101);  // 100 s at 3,600 and 100 s at 36 points an hour
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("moving from a free tier charges nothing for the time before") {
  Fixture f;
  const auto id = f.deploy_on("wide", "free").id;
  f.clock.advance(1h);
  f.put_on(id, "hourly");
  f.record_runs(id, {run("w/0", f.at(0s))});
  f.clock.advance(1min);
  CHECK(f.total(id).milliseconds == 1min / 1ms);
}

TEST_CASE("what runs is counted while the cluster is seen, and no further") {
  Fixture f;
  f.record({run("a/0", f.at(0s))});
  f.see();
  f.is_seen = false;
  f.pass_until(f.midnight() + 1h, false);
  // The day isn't settled: nobody knows whether it ran until its end.
  CHECK(f.total(f.id).points == 0);
  f.record({}, f.read([](db::Tx& tx) { return metering::watched_until(tx); }));
  CHECK(f.total(f.id).milliseconds == 0);
  CHECK(f.intervals(f.id)[0].ended_at == f.start);
  f.write([&](db::Tx& tx) { metering::set_watched_until(tx, f.start - 1h); });
  CHECK(f.read([](db::Tx& tx) { return metering::watched_until(tx); }) == f.start);
}

TEST_CASE("old intervals and days are removed, and not recorded again") {
  Fixture f;
  f.record({run("a/0", f.at(0s), f.at(0s)), run("b/0", f.at(0s))});
  f.clock.advance(1h);
  f.record({run("b/0", f.at(0s), f.at(1h))});
  f.pass(36 * 24h, false);
  const auto removed = [&] {
    return f.write([](db::Tx& tx) {
      const auto old = metering::find_old_days(tx, "", 100);
      CHECK(old.last.empty());  // there is one deployment
      return metering::remove_old_intervals(tx, 100) +
             metering::remove_old_days(tx, old.deployments);
    });
  };
  CHECK(removed() == 2);
  CHECK(removed() == 0);
  CHECK_FALSE(f.record({run("b/0", f.at(0s), f.at(1h))}).is_changed());
  const auto points = f.total(f.id).points;
  CHECK(points == 3'600);
  f.clock.advance(400 * 24h);
  CHECK(removed() == 1);
  CHECK(f.uses(f.id).empty());
  f.give(1);  // the audit compares the days before the newest one of the ledger
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("old days are found some deployments at a time") {
  MeteringWorld f;
  f.give(1'000'000);
  std::vector<std::string> ids;
  for (const char* name : {"first", "second", "third"}) {
    ids.push_back(f.deploy_on("hourly", name).id);
    f.begin(ids.back());
  }
  std::ranges::sort(ids);
  f.pass(1h);
  for (const std::string& id : ids) f.stop(f.app, id);
  f.pass(1h);
  f.clock.advance((metering::days_kept + 1) * 24h);
  const auto find = [&](const std::string& after) {
    return f.read([&](db::Tx& tx) { return metering::find_old_days(tx, after, 2); });
  };
  const auto some = find("");
  CHECK(some.deployments == std::vector{ids[0], ids[1]});
  CHECK(some.last == ids[1]);
  const auto rest = find(some.last);
  CHECK(rest.deployments == std::vector{ids[2]});
  CHECK(rest.last.empty());
  CHECK(f.write([&](db::Tx& tx) { return metering::remove_old_days(tx, some.deployments); }) == 2);
  CHECK(find("").deployments.empty());
  CHECK(f.uses(ids[0]).empty());
  CHECK(f.uses(ids[2]).empty());  // too long ago to be asked for
  CHECK(find(ids[1]).deployments == std::vector{ids[2]});
}

TEST_CASE("what isn't known isn't recorded a day before it would be removed, or later") {
  Fixture f;
  f.clock.advance(metering::intervals_kept_for - 24h + 1h);
  CHECK_FALSE(f.record({run("a/0", f.at(0s), f.at(1h))}).is_changed());
  CHECK(f.record({run("b/0", f.at(0s), f.at(2h))}).opened == 1);
}

}  // namespace
