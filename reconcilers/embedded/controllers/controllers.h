#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>

#include "reconcilers/embedded/controllers/certificate_controller.h"
#include "reconcilers/embedded/controllers/collector.h"
#include "reconcilers/embedded/controllers/deployment_controller.h"
#include "reconcilers/embedded/controllers/job_controller.h"
#include "reconcilers/embedded/controllers/replica_set_controller.h"
#include "reconcilers/embedded/node/kubelet.h"

namespace berth::embedded {

// Runs everything except for the API server on one thread: controllers, scheduler, kubelet and
// cert-manager. The thread is driven by the store's changes and by timers.
class Controllers {
 public:
  // Takes over the pods that are in the store, and starts the thread. Throws Unusable if the
  // runtime can't work.
  Controllers(Store& store, Registry& registry, const PodTokens& tokens,
              const RuntimeFactory& runtime, Timing timing, bool remembers_orders);
  // Stops the store for good.
  ~Controllers();

  // The caller must hold the store's mutex for these functions.
  const Kubelet& kubelet() const { return kubelet_; }
  CertificateController& certificates() { return certificates_; }
  // Stops all controllers, as if they were down; when they go on, they do what they missed.
  void pause(bool paused) { paused_ = paused; }
  // How long the scheduler's and the kubelet's steps take from now on.
  void set_timing(Timing timing) { node_.timing = timing; }

 private:
  // Deployments that are new have a queue of their own.
  enum class Loop {
    name_space,
    garbage,
    replica_set,
    job,
    pod,
    deployment,
    quota,
    certificate,
    new_deployment
  };
  using Work = std::pair<Loop, Key>;

  // The keys that a loop has to process: each once, in the order of their arrival.
  class Queue {
   public:
    void add(const Key& key);
    Key take();
    bool empty() const { return order_.empty(); }

   private:
    std::deque<Key> order_;
    std::set<Key> known_;
  };

  void run();
  // Waits for a change or a timer, if nothing is to be done at once.
  void wait(Lock& lock);
  void notice_changes(Lock& lock, Moment until);
  void process(const Work& next, Moment now);
  void notice(const Notice& change);
  void notice_pod(const Notice& change);
  void notice_secret(const Notice& change);
  void wake(const std::string& name_space, const std::string& pod);
  void add(Loop loop, const Key& key) { queues_[loop].add(key); }
  // The loops take turns, so that none starves another, with two exceptions. New namespaces always
  // come first, because nothing can run in them before they are filled. A new deployment comes when
  // the objects that exist have no work, or after `most_before_new` turns. So of thousands of
  // deployments that are created together, the first ones run soon, and the objects of few are in
  // use at a time.
  std::optional<Work> next_work();
  Work take_new();
  bool has_work() const;
  void add_owners(const Json& object, Kind kind, Loop loop);
  void add_quotas(const std::string& name_space) {
    add(Loop::quota, {Kind::resource_quotas, name_space, ""});
  }
  std::optional<Moment> work(const Work& work, Moment now);
  void count_quotas(const std::string& name_space);
  void schedule(const Work& work, std::optional<Moment> due);
  void take_due(Moment now);

  Store& store_;
  Registry& registry_;
  std::map<Loop, Queue> queues_;
  std::unique_ptr<Runtime> runtime_;  // its threads call wake()
  EventRecorder events_;
  Node node_;
  Kubelet kubelet_;
  DeploymentController deployments_;
  ReplicaSetController replica_sets_;
  JobController jobs_;
  Collector collector_;
  CertificateController certificates_;
  bool paused_ = false;
  Moment last_work_;
  Loop last_ = Loop::name_space;  // the loop that had the last turn
  int turns_before_new_ = 0;      // how many turns a new deployment has waited
  std::set<std::pair<Moment, Work>> timers_;
  std::map<Work, Moment> due_;  // the time of each timer
  std::jthread thread_;
};

}  // namespace berth::embedded
