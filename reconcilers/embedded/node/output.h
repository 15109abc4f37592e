#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace berth::embedded {

// A line that a container wrote.
struct OutputLine {
  std::int64_t at = 0;  // nanoseconds since the epoch
  std::string text;     // without the line feed
};

// The output of one run of a container, read from its beginning on. It is used without the store's
// mutex, by one thread at a time, and stays valid after the run was removed.
class RunLog {
 public:
  virtual ~RunLog() = default;
  // Returns up to `most` lines that follow those that were returned before; none if there are none
  // yet. Lines that were dropped in the meantime (log rotation) are left out.
  virtual std::vector<OutputLine> read(std::size_t most) = 0;
  // Whether the run has ended and read() has returned everything.
  virtual bool over() = 0;
};

// The time of the machine's clock, in nanoseconds since the epoch.
std::int64_t nanoseconds_now();
// RFC 3339 with nine digits after the second, as the kubelet writes it with timestamps=true.
std::string nano_timestamp(std::int64_t at);

}  // namespace berth::embedded
