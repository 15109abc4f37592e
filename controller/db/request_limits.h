#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>

namespace berth::db {

// The two sets of connections for reading. Reads that look at very many rows use `heavy`, as do
// pages that skip many, so that all others never wait for them.
enum class Readers { ordinary, heavy };

// A request reached one of its limits; nothing was changed. It isn't an Error, because many callers
// take every Error for a refusal, such as of a token.
struct TooSlow : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Limits the use that one request makes of the database. While such an object exists, all reads and
// writes of its thread are limited: a statement that runs for longer than `statement_time` is
// stopped, a read waits for a connection for at most `reader_wait`, and both throw TooSlow. Threads
// that have none (the loops, checks of the whole database) have no limits. The innermost object
// counts. It has to be destroyed by the thread that created it.
class RequestLimits {
 public:
  static constexpr std::chrono::milliseconds ordinary_statement_time{2'000};
  static constexpr std::chrono::milliseconds heavy_statement_time{20'000};
  static constexpr std::chrono::milliseconds reader_wait{2'000};

  explicit RequestLimits(Readers use = Readers::ordinary)
      : RequestLimits(use, use == Readers::heavy ? heavy_statement_time : ordinary_statement_time) {
  }
  // `most` is the time that a statement may take.
  RequestLimits(Readers use, std::chrono::milliseconds most);
  ~RequestLimits();
  RequestLimits(const RequestLimits&) = delete;
  RequestLimits& operator=(const RequestLimits&) = delete;

  // Returns the innermost limits of the calling thread; null if it has none.
  static const RequestLimits* of_thread();
  // What they say; without limits Readers::ordinary, and nothing.
  static Readers readers_of_thread();
  static std::optional<std::chrono::milliseconds> statement_time_of_thread();

  const Readers readers;
  const std::chrono::milliseconds statement_time;

 private:
  const RequestLimits* const outer_;
};

// Returns how often this process has stopped a statement, or refused a read that had waited too
// long for a connection. Thread-safe.
std::uint64_t stopped_statements();

// For the engines: returns what they throw in such a case, and counts it.
TooSlow too_slow(const char* what);

}  // namespace berth::db
