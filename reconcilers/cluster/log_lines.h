#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

// The text of a pod's log, taken apart. Pure.
namespace berth::reconcilers {

// A line as the kubelet writes it with timestamps=true: the time, a blank, what was written.
struct StampedLine {
  std::int64_t at = 0;  // nanoseconds since the epoch
  std::string_view text;
};
// Nothing where it doesn't begin with a time (RFC 3339 with up to nine digits of a second, in UTC
// or with an offset: a node may have a time zone).
std::optional<StampedLine> parse_stamped(std::string_view line);
std::optional<std::int64_t> parse_nanoseconds(std::string_view timestamp);
// 2026-01-31T12:00:00.000000000Z
std::string nanosecond_text(std::int64_t at);

// The text with U+FFFD in the place of each byte that isn't UTF-8: containers write what they like.
std::string as_utf8(std::string_view bytes);

// Cuts what comes in pieces into lines, of each of which the first `most` bytes are kept.
class LogLines {
 public:
  explicit LogLines(std::size_t most) : most_(most) {}
  void feed(std::string_view piece, const std::function<void(std::string_view)>& on_line);
  // The end: what came behind the last line's end is a line too.
  void finish(const std::function<void(std::string_view)>& on_line);

 private:
  void keep(std::string_view part);
  const std::size_t most_;
  std::string line_;
};

// Where in a deployment's logs somebody is: behind so many lines of that nanosecond, of that pod.
struct LogPosition {
  std::int64_t at = 0;
  int of_that_time = 0;
  std::string pod;            // empty: wherever
  std::int64_t pod_made = 0;  // seconds since the epoch: pods are read in this order

  // 2026-01-31T12:00:00.000000000Z/POD@MADE, with +N behind it where N lines have that time. The
  // time alone stands for all lines of that nanosecond.
  std::string text() const;
  static std::optional<LogPosition> parse(std::string_view text);
};

// Lets through what comes behind a position, and moves it on. A log is read anew after each break,
// from the second of the position on, because the kubelet doesn't know finer times.
class LogCursor {
 public:
  explicit LogCursor(LogPosition position) : position_(std::move(position)) {}
  // Before the log is read anew.
  void rewind();
  bool passes(std::int64_t at);
  const LogPosition& position() const { return position_; }

 private:
  LogPosition position_;
  std::int64_t start_ = 0;
  int skip_ = 0;  // lines of the nanosecond of the start that were let through before
  bool behind_ = false;
};

}  // namespace berth::reconcilers
