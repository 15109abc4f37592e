#pragma once

#include <prometheus/counter.h>
#include <prometheus/registry.h>

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controller/domain/deployments/deployments.h"
#include "reconcilers/cluster/cache.h"
#include "reconcilers/cluster/runs.h"

namespace berth::reconcilers {

// Knows which runs of containers the meter has to be told (metering/meter.h), and until when the
// cluster has been in step with what was told. It remembers what was recorded, so that nothing is
// read or written for a deployment whose runs haven't changed, and nothing for one that isn't
// metered.
//
// A pod's status names the end of its present run and of the one before it, and no others. So the
// ends that its events name are kept here until they are recorded: a container that crashes twice
// within a moment would else have a run whose end nobody knows. A pod that leaves takes its status
// with it, so what its DELETED event says is kept, too. A pod that leaves while its container runs,
// or that nobody saw leave, has vanished: its last run ends when the pod was seen last.
// Thread-safe, but for one deployment, look(), news() and what follows are called by one thread at
// a time.
class RunRecorder {
 public:
  // `cache` must have an informer of pods.
  RunRecorder(db::Database& database, const Cache& cache, prometheus::Registry& registry);

  // ---- For the informer of pods; they return quickly --------------------------------------------

  // Something about a pod has changed.
  void changed(const Object& pod);
  // The pod is gone. `last_seen` is when it was certainly there.
  void left(const Object& pod, Instant last_seen);

  // ---- For a reconcile of the process that leads ------------------------------------------------

  // To be called first, in a read: whether the deployment is metered, and once whether the meter
  // lacks anything. `row` is null if there is none.
  void look(db::Tx& tx, const std::string& id, const deployments::Deployment* row);

  // What has to be recorded.
  struct News {
    std::string deployment_id;
    std::vector<metering::Run> runs;  // all that are known
    Instant vanished_at;              // the end of those that are missing, by the machine's clock
  };
  // Returns nothing if the meter has everything, or pods can't be watched at present.
  std::optional<News> news(const std::string& id);
  // Records the news; for the transaction that stores the observation.
  static metering::Recorded record(db::Tx& tx, const News& news);
  // To be called after that transaction was committed.
  void recorded(const News& news, const metering::Recorded& done);
  // To be called when nothing of the deployment is left on the cluster: it is forgotten once the
  // meter has all of it.
  void nothing_is_left(const std::string& id);

  // ---- For the engine ---------------------------------------------------------------------------

  // Forgets what was recorded, because another process may have led since.
  void begin_to_lead();
  // Asks the meter again, at the next look, whether it has everything: a process that led before,
  // and was held up in a write, may have overtaken this one.
  void doubt();
  // To be called about every second: drops what is too old, and, if this process leads and anything
  // runs, says every metering::watch_interval until when the cluster has been in step. Throws what
  // writes throw.
  void keep_watch(bool leads);

 private:
  using SteadyClock = std::chrono::steady_clock;

  // Runs that have ended are kept until they are recorded, within these limits: a process that
  // doesn't lead has them in case that it is to lead.
  static constexpr std::chrono::minutes left_kept_for{60};
  static constexpr size_t most_left = 10'000;
  // How long it may take until this process hears that a container has ended: a kubelet looks once
  // a second, and on a busy cluster events wait for their turn.
  static constexpr Duration report_time = std::chrono::seconds(5);

  struct Left {
    metering::Run run;
    SteadyClock::time_point at;
  };
  struct Entry {
    bool is_known = false;    // `recorded` is what the meter has
    bool is_doubted = false;  // it is asked again
    bool is_lacking = false;  // it was, and lacks something
    bool is_metered = false;  // or was, while what has run is still open
    std::vector<metering::Run> recorded;
    std::vector<Left> left;
    std::optional<Instant> vanished_at;  // the earliest one, of pods that left while they ran
    // Since when something has changed that wasn't looked at yet, and since when what was looked at
    // isn't recorded yet.
    std::optional<Instant> changed_at;
    std::optional<Instant> taken_at;
  };

  void begin(db::Tx& tx);
  bool has_price(db::Tx& tx, const deployments::Deployment& row);
  void keep_ends_locked(Entry& entry, const std::vector<metering::Run>& runs);
  bool follows_pods() const;
  std::vector<metering::Run> known_runs(const std::string& id) const;
  void settle_locked(const std::string& id, const std::vector<metering::Run>& runs);
  void forget_locked(const std::string& id);
  void drop_old_locked(SteadyClock::time_point now);

  db::Database& database_;
  const Cache& cache_;
  prometheus::Family<prometheus::Counter>& family_;
  prometheus::Counter& opened_;
  prometheus::Counter& closed_;
  prometheus::Counter& vanished_;
  prometheus::Counter& missed_;
  prometheus::Counter& skewed_;

  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;  // by deployment
  size_t left_ = 0;                       // in all entries
  // Until when the process that led before was in step, by the machine's clock; empty until that
  // was read.
  std::optional<Instant> watched_before_;
  // By tier: the UTC day on which it has no price by the hour, which is the last one that was read.
  std::map<std::string, std::int64_t> without_price_;
  // Deployments with open runs that weren't looked at since this process leads.
  std::set<std::string> unseen_;

  // Used by keep_watch() only.
  SteadyClock::time_point watch_due_;
  Instant watched_until_;
};

}  // namespace berth::reconcilers
