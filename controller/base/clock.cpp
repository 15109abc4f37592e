#include "controller/base/clock.h"

#include <cctype>
#include <cstdio>
#include <stdexcept>

namespace berth {

Instant Clock::now() const {
  const Instant base =
      standing_ ? *standing_ : std::chrono::floor<Duration>(std::chrono::system_clock::now());
  return base + ahead();
}

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

// Reads `count` digits at `at` and moves `at` behind them; nothing if there are fewer.
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

// The offset from UTC in minutes (`Z`, `+hh:mm` or `-hh:mm`) up to the end of the text; nothing if
// it is malformed.
std::optional<int> offset_minutes(std::string_view text, size_t at) {
  if (at >= text.size()) return std::nullopt;
  const char sign = text[at++];
  if (sign == 'Z' || sign == 'z') return at == text.size() ? std::optional(0) : std::nullopt;
  if (sign != '+' && sign != '-') return std::nullopt;
  const auto hours = digits(text, at, 2);
  if (!hours || !skip(text, at, ":")) return std::nullopt;
  const auto minutes = digits(text, at, 2);
  if (!minutes || at != text.size() || *hours > 23 || *minutes > 59) return std::nullopt;
  return (sign == '-' ? -1 : 1) * (*hours * 60 + *minutes);
}

}  // namespace

std::optional<Instant> parse_iso8601(std::string_view text) {
  size_t at = 0;
  const auto year = digits(text, at, 4);
  if (!year || !skip(text, at, "-")) return std::nullopt;
  const auto month = digits(text, at, 2);
  if (!month || !skip(text, at, "-")) return std::nullopt;
  const auto day = digits(text, at, 2);
  if (!day || !skip(text, at, "Tt ")) return std::nullopt;
  const auto hour = digits(text, at, 2);
  if (!hour || !skip(text, at, ":")) return std::nullopt;
  const auto minute = digits(text, at, 2);
  if (!minute || !skip(text, at, ":")) return std::nullopt;
  const auto second = digits(text, at, 2);
  if (!second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  int millis = 0;
  if (skip(text, at, ".")) {
    int scale = 100;
    const size_t first = at;
    for (; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])); ++at) {
      millis += (text[at] - '0') * scale;
      scale /= 10;
    }
    if (at == first) return std::nullopt;
  }
  const auto offset = offset_minutes(text, at);
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(unsigned(*month)),
                                         std::chrono::day(unsigned(*day))};
  if (!offset || !date.ok()) return std::nullopt;
  const Instant instant = Instant(std::chrono::sys_days(date)) + std::chrono::hours(*hour) +
                          std::chrono::minutes(*minute - *offset) + std::chrono::seconds(*second) +
                          Duration(millis);
  // An offset or a leap second may lead out of the years of four digits, which nothing could write.
  constexpr Instant first = std::chrono::sys_days(std::chrono::year(0) / 1 / 1);
  constexpr Instant behind_last = std::chrono::sys_days(std::chrono::year(10'000) / 1 / 1);
  if (instant < first || instant >= behind_last) return std::nullopt;
  return instant;
}

}  // namespace berth
