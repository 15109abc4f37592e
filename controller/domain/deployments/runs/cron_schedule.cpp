#include "controller/domain/deployments/runs/cron_schedule.h"

#include <date/tz.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <stdexcept>
#include <vector>

namespace berth::crons {
namespace {

using Minutes = std::chrono::minutes;
using Time = std::chrono::sys_time<Minutes>;
// A time of a zone's clocks, which isn't a point in time by itself. date's types and those of
// <chrono> are different, so both are counted in minutes since 1970.
using Local = Minutes;

constexpr int hours_a_day = 24;
constexpr int minutes_an_hour = 60;
constexpr Minutes day_length = std::chrono::hours(hours_a_day);

constexpr auto month_names = std::to_array<std::string_view>(
    {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"});
constexpr auto weekday_names =
    std::to_array<std::string_view>({"sun", "mon", "tue", "wed", "thu", "fri", "sat"});

// What one of the five fields may have. Its first value has the first name.
struct Field {
  const char* title;
  int least;
  int most;
  std::span<const std::string_view> names = {};
};
constexpr auto fields = std::to_array<Field>({
    {.title = "minute", .least = 0, .most = 59},
    {.title = "hour", .least = 0, .most = 23},
    {.title = "day of the month", .least = 1, .most = 31},
    {.title = "month", .least = 1, .most = 12, .names = month_names},
    {.title = "weekday", .least = 0, .most = 7, .names = weekday_names},
});

struct Nickname {
  std::string_view name;
  std::string_view means;
};
constexpr auto nicknames = std::to_array<Nickname>({{"@hourly", "0 * * * *"},
                                                    {"@daily", "0 0 * * *"},
                                                    {"@midnight", "0 0 * * *"},
                                                    {"@weekly", "0 0 * * 0"},
                                                    {"@monthly", "0 0 1 * *"},
                                                    {"@yearly", "0 0 1 1 *"},
                                                    {"@annually", "0 0 1 1 *"}});

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find_first_of(separators);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::vector<std::string_view> words_of(std::string_view text) {
  auto words = split(text, " \t");
  std::erase(words, std::string_view());
  return words;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return result;
}

[[noreturn]] void refuse(const Field& field, std::string_view text) {
  throw std::invalid_argument(
      "has \"" + std::string(text) + "\" as its " + field.title +
      ", which must be *, numbers from " + std::to_string(field.least) + " to " +
      std::to_string(field.most) +
      (field.names.empty() ? "" : " or names such as " + std::string(field.names[0])) +
      ", ranges such as 1-5, or steps such as */5, with commas between them");
}

std::optional<int> number(std::string_view text) {
  constexpr std::size_t most_digits = 4;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.front() == '-' ||
      text.size() > most_digits)
    return std::nullopt;
  return value;
}

// Reads a number or a name of the field; `whole` is what a refusal shows.
int value(const Field& field, std::string_view text, std::string_view whole) {
  const auto named = std::ranges::find(field.names, lower(text));
  if (named != field.names.end()) return field.least + int(named - field.names.begin());
  const auto read = number(text);
  if (!read || *read < field.least || *read > field.most) refuse(field, whole);
  return *read;
}

// Calls `add` for each value of a field's list.
template <typename Add>
void read_list(const Field& field, std::string_view list, const Add& add) {
  for (const std::string_view item : split(list, ",")) {
    const auto parts = split(item, "/");
    if (parts.size() > 2) refuse(field, list);
    int first = field.least;
    int last = field.most;
    if (parts[0] != "*") {
      const auto ends = split(parts[0], "-");
      if (ends.size() > 2 || (ends.size() == 1 && parts.size() == 2)) refuse(field, list);
      first = value(field, ends.front(), list);
      last = value(field, ends.back(), list);
      if (first > last) refuse(field, list);
    }
    const auto step = parts.size() == 2 ? number(parts[1]) : std::optional(1);
    if (!step || *step < 1) refuse(field, list);
    for (int at = first; at <= last; at += *step) add(std::size_t(at));
  }
}

bool begins_with_star(std::string_view field) { return field.starts_with('*'); }

// A time during which the zone's clocks are ahead of UTC by `offset`.
struct Segment {
  Time begin;  // rounded up to a minute
  Time end;
  Minutes offset{0};
  Minutes offset_before{0};  // until `begin`
};

class Zone {
 public:
  explicit Zone(const std::string& name)
      : zone_(name == "UTC" ? nullptr : date::locate_zone(name)) {}

  Segment at(Time time) const {
    if (!zone_) return {.begin = Time::min(), .end = Time::max()};
    const auto info = zone_->get_info(std::chrono::time_point_cast<std::chrono::seconds>(time));
    const auto before = zone_->get_info(info.begin - std::chrono::seconds(1));
    return {.begin = std::chrono::ceil<Minutes>(info.begin),
            .end = std::chrono::ceil<Minutes>(info.end),
            .offset = std::chrono::floor<Minutes>(info.offset),
            .offset_before = std::chrono::floor<Minutes>(before.offset)};
  }

 private:
  const date::time_zone* zone_;
};

}  // namespace

// Finds the first local time from `from` and before `until` at which a schedule is due.
class Schedule::Search {
 public:
  explicit Search(const Schedule& schedule) : schedule_(schedule) {}

  std::optional<Local> first(Local from, Local until) const {
    for (auto day = std::chrono::floor<std::chrono::days>(from); day < until;
         day += std::chrono::days(1)) {
      if (!has_day(day)) continue;
      const Minutes earliest = std::max(Minutes(0), from - Minutes(day));
      if (const auto time = first_of_day(int(earliest.count()))) {
        const Local found = day + Minutes(*time);
        return found < until ? std::optional(found) : std::nullopt;
      }
    }
    return std::nullopt;
  }

 private:
  bool has_day(std::chrono::days since_1970) const {
    const std::chrono::sys_days day(since_1970);
    const std::chrono::year_month_day date(day);
    if (!schedule_.months_[unsigned(date.month())]) return false;
    const bool in_days = schedule_.days_[unsigned(date.day())];
    const bool in_weekdays = schedule_.weekdays_[std::chrono::weekday(day).c_encoding()];
    const bool one_suffices = !schedule_.any_day_ && !schedule_.any_weekday_;
    return one_suffices ? in_days || in_weekdays : in_days && in_weekdays;
  }
  // Returns the first minute of a day, from `earliest` on.
  std::optional<int> first_of_day(int earliest) const {
    for (int hour = earliest / minutes_an_hour; hour < hours_a_day; ++hour) {
      if (!schedule_.hours_[std::size_t(hour)]) continue;
      const int begin = std::max(0, earliest - hour * minutes_an_hour);
      for (int minute = begin; minute < minutes_an_hour; ++minute)
        if (schedule_.minutes_[std::size_t(minute)]) return hour * minutes_an_hour + minute;
    }
    return std::nullopt;
  }

  const Schedule& schedule_;
};

Schedule Schedule::parse(std::string_view text) {
  auto words = words_of(text);
  if (words.size() == 1 && words[0].starts_with('@')) {
    const auto nickname = std::ranges::find(nicknames, lower(words[0]), &Nickname::name);
    if (nickname == nicknames.end())
      throw std::invalid_argument(
          "must be five fields, or one of @hourly, @daily, @weekly, @monthly and @yearly");
    words = words_of(nickname->means);
  }
  if (words.size() != fields.size())
    throw std::invalid_argument(
        std::string("must have five fields: minute, hour, day of the month, month and weekday, "
                    "such as \"0 3 * * *\"") +
        (words.size() > fields.size()
             ? "; a cron runs once a minute at most, so that there are none for seconds and years"
             : ""));
  Schedule read;
  const auto setter = [](auto& bits) { return [&bits](std::size_t at) { bits.set(at); }; };
  std::size_t next = 0;
  const auto read_field = [&](auto add) {
    read_list(fields[next], words[next], add);
    return begins_with_star(words[next++]);
  };
  read_field(setter(read.minutes_));
  read.any_hour_ = read_field(setter(read.hours_));
  read.any_day_ = read_field(setter(read.days_));
  read_field(setter(read.months_));
  read.any_weekday_ =
      read_field([&](std::size_t at) { read.weekdays_.set(at % read.weekdays_.size()); });
  if (!read.next_after(Instant(), "UTC"))
    throw std::invalid_argument(
        "names days that don't exist, such as 31 February, so that the cron would never run");
  return read;
}

std::optional<Instant> Schedule::next_after(Instant after, const std::string& zone_name) const {
  const Zone zone(zone_name);
  const Search search(*this);
  const Time from = std::chrono::floor<Minutes>(after) + Minutes(1);
  const Time until = from + std::chrono::floor<Minutes>(std::chrono::years(horizon));
  for (Time at = from; at < until;) {
    const Segment segment = zone.at(at);
    const Time end = std::min(segment.end, until);
    // Times that the clocks skip, and those that they show again, at the beginning of the segment.
    Local first = at.time_since_epoch() + segment.offset;
    if (!any_hour_ && segment.offset != segment.offset_before) {
      const Local shown_until = segment.begin.time_since_epoch() + segment.offset_before;
      if (at == segment.begin &&
          search.first(shown_until, segment.begin.time_since_epoch() + segment.offset))
        return Instant(segment.begin);
      first = std::max(first, shown_until);
    }
    if (const auto local = search.first(first, end.time_since_epoch() + segment.offset))
      return Instant(Time(*local - segment.offset));
    at = end;
  }
  return std::nullopt;
}

bool is_zone(const std::string& name) {
  if (name == "UTC") return true;
  if (name == "localtime") return false;  // that of berthd's machine, whichever that is
  try {
    date::locate_zone(name);
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace berth::crons
