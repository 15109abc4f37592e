#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "reconcilers/cluster/cache.h"

namespace berth::reconcilers {

// Limits how often other people's changes to one object are reverted: ten times at once, then once
// every ten seconds, so that a fight with another controller costs next to nothing. Thread-safe.
class RepairBudget {
 public:
  static constexpr double most = 10;
  static constexpr std::chrono::seconds refill{10};
  using TimePoint = std::chrono::steady_clock::time_point;

  // Takes one repair of `key` from the budget. If none is left, takes nothing and returns how long
  // to wait for the next one.
  std::optional<std::chrono::milliseconds> wait_before(const std::string& key, TimePoint now);

  // Undoes what `wait_before` took for a repair that the API server refused: nobody has changed the
  // object since then.
  void give_back(const std::string& key);

  // Returns how long it will take until a repair of `key` is possible; nothing if one is possible
  // now.
  std::optional<std::chrono::milliseconds> wait_of(const std::string& key, TimePoint now);

  // The largest number of keys that are remembered. If more objects than that are repaired before
  // their budgets are full again, all keys are forgotten. Each object may then be repaired another
  // ten times at once, which is little compared with the work of repairing so many objects.
  static constexpr size_t max_keys = 10'000;
  // Returns how many keys are remembered.
  size_t keys();

 private:
  struct Left {
    double repairs = most;
    TimePoint at;
  };
  // The number of keys at which budgets that are full again are forgotten for the first time; later
  // this happens whenever the number that was left has doubled.
  static constexpr size_t first_sweep = 512;

  std::mutex mutex_;
  std::map<std::string, Left> left_;
  size_t sweep_at_ = first_sweep;
};

// Somebody else has changed or deleted an object so often that berth reverts that only once in a
// while.
struct FoughtOver {
  std::string object;  // its kind and name
  // If nobody changes it until this time has passed, it is no longer fought over.
  std::chrono::milliseconds until_settled;
};

// Writes objects to the cluster, but only those that differ from what the cache knows. Thread-safe.
class Applier {
 public:
  struct Result {
    int applied = 0;
    std::optional<std::chrono::milliseconds> again;  // when a repair that has to wait may be tried
    std::optional<FoughtOver> fought_over;           // one of the objects, if there is any
    void add(const Result& other);
  };

  Applier(kube::Client& client, Cache& cache) : client_(client), cache_(cache) {}

  // How an object is written that the cache doesn't have. A create costs the API server less than
  // an apply, but the first later change of the object costs a list and a write more. So what
  // changes soon and often should be applied.
  enum class Missing { applied, created };

  // Writes the objects in the given order. Throws kube::ApiError at the first one that the server
  // refuses; the rest are then not tried.
  Result apply(const std::vector<Object>& desired, Missing missing = Missing::applied);

 private:
  Result apply_one(const Object& desired, Missing missing);
  Object create(const Object& desired);
  Object apply_to_created(const Object& desired);

  kube::Client& client_;
  Cache& cache_;
  RepairBudget budget_;
};

}  // namespace berth::reconcilers
