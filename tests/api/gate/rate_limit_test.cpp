#include "api/gate/rate_limit.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <thread>

namespace {

using namespace berth::api;
using berth::Pool;
using namespace std::chrono_literals;
using Time = RateLimiter::Time;

const Time start = Time() + 1000h;

TEST_CASE(
    "the window slides: a place becomes free when the oldest request leaves it, and not before") {
  RateLimiter limiter(Pool::rates_of_callers);
  const Rate rate = per_minute(3);
  CHECK(limiter.take("a", rate, start).allowed);
  CHECK(limiter.take("a", rate, start + 10s).allowed);
  CHECK(limiter.take("a", rate, start + 59s).allowed);
  CHECK_FALSE(limiter.take("a", rate, start + 60s - 1ns).allowed);
  CHECK(limiter.take("a", rate, start + 60s).allowed);
  CHECK_FALSE(limiter.take("a", rate, start + 69s).allowed);
  CHECK(limiter.take("a", rate, start + 70s).allowed);
}

TEST_CASE("a verdict says how many requests are left and for how long") {
  RateLimiter limiter(Pool::rates_of_callers);
  const Rate rate = per_minute(2);
  const auto first = limiter.take("a", rate, start);
  CHECK(first.limit == 2);
  CHECK(first.remaining == 1);
  CHECK(first.reset == 60s);
  const auto second = limiter.take("a", rate, start + 500ms);
  CHECK(second.remaining == 0);
  // 59.5 s are rounded up, so that a caller who waits this long isn't refused.
  CHECK(second.reset == 60s);
  const auto third = limiter.take("a", rate, start + 59500ms);
  CHECK_FALSE(third.allowed);
  CHECK(third.remaining == 0);
  CHECK(third.reset == 1s);
}

TEST_CASE("refused requests don't count") {
  RateLimiter limiter(Pool::rates_of_callers);
  const Rate rate = per_minute(1);
  CHECK(limiter.take("a", rate, start).allowed);
  for (int i = 1; i < 60; ++i) CHECK_FALSE(limiter.take("a", rate, start + i * 1s).allowed);
  CHECK(limiter.take("a", rate, start + 60s).allowed);
}

TEST_CASE("each key has a count of its own") {
  RateLimiter limiter(Pool::rates_of_callers);
  const Rate rate = per_minute(1);
  CHECK(limiter.take("a", rate, start).allowed);
  CHECK(limiter.take("b", rate, start).allowed);
  CHECK_FALSE(limiter.take("a", rate, start).allowed);
  CHECK(limiter.size() == 2);
}

TEST_CASE("the limiter agrees with a list of all request times") {
  CHECK(rc::check([] {
    RateLimiter limiter(Pool::rates_of_callers);
    const Rate rate = {.limit = *rc::gen::inRange(1, 6),
                       .window = std::chrono::seconds(*rc::gen::inRange(1, 20))};
    const auto pauses = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 8'000));
    std::vector<Time> let_through;
    Time now = start;
    for (const int pause : pauses) {
      now += std::chrono::milliseconds(pause);
      const auto in_window = std::count_if(let_through.begin(), let_through.end(),
                                           [&](Time at) { return now - at < rate.window; });
      const auto verdict = limiter.take("a", rate, now);
      RC_ASSERT(verdict.allowed == (in_window < rate.limit));
      if (verdict.allowed) let_through.push_back(now);
      RC_ASSERT(verdict.remaining == rate.limit - int(in_window) - (verdict.allowed ? 1 : 0));
      // A caller who waits as long as told is allowed.
      if (!verdict.allowed) {
        const auto then = std::count_if(let_through.begin(), let_through.end(), [&](Time at) {
          return now + verdict.reset - at < rate.window;
        });
        RC_ASSERT(then < rate.limit);
        RC_ASSERT(verdict.reset > 0s);
      }
    }
  }));
}

TEST_CASE("callers whose window is over are removed") {
  RateLimiter limiter(Pool::rates_of_callers);
  const Rate rate = per_minute(1);
  constexpr int callers = 20'000, remaining = 1'000;
  for (int i = 0; i < callers; ++i) limiter.take("old " + std::to_string(i), rate, start);
  CHECK(limiter.size() == size_t(callers));
  for (int i = 0; i < 160'000; ++i)
    limiter.take("new " + std::to_string(i % remaining), rate, start + 1h);
  CHECK(limiter.size() == size_t(remaining));
}

TEST_CASE("the table never exceeds its limit; the key that was counted longest ago is removed") {
  constexpr size_t most = 1'600;
  RateLimiter limiter(Pool::rates_of_callers, most);
  const Rate rate = per_minute(1);
  for (int i = 0; i < 20'000; ++i) {
    // A key that is counted again and again stays, whatever other keys come.
    limiter.forget("watched");
    CHECK(limiter.take("watched", rate, start).allowed);
    limiter.take("stranger " + std::to_string(i), rate, start);
    REQUIRE(limiter.size() <= most);
  }
  CHECK(limiter.size() > most / 2);
  CHECK_FALSE(limiter.look("watched", rate, start).allowed);
  CHECK_FALSE(limiter.look("stranger 19999", rate, start).allowed);
  CHECK(limiter.look("stranger 0", rate, start).allowed);
}

TEST_CASE("refused, returned and looked-up requests leave no key") {
  RateLimiter limiter(Pool::rates_of_callers);
  const Rate rate = per_minute(1);
  CHECK(limiter.look("a", rate, start).allowed);
  CHECK(limiter.look("a", rate, start).remaining == 0);
  CHECK(limiter.size() == 0);
  limiter.take("a", rate, start);
  limiter.give_back("a");
  CHECK(limiter.size() == 0);
  limiter.take("a", rate, start);
  CHECK_FALSE(limiter.look("a", rate, start).allowed);
  CHECK(limiter.look("a", rate, start + 60s).allowed);
  CHECK(limiter.size() == 0);
  limiter.give_back("nobody");
  limiter.forget("nobody");
  CHECK(limiter.size() == 0);
}

TEST_CASE("a key takes the same memory however long it is") {
  RateLimiter limiter(Pool::rates_of_callers);
  const std::string first(1 << 20, 'x'), second = first.substr(1) + "y";
  for (int i = 0; i < 100; ++i) limiter.take(first + std::to_string(i), per_minute(1), start);
  CHECK(limiter.bytes() < 100 * 150);
  CHECK(limiter.take(second, per_minute(1), start).allowed);
}

TEST_CASE("times that have left the window release their memory") {
  RateLimiter limiter(Pool::rates_of_callers);
  const Rate rate = per_minute(10'000);
  for (int i = 0; i < 10'000; ++i) limiter.take("a", rate, start);
  CHECK(limiter.bytes() >= 10'000 * sizeof(RateLimiter::Time));
  limiter.take("a", rate, start + 1h);
  CHECK(limiter.bytes() < 150);
}

TEST_CASE("many threads together get no more than the limit") {
  RateLimiter limiter(Pool::rates_of_callers);
  std::atomic<int> allowed = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 100; ++i)
          if (limiter.take("a", per_minute(50), start).allowed) ++allowed;
      });
  }
  CHECK(allowed == 50);
}

}  // namespace
