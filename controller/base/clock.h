#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

using Duration = std::chrono::milliseconds;
using Instant = std::chrono::sys_time<Duration>;  // UTC, in milliseconds: what every row stores

// The time that the business rules see. It runs with the machine's clock, can be moved ahead
// (development and tests), and can stand still (tests). Time-outs of sockets and queues don't use
// it: they go by std::chrono::steady_clock. Safe to use from any thread.
class Clock {
 public:
  Clock() = default;
  // A clock that stands at `start` until advance() moves it.
  static Clock standing_at(Instant start) { return Clock(start); }
  Clock(const Clock& other) : standing_(other.standing_), ahead_(other.ahead_.load()) {}

  Instant now() const;
  // Needs `by` >= 0: the clock never goes back.
  void advance(Duration by);
  Duration ahead() const { return Duration(ahead_.load()); }

 private:
  explicit Clock(Instant start) : standing_(start) {}
  std::optional<Instant> standing_;
  std::atomic<std::int64_t> ahead_{0};
};

// ISO 8601 in UTC with milliseconds and `Z`: 2026-01-31T12:00:00.000Z.
std::string to_iso8601(Instant at);
// The reverse; also takes seconds without a fraction and `+hh:mm` offsets (RFC 3339, section 5.6).
std::optional<Instant> parse_iso8601(std::string_view text);

inline std::int64_t to_millis(Instant at) { return at.time_since_epoch().count(); }
inline Instant from_millis(std::int64_t millis) { return Instant(Duration(millis)); }
// Days since 1970 in UTC: what daily limits and sums count by.
inline std::int64_t utc_day(Instant at) {
  return std::chrono::floor<std::chrono::days>(at).time_since_epoch().count();
}

}  // namespace berth
