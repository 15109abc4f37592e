#pragma once

#include <cstdint>

#include "controller/base/clock.h"
#include "controller/domain/kernel/utc_date.h"

// The arithmetic of metering: whole numbers that lose nothing. Pure functions.
namespace berth::metering {

__extension__ using Wide = __int128;  // for products and sums with more than 64 bits

// What is used is counted in units, of which an hour at one point has 3,600,000: a unit is a
// millisecond at a point an hour.
inline constexpr std::int64_t units_of_point = 3'600'000;
constexpr Wide units_in(std::int64_t points) { return Wide(points) * units_of_point; }
// The highest price of an hour, in points.
inline constexpr std::int64_t max_points_per_hour = 1'000'000;
// More of one thing is never counted at once, so that the units of a day fit 64 bits.
inline constexpr std::int64_t max_quantity = 1'000;

// Returns the units of `milliseconds` (of all of a quantity together) at the price. Needs numbers
// that aren't negative. Throws std::overflow_error if they don't fit 64 bits.
std::int64_t units_of(std::int64_t milliseconds, std::int64_t points_per_hour);

// What is taken from an account for units that were used.
struct Charge {
  std::int64_t points = 0;
  std::int64_t remainder = 0;     // of a point, in units, carried to the account's next charge
  std::int64_t unpaid_units = 0;  // what the limit left out, and nobody is charged for
  bool operator==(const Charge&) const = default;
};
// Charges `units`, together with the remainder of the account's last charge, in whole points, at
// most `limit` of them. However the units are split into charges without a limit, the sum of the
// points and the last remainder are the same. Needs 0 <= remainder < units_of_point, and numbers
// that aren't negative.
Charge charge(std::int64_t remainder, std::int64_t units, std::int64_t limit);

// Returns how long it takes until `units` are used at so many points an hour, rounded up to a
// millisecond; at most `longest`. A rate of 0 takes `longest`.
inline constexpr Duration longest = std::chrono::days(400);
Duration time_of(Wide units, std::int64_t points_per_hour);

}  // namespace berth::metering
