// Many threads that want the same thing at the same time. One of ctest's tests runs these with
// BERTH_RACE_FAMILIES=1000.
#include <atomic>
#include <barrier>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <thread>

#include "controller/domain/oauth/oauth.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;

constexpr int racers = 32;

int families() {
  const char* many = std::getenv("BERTH_RACE_FAMILIES");
  return many == nullptr ? 40 : std::stoi(many);
}

struct Fixture {
  World world;
  accounts::User ada = world.verified_user("ada");
  apps::App app = world.new_app(ada).app;

  bool works(const std::string& access_token) {
    return refusal([&] { world.check(access_token); }).empty();
  }
};

// Runs `race(round, racer)` on 32 threads, all of which begin each round together, and
// `judge(round)` between rounds.
template <typename Race, typename Judge>
void rounds(int count, Race&& race, Judge&& judge) {
  int round = 0;
  std::barrier start(racers);
  std::barrier finish(racers, [&]() noexcept {
    judge(round);
    ++round;
  });
  std::vector<std::thread> threads;
  for (int racer = 0; racer < racers; ++racer)
    threads.emplace_back([&, racer] {
      for (int i = 0; i < count; ++i) {
        start.arrive_and_wait();
        race(i, racer);
        finish.arrive_and_wait();
      }
    });
  for (std::thread& thread : threads) thread.join();
}

// Calls `take(prize)` on 32 threads at the same time for each prize. Checks that exactly one of
// them gets tokens, and returns the tokens of each winner.
template <typename Take>
std::vector<oauth::Tokens> one_winner_of_each(const std::vector<std::string>& prizes, Take&& take) {
  std::vector<std::atomic<int>> winners(prizes.size());
  std::vector<oauth::Tokens> won(prizes.size());
  rounds(
      int(prizes.size()),
      [&](int round, int) {
        const auto at = static_cast<size_t>(round);
        if (auto answer = take(prizes[at]))
          if (++winners[at] == 1) won[at] = *std::move(answer);
      },
      [](int) {});
  for (const auto& count : winners) REQUIRE(count == 1);
  return won;
}

TEST_CASE("of 32 refreshes with one token, one succeeds and its tokens work", "[token_races]") {
  Fixture f;
  const int count = families();
  std::vector<std::string> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(f.world.tokens(f.app, f.ada).refresh_token);
  const auto won = one_winner_of_each(
      tokens, [&](const std::string& token) { return f.world.refresh(f.app, token); });
  for (const oauth::Tokens& pair : won) {
    REQUIRE(f.works(pair.access_token));
    REQUIRE(refusal_of(f.world.refresh(f.app, pair.refresh_token)) == "");
  }
}

TEST_CASE("of 32 exchanges of one code, one succeeds and loses its tokens to the others' replay",
          "[token_races]") {
  Fixture f;
  const int count = std::max(1, families() / 4);
  std::vector<std::string> codes;
  for (int i = 0; i < count; ++i) codes.push_back(f.world.authorize(f.app, f.ada));
  const auto won = one_winner_of_each(
      codes, [&](const std::string& code) { return f.world.exchange(f.app, code); });
  for (const oauth::Tokens& pair : won) {
    REQUIRE_FALSE(f.works(pair.access_token));
    REQUIRE(refusal_of(f.world.refresh(f.app, pair.refresh_token)) == "401 invalid_grant");
  }
}

TEST_CASE("after a revocation is answered, no token of the family works, whoever refreshed",
          "[token_races]") {
  Fixture f;
  const int count = families();
  std::vector<std::string> first;
  for (int i = 0; i < count; ++i) first.push_back(f.world.tokens(f.app, f.ada).refresh_token);
  std::atomic<bool> revoked = false;
  std::atomic<int> alive_after = 0;
  std::atomic<int> refreshed = 0;
  rounds(
      count,
      [&](int round, int racer) {
        const std::string& token = first[static_cast<size_t>(round)];
        if (racer == 0) {
          f.world.write([&](db::Tx& tx) { oauth::revoke(tx, f.app, token); });
          revoked = true;
          return;
        }
        // A chain of refreshes until the revocation stops it. No token may survive that.
        auto answer = f.world.refresh(f.app, token);
        std::string access;
        while (answer) {
          ++refreshed;
          access = answer->access_token;
          answer = f.world.refresh(f.app, answer->refresh_token);
        }
        while (!revoked) std::this_thread::yield();
        if (!access.empty() && f.works(access)) ++alive_after;
      },
      [&](int) { revoked = false; });
  CHECK(alive_after == 0);
  INFO("refreshes that came before the revocation: " << refreshed);
  f.world.read([&](db::Tx& tx) {
    CHECK(tx.number("SELECT count(*) FROM token_families WHERE revoked_at IS NULL") == 0);
  });
}

}  // namespace
