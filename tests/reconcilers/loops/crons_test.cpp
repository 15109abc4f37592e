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
