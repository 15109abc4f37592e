#pragma once

#include <functional>
#include <memory>
#include <string>

#include "reconcilers/cluster/custom_domain.h"
#include "reconcilers/cluster/metrics.h"

namespace berth::reconcilers {

// The domain loop's queue and its threads, which it has for itself, because a DNS look-up may take
// seconds and deployments must not wait for it. Thread-safe.
class DomainWorkers {
 public:
  static constexpr int count = int(DomainLoop::look_ups);

  // `leads` tells whether this process may write to the cluster at this moment. While it returns
  // false, all work waits for try_again().
  DomainWorkers(std::shared_ptr<prometheus::Registry> registry, const std::string& host,
                DomainLoop& loop, std::function<bool()> leads);
  ~DomainWorkers();  // calls stop()

  // Has keys worked on from now on, and returns at once.
  void start();
  // Returns when the passes that are running have ended, which takes as long as a look-up's
  // deadline.
  void stop();

  // Never blocks; may be called from any thread and also before start().
  void enqueue(const std::string& deployment_id) { queue_.add(deployment_id); }
  // Queues everything that was stalled, because the cluster answers again or this process now
  // leads.
  void try_again();
  void refresh_metrics() { metrics_.refresh(queue_); }
  bool is_idle() const { return queue_.depth() == 0 && queue_.unfinished().count() == 0; }

 private:
  void handle(const std::string& id);
  void stall(const std::string& id);
  void stall_until_leading(const std::string& id);

  DomainLoop& loop_;
  const std::function<bool()> leads_;
  Metrics metrics_;
  std::mutex mutex_;
  std::set<std::string> stalled_;
  WorkQueue queue_;  // last: its threads use the members above
};

}  // namespace berth::reconcilers
