#pragma once

#include <string>

#include "controller/base/clock.h"

namespace berth {

// The date of a day as utc_day() numbers it: 2026-01-31.
inline std::string utc_date(std::int64_t day) {
  return to_iso8601(Instant(std::chrono::days(day))).substr(0, 10);
}

}  // namespace berth
