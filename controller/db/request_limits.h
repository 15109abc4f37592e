#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <type_traits>

namespace berth::db {

// The two sets of connections for reading. Reads that look at very many rows use `heavy`, as do
// pages that skip many, so that all others never wait for them.
enum class Readers { ordinary, heavy };

// A request reached one of its limits; nothing was changed. It isn't an Error, because many callers
// take every Error for a refusal, such as of a token.
struct TooSlow : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Limits of the use that one request makes of the database (see limited()).
struct RequestLimits {
  static constexpr std::chrono::milliseconds ordinary_statement_time{2'000};
  static constexpr std::chrono::milliseconds heavy_statement_time{20'000};
  static constexpr std::chrono::milliseconds reader_wait{2'000};

  Readers readers = Readers::ordinary;
  // The time that a statement may take.
  std::chrono::milliseconds statement_time =
      readers == Readers::heavy ? heavy_statement_time : ordinary_statement_time;

  // Returns the limits of the calling thread; null if it has none. The next functions return what
  // they say; without limits Readers::ordinary, and nothing.
  static const RequestLimits* of_thread();
  static Readers readers_of_thread();
  static std::optional<std::chrono::milliseconds> statement_time_of_thread();
};

// Those of the calling thread are `limits` while such an object exists. Only limited() makes them.
class LimitedThread {
 public:
  explicit LimitedThread(const RequestLimits& limits);
  ~LimitedThread();
  LimitedThread(const LimitedThread&) = delete;
  LimitedThread& operator=(const LimitedThread&) = delete;

 private:
  const RequestLimits* const outer_;
};

// Runs `work()` and returns its result. Within it, all reads and writes of this thread are limited:
// a statement that runs for longer than `statement_time` is stopped, a read waits for a connection
// for at most `reader_wait`, and both throw TooSlow. Within another call, the inner limits count.
// Threads that have no limits are the loops and checks of the whole database.
template <typename Work>
auto limited(const RequestLimits& limits, Work&& work) -> std::invoke_result_t<Work> {
  const LimitedThread thread(limits);
  return work();
}

// Returns how often this process has stopped a statement, or refused a read that had waited too
// long for a connection. Thread-safe.
std::uint64_t stopped_statements();

// For the engines: returns what they throw in such a case, and counts it.
TooSlow too_slow(const char* what);

}  // namespace berth::db
