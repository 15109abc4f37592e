#pragma once

#include <cstdint>

#include "controller/base/clock.h"

// The arithmetic of billing: periods and shares of them. Touches nothing.
namespace berth::billing {

// The specification's billing cycle: rolling 30 days, counted from creation.
inline constexpr Duration period_length = std::chrono::hours(30 * 24);
// A renewal that would fail is announced so long before, and nothing is stopped by it sooner.
inline constexpr Duration notice = std::chrono::hours(24);

struct Period {
  Instant start;
  Instant end;  // the next one's start
  bool operator==(const Period&) const = default;
};
// The period that `at` lies in. Before its creation a deployment is in its first one.
Period period_at(Instant created_at, Instant at);

// What `points` for a whole period are for `left` of it, rounded up or down. Needs 0 <= points <=
// 2^53-1; `left` is taken as 0 to period_length.
std::int64_t share_rounded_up(std::int64_t points, Duration left);
std::int64_t share_rounded_down(std::int64_t points, Duration left);

// What a change from one price to another costs for the rest of a period; below 0: what it gives
// back. Charges round up, credits down, so that changing back and forth never gains a point.
std::int64_t price_of_change(std::int64_t from, std::int64_t to, Duration left);

}  // namespace berth::billing
