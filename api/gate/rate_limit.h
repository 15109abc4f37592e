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
#include "controller/base/shares.h"

namespace berth::api {

// Limits how often something happens for each key, by sliding-window logs: the times of a key's
// latest requests are stored, so that "60 per minute" holds for any 60 seconds. A key names a
// caller and what is counted. Times are those of a steady clock. Thread-safe.
//
// Strangers choose keys, so memory is bounded whatever they send. A key is stored as a keyed hash
// of 16 bytes, with at most `limit` times of 8 bytes each. There are at most `max_keys` keys; one
// more removes the key that was counted longest ago. So whoever wants to lose their count has to be
// counted `max_keys` times under other keys within the window. A new key is a place of a pool with
// shares (base/shares.h), taken for the claimant of the calling thread: whoever has their share of
// the keys is refused under further ones. Keys that are cheap to make (networks) belong into
// another limiter than keys whose counts protect something (accounts).
class RateLimiter {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // A key takes about 250 bytes, with what is counted for its network, and 8 more for each request
  // in its window.
  static constexpr size_t default_max_keys = 131'072;

  explicit RateLimiter(Pool pool, size_t max_keys = default_max_keys);

  struct Verdict {
    bool allowed = true;
    int limit = 0;
    int remaining = 0;             // requests left after this one
    std::chrono::seconds reset{};  // until the oldest request leaves the window, rounded up
    // Whether it is refused because the claimant has too many keys, not because of this key.
    bool over_share = false;
  };

  // Counts a request and tells whether it is allowed. A refused request isn't counted, and creates
  // no key. `rate.limit` must be at least 1.
  Verdict take(std::string_view key, const Rate& rate, Time now);
  // Returns what take() would return, but counts nothing.
  Verdict look(std::string_view key, const Rate& rate, Time now);

  // Takes back what the latest take() of this key counted.
  void give_back(std::string_view key);
  // Removes the key with everything that was counted for it.
  void forget(std::string_view key);

  // Returns how many keys are stored. Each new request removes some whose window is over.
  size_t size();
  // Returns how many bytes the stored keys and the times in their windows take, without the
  // allocator's overhead.
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
    Shares::Claim claim = {};
  };
  using Logs = std::unordered_map<Hash, Log, HashOfHash>;
  struct Shard {
    std::mutex mutex;
    Logs logs;
    std::list<const Hash*> by_age;  // ordered by when they were last counted, the oldest first
  };

  Hash hash(std::string_view key) const;
  Shard& shard_of(const Hash& hash) { return shards_[hash.back() % shard_count]; }
  static Verdict verdict_on(Log& log, const Rate& rate, Time now);
  static Verdict over_share(const Rate& rate);
  static void drop(Shard& shard, Logs::iterator log);
  static void drop_some_old(Shard& shard, Time now);

  // Reduces how often request threads wait for one another.
  static constexpr size_t shard_count = 16;
  const size_t max_keys_of_shard_;
  Shares shares_;
  const std::string secret_;  // keeps callers from choosing keys whose hashes collide
  std::array<Shard, shard_count> shards_;
};

}  // namespace berth::api
