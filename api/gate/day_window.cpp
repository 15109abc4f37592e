#include "api/gate/day_window.h"

#include "controller/base/error.h"

namespace berth::api {
namespace {

std::optional<std::int64_t> day_in_query(const Call& call, const char* name) {
  const auto text = call.query(name, Kind::time);
  if (!text) return std::nullopt;
  const auto at = parse_iso8601(*text);
  if (!at) throw invalid_field(name, "must be a date such as 2026-01-31, or a time");
  return utc_day(*at);
}

}  // namespace

DayWindow day_window(const Call& call, Instant now, std::optional<std::int64_t> most_days) {
  DayWindow window = {.first = 0, .last = day_in_query(call, "to").value_or(utc_day(now))};
  window.first = day_in_query(call, "from").value_or(window.last - default_window_days + 1);
  if (window.first > window.last) throw invalid_field("from", "must not be after to");
  if (most_days && window.last - window.first >= *most_days)
    throw invalid_field(
        "from", "must not be more than " + std::to_string(*most_days - 1) + " days before to");
  return window;
}

}  // namespace berth::api
