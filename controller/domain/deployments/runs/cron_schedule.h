#pragma once

#include <bitset>
#include <optional>
#include <string>
#include <string_view>

#include "controller/base/clock.h"

// When a cron is due: the five fields of crontab(5), in a time zone of the IANA's database. Pure
// but for the zones, which date::locate_zone() reads from the system's tzdata.
//
// A field is `*`, a number, a range a-b, or a list of these with commas; `*/n` and `a-b/n` take
// each n-th. Months and weekdays have English names of three letters; Sunday is 0 and 7. @hourly,
// @daily,
// @midnight, @weekly, @monthly, @yearly and @annually stand for five fields. If both the day of the
// month and the weekday are limited (neither field begins with `*`), a day has to match one of
// them; otherwise both (cron(8) by Vixie).
//
// Where a zone's clocks are set forward, the times that are skipped happen together at the first
// minute after the gap. Where they are set back, times that come twice happen the first time; but a
// cron whose hour field begins with `*` runs by the clock: nothing is made up for, and times that
// come twice happen twice.
namespace berth::crons {

class Schedule {
 public:
  // Throws std::invalid_argument with the reason, as the end of a sentence that begins with the
  // name of the field.
  static Schedule parse(std::string_view text);

  // Returns the first minute after `after` at which it is due; nothing if there is none in the next
  // `horizon` years. `zone` must be known (is_zone()).
  std::optional<Instant> next_after(Instant after, const std::string& zone) const;

 private:
  // The Gregorian calendar repeats itself, with its weekdays, after 400 years; but a 29 February
  // that is a given weekday comes at least once in 40.
  static constexpr int horizon = 41;
  class Search;

  std::bitset<60> minutes_;
  std::bitset<24> hours_;
  std::bitset<32> days_;      // 1 to 31
  std::bitset<13> months_;    // 1 to 12
  std::bitset<7> weekdays_;   // 0 is Sunday
  bool any_hour_ = false;     // the hour's field begins with `*`
  bool any_day_ = false;      // the field of the day of the month does
  bool any_weekday_ = false;  // the weekday's does
};

// Whether the system knows the zone. Names of zones are case-sensitive.
bool is_zone(const std::string& name);

}  // namespace berth::crons
