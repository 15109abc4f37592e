#include "controller/base/clock.h"

#include <cctype>
#include <cstdio>
#include <stdexcept>

namespace berth {

Instant Clock::now() const { return (standing_ ? *standing_ : system_time()) + ahead(); }

void Clock::advance(Duration by) {
  if (by < Duration::zero()) throw std::invalid_argument("a clock can't be moved back");
  ahead_ += by.count();
}

std::string to_iso8601(Instant at) {
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(at - day);
  char text[40];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", int(date.year()),
                unsigned(date.month()), unsigned(date.day()), int(time.hours().count()),
                int(time.minutes().count()), int(time.seconds().count()),
                int(time.subseconds().count()));
  return text;
}

namespace {

// Reads `count` digits at `at` and advances `at` past them. Returns nothing if there are fewer.
std::optional<int> digits(std::string_view text, size_t& at, size_t count) {
  if (at + count > text.size()) return std::nullopt;
  int value = 0;
  for (size_t i = 0; i < count; ++i, ++at) {
    if (!std::isdigit(static_cast<unsigned char>(text[at]))) return std::nullopt;
    value = value * 10 + (text[at] - '0');
  }
  return value;
}

bool skip(std::string_view text, size_t& at, std::string_view any_of) {
  if (at >= text.size() || any_of.find(text[at]) == std::string_view::npos) return false;
  ++at;
  return true;
}

// Whether dates, times and offsets are written with separators (2026-01-31T12:00:00+02:00) or
// without (20260131T120000+0200): the extended and the basic format of ISO 8601.
enum class Format { extended, basic };

bool separator(std::string_view text, size_t& at, Format format, std::string_view mark) {
  return format == Format::basic || skip(text, at, mark);
}

std::optional<std::chrono::year_month_day> date(std::string_view text, size_t& at, Format format) {
  const auto year = digits(text, at, 4);
  if (!year || !separator(text, at, format, "-")) return std::nullopt;
  const auto month = digits(text, at, 2);
  if (!month || !separator(text, at, format, "-")) return std::nullopt;
  const auto day = digits(text, at, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day result{std::chrono::year(*year),
                                           std::chrono::month(unsigned(*month)),
                                           std::chrono::day(unsigned(*day))};
  return result.ok() ? std::optional(result) : std::nullopt;
}

// Reads the fraction of a second with its point or comma, and cuts it to milliseconds. Returns 0 if
// there is none.
std::optional<Duration> fraction(std::string_view text, size_t& at) {
  if (!skip(text, at, ".,")) return Duration(0);
  int millis = 0;
  int scale = 100;
  const size_t first = at;
  for (; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])); ++at) {
    millis += (text[at] - '0') * scale;
    scale /= 10;
  }
  return at == first ? std::nullopt : std::optional(Duration(millis));
}

// The time since midnight; seconds may be missing, a leap second may be there.
std::optional<Duration> time_of_day(std::string_view text, size_t& at, Format format) {
  const auto hour = digits(text, at, 2);
  if (!hour || !separator(text, at, format, ":")) return std::nullopt;
  const auto minute = digits(text, at, 2);
  if (!minute || *hour > 23 || *minute > 59) return std::nullopt;
  const Duration whole = std::chrono::hours(*hour) + std::chrono::minutes(*minute);
  const bool has_seconds =
      at < text.size() &&
      (format == Format::extended ? text[at] == ':'
                                  : std::isdigit(static_cast<unsigned char>(text[at])) != 0);
  if (!has_seconds) return whole;
  separator(text, at, format, ":");
  const auto second = digits(text, at, 2);
  const auto part = second ? fraction(text, at) : std::nullopt;
  if (!part || *second > 60) return std::nullopt;
  return whole + std::chrono::seconds(*second) + *part;
}

// The offset from UTC (`Z`, `+hh:mm`, `+hhmm` or `+hh`) up to the end of the text, 0 where it is
// missing; nothing if it is malformed.
std::optional<Duration> offset(std::string_view text, size_t at) {
  if (at == text.size()) return Duration(0);
  const char sign = text[at++];
  if (sign == 'Z' || sign == 'z')
    return at == text.size() ? std::optional(Duration(0)) : std::nullopt;
  if (sign != '+' && sign != '-') return std::nullopt;
  const auto hours = digits(text, at, 2);
  if (!hours) return std::nullopt;
  int minutes = 0;
  if (at < text.size()) {
    skip(text, at, ":");
    const auto written = digits(text, at, 2);
    if (!written) return std::nullopt;
    minutes = *written;
  }
  if (at != text.size() || *hours > 23 || minutes > 59) return std::nullopt;
  return (sign == '-' ? -1 : 1) * (std::chrono::hours(*hours) + std::chrono::minutes(minutes));
}

}  // namespace

// Beside RFC 3339, this reads ISO 8601 as common clients write it: a date alone (its midnight),
// times without seconds, the basic format, and offsets as +0200 or +02. A text without a zone is in
// UTC.
std::optional<Instant> parse_iso8601(std::string_view text) {
  constexpr size_t year_digits = 4;
  const Format format =
      text.size() > year_digits && text[year_digits] == '-' ? Format::extended : Format::basic;
  size_t at = 0;
  const auto day = date(text, at, format);
  if (!day) return std::nullopt;
  Duration since_midnight(0);
  Duration ahead_of_utc(0);
  if (at < text.size()) {
    const auto time = skip(text, at, "Tt ") ? time_of_day(text, at, format) : std::nullopt;
    const auto zone = time ? offset(text, at) : std::nullopt;
    if (!zone) return std::nullopt;
    since_midnight = *time;
    ahead_of_utc = *zone;
  }
  const Instant instant = Instant(std::chrono::sys_days(*day)) + since_midnight - ahead_of_utc;
  // An offset or a leap second may lead out of the years of four digits, which nothing could write.
  constexpr Instant first = std::chrono::sys_days(std::chrono::year(0) / 1 / 1);
  constexpr Instant behind_last = std::chrono::sys_days(std::chrono::year(10'000) / 1 / 1);
  if (instant < first || instant >= behind_last) return std::nullopt;
  return instant;
}

std::optional<Instant> parse_iso8601_end(std::string_view text) {
  const auto at = parse_iso8601(text);
  if (!at || text.find_first_of("Tt ") != std::string_view::npos) return at;
  return *at + std::chrono::hours(24);
}

}  // namespace berth
