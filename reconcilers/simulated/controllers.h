#pragma once

#include <memory>
#include <set>
#include <string>
#include <thread>

#include "reconcilers/simulated/collector.h"
#include "reconcilers/simulated/deployment_controller.h"
#include "reconcilers/simulated/kubelet.h"
#include "reconcilers/simulated/replica_set_controller.h"

namespace berth::simulated {

// Runs everything that isn't the API server on a thread: controllers, scheduler, kubelet. Driven by
// the store's changes and by timers.
class Controllers {
 public:
  Controllers(Store& store, Registry& registry, Images& images, Timing timing);
  // Stops the store for good.
  ~Controllers();

  // These need the store's mutex.
  const Kubelet& kubelet() const { return kubelet_; }
  // All controllers stand still, as if they were down; what they missed is done later.
  void pause(bool paused) { paused_ = paused; }

 private:
  // Those that come first are served first: a deployment decides once its sets did what it said.
  enum class Loop { replica_set, pod, deployment, garbage, name_space, quota };
  using Work = std::pair<Loop, Key>;

  void run();
  void notice(const Change& change);
  void notice_pod(const Change& change);
  void add(Loop loop, const Key& key) { queue_.insert({loop, key}); }
  void add_owners(const Json& object, Kind kind, Loop loop);
  void add_quotas(const std::string& name_space) { add(Loop::quota, {Kind::resource_quotas, name_space, ""}); }
  std::optional<Moment> work(const Work& work, Moment now);
  void count_quotas(const std::string& name_space);
  void schedule(const Work& work, std::optional<Moment> due);
  void take_due(Moment now);

  Store& store_;
  Registry& registry_;
  EventRecorder events_;
  Node node_;
  Kubelet kubelet_;
  DeploymentController deployments_;
  ReplicaSetController replica_sets_;
  Collector collector_;
  bool paused_ = false;
  std::set<Work> queue_;
  std::set<std::pair<Moment, Work>> timers_;
  std::map<Work, Moment> due_;  // of each timer
  std::jthread thread_;
};

}  // namespace berth::simulated
