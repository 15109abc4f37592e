#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/gate/rate.h"

namespace berth::api {

// Sliding-window logs: the times of the latest requests of each key, which names a caller and what
// is counted, so that "60 per minute" means any 60 seconds. By steady time. Thread-safe.
//
// Strangers choose keys, so memory is bounded whatever they send. A key is kept as a keyed hash of
// 16 bytes, its times are at most `limit` of 8 bytes, and there are at most `max_keys` of them: one
// more drops the key that was counted longest ago, whose window ends first. Whoever wants to be
// rid of a key's count that way has to be counted `max_keys` times under other keys within the
// window. So keys that are cheap to make (networks) belong into another limiter than those whose
// counts protect something (accounts).
class RateLimiter {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Each takes some 150 bytes, and 8 more for each request in its window.
  static constexpr size_t default_max_keys = 131'072;

  explicit RateLimiter(size_t max_keys = default_max_keys);

  struct Verdict {
    bool allowed = true;
    int limit = 0;
    int remaining = 0;             // after this request
    std::chrono::seconds reset{};  // until the oldest request leaves the window, rounded up
  };

  // Counts a request and says whether it may pass; one that is refused isn't counted and leaves no
  // key behind. `rate.limit` must be 1 or more.
  Verdict take(std::string_view key, const Rate& rate, Time now);
  // What take() would say. Counts nothing.
  Verdict look(std::string_view key, const Rate& rate, Time now);

  // Takes back what the latest take() of this key counted.
  void give_back(std::string_view key);
  void forget(std::string_view key);

  // How many keys are remembered. Each new request drops some whose window is over.
  size_t size();
  // How many bytes the remembered keys and the times in their windows take, without what the
  // allocator adds.
  size_t bytes();

 private:
  using Hash = std::array<unsigned char, 16>;
  struct HashOfHash {
    size_t operator()(const Hash& hash) const noexcept;
  };
  struct Log {
    std::vector<Time> times;
    std::chrono::seconds window{};
    std::list<const Hash*>::iterator place;
  };
  using Logs = std::unordered_map<Hash, Log, HashOfHash>;
  struct Shard {
    std::mutex mutex;
    Logs logs;
    std::list<const Hash*> by_age;  // by when they were last counted, the oldest first
  };

  Hash hash(std::string_view key) const;
  Shard& shard_of(const Hash& hash) { return shards_[hash.back() % shard_count]; }
  static Verdict verdict_on(Log& log, const Rate& rate, Time now);
  static void drop(Shard& shard, Logs::iterator log);
  static void drop_some_old(Shard& shard, Time now);

  static constexpr size_t shard_count = 16;  // so that request threads seldom wait for one another
  const size_t max_keys_of_shard_;
  const std::string secret_;  // so that nobody can choose keys that collide
  std::array<Shard, shard_count> shards_;
};

}  // namespace berth::api
