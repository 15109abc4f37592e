#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

using Duration = std::chrono::milliseconds;
// In UTC and milliseconds; the form in which every row stores times.
using Instant = std::chrono::sys_time<Duration>;

// The time that the business rules use. It follows the machine's clock, can be moved ahead (in
// development and tests), and can stand still (in tests). Time-outs of sockets and queues don't use
// it but std::chrono::steady_clock. Thread-safe.
class Clock {
 public:
  Clock() = default;
  // Returns a clock that stands at `start` until advance() moves it.
  static Clock standing_at(Instant start) { return Clock(start); }
  Clock(const Clock& other) : standing_(other.standing_), ahead_(other.ahead_.load()) {}

  Instant now() const;
  // Moves the clock ahead. `by` must not be negative, since the clock never goes back.
  void advance(Duration by);
  // How far the clock was moved ahead in all.
  Duration ahead() const { return Duration(ahead_.load()); }

 private:
  explicit Clock(Instant start) : standing_(start) {}
  std::optional<Instant> standing_;
  std::atomic<std::int64_t> ahead_{0};
};

// Returns the time of the machine's clock, which never stands still and isn't moved ahead as
// Clock's may be. For times that other machines compare with theirs, such as those of Leases and
// Events.
inline Instant system_time() {
  return std::chrono::floor<Duration>(std::chrono::system_clock::now());
}

// Formats a time as ISO 8601 in UTC with milliseconds and `Z`: 2026-01-31T12:00:00.000Z.
std::string to_iso8601(Instant at);
// Parses a time of ISO 8601 in its extended or basic form. Seconds, a fraction and an offset may be
// missing, as may the time of day; without an offset the time is UTC. Returns nothing if the text
// is malformed.
std::optional<Instant> parse_iso8601(std::string_view text);
// The same for the end of a time: a date alone is its end, the next midnight.
std::optional<Instant> parse_iso8601_end(std::string_view text);

inline std::int64_t to_millis(Instant at) { return at.time_since_epoch().count(); }
inline Instant from_millis(std::int64_t millis) { return Instant(Duration(millis)); }
// The number of days since 1970 in UTC, by which daily limits and sums are counted.
inline std::int64_t utc_day(Instant at) {
  return std::chrono::floor<std::chrono::days>(at).time_since_epoch().count();
}

}  // namespace berth
