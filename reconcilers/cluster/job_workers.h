#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "reconcilers/cluster/job_loop.h"
#include "reconcilers/cluster/metrics.h"
#include "reconcilers/cluster/work_queue.h"

namespace berth::reconcilers {

// The queue of runs and its threads, which are not those of the deployments: reading the log of a
// run that has ended may take seconds. Thread-safe.
class JobWorkers {
 public:
  static constexpr int count = 4;

  // `leads` tells whether this process may write to the cluster at this moment. While it returns
  // false, all work waits for try_again().
  JobWorkers(std::shared_ptr<prometheus::Registry> registry, const std::string& host, JobLoop& loop,
             std::function<bool()> leads);
  ~JobWorkers();  // calls stop()

  // Has runs worked on from now on, and returns at once.
  void start();
  // Returns when the passes that are running have ended.
  void stop();

  // Never blocks; may be called from any thread and also before start().
  void enqueue(const std::string& run_id) { queue_.add(run_id); }
  // The same, for what is reported by several events within moments.
  void enqueue_soon(const std::string& run_id);
  // Queues everything that was stalled, because the cluster answers again or this process now
  // leads.
  void try_again();
  void refresh_metrics() { metrics_.refresh(queue_); }
  bool is_idle() const { return queue_.depth() == 0 && queue_.unfinished().count() == 0; }

 private:
  void handle(const std::string& id);
  void stall(const std::string& id);
  void stall_until_leading(const std::string& id);

  JobLoop& loop_;
  const std::function<bool()> leads_;
  Metrics metrics_;
  std::mutex mutex_;
  std::set<std::string> stalled_;
  WorkQueue queue_;  // last: its threads use the members above
};

}  // namespace berth::reconcilers
