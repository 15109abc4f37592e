#include "controller/domain/deployments/runs/cron_schedule.h"

#include <date/tz.h>
#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <vector>

namespace berth::crons {
namespace {

using std::chrono::minutes;

Instant at(std::string_view text) { return *parse_iso8601(text); }

std::string next(std::string_view schedule, std::string_view after, const std::string& zone) {
  const auto found = Schedule::parse(schedule).next_after(at(after), zone);
  return found ? to_iso8601(*found).substr(0, 16) : "never";
}

std::string refusal(std::string_view schedule) {
  try {
    Schedule::parse(schedule);
    return "accepted";
  } catch (const std::invalid_argument& refused) {
    return refused.what();
  }
}

// Zones whose clocks change by an hour, by half of one, at midnight, by a day, and never.
const std::vector<std::string> zones = {
    "UTC",          "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana",
    "Asia/Kolkata", "Pacific/Apia"};

// Near these the clocks of the zones change.
const std::vector<std::string> changes = {
    "2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z", "2026-03-08T07:00:00Z", "2026-11-01T06:00:00Z",
    "2026-04-04T15:00:00Z", "2026-10-03T15:30:00Z", "2026-03-08T05:00:00Z", "2026-11-01T05:00:00Z",
    "2011-12-30T10:00:00Z", "2026-02-27T12:00:00Z", "2028-02-28T12:00:00Z", "2026-12-31T12:00:00Z"};

// A schedule with its fields spelled out, which looks at each minute by itself. An empty list is *.
struct Model {
  std::vector<int> minutes_of_hour;
  std::vector<int> hours;
  std::vector<int> days;
  std::vector<int> months;
  std::vector<int> weekdays;

  static std::string field(const std::vector<int>& values) {
    std::string text;
    for (const int value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
    return text.empty() ? "*" : text;
  }
  std::string text() const {
    return field(minutes_of_hour) + " " + field(hours) + " " + field(days) + " " + field(months) +
           " " + field(weekdays);
  }

  static bool has(const std::vector<int>& values, int value) {
    return values.empty() || std::ranges::find(values, value) != values.end();
  }
  // Whether clocks that show this time, in minutes since 1970, show a time of the schedule.
  bool has_time(minutes local) const {
    const auto day = std::chrono::floor<std::chrono::days>(local);
    const std::chrono::year_month_day date{std::chrono::sys_days(day)};
    const int weekday = int(std::chrono::weekday(std::chrono::sys_days(day)).c_encoding());
    const int minute = int((local - day).count());
    const bool in_days = has(days, int(unsigned(date.day())));
    const bool in_weekdays = has(weekdays, weekday);
    const bool is_day =
        days.empty() || weekdays.empty() ? in_days && in_weekdays : in_days || in_weekdays;
    return is_day && has(months, int(unsigned(date.month()))) && has(hours, minute / 60) &&
           has(minutes_of_hour, minute % 60);
  }

  // Goes through the minutes after `after`, as a clock on a wall does, until `until`.
  std::optional<Instant> next_after(Instant after, Instant until, const std::string& zone) const {
    const auto* const clocks = date::locate_zone(zone);
    constexpr std::chrono::days before(2);
    auto now = std::chrono::floor<minutes>(after) - before;
    minutes furthest = minutes::min();  // what the clocks have shown so far
    for (; now <= until; now += minutes(1)) {
      const auto offset =
          clocks->get_info(std::chrono::time_point_cast<std::chrono::seconds>(now)).offset;
      const minutes shown = now.time_since_epoch() + std::chrono::floor<minutes>(offset);
      bool is_due = false;
      if (hours.empty())
        is_due = has_time(shown);
      else if (furthest != minutes::min())
        for (minutes at = furthest + minutes(1); at <= shown && !is_due; ++at)
          is_due = has_time(at);
      furthest = std::max(furthest, shown);
      if (is_due && now > after) return Instant(now);
    }
    return std::nullopt;
  }
};

std::vector<int> some(int least, int most, int few) {
  std::vector<int> values;
  const int count = *rc::gen::inRange(0, few + 1);
  for (int i = 0; i < count; ++i) values.push_back(*rc::gen::inRange(least, most + 1));
  return values;
}

}  // namespace

TEST_CASE("a schedule is due at the minutes that a clock on the wall says, also when it is set") {
  CHECK(rc::check([] {
    const Model model = {.minutes_of_hour = some(0, 59, 4),
                         .hours = some(0, 4, 3),
                         .days = some(26, 31, 2),
                         .months = some(1, 12, 6),
                         .weekdays = some(0, 6, 2)};
    const std::string zone = *rc::gen::elementOf(zones);
    const Instant after =
        at(*rc::gen::elementOf(changes)) + std::chrono::seconds(*rc::gen::inRange(-90'000, 90'000));
    const Instant until = after + std::chrono::days(3);
    const std::string text = model.text();
    RC_LOG() << text << " after " << to_iso8601(after) << " in " << zone;
    std::optional<Schedule> schedule;
    try {
      schedule = Schedule::parse(text);
    } catch (const std::invalid_argument&) {
      RC_DISCARD("it never runs");
    }
    auto found = schedule->next_after(after, zone);
    if (found && *found > until) found.reset();
    RC_ASSERT(found == model.next_after(after, until, zone));
  }));
}

TEST_CASE("a schedule has names, lists, ranges, steps and nicknames") {
  const std::string noon = "2026-01-31T12:00:30Z";  // a Saturday
  CHECK(next("* * * * *", noon, "UTC") == "2026-01-31T12:01");
  CHECK(next("0 3 * * *", noon, "UTC") == "2026-02-01T03:00");
  CHECK(next("*/20 9-17/4 * * *", noon, "UTC") == "2026-01-31T13:00");
  CHECK(next("5,10-12 * * * *", "2026-01-31T12:05:00Z", "UTC") == "2026-01-31T12:10");
  CHECK(next("0 0 * FEB mon-fri", noon, "UTC") == "2026-02-02T00:00");
  CHECK(next("0 0 * * 7", noon, "UTC") == next("0 0 * * Sun", noon, "UTC"));
  CHECK(next("0 0 * * 5-7", noon, "UTC") == "2026-02-01T00:00");
  CHECK(next(" 0\t0  1 * * ", noon, "UTC") == "2026-02-01T00:00");
  CHECK(next("@hourly", noon, "UTC") == "2026-01-31T13:00");
  CHECK(next("@daily", noon, "UTC") == "2026-02-01T00:00");
  CHECK(next("@weekly", noon, "UTC") == "2026-02-01T00:00");
  CHECK(next("@monthly", noon, "UTC") == "2026-02-01T00:00");
  CHECK(next("@yearly", noon, "UTC") == "2027-01-01T00:00");
  CHECK(next("0 0 29 2 *", noon, "UTC") == "2028-02-29T00:00");
  CHECK(next("0 9 * * *", noon, "America/New_York") == "2026-01-31T14:00");
}

TEST_CASE("a day matches the day of the month or the weekday if both are limited") {
  const std::string noon = "2026-01-31T12:00:00Z";
  CHECK(next("0 0 13 * fri", noon, "UTC") == "2026-02-06T00:00");
  CHECK(next("0 0 3 * fri", noon, "UTC") == "2026-02-03T00:00");
  CHECK(next("0 0 */13 * fri", noon, "UTC") == "2026-02-27T00:00");  // 1, 14, 27, and a Friday
}

TEST_CASE("where clocks are set, fixed times happen once and those of each hour as shown") {
  const std::string spring = "2026-03-29T00:30:00Z";  // 1:30 in Berlin; 2:00 is 3:00
  CHECK(next("30 2 * * *", spring, "Europe/Berlin") == "2026-03-29T01:00");
  CHECK(next("15 2 * * *", "2026-03-29T01:00:00Z", "Europe/Berlin") == "2026-03-30T00:15");
  CHECK(next("20 * * * *", spring, "Europe/Berlin") == "2026-03-29T01:20");
  const std::string autumn = "2026-10-25T00:30:00Z";  // 2:30 in Berlin, for the first time
  CHECK(next("30 2 * * *", "2026-10-25T00:00:00Z", "Europe/Berlin") == "2026-10-25T00:30");
  CHECK(next("30 2 * * *", autumn, "Europe/Berlin") == "2026-10-26T01:30");
  CHECK(next("30 * * * *", autumn, "Europe/Berlin") == "2026-10-25T01:30");
}

TEST_CASE("what isn't a schedule is refused with the way out") {
  CHECK(refusal("0 0 31 2 *").find("31 February") != std::string::npos);
  CHECK(refusal("0 0 30-31 feb *").find("never run") != std::string::npos);
  CHECK(refusal("0 0 31 2 mon") == "accepted");  // each Monday in February
  for (const char* six : {"* * * * * *", "0 0 3 * * * 2026"})
    CHECK(refusal(six).find("once a minute at most") != std::string::npos);
  for (const char* few : {"", " ", "* * * *", "5"})
    CHECK(refusal(few).find("must have five fields") != std::string::npos);
  for (const char* nickname : {"@reboot", "@every 5s", "@secondly", "@"})
    CHECK(refusal(nickname) != "accepted");
  CHECK(refusal("60 * * * *").find("its minute") != std::string::npos);
  CHECK(refusal("* 24 * * *").find("its hour") != std::string::npos);
  CHECK(refusal("* * 0 * *").find("day of the month") != std::string::npos);
  CHECK(refusal("* * * 13 *").find("its month") != std::string::npos);
  CHECK(refusal("* * * * 8").find("its weekday") != std::string::npos);
  for (const char* wrong :
       {"5-1 * * * *", "*/0 * * * *", "5/15 * * * *", "1,,2 * * * *", "-5 * * * *", "1-2-3 * * * *",
        "*/2/2 * * * *", "+5 * * * *", "99999999999 * * * *", "jan * * * *", "* * * * monday",
        "** * * * *", "*/ * * * *", "*-5 * * * *", "1- * * * *"})
    CHECK(refusal(wrong) != "accepted");
}

TEST_CASE("zones are those of the IANA, by their exact names") {
  CHECK(is_zone("UTC"));
  CHECK(is_zone("Europe/Berlin"));
  for (const char* none : {"", "Europe/Atlantis", "europe/berlin", "localtime", "../../etc/passwd",
                           "/usr/share/zoneinfo/UTC", "CET-1CEST"})
    CHECK_FALSE(is_zone(none));
}

}  // namespace berth::crons
