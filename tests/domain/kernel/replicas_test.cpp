#include "controller/domain/kernel/replicas.h"

#include <catch2/catch.hpp>

#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;

// Two berthd processes on one database, which have seen each other.
struct Two {
  World world;
  Replicas first{world.db};
  Replicas second{world.db};

  Two() {
    first.beat();
    second.beat();
    first.beat();
  }
  // Lets the second one look so often that it takes a first one that doesn't beat for dead. Returns
  // how often it was told so.
  int let_first_die() {
    int told = 0;
    for (int i = 0; i <= Replicas::looks_until_dead; ++i) told += second.beat() ? 1 : 0;
    return told;
  }
  std::int64_t rows(const char* sql) {
    return world.read([&](db::Tx& tx) { return tx.number(sql); });
  }
};

constexpr const char* count_replicas = R"(SELECT count(*) FROM replicas)";
constexpr const char* count_leases = R"(SELECT count(*) FROM loop_leases)";

TEST_CASE("a loop runs on one berthd, and each loop on any") {
  Two two;
  CHECK(two.first.holds("billing"));
  CHECK_FALSE(two.second.holds("billing"));
  CHECK(two.second.holds("ads"));
  CHECK_FALSE(two.first.holds("ads"));
  const auto writes = two.world.db.writes();
  CHECK(two.first.holds("billing"));
  CHECK_FALSE(two.second.holds("billing"));
  CHECK(two.world.db.writes() == writes);
}

TEST_CASE("a berthd holds no loop before it has looked who else is there") {
  World world;
  Replicas early(world.db);
  CHECK_FALSE(early.holds("billing"));
  CHECK(early.live() == 1);
  early.beat();
  CHECK(early.holds("billing"));
}

TEST_CASE("the loops of a berthd that stops are free at once") {
  Two two;
  REQUIRE(two.first.holds("billing"));
  two.first.leave();
  CHECK(two.rows(count_leases) == 0);
  CHECK_FALSE(two.second.beat());  // nobody died
  CHECK(two.second.live() == 1);
  CHECK(two.second.holds("billing"));
}

TEST_CASE("the loops of a berthd that died are taken over once it has missed some beats") {
  Two two;
  REQUIRE(two.first.holds("billing"));
  for (int i = 1; i < Replicas::looks_until_dead; ++i) two.second.beat();
  CHECK(two.second.live() == 2);
  CHECK_FALSE(two.second.holds("billing"));
  CHECK(two.let_first_die() == 1);
  CHECK(two.second.live() == 1);
  CHECK(two.second.holds("billing"));
  CHECK(two.rows(count_replicas) == 1);
}

TEST_CASE("a berthd that beats stays alive, whatever the clock says") {
  Two two;
  REQUIRE(two.first.holds("billing"));
  for (int i = 0; i < 3 * Replicas::looks_until_dead; ++i) {
    two.world.clock.advance(std::chrono::hours(24));
    two.first.beat();
    CHECK_FALSE(two.second.beat());
  }
  CHECK(two.second.live() == 2);
  CHECK_FALSE(two.second.holds("billing"));
}

TEST_CASE("a berthd that was only stopped for a while writes nothing in a loop that it has lost") {
  Two two;
  LoopTurn of_first(two.world.db, &two.first, "billing");
  LoopTurn of_second(two.world.db, &two.second, "billing");
  REQUIRE(of_first.is_mine());
  const auto write = [&](LoopTurn& turn) {
    turn.write([](db::Tx& tx) {
      tx.execute(R"(INSERT INTO loop_leases (name, owner_id, taken_at) VALUES ('work', '', 0))");
    });
  };
  two.let_first_die();
  // Before and after the second one has taken it.
  CHECK_THROWS_AS(write(of_first), Replicas::LoopLost);
  REQUIRE(of_second.is_mine());
  CHECK_THROWS_AS(write(of_first), Replicas::LoopLost);
  CHECK(two.rows(count_leases) == 1);
  two.first.beat();
  two.second.beat();
  CHECK_FALSE(of_first.is_mine());
  CHECK(two.second.live() == 2);
  write(of_second);
  CHECK(two.rows(count_leases) == 2);
}

TEST_CASE("a berthd that was taken for dead takes nothing before its next beat") {
  Two two;
  two.let_first_die();
  CHECK_FALSE(two.first.holds("billing"));
  CHECK(two.rows(count_leases) == 0);
  two.first.beat();
  CHECK(two.first.holds("billing"));
}

TEST_CASE("rows of berthd that nobody missed go with the next start") {
  World world;
  for (int i = 0; i < 20; ++i) {
    Replicas dies(world.db);
    dies.beat();
    dies.holds("loop " + std::to_string(i));
  }
  world.clock.advance(Replicas::kept_for + std::chrono::milliseconds(1));
  Replicas(world.db).beat();
  world.read([](db::Tx& tx) {
    CHECK(tx.number(count_replicas) == 1);
    CHECK(tx.number(count_leases) == 0);
  });
}

TEST_CASE("a berthd that has its database for itself always has its turn, and writes no row") {
  World world;
  LoopTurn turn(world.db, nullptr, "billing");
  CHECK(turn.is_mine());
  CHECK(turn.write([](db::Tx& tx) { return tx.number(count_leases); }) == 0);
}

}  // namespace
