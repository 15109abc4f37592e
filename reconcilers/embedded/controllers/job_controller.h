#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reconcilers/embedded/controllers/event_recorder.h"
#include "reconcilers/embedded/timing.h"

namespace berth::embedded {

// Runs the pods of a Job to their end, as kube-controller-manager does
// (https://kubernetes.io/docs/concepts/workloads/controllers/job/), with completions, parallelism,
// backoffLimit, activeDeadlineSeconds and ttlSecondsAfterFinished. A pod is replaced only once it
// has ended, whatever podReplacementPolicy says. Pods have no finalizers here: a pod that leaves
// without having ended counts as failed, because the Job's status still has it as active. Indexed
// Jobs, suspended ones, podFailurePolicy and successPolicy aren't implemented. The caller must hold
// the store's mutex.
class JobController {
 public:
  JobController(Store& store, Registry& registry, EventRecorder& events, Timing timing)
      : store_(store), registry_(registry), events_(events), timing_(timing) {}

  // Does what is due for the Job. Returns when to look at it again.
  std::optional<Moment> reconcile(const Key& key, Moment now);
  void forget(const std::string& uid) { times_.erase(uid); }

 private:
  // A pod that failed is replaced after this many seconds, and then after twice as long each time.
  static constexpr int first_back_off = 10;
  static constexpr int longest_back_off = 600;
  static constexpr int most_doublings = 10;
  // A refused pod is tried again after a tenth of this the first time.
  static constexpr int refused_back_off = 1;

  struct Pods {
    std::vector<ObjectPtr> active;  // also those that are being deleted
    std::int64_t ready = 0;
    std::int64_t terminating = 0;
    std::int64_t succeeded = 0;
    std::int64_t failed = 0;
  };
  struct Counts {
    std::int64_t active = 0;
    std::int64_t succeeded = 0;
    std::int64_t failed = 0;
  };
  struct Times {
    std::optional<Moment> started;
    std::optional<Moment> finished;
    std::optional<Moment> replace_at;  // the pod that failed last
    int refused = 0;                   // how often in a row a pod was
  };

  Pods pods_of(const Json& job) const;
  static Counts counts_of(const Json& job, const Pods& pods);
  std::optional<Moment> go_on(const Json& job, std::int64_t completions, Counts& counts,
                              Moment now);
  std::optional<Moment> expire(const Key& key, const Json& job, Moment now);
  // Returns when to try again; nothing if all pods were created.
  std::optional<Moment> create_pods(const Json& job, std::int64_t number, std::int64_t& created,
                                    Moment now);
  void end(const Json& job, Json& status, const Pods& pods, const char* outcome,
           const std::string& reason, const std::string& message);

  Store& store_;
  Registry& registry_;
  EventRecorder& events_;
  Timing timing_;
  std::map<std::string, Times> times_;  // by the Job's uid
};

}  // namespace berth::embedded
