// Two people, or their two devices, who want different things of one friendship at once.
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
  int first = 0;  // how many of each kind weren't refused
  int second = 0;
};

// `first` and `second` by some threads each, all of which begin together; what they are refused
// with has to be one of `allowed`.
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

TEST_CASE("where both ask at once they are friends, in one row") {
  Fixture f;
  for (int round = 0; round < rounds; ++round) {
    f.start_anew();
    const Outcome outcome = race(
        f.world, {"409 invalid_state"}, [&](db::Tx& tx) { friends::ask(tx, f.ada.id, f.bob.id); },
        [&](db::Tx& tx) { friends::ask(tx, f.bob.id, f.ada.id); });
    // One opened it, one of the other side accepted by asking, all others came too late.
    REQUIRE(outcome.first == 1);
    REQUIRE(outcome.second == 1);
    REQUIRE(f.status() == "accepted");
    REQUIRE(f.world.read(
                [](db::Tx& tx) { return tx.number("SELECT count(*) FROM friendships"); }) == 1);
  }
}

TEST_CASE("of many who accept at once on two devices one does") {
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

// Bob accepts while somebody ends the request another way: one of all wins, and the end is his.
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

TEST_CASE("of accept and withdraw one wins, and the end is the winner's") {
  check_one_wins("removed", [](db::Tx& tx, const Fixture& f, const std::string& id) {
    friends::withdraw(tx, f.ada.id, id);
  });
}

TEST_CASE("of accept and reject one wins, and the end is the winner's") {
  check_one_wins("rejected", [](db::Tx& tx, const Fixture& f, const std::string& id) {
    friends::reject(tx, f.bob.id, id);
  });
}

TEST_CASE("whoever accepts beside a block, nobody is friends with whom he blocks") {
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

TEST_CASE("whoever asks beside a block, no request is left between them") {
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
