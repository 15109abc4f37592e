#pragma once

#include <cstdint>

#include "controller/base/clock.h"

// The arithmetic of billing: periods and shares of them. Pure functions.
namespace berth::billing {

// The specification's billing cycle: 30 days, counted from the deployment's creation.
inline constexpr Duration period_length = std::chrono::hours(30 * 24);
// How long before it happens a suspension is announced. No deployment is suspended sooner after its
// warning.
inline constexpr Duration notice = std::chrono::hours(24);

struct Period {
  Instant start;
  Instant end;  // also the start of the next period
  bool operator==(const Period&) const = default;
};
// Returns the period that contains `at`; the first one if `at` is before the creation.
Period period_at(Instant created_at, Instant at);

// Returns the part of `points`, the price of a whole period, that falls to the time `left` of it,
// rounded up or down. Needs 0 <= points <= 2^53-1; `left` is limited to 0 to period_length.
std::int64_t share_rounded_up(std::int64_t points, Duration left);
std::int64_t share_rounded_down(std::int64_t points, Duration left);

// Returns what changing from one price to another costs for the rest of a period; a negative number
// is a credit. Charges are rounded up and credits down, so that changing back and forth never gains
// a point.
std::int64_t price_of_change(std::int64_t from, std::int64_t to, Duration left);

}  // namespace berth::billing
