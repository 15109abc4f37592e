#include "reconcilers/cluster/log_lines.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "controller/base/clock.h"
#include "controller/base/text.h"

namespace berth::reconcilers {
namespace {

constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;
constexpr std::size_t digits_of_nanoseconds = 9;
constexpr std::string_view cut_mark = " … (cut)";
constexpr std::string_view replacement = "\xef\xbf\xbd";

// The number of bytes of the character at the start of `text`; 0 if they aren't valid UTF-8 (RFC
// 3629).
std::size_t character_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  const unsigned char second = byte(1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second >= 0xa0;
  const bool beyond = first == 0xf4 && second >= 0x90;
  return overlong || surrogate || beyond ? 0 : size;
}

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  const auto value = parse_number<Number>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> parse_nanoseconds(std::string_view timestamp) {
  std::string whole(timestamp);
  std::int64_t fraction = 0;
  if (const std::size_t dot = whole.find('.'); dot != std::string::npos) {
    const std::size_t end = std::min(whole.find_first_not_of("0123456789", dot + 1), whole.size());
    std::string digits = whole.substr(dot + 1, end - dot - 1);
    if (digits.empty() || digits.size() > digits_of_nanoseconds) return std::nullopt;
    digits.resize(digits_of_nanoseconds, '0');
    fraction = number_of<std::int64_t>(digits).value_or(0);
    whole.erase(dot, end - dot);
  }
  const auto at = parse_iso8601(whole);
  if (!at) return std::nullopt;
  const std::int64_t seconds =
      std::chrono::floor<std::chrono::seconds>(*at).time_since_epoch().count();
  if (seconds < 0 || seconds > INT64_MAX / nanoseconds_per_second - 1) return std::nullopt;
  return seconds * nanoseconds_per_second + fraction;
}

std::string nanosecond_text(std::int64_t at) {
  std::string text = to_iso8601(from_millis(at / nanoseconds_per_second * 1000));
  std::string fraction = std::to_string(at % nanoseconds_per_second);
  fraction.insert(0, digits_of_nanoseconds - fraction.size(), '0');
  return text.substr(0, text.find('.')) + "." + fraction + "Z";
}

std::optional<StampedLine> parse_stamped(std::string_view line) {
  const std::size_t blank = std::min(line.find(' '), line.size());
  const auto at = parse_nanoseconds(line.substr(0, blank));
  if (!at) return std::nullopt;
  std::string_view text = line.substr(std::min(blank + 1, line.size()));
  if (text.ends_with('\r')) text.remove_suffix(1);
  return StampedLine{.at = *at, .text = text};
}

std::string as_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t size = character_size(bytes);
    text += size == 0 ? replacement : bytes.substr(0, size);
    bytes.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return text;
}

void LogLines::keep(std::string_view part) {
  if (line_.size() > most_) return;  // the line has been cut already
  if (line_.size() + part.size() <= most_) {
    line_ += part;
    return;
  }
  line_ += part.substr(0, most_ - line_.size());
  line_ += cut_mark;
}

void LogLines::feed(std::string_view piece, const std::function<void(std::string_view)>& on_line) {
  for (std::size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
    keep(piece.substr(0, end));
    piece.remove_prefix(end + 1);
    on_line(line_);
    line_.clear();
  }
  keep(piece);
}

void LogLines::finish(const std::function<void(std::string_view)>& on_line) {
  if (line_.empty()) return;
  on_line(line_);
  line_.clear();
}

std::string LogPosition::text() const {
  std::string result = nanosecond_text(at) + "/" + pod + "@" + std::to_string(pod_made);
  if (of_that_time > 1) result += "+" + std::to_string(of_that_time);
  return result;
}

std::optional<LogPosition> LogPosition::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto at = parse_nanoseconds(text.substr(0, slash));
  if (!at) return std::nullopt;
  if (slash == std::string_view::npos)
    return LogPosition{.at = *at, .of_that_time = INT32_MAX, .pod = {}, .pod_made = 0};
  std::string_view rest = text.substr(slash + 1);
  LogPosition position{.at = *at, .of_that_time = 1, .pod = {}, .pod_made = 0};
  if (const std::size_t plus = rest.find('+'); plus != std::string_view::npos) {
    const auto count = number_of<int>(rest.substr(plus + 1));
    if (!count || *count < 2) return std::nullopt;
    position.of_that_time = *count;
    rest = rest.substr(0, plus);
  }
  const std::size_t mark = rest.find('@');
  const auto made = mark == std::string_view::npos ? std::nullopt
                                                   : number_of<std::int64_t>(rest.substr(mark + 1));
  if (!made || mark == 0) return std::nullopt;
  position.pod = std::string(rest.substr(0, mark));
  position.pod_made = *made;
  return position;
}

void LogCursor::rewind() {
  start_ = position_.at;
  skip_ = position_.of_that_time;
  behind_ = false;
}

bool LogCursor::passes(std::int64_t at) {
  if (!behind_) {
    if (at < start_ || (at == start_ && skip_-- > 0)) return false;
    behind_ = at > start_;
  }
  // A program's two output streams may arrive in another order than their time stamps say.
  if (at > position_.at) {
    position_.at = at;
    position_.of_that_time = 1;
  } else if (at == position_.at) {
    ++position_.of_that_time;
  }
  return true;
}

}  // namespace berth::reconcilers
