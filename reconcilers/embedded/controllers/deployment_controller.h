#pragma once

#include <map>
#include <optional>
#include <vector>

#include "reconcilers/embedded/controllers/event_recorder.h"
#include "reconcilers/embedded/timing.h"

namespace berth::embedded {

// Turns a Deployment into ReplicaSets, one for each pod template, and rolls from the old ones to
// the new one within maxSurge and maxUnavailable, as kube-controller-manager does
// (https://kubernetes.io/docs/concepts/workloads/controllers/deployment/). Proportional scaling in
// the middle of a rollout and rollbacks by annotation aren't implemented. The caller must hold the
// store's mutex.
class DeploymentController {
 public:
  DeploymentController(Store& store, Registry& registry, EventRecorder& events, Timing timing)
      : store_(store), registry_(registry), events_(events), timing_(timing) {}

  // Does what is due for the deployment. Returns when to look at it again.
  std::optional<Moment> reconcile(const Key& key, Moment now);
  void forget(const std::string& uid) { progressed_.erase(uid); }

 private:
  struct Sets {
    ObjectPtr current;           // the set of the present template; null: not created yet
    std::vector<ObjectPtr> old;  // oldest first
  };
  struct Counts {
    std::int64_t wanted;    // spec.replicas, added up over the sets
    std::int64_t replicas;  // pods that exist
    std::int64_t ready;
    std::int64_t available;
  };

  Sets sets_of(const Json& deployment) const;
  ObjectPtr create_set(const Json& deployment, const Sets& sets, Moment now);
  void annotate(const Json& deployment, Sets& sets);
  void roll(const Json& deployment, const Sets& sets);
  void recreate(const Json& deployment, const Sets& sets);
  void scale(const Json& deployment, const ObjectPtr& set, std::int64_t replicas);
  void scale_down_old(const Json& deployment, const Sets& sets, std::int64_t unavailable);
  void clean_up(const Json& deployment, const Sets& sets);
  std::optional<Moment> report(const Key& key, const Json& deployment, const Sets& sets,
                               Moment now);
  std::optional<Moment> report_progress(const Json& deployment, const Json& before,
                                        const Sets& sets, Json& status, Moment now);
  static Counts counts_of(const std::vector<ObjectPtr>& sets);

  Store& store_;
  Registry& registry_;
  EventRecorder& events_;
  Timing timing_;
  std::map<std::string, Moment>
      progressed_;  // when a deployment's rollout last made progress, by uid
};

}  // namespace berth::embedded
