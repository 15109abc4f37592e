#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "api/gate/route.h"

// The query parameters `from` and `to` of operations that answer by UTC day.
namespace berth::api {

inline constexpr std::int64_t default_window_days = 30;

struct DayWindow {  // both days belong to it; they are numbered as by utc_day()
  std::int64_t first = 0;
  std::int64_t last = 0;
};
// Throws validation_failed for texts that are no dates, for a window that ends before it begins,
// and for one of more than `most_days` days, if that is given.
DayWindow day_window(const Call& call, Instant now,
                     std::optional<std::int64_t> most_days = std::nullopt);
std::vector<Param> day_window_query();

}  // namespace berth::api
