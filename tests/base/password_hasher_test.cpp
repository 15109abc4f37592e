#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <latch>
#include <thread>
#include <vector>

#include "controller/base/crypto.h"
#include "controller/base/error.h"

namespace {

using namespace berth;

TEST_CASE("a password matches only its own hash") {
  PasswordHasher hasher;
  const std::string stored = hasher.hash("correct horse");
  CHECK(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
  CHECK(hasher.matches("correct horse", stored));
  CHECK_FALSE(hasher.matches("correct Horse", stored));
  CHECK_FALSE(hasher.matches("", stored));
  CHECK_FALSE(hasher.matches("correct horse", "no hash at all"));
  CHECK_FALSE(hasher.matches_nobody("correct horse"));
}

TEST_CASE("hashes are salted") {
  PasswordHasher hasher;
  CHECK(hasher.hash("same") != hasher.hash("same"));
}

TEST_CASE("if all workers are busy and nobody may wait, the next call is refused as unavailable") {
  PasswordHasher hasher(1, 0);
  constexpr int threads = 4;
  std::latch start(threads);
  std::atomic<int> done = 0, refused = 0, wrong = 0;
  // Hashes at full speed until somebody was refused, which proves that two calls ran at the same
  // time.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  {
    std::vector<std::jthread> running;
    for (int i = 0; i < threads; ++i)
      running.emplace_back([&] {
        start.arrive_and_wait();
        while (refused == 0 && std::chrono::steady_clock::now() < deadline) try {
            hasher.hash("password");
            ++done;
          } catch (const Error& error) {
            ++(error.code == Code::unavailable ? refused : wrong);
          }
      });
  }
  CHECK(refused > 0);
  CHECK(wrong == 0);
  CHECK_NOTHROW(hasher.hash("password"));  // the slot is free again
}

TEST_CASE("callers that may wait get their turn") {
  constexpr int threads = 6;
  PasswordHasher hasher(2, threads);
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> running;
    for (int i = 0; i < threads; ++i)
      running.emplace_back([&, i] {
        const std::string password = "password " + std::to_string(i);
        if (hasher.matches(password, hasher.hash(password))) ++right;
      });
  }
  CHECK(right == threads);
}

}  // namespace
