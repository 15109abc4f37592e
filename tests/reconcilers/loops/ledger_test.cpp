#include "reconcilers/loops/ledger.h"

#include <catch2/catch.hpp>

#include "controller/db/sqlite/database.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using std::chrono::days;

const ledger::Account user = ledger::user_account("u");

// The loop of one process.
class TestedLoop {
 public:
  explicit TestedLoop(db::Database& database) : round_(database) {}
  bool run_once() {
    bool did_something = false;
    round_.run([&](Round& round) { did_something = loop_.run_once(round); });
    return did_something;
  }

 private:
  Round round_;
  reconcilers::LedgerLoop loop_;
};

void run_until_idle(TestedLoop& loop) {
  int rounds = 0;
  while (loop.run_once()) REQUIRE(++rounds < 1'000);
}

std::vector<std::string> broken(World& world) {
  std::vector<std::string> names;
  for (const auto& check : world.read([](db::Tx& tx) { return ledger::running_audit(tx); }))
    if (!check.ok) names.push_back(check.name);
  return names;
}

TEST_CASE("ledger loop: days are closed in their order, and checked once a day") {
  World world;
  for (int i = 0; i < 5; ++i) {
    world.mint(user, 10);
    world.clock.advance(days(1));
  }
  TestedLoop loop(world.db);
  run_until_idle(loop);
  CHECK(world.read([](db::Tx& tx) { return ledger::check_chain(tx); }).checked == 5);
  CHECK(broken(world).empty());
  const auto writes = world.db.writes();
  CHECK_FALSE(loop.run_once());
  CHECK(world.db.writes() == writes);
}

TEST_CASE("ledger loop: a pass goes on after a restart where it was, and names what it finds") {
  World world;
  // More transactions than a step reads, on two days.
  for (int day = 0; day < 2; ++day) {
    world.write([](db::Tx& tx) {
      for (int i = 0; i < ledger::rows_of_step; ++i) ledger::mint(tx, user, 1, "test");
    });
    world.clock.advance(days(1));
  }
  run_until_idle(*std::make_unique<TestedLoop>(world.db));
  CHECK(broken(world).empty());
  world.write([](db::Tx& tx) {
    tx.execute("DROP TRIGGER ledger_transactions_stay");
    tx.execute(
        "UPDATE ledger_transactions SET id_low = id_low + 1 WHERE number = "
        "(SELECT min(number) FROM ledger_transactions)");
  });
  world.clock.advance(ledger::pass_pause);
  const auto position = [&] {
    auto found = world.read([](db::Tx& tx) {
      return tx.number(
          "SELECT CAST(position AS INTEGER) FROM ledger_audit_parts "
          "WHERE part = 'each closed day is what it was closed with'");
    });
    return found;
  };
  {
    TestedLoop loop(world.db);
    for (int round = 0; position() == 0; ++round) {
      REQUIRE(round < 100);
      REQUIRE(loop.run_once());
    }
  }
  CHECK(broken(world) == std::vector<std::string>{"each closed day is what it was closed with"});
  const auto first_day = position();
  TestedLoop other(world.db);
  for (int round = 0; position() == first_day; ++round) {
    REQUIRE(round < 100);
    REQUIRE(other.run_once());
  }
  CHECK((position() == first_day + 1 || position() == 0));
  run_until_idle(other);
  CHECK(broken(world) == std::vector<std::string>{"each closed day is what it was closed with"});
}

}  // namespace
