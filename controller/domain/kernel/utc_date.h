#pragma once

#include <string>

#include "controller/base/clock.h"

namespace berth {

// Returns the first moment of the day with this number (utc_day()).
inline Instant start_of_day(std::int64_t day) { return Instant(std::chrono::days(day)); }
// Returns the date of the day with this number (utc_day()) in ISO 8601: 2026-01-31.
inline std::string utc_date(std::int64_t day) {
  return to_iso8601(start_of_day(day)).substr(0, 10);
}

}  // namespace berth
