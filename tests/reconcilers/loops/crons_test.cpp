#include "reconcilers/loops/crons.h"

#include <catch2/catch.hpp>

#include "tests/domain/deployments/runs/runs_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using reconcilers::CronLoop;

int run(CronLoop& loop, Round& round) {
  int looked = 0;
  round.run([&](Round& running) { looked = loop.run_once(running); });
  return looked;
}

std::uint64_t count(const CronLoop& loop, const std::string& outcome) {
  for (const auto& [name, times] : loop.outcomes())
    if (name == outcome) return times;
  FAIL("there is no outcome " + outcome);
  return 0;
}

}  // namespace

TEST_CASE("the loop of crons makes the runs of all that are due, in any number of batches") {
  RunsWorld world;
  for (int i = 0; i < 5; ++i)
    world.running_with(with_cron("* * * * *"), "shop-" + std::to_string(i));
  CronLoop loop(2);
  Round round(world.db);
  CHECK(run(loop, round) == 0);
  world.clock.advance(1min);
  CHECK(run(loop, round) == 5);
  CHECK(count(loop, "started") == 5);
  const auto writes = world.db.writes();
  CHECK(run(loop, round) == 0);
  CHECK(world.db.writes() == writes);
  world.clock.advance(1min);
  CHECK(run(loop, round) == 5);
  CHECK(count(loop, "skipped") == 5);
}

TEST_CASE("a cron that can't be processed doesn't hold up the others, and is tried again") {
  RunsWorld world;
  const std::string broken = world.running_with(with_cron("* * * * *"), "broken");
  const std::string well = world.running_with(with_cron("* * * * *"), "well");
  world.write([&](db::Tx& tx) {
    tx.execute("CREATE TRIGGER no_run BEFORE INSERT ON deployment_runs WHEN NEW.deployment_id = '" +
               broken + "' BEGIN SELECT RAISE(ABORT, 'broken'); END");
  });
  CronLoop loop;
  Round round(world.db);
  world.clock.advance(1min);
  run(loop, round);
  CHECK(count(loop, "failed") == 1);
  CHECK(world.all_runs(well).size() == 1);
  CHECK(world.all_runs(broken).empty());
  world.write([](db::Tx& tx) { tx.execute("DROP TRIGGER no_run"); });
  CHECK(run(loop, round) == 0);
  world.clock.advance(10s);
  run(loop, round);
  CHECK(world.all_runs(broken).size() == 1);
}

TEST_CASE("a loop that begins corrects minutes that a clock set which was ahead") {
  RunsWorld world;
  const std::string id = world.running_with(with_cron("* * * * *"));
  const auto next = world.crons_of(id).at(0).next_at;
  world.write([&](db::Tx& tx) {
    const Instant later = *next + 24h * 365;
    tx.execute("UPDATE deployment_crons SET next_at = $1, due_at = $1", later);
  });
  CronLoop loop(1);
  Round round(world.db);
  CHECK(run(loop, round) == 0);
  CHECK(world.crons_of(id).at(0).next_at == next);
  // One that is put off stays so.
  world.clock.advance(1min);
  world.write([&](db::Tx& tx) {
    crons::postpone(tx, {.deployment_id = id, .name = "tick"}, tx.now() + 10s);
  });
  CronLoop another(1);
  Round of_another(world.db);
  CHECK(run(another, of_another) == 0);
  world.clock.advance(10s);
  CHECK(run(another, of_another) == 1);
  CHECK(world.all_runs(id).at(0).minute == next);
}
