// Two users, or two devices of one, do different things to a friendship at the same time.
#include <atomic>
#include <barrier>
#include <catch2/catch.hpp>
#include <functional>
#include <thread>

#include "controller/domain/social/blocks.h"
#include "controller/domain/social/friends.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;

constexpr int rounds = 60;
constexpr int racers_of_each = 4;

struct Fixture {
  World world;
  accounts::User ada = world.new_user("ada");
  accounts::User bob = world.new_user("bob");

  std::string ask(const accounts::User& from, const accounts::User& to) {
    return world.write([&](db::Tx& tx) { return friends::ask(tx, from.id, to.id).id; });
  }
  std::string status() {
    return world.read([&](db::Tx& tx) {
      const auto found = friends::between(tx, ada.id, bob.id);
      return found ? std::string(to_string(found->status)) : "none";
    });
  }
  void start_anew() {
    world.write([](db::Tx& tx) {
      tx.execute("DELETE FROM friendships");
      tx.execute("DELETE FROM blocks");
    });
  }
};

struct Outcome {
  int first = 0;  // how many calls of each kind weren't refused
  int second = 0;
};

// Runs `first` and `second` on several threads each, all of which begin together. Every refusal
// must be one of `allowed`.
template <typename First, typename Second>
Outcome race(World& world, const std::vector<std::string>& allowed, First&& first,
             Second&& second) {
  std::barrier start(2 * racers_of_each);
  std::atomic<int> first_done = 0, second_done = 0, strange = 0;
  const auto run = [&](auto& work, std::atomic<int>& done) {
    start.arrive_and_wait();
    const std::string refused = refusal([&] { world.write(work); });
    if (refused.empty())
      ++done;
    else if (std::find(allowed.begin(), allowed.end(), refused) == allowed.end())
      ++strange;
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < racers_of_each; ++i) {
    threads.emplace_back([&] { run(first, first_done); });
    threads.emplace_back([&] { run(second, second_done); });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(strange == 0);
  return {.first = first_done, .second = second_done};
}

TEST_CASE("if both users send a request at the same time, they are friends, in one row") {
  Fixture f;
  for (int round = 0; round < rounds; ++round) {
    f.start_anew();
    const Outcome outcome = race(
        f.world, {"409 invalid_state"}, [&](db::Tx& tx) { friends::ask(tx, f.ada.id, f.bob.id); },
        [&](db::Tx& tx) { friends::ask(tx, f.bob.id, f.ada.id); });
    // One call created the request, one call of the other user accepted it, and all others came too
    // late.
    REQUIRE(outcome.first == 1);
    REQUIRE(outcome.second == 1);
    REQUIRE(f.status() == "accepted");
    REQUIRE(f.world.read(
                [](db::Tx& tx) { return tx.number("SELECT count(*) FROM friendships"); }) == 1);
  }
}

TEST_CASE("if many accept at the same time on two devices, one succeeds") {
  Fixture f;
  for (int round = 0; round < rounds; ++round) {
    f.start_anew();
    const std::string id = f.ask(f.ada, f.bob);
    const auto accept = [&](db::Tx& tx) { friends::accept(tx, f.bob.id, id); };
    const Outcome outcome = race(f.world, {"409 invalid_state"}, accept, accept);
    REQUIRE(outcome.first + outcome.second == 1);
    REQUIRE(f.status() == "accepted");
  }
}

// Bob accepts while somebody ends the request in another way. Exactly one call succeeds, and it
// determines the status.
void check_one_wins(const char* other_end,
                    const std::function<void(db::Tx&, const Fixture&, const std::string&)>& other) {
  Fixture f;
  for (int round = 0; round < rounds; ++round) {
    f.start_anew();
    const std::string id = f.ask(f.ada, f.bob);
    const Outcome outcome = race(
        f.world, {"409 invalid_state"}, [&](db::Tx& tx) { friends::accept(tx, f.bob.id, id); },
        [&](db::Tx& tx) { other(tx, f, id); });
    REQUIRE(outcome.first + outcome.second == 1);
    REQUIRE(f.status() == (outcome.first == 1 ? "accepted" : other_end));
  }
}

TEST_CASE("of accept and withdraw, one succeeds and determines the status") {
  check_one_wins("removed", [](db::Tx& tx, const Fixture& f, const std::string& id) {
    friends::withdraw(tx, f.ada.id, id);
  });
}

TEST_CASE("of accept and reject, one succeeds and determines the status") {
  check_one_wins("rejected", [](db::Tx& tx, const Fixture& f, const std::string& id) {
    friends::reject(tx, f.bob.id, id);
  });
}

TEST_CASE("an accept beside a block never leaves the two as friends") {
  Fixture f;
  for (int round = 0; round < rounds; ++round) {
    f.start_anew();
    const std::string id = f.ask(f.ada, f.bob);
    const Outcome outcome = race(
        f.world, {"409 invalid_state"}, [&](db::Tx& tx) { friends::accept(tx, f.bob.id, id); },
        [&](db::Tx& tx) { blocks::add(tx, f.ada.id, f.bob.id); });
    REQUIRE(outcome.first <= 1);
    REQUIRE(outcome.second == racers_of_each);
    REQUIRE(f.status() == "removed");
  }
}

TEST_CASE("a request beside a block never stays") {
  Fixture f;
  for (int round = 0; round < rounds; ++round) {
    f.start_anew();
    race(
        f.world, {"409 invalid_state", "404 user_not_found"},
        [&](db::Tx& tx) { friends::ask(tx, f.bob.id, f.ada.id); },
        [&](db::Tx& tx) { blocks::add(tx, f.ada.id, f.bob.id); });
    REQUIRE((f.status() == "removed" || f.status() == "none"));
  }
}

}  // namespace
