#pragma once

#include <map>
#include <optional>
#include <vector>

#include "reconcilers/simulated/controllers/event_recorder.h"
#include "reconcilers/simulated/timing.h"

namespace berth::simulated {

// Keeps as many pods as a ReplicaSet asks for. Needs the store's mutex.
class ReplicaSetController {
 public:
  ReplicaSetController(Store& store, Registry& registry, EventRecorder& events, Timing timing)
      : store_(store), registry_(registry), events_(events), timing_(timing) {}

  // Does what is due for the set, and returns when to look again.
  std::optional<Moment> reconcile(const Key& key, Moment now);
  void forget(const std::string& uid);

 private:
  // A refused pod is tried again after a fiftieth of the cluster's second, but no less than the
  // 5 ms of client-go's rate limiter, then after twice as long each time: up to 20 seconds.
  static constexpr int most_doublings = 10;
  static constexpr std::chrono::milliseconds shortest_retry{5};

  // The refusal's words; empty: all pods were made.
  std::string create_pods(const Json& set, std::int64_t number);
  void delete_pods(const Json& set, std::vector<ObjectPtr> pods, std::int64_t number);
  bool available(const Json& set, const Json& pod, Moment now, std::optional<Moment>& due);
  std::optional<Moment> report(const Key& key, const Json& set, const std::string& failure,
                               Moment now);
  std::vector<ObjectPtr> active_pods(const Json& set) const;

  Store& store_;
  Registry& registry_;
  EventRecorder& events_;
  Timing timing_;
  std::map<std::string, Moment> ready_since_;  // by the pod's uid
  std::map<std::string, int> failures_;        // in a row, by the set's uid
};

}  // namespace berth::simulated
