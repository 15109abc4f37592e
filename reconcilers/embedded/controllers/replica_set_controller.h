#pragma once

#include <map>
#include <optional>
#include <vector>

#include "reconcilers/embedded/controllers/event_recorder.h"
#include "reconcilers/embedded/timing.h"

namespace berth::embedded {

// Keeps as many pods as a ReplicaSet asks for. The caller must hold the store's mutex.
class ReplicaSetController {
 public:
  ReplicaSetController(Store& store, Registry& registry, EventRecorder& events, Timing timing)
      : store_(store), registry_(registry), events_(events), timing_(timing) {}

  // Does what is due for the set. Returns when to look at it again.
  std::optional<Moment> reconcile(const Key& key, Moment now);
  void forget(const std::string& uid);
  // The sets of the namespace whose pods were refused.
  std::vector<Key> failing(const std::string& name_space) const;

 private:
  // A refused pod is tried again after a fiftieth of the cluster's second, but at least the 5 ms of
  // client-go's rate limiter, and then after twice as long each time, up to 20 seconds.
  static constexpr int most_doublings = 10;
  static constexpr std::chrono::milliseconds shortest_retry{5};

  // How many of its pods that have ended a set keeps.
  static constexpr size_t most_ended = 3;

  void forget_ended(const Json& set);
  // Returns the reason why a pod was refused; empty if all pods were created.
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
  struct Failures {
    Key set;
    int times = 0;  // in a row
  };
  std::map<std::string, Failures> failures_;  // by the set's uid
};

}  // namespace berth::embedded
