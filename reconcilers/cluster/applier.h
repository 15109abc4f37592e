#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "reconcilers/cluster/cache.h"

namespace berth::reconcilers {

// Limits how often other people's changes to one object are undone: ten times at once, then once
// every ten seconds, so that a fight with another controller costs next to nothing. Thread-safe.
class RepairBudget {
 public:
  static constexpr double most = 10;
  static constexpr std::chrono::seconds refill{10};
  using TimePoint = std::chrono::steady_clock::time_point;

  // Takes one repair of `key` from the budget. If none is left, takes nothing and returns how long
  // to wait for the next one.
  std::optional<std::chrono::milliseconds> wait_before(const std::string& key, TimePoint now);

  // The most keys that are remembered. If more objects than that have to be repaired within the
  // time in which a budget fills up again, all are forgotten: each may then be repaired ten times
  // once more, which is little compared with rebuilding so many.
  static constexpr size_t max_keys = 10'000;
  // How many are remembered.
  size_t keys();

 private:
  struct Left {
    double repairs = most;
    TimePoint at;
  };
  std::mutex mutex_;
  std::map<std::string, Left> left_;
};

// Writes objects to the cluster, but only those that differ from what the cache knows. Thread-safe.
class Applier {
 public:
  struct Result {
    int applied = 0;
    std::optional<std::chrono::milliseconds> again;  // when a repair that has to wait may be tried
    void add(const Result& other);
  };

  Applier(kube::Client& client, Cache& cache) : client_(client), cache_(cache) {}

  // Applies the objects in the given order. Throws kube::ApiError at the first one that the server
  // refuses; the rest are then not tried.
  Result apply(const std::vector<Object>& desired);

 private:
  Result apply_one(const Object& desired);

  kube::Client& client_;
  Cache& cache_;
  RepairBudget budget_;
};

}  // namespace berth::reconcilers
