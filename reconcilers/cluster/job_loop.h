#pragma once

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <functional>
#include <string>

#include "controller/base/log.h"
#include "manifests/manifests.h"
#include "reconcilers/cluster/cache.h"
#include "reconcilers/cluster/job_pod.h"
#include "reconcilers/cluster/outcome.h"

namespace berth::reconcilers {

// Makes the Jobs of runs (domain/deployments/runs/runs.h), records what becomes of them, and
// removes them. Level-based like the loop of deployments: a reconcile takes nothing but a run's id,
// and may run at any time and any number of times. Thread-safe for different ids.
//
// A command never starts twice, whoever dies when. The Job is made suspended; then the run's row
// says that it is made, and from then on no other is made; then come the Secrets, which the Job
// owns, so that they go with it; and only then the Job is resumed. A run whose Job is gone is lost.
class JobLoop {
 public:
  struct Parts {
    db::Database& database;
    kube::Client& client;
    Cache& cache;
    const manifests::Settings& settings;
    const std::string& data_key;  // decrypts the secrets in the rows
    Patience patience;
    // Whether pods can have a user namespace where their tier leaves that open.
    std::function<bool()> has_user_namespaces;
    prometheus::Registry& registry;
  };
  explicit JobLoop(Parts parts);

  // For LoopWorkers.
  static constexpr const char* label = "run";
  static constexpr const char* thread_name = "runs";
  static constexpr int workers = 4;
  static constexpr bool is_queued_anew = true;

  // What a reconcile was about, for the log; empty if the run has no row.
  struct Subject {
    std::string deployment_id;
    std::string kind;
  };
  // Does what is due for the run. Throws kube::ApiError if the cluster has to be tried again, and
  // what the database throws.
  Outcome reconcile(const std::string& run_id, Subject& subject);
  static void log_pass(log::Level level, const std::string& run_id, const Subject& subject,
                       const std::string& reason, Took took);

 private:
  std::optional<runs::Wanted> wanted(const runs::Run& run);
  Outcome make(const runs::Run& run);
  Outcome resume(const runs::Run& run, const Object& job);
  int start(const runs::Wanted& wanted, const Object& job);
  Outcome look_for_job(const runs::Run& run);
  Outcome look_at_forgotten(const runs::Run& run);
  Outcome look(const runs::Run& run, const Object& job);
  Outcome finish(const runs::Run& run, const Object& pod, const runs::Seen& seen);
  Outcome clean_up(const runs::Run& run, const Object& job);
  Outcome fail(const runs::Run& run, runs::Reason reason, const std::string& message);
  bool record(const runs::Run& run, const runs::Seen& seen, const std::optional<runs::Log>& log);
  void count(const runs::Run& run, const runs::Seen& seen);

  ObjectPtr job_of(const runs::Run& run) const;
  ObjectPtr pod_of(const runs::Run& run) const;
  bool has_unseen_pod(const runs::Run& run);
  std::vector<Object> events_of(const Object& object);
  runs::Log read_log(const Object& pod);

  const Parts parts_;
  prometheus::Family<prometheus::Counter>& ended_;
  prometheus::Family<prometheus::Histogram>& waited_;
};

}  // namespace berth::reconcilers
