#include "controller/domain/deployments/runs/crons.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/domain/deployments/runs/runs_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using crons::Outcome;
using crons::Skipped;
using deployments::ContainerSpec;

using Outcomes = std::vector<Outcome>;

struct Fixture : RunsWorld {
  std::string id = running_with(with_cron("*/10 * * * *"));
  crons::State cron() { return crons_of(id).at(0); }
  void set(const ContainerSpec& container) {
    deployments::Change wanted;
    wanted.set(&ContainerSpec::crons, container.crons);
    change(id, wanted);
  }
};

}  // namespace

TEST_CASE("a cron runs at its minutes, each once") {
  Fixture f;  // at 12:00
  CHECK(f.cron().next_at == f.start + 10min);
  CHECK(f.settle_crons().empty());
  f.clock.advance(10min - 1ms);
  CHECK(f.settle_crons().empty());
  f.clock.advance(1ms);
  CHECK(f.settle_crons() == Outcomes{Outcome::started});
  CHECK(f.settle_crons().empty());
  const auto run = f.all_runs(f.id).at(0);
  CHECK(run.kind == runs::Kind::cron);
  CHECK(run.name == "tick");
  CHECK(run.minute == f.start + 10min);
  CHECK(run.command == runs::Texts{"./tick"});
  CHECK_FALSE(run.created_by);
  CHECK(f.cron().next_at == f.start + 20min);
  CHECK(f.cron().last->id == run.id);
  f.ends(run);
  f.clock.advance(10min);
  CHECK(f.settle_crons() == Outcomes{Outcome::started});
  CHECK(f.all_runs(f.id).size() == 2);
}

TEST_CASE("a minute of a cron has no second run, even if it is due again") {
  Fixture f;
  f.clock.advance(10min);
  f.settle_crons();
  f.ends(f.all_runs(f.id).at(0));
  f.write([&](db::Tx& tx) {
    tx.execute("UPDATE deployment_crons SET next_at = $1, due_at = $1", f.start + 10min);
  });
  CHECK(f.settle_crons() == Outcomes{Outcome::nothing});
  CHECK(f.all_runs(f.id).size() == 1);
}

TEST_CASE("a cron whose last run isn't over skips a minute, and says so") {
  Fixture f;
  f.clock.advance(10min);
  f.settle_crons();
  f.clock.advance(10min);
  CHECK(f.settle_crons() == Outcomes{Outcome::skipped});
  CHECK(f.cron().skipped == Skipped::overlap);
  CHECK(f.cron().skipped_at == f.start + 20min);
  CHECK(refusal([&] { f.start_cron(f.id, "tick"); }) == "409 invalid_state");
  f.ends(f.all_runs(f.id).at(0));
  f.clock.advance(10min);
  CHECK(f.settle_crons() == Outcomes{Outcome::started});
  CHECK_FALSE(f.cron().skipped);
  CHECK(f.all_runs(f.id).size() == 2);
}

TEST_CASE("of the runs that were missed, the newest is made up for, if it is young") {
  Fixture f;
  f.clock.advance(35min);
  CHECK(f.settle_crons() == Outcomes{Outcome::started});
  CHECK(f.all_runs(f.id).at(0).minute == f.start + 30min);
  CHECK(f.cron().next_at == f.start + 40min);
  f.ends(f.all_runs(f.id).at(0));

  const std::string daily = f.running_with(with_cron("5 13 * * *"), "daily");
  f.clock.advance(24h * 3);  // at 12:35, the last one was due 23.5 hours ago
  const auto outcomes = f.settle_crons();
  CHECK(std::ranges::count(outcomes, Outcome::missed) == 1);
  CHECK(f.all_runs(daily).empty());
  CHECK(f.crons_of(daily).at(0).next_at == f.start + 24h * 3 + 65min);
}

TEST_CASE("a stopped or suspended deployment runs no crons, and makes up for none") {
  Fixture f;
  f.stop(f.app, f.id);
  CHECK_FALSE(f.cron().next_at);
  f.clock.advance(12min);
  CHECK(f.settle_crons().empty());
  f.restart(f.app, f.id);
  CHECK(f.cron().next_at == f.start + 20min);
  CHECK(f.settle_crons().empty());
  f.suspend(f.id);
  f.clock.advance(10min);
  CHECK(f.settle_crons().empty());
  f.reactivate(f.id);
  CHECK(f.cron().next_at == f.start + 30min);
  f.destroy(f.app, f.id);
  f.clock.advance(10min);
  CHECK(f.settle_crons().empty());
  CHECK(f.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM deployment_crons"); }) == 0);
}

TEST_CASE("crons that change get other minutes, and those that stay keep theirs") {
  Fixture f;
  ContainerSpec two = with_cron("*/10 * * * *");
  two.crons.push_back({.name = "nightly",
                       .schedule = "@daily",
                       .zone = "Europe/Berlin",
                       .command = {"./n"},
                       .process = ""});
  f.clock.advance(11min);  // tick is due
  f.set(two);
  CHECK(f.crons_of(f.id).at(0).next_at == f.start + 10min);
  CHECK(f.crons_of(f.id).at(1).next_at == f.start + 11h);  // 00:00 in Berlin
  f.set(with_cron("*/15 * * * *"));
  CHECK(f.crons_of(f.id).size() == 1);
  CHECK(f.cron().next_at == f.start + 15min);
  f.set({});
  CHECK(f.crons_of(f.id).empty());
  CHECK_FALSE(f.read([](db::Tx& tx) { return crons::next_due(tx); }));
}

TEST_CASE("what hasn't run yet, and what has too many runs, skips its minutes") {
  RunsWorld w;
  const std::string id = w.deploy_with(with_cron("* * * * *")).id;
  w.clock.advance(1min);
  CHECK(w.settle_crons() == Outcomes{Outcome::skipped});
  CHECK(w.crons_of(id).at(0).skipped == Skipped::not_deployed);
  w.seen_with_digest(id);
  for (int i = 0; i < runs::max_open_of_deployment; ++i) w.run_command(id);
  w.clock.advance(1min);
  CHECK(w.settle_crons() == Outcomes{Outcome::skipped});
  CHECK(w.crons_of(id).at(0).skipped == Skipped::limit);
}

TEST_CASE("a cron that can't be paid is told of once") {
  RunsWorld w;
  tiers::Tier tier = paid_tier("hourly", 0);
  tier.points_per_hour = 100;
  w.new_tier(tier);
  w.give(100);
  const std::string id = w.running_with(with_cron("* * * * *"), "shop", "hourly");
  w.write([&](db::Tx& tx) {
    tx.execute("UPDATE ledger_accounts SET balance = 50, held = 0 WHERE id = $1",
               "app:" + w.app.id);
  });
  const auto entries = w.logs(id).size();
  for (int i = 0; i < 3; ++i) {
    w.clock.advance(1min);
    CHECK(w.settle_crons() == Outcomes{Outcome::skipped});
  }
  CHECK(w.crons_of(id).at(0).skipped == Skipped::points_missing);
  CHECK(w.logs(id).size() == entries + 1);
  CHECK(w.all_runs(id).empty());
}

TEST_CASE("somebody runs a cron now, and its minutes stay") {
  Fixture f;
  const auto run = f.start_cron(f.id, "tick");
  CHECK(run.kind == runs::Kind::cron);
  CHECK_FALSE(run.minute);
  CHECK(run.created_by == f.ada.id);
  CHECK(f.cron().next_at == f.start + 10min);
  f.ends(run);
  const auto again = f.start_cron(f.id, "tick");
  CHECK(again.id != run.id);
  CHECK(refusal([&] { f.start_cron(f.id, "tock"); }) == "404 cron_not_found");
}

TEST_CASE("a cron that fails is put off") {
  Fixture f;
  f.clock.advance(10min);
  const auto due = f.read([](db::Tx& tx) { return crons::due(tx, 10); });
  REQUIRE(due.size() == 1);
  f.write([&](db::Tx& tx) { crons::postpone(tx, due[0], tx.now() + 10s); });
  CHECK(f.settle_crons().empty());
  f.clock.advance(10s);
  CHECK(f.settle_crons() == Outcomes{Outcome::started});
  CHECK(f.all_runs(f.id).at(0).minute == f.start + 10min);
}

TEST_CASE("schedules and zones of an order are checked, by their places") {
  RunsWorld w;
  const auto wrong = [&](const std::string& schedule, const std::string& zone = "UTC") {
    const auto named = details([&] { w.deploy_with(with_cron(schedule, zone)); });
    return named.empty() ? std::string() : named.begin()->first;
  };
  CHECK(wrong("* * * * * *") == "crons.0.schedule");
  CHECK(wrong("0 0 31 2 *") == "crons.0.schedule");
  CHECK(wrong("@reboot") == "crons.0.schedule");
  CHECK(wrong("0 0 * * *", "Europe/Atlantis") == "crons.0.zone");
  CHECK(wrong("@daily", "Europe/Berlin").empty());
}
