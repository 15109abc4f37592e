// The arithmetic of metering: nothing is lost, whatever the parts are.
#include "controller/domain/deployments/metering/units.h"

#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <stdexcept>
#include <vector>

namespace {

using namespace berth;
using namespace berth::metering;
using namespace std::chrono_literals;

constexpr std::int64_t most_points = (std::int64_t(1) << 53) - 1;
constexpr std::int64_t day = 86'400'000;

TEST_CASE("an hour at a price is that many points") {
  CHECK(units_of(3'600'000, 1) == units_of_point);
  CHECK(units_of(1, 3'600) == 3'600);
  CHECK(units_of(0, max_points_per_hour) == 0);
  // The longest day of the largest quantity at the highest price fits.
  CHECK(units_of(day * max_quantity / 10, max_points_per_hour) == day * 100 * max_points_per_hour);
  CHECK_THROWS_AS(units_of(std::numeric_limits<std::int64_t>::max(), 2), std::overflow_error);
}

TEST_CASE("a charge takes whole points and carries the rest") {
  CHECK(charge(0, units_of_point - 1, 10) == Charge{0, units_of_point - 1, 0});
  CHECK(charge(units_of_point - 1, 1, 10) == Charge{1, 0, 0});
  CHECK(charge(1, 2 * units_of_point, 10) == Charge{2, 1, 0});
}

TEST_CASE("a charge stops at its limit, and what is beyond is nobody's") {
  CHECK(charge(0, 3 * units_of_point, 2) == Charge{2, 0, units_of_point});
  CHECK(charge(5, 2 * units_of_point, 2) == Charge{2, 0, 5});
  CHECK(charge(0, 7, 0) == Charge{0, 0, 7});
  // What was carried here isn't lost.
  CHECK(charge(5, 7, 0) == Charge{0, 5, 7});
}

TEST_CASE("however what was used is split, the charges are the same together") {
  CHECK(rc::check("the sum of all charges is the one charge", [] {
    const auto price = *rc::gen::inRange<std::int64_t>(1, max_points_per_hour + 1);
    const auto parts =
        *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, day));
    const auto carried = *rc::gen::inRange<std::int64_t>(0, units_of_point);
    std::int64_t points = 0, remainder = carried, all = 0;
    for (const std::int64_t part : parts) {
      const Charge one = charge(remainder, units_of(part, price), most_points);
      RC_ASSERT(one.unpaid_units == 0);
      points += one.points;
      remainder = one.remainder;
      all += part;
    }
    const Charge whole = charge(carried, units_of(all, price), most_points);
    RC_ASSERT(points == whole.points);
    RC_ASSERT(remainder == whole.remainder);
  }));
}

TEST_CASE("no split charges more than a limit, nor loses what is within it") {
  CHECK(rc::check("charges with a limit", [] {
    const auto limit = *rc::gen::inRange<std::int64_t>(0, 2'000);
    const auto parts = *rc::gen::container<std::vector<std::int64_t>>(
        rc::gen::inRange<std::int64_t>(0, 500 * units_of_point));
    std::int64_t points = 0, remainder = 0, unpaid = 0, all = 0;
    for (const std::int64_t part : parts) {
      const Charge one = charge(remainder, part, limit - points);
      RC_ASSERT(one.points >= 0 && one.remainder >= 0 && one.unpaid_units >= 0);
      RC_ASSERT(one.remainder < units_of_point);
      points += one.points;
      remainder = one.remainder;
      unpaid += one.unpaid_units;
      all += part;
      RC_ASSERT(points <= limit);
    }
    RC_ASSERT(points * units_of_point + remainder + unpaid == all);
    RC_ASSERT(unpaid == std::max<std::int64_t>(all - limit * units_of_point, 0));
  }));
}

TEST_CASE("the time until something is used is rounded up, and bounded") {
  CHECK(time_of(0, 5) == 0ms);
  CHECK(time_of(-5, 5) == 0ms);
  CHECK(time_of(10, 3) == 4ms);
  CHECK(time_of(units_of_point, 1) == 1h);
  CHECK(time_of(1, 0) == longest);
  CHECK(time_of(Wide(most_points) * units_of_point, 1) == longest);
}

}  // namespace
