#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

// Parses the text of a pod's log, by pure functions.
namespace berth::reconcilers {

// A line as the kubelet writes it with timestamps=true: the time, a space, and the text.
struct StampedLine {
  std::int64_t at = 0;  // nanoseconds since the epoch
  std::string_view text;
};
// Parses a line. Returns nothing if it doesn't begin with a time, which is RFC 3339 with up to nine
// digits after the second, in UTC or with an offset, because a node may have a time zone.
std::optional<StampedLine> parse_stamped(std::string_view line);
std::optional<std::int64_t> parse_nanoseconds(std::string_view timestamp);
// Formats nanoseconds since the epoch as 2026-01-31T12:00:00.000000000Z.
std::string nanosecond_text(std::int64_t at);

// Returns the text with each byte that isn't valid UTF-8 replaced by U+FFFD, because containers may
// write anything.
std::string as_utf8(std::string_view bytes);

// Joins pieces of a stream and cuts them into lines. Of a longer line the first `most` bytes are
// kept, followed by a mark that says so.
class LogLines {
 public:
  explicit LogLines(std::size_t most) : most_(most) {}
  // Calls `on_line` for each line that `piece` completes, without its line break.
  void feed(std::string_view piece, const std::function<void(std::string_view)>& on_line);
  // Call this at the end of the stream: a last line without a line break is passed on too.
  void finish(const std::function<void(std::string_view)>& on_line);

 private:
  void keep(std::string_view part);
  const std::size_t most_;
  std::string line_;
};

// A position in a deployment's logs: after the first `of_that_time` lines that have the time `at`,
// in the log of that pod.
struct LogPosition {
  std::int64_t at = 0;
  int of_that_time = 0;
  std::string pod;            // empty: any pod
  std::int64_t pod_made = 0;  // seconds since the epoch; pods are read in this order

  // The position as text: 2026-01-31T12:00:00.000000000Z/POD@MADE, followed by +N if it is after
  // the Nth line (N > 1) of that nanosecond. A text with the time alone means after all lines of
  // that nanosecond.
  std::string text() const;
  static std::optional<LogPosition> parse(std::string_view text);
};

// Lets through the lines that come after a position, and moves the position on. After each
// interruption a log is read again from the second of the position, because the kubelet accepts no
// finer time.
class LogCursor {
 public:
  explicit LogCursor(LogPosition position) : position_(std::move(position)) {}
  // Call this before the log is read again.
  void rewind();
  // Whether a line with this time comes after the position, which then moves to that line.
  bool passes(std::int64_t at);
  const LogPosition& position() const { return position_; }

 private:
  LogPosition position_;
  std::int64_t start_ = 0;
  int skip_ = 0;  // how many lines with the time start_ an earlier read has let through
  bool behind_ = false;
};

}  // namespace berth::reconcilers
