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

// Splits a stream that arrives in pieces into lines. Keeps at most one unfinished line.
class LineReader {
 public:
  explicit LineReader(size_t max_line_bytes) : max_line_bytes_(max_line_bytes) {}

  // Calls `on_line` for each line that `piece` completes, without its line break ("\n" or "\r\n");
  // empty lines are skipped. Throws LineTooLong if a line exceeds the limit, and whatever `on_line`
  // throws; after either the reader can't be used any more.
  void feed(std::string_view piece, const std::function<void(std::string_view)>& on_line);
  // Call this at the end of the stream: a last line without a line break is passed on too.
  void finish(const std::function<void(std::string_view)>& on_line);

 private:
  void deliver(std::string_view line, const std::function<void(std::string_view)>& on_line) const;

  const size_t max_line_bytes_;
  std::string unfinished_;
};

}  // namespace berth::kube
