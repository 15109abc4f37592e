#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "reconcilers/cluster/custom_domain.h"
#include "reconcilers/cluster/metrics.h"

namespace berth::reconcilers {

// The queue of the domain loop and its workers: threads of their own, because a look-up in the DNS
// may take seconds and deployments don't wait for it. Thread-safe.
class DomainWorkers {
 public:
  // They wait for name servers most of their time; so many silent ones are borne at once.
  static constexpr int count = 16;

  // `leads` says whether this process may write to the cluster now; while it says no, all waits
  // for try_again().
  DomainWorkers(std::shared_ptr<prometheus::Registry> registry, const std::string& host,
                DomainLoop& loop, std::function<bool()> leads);
  ~DomainWorkers();  // stops

  void start();
  // Returns when the passes that run have ended: a look-up has a deadline.
  void stop();

  // Never blocks; also before start().
  void enqueue(const std::string& deployment_id) { queue_.add(deployment_id); }
  // What the stalled ones waited for is there: a cluster that answers, or the Lease.
  void try_again();
  void refresh_metrics() { metrics_.refresh(queue_); }
  bool is_idle() const { return queue_.depth() == 0 && queue_.unfinished().count() == 0; }

 private:
  void work();
  void handle(const std::string& id);
  void stall(const std::string& id);
  void stall_until_leading(const std::string& id);

  DomainLoop& loop_;
  const std::function<bool()> leads_;
  Metrics metrics_;
  WorkQueue queue_;
  std::mutex mutex_;
  std::set<std::string> stalled_;
  std::vector<std::thread> threads_;
};

}  // namespace berth::reconcilers
