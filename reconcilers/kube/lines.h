#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace berth::kube {

struct LineTooLong : std::runtime_error {
  explicit LineTooLong(size_t limit)
      : std::runtime_error("a line is longer than " + std::to_string(limit) + " bytes") {}
};

// Cuts a stream that comes in pieces into its lines. Holds at most one unfinished line.
class LineReader {
 public:
  explicit LineReader(size_t max_line_bytes) : max_line_bytes_(max_line_bytes) {}

  // Calls `on_line` for each line that `piece` completes, without its end ("\n" or "\r\n"); blank
  // ones are left out. Throws LineTooLong for a line over the limit, and what `on_line`
  // throws; the reader is of no use after either.
  void feed(std::string_view piece, const std::function<void(std::string_view)>& on_line);
  // The stream is over: what came behind the last line's end counts as a line.
  void finish(const std::function<void(std::string_view)>& on_line);

 private:
  void deliver(std::string_view line, const std::function<void(std::string_view)>& on_line) const;

  const size_t max_line_bytes_;
  std::string unfinished_;
};

}  // namespace berth::kube
