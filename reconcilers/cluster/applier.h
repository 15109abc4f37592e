#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "reconcilers/cluster/cache.h"

namespace berth::reconcilers {

// How often somebody's change to one object is repaired: ten times at once, then once in ten
// seconds, so that a fight with another controller costs next to nothing. Thread-safe.
class RepairBudget {
 public:
  static constexpr double most = 10;
  static constexpr std::chrono::seconds refill{10};
  using TimePoint = std::chrono::steady_clock::time_point;

  // Takes one repair of `key` out of the budget; or, where there is none left, says when there is.
  std::optional<std::chrono::milliseconds> wait_before(const std::string& key, TimePoint now);

 private:
  static constexpr size_t max_keys = 10'000;
  struct Left {
    double repairs = most;
    TimePoint at;
  };
  std::mutex mutex_;
  std::map<std::string, Left> left_;
};

// Brings objects to the cluster: only those that differ from what the cache knows.
class Applier {
 public:
  struct Result {
    int applied = 0;
    std::optional<std::chrono::milliseconds> again;  // a repair that has to wait
    void add(const Result& other);
  };

  Applier(kube::Client& client, Cache& cache) : client_(client), cache_(cache) {}

  // In their order. Throws kube::ApiError at the first one that the server doesn't take.
  Result apply(const std::vector<Object>& desired);

 private:
  Result apply_one(const Object& desired);

  kube::Client& client_;
  Cache& cache_;
  RepairBudget budget_;
};

}  // namespace berth::reconcilers
