#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

// What containers write, as the API asks for it and the reconcilers read it off the cluster. It is
// the cluster's: nothing of it is stored.
namespace berth::container_logs {

inline constexpr int default_tail = 1000;
inline constexpr int max_tail = 10'000;
// A longer line is cut: nobody reads it, and it has to be held whole. Runtimes cut at 16 KiB.
inline constexpr std::size_t max_line_bytes = 32 * 1024;

enum class Run {
  current,
  previous,  // of a container that was started again after a crash: the run before this one
};
enum class Follow { no, yes };

struct Wanted {
  std::string deployment_id;
  Run run = Run::current;
  Follow follow = Follow::no;
  int tail = default_tail;                 // lines before now, at most
  std::optional<std::int64_t> since = {};  // nanoseconds since the epoch
  std::optional<std::string> after = {};   // the id of a line: everything behind it
};

struct Line {
  // The kubelet's time of the line (RFC 3339 with nanoseconds), and whatever else says where it
  // is: which pod, and which of the lines of that nanosecond.
  std::string id;
  std::string text;  // UTF-8, without its end
};
struct Batch {
  std::vector<Line> lines;
  bool ended = false;
};
// Gives what has come, waiting for it at most `patience`. One thread at a time. Throws
// std::runtime_error where the log can't be read any more. Destroyed, it stops reading, within a
// second.
using Reader = std::function<Batch(std::chrono::milliseconds patience)>;
// Throws Error: invalid_state where there is no container (of that run) yet, malformed_request for
// an `after` that is no id, unavailable where the cluster doesn't answer or too many read.
using Open = std::function<Reader(const Wanted&)>;

}  // namespace berth::container_logs
