#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "controller/domain/deployments/billing/period.h"

namespace {

using namespace berth;
using namespace berth::billing;
using namespace std::chrono_literals;

constexpr std::int64_t most_points = (std::int64_t(1) << 53) - 1;
constexpr std::int64_t whole = period_length.count();
const Instant created = from_millis(1'769'860'800'123);

TEST_CASE("periods are 30 days long and roll from creation") {
  CHECK(period_at(created, created) == Period{created, created + 720h});
  CHECK(period_at(created, created + 720h - 1ms).start == created);
  CHECK(period_at(created, created + 720h).start == created + 720h);
  CHECK(period_at(created, created - 1h).start == created);
  CHECK(rc::check("an instant lies in its period", [] {
    const Instant at = created + Duration(*rc::gen::inRange<std::int64_t>(0, 100 * whole));
    const Period period = period_at(created, at);
    RC_ASSERT(period.start <= at);
    RC_ASSERT(at < period.end);
    RC_ASSERT((period.start - created) % period_length == Duration(0));
  }));
}

TEST_CASE("shares are whole points, rounded in the platform's favour") {
  CHECK(share_rounded_up(1'000, period_length) == 1'000);
  CHECK(share_rounded_down(1'000, period_length) == 1'000);
  CHECK(share_rounded_up(1'000, period_length / 3) == 334);
  CHECK(share_rounded_down(1'000, period_length / 3) == 333);
  CHECK(share_rounded_up(1, 1ms) == 1);
  CHECK(share_rounded_down(1, period_length - 1ms) == 0);
  CHECK(share_rounded_up(1'000, 0ms) == 0);
  CHECK(share_rounded_up(1'000, -1h) == 0);
  CHECK(share_rounded_up(1'000, 2 * period_length) == 1'000);
  CHECK(share_rounded_up(most_points, period_length) == most_points);
  CHECK(share_rounded_down(most_points, period_length - 1ms) == most_points - 3'475'000);
}

TEST_CASE("whatever the price, the two roundings enclose the share") {
  CHECK(rc::check("one point apart at most", [] {
    const auto points = *rc::gen::inRange<std::int64_t>(0, most_points);
    const Duration left(*rc::gen::inRange<std::int64_t>(0, whole + 1));
    const auto up = share_rounded_up(points, left), down = share_rounded_down(points, left);
    RC_ASSERT(down <= up);
    RC_ASSERT(up - down <= 1);
    RC_ASSERT(up <= points);
    const long double exact = static_cast<long double>(points) * left.count() / whole;
    RC_ASSERT(down <= exact + 1.0L && exact <= up + 1.0L);
  }));
}

TEST_CASE("nobody gains by changing tiers back and forth") {
  CHECK(rc::check("what was paid is never less than what was used", [] {
    std::int64_t rate = *rc::gen::inRange<std::int64_t>(0, 100'000);
    std::int64_t paid = rate, used = 0, left = whole;  // `used` in points · milliseconds
    for (int i = *rc::gen::inRange(0, 20); i > 0; --i) {
      const auto next_left = *rc::gen::inRange<std::int64_t>(0, left + 1);
      const auto next_rate = *rc::gen::inRange<std::int64_t>(0, 100'000);
      used += rate * (left - next_left);
      paid += price_of_change(rate, next_rate, Duration(next_left));
      rate = next_rate;
      left = next_left;
      RC_ASSERT(paid * whole >= used + rate * left);
    }
  }));
}

}  // namespace
