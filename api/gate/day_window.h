#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "api/gate/call.h"

// The query parameters `from` and `to` of operations that answer by UTC day.
namespace berth::api {

inline constexpr std::int64_t default_window_days = 30;

// The days from `first` to `last`, both included, as utc_day() numbers them.
struct DayWindow {
  std::int64_t first = 0;
  std::int64_t last = 0;
};
// Returns the window that the query asks for. By default it ends with the day of `now` and has
// default_window_days days. Throws validation_failed if a text isn't a date, if the window ends
// before it begins, or if it has more than `most_days` days.
DayWindow day_window(const Call& call, Instant now,
                     std::optional<std::int64_t> most_days = std::nullopt);
// The two parameters for rows of the table of routes.
inline constexpr Param day_window_query[] = {
    {.name = "from",
     .description = "The first day, in UTC. The default is 29 days before `to`.",
     .example = "2026-01-01",
     .kind = Kind::time},
    {.name = "to",
     .description = "The last day, in UTC. The default is today.",
     .example = "2026-01-31",
     .kind = Kind::time}};

}  // namespace berth::api
