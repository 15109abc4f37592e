#include "controller/domain/lifecycle/expiry.h"

#include <catch2/catch.hpp>

#include "controller/domain/oauth/connections.h"
#include "reconcilers/loops/loops.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

std::int64_t families(World& world) {
  return world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM token_families"); });
}

TEST_CASE("the expiry loop removes everything that has expired, in any number of batches") {
  World world;
  const auto ada = world.verified_user("ada");
  const auto app = world.new_app(ada).app;
  for (int i = 0; i < 20; ++i) world.tokens(app, ada);
  Round round(world.db);
  CHECK(expiry::remove_all(round, 7) == 0);
  CHECK(families(world) == 20);
  world.clock.advance(std::chrono::days(31));
  CHECK(expiry::remove_all(round, 7) > 100);
  CHECK(families(world) == 0);
  const auto writes = world.db.writes();
  CHECK(expiry::remove_all(round, 7) == 0);
  CHECK(world.db.writes() == writes);
}

TEST_CASE("the expiry loop runs by itself, and at the end it is written when apps were last used") {
  World world;
  const auto ada = world.verified_user("ada");
  const auto app = world.new_app(ada).app;
  world.tokens(app, ada);
  connections::UseLog uses;
  prometheus::Registry registry;
  reconcilers::Loops loops(world.db, nullptr, registry);
  Loop removal = expiry::loop();
  removal.interval = 5ms;
  loops.add(removal);
  loops.add({.name = "last uses",
             .interval = 1h,
             .round = [&](Round& round) { uses.flush(round.database()); },
             .at_end = true});
  loops.start();
  world.clock.advance(std::chrono::days(31));
  const auto until = std::chrono::steady_clock::now() + 30s;
  while (families(world) > 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(5ms);
  CHECK(families(world) == 0);
  const auto grant =
      world.read([&](db::Tx& tx) { return connections::get(tx, ada.id, app.id).grant_id; });
  uses.note(grant, world.clock.now());
  loops.stop();
  CHECK(world.read([&](db::Tx& tx) { return connections::get(tx, ada.id, app.id).last_used; }) ==
        world.clock.now());
}

}  // namespace
