#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>

#include "api/gate/rate.h"

namespace berth::api {

// Sliding-window logs: the times of the latest requests of each (caller, route), so that "60 per
// minute" means any 60 seconds. By steady time. Thread-safe.
class RateLimiter {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Verdict {
    bool allowed = true;
    int limit = 0;
    int remaining = 0;             // after this request
    std::chrono::seconds reset{};  // until the oldest request leaves the window, rounded up
  };

  // Counts a request and says whether it may pass; one that is refused isn't counted. `key` names
  // the caller and the route.
  Verdict take(const std::string& key, const Rate& rate, Time now);

  // Takes back what the latest take() of this key counted.
  void give_back(const std::string& key);
  void forget(const std::string& key);

  // How many callers are remembered; those whose window is over are forgotten by and by.
  size_t size();

 private:
  struct Log {
    std::deque<Time> times;
    std::chrono::seconds window{};
  };
  struct Shard {
    std::mutex mutex;
    std::unordered_map<std::string, Log> logs;
    size_t takes = 0;
  };
  static void sweep(Shard& shard, Time now);

  static constexpr size_t shard_count = 16;  // so that request threads seldom wait for one another
  std::array<Shard, shard_count> shards_;
};

}  // namespace berth::api
