#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "controller/base/log.h"
#include "reconcilers/cluster/failures.h"
#include "reconcilers/cluster/metrics.h"
#include "reconcilers/cluster/outcome.h"
#include "reconcilers/cluster/work_queue.h"

namespace berth::reconcilers {

// At which level a pass that didn't fail is logged: one that changed nothing is of little interest.
inline log::Level level_of(const Outcome& outcome) {
  const bool quiet = outcome.writes == 0 && !outcome.recorded;
  return quiet ? log::Level::debug : log::Level::info;
}

// The queue of a loop beside that of the deployments, and its threads, which it has for itself,
// because one of its passes may take seconds and deployments must not wait for it. Thread-safe.
//
// A Loop has reconcile(id, subject), which throws kube::ApiError if the cluster has to be tried
// again, and a Subject, which it fills for the log; log_pass(); and the constants `label` (its name
// in metrics), `thread_name`, `workers` (how many threads) and `is_queued_anew` (whether the engine
// queues all ids that matter when this process begins to lead, so that none is kept until then).
template <typename Loop>
class LoopWorkers {
 public:
  // `leads` tells whether this process may write to the cluster at this moment. While it returns
  // false, all work waits for try_again().
  LoopWorkers(std::shared_ptr<prometheus::Registry> registry, const std::string& host, Loop& loop,
              std::function<bool()> leads)
      : loop_(loop),
        leads_(std::move(leads)),
        metrics_(std::move(registry), Loop::label, host, Loop::workers),
        queue_(metrics_.queue_observer()) {}
  ~LoopWorkers() { stop(); }

  // Has ids worked on from now on, and returns at once.
  void start() {
    queue_.serve(Loop::thread_name, std::size_t(Loop::workers),
                 [this](const std::string& id) { handle(id); });
  }
  // Returns when the passes that are running have ended.
  void stop() { queue_.stop(); }

  // Never block; may be called from any thread and also before start(). What several events report
  // within moments is gathered by a wait.
  void enqueue(const std::string& id) { queue_.add(id); }
  void enqueue_after(const std::string& id, std::chrono::milliseconds wait) {
    queue_.add_after(id, wait);
  }
  // Queues everything that was stalled, because the cluster answers again or this process now
  // leads.
  void try_again() {
    std::set<std::string> stalled;
    {
      const std::lock_guard lock(mutex_);
      stalled.swap(stalled_);
    }
    for (const std::string& id : stalled) {
      queue_.forget(id);
      queue_.add(id);
    }
  }
  void refresh_metrics() { metrics_.refresh(queue_); }
  bool is_idle() const { return queue_.depth() == 0 && queue_.unfinished().count() == 0; }

 private:
  void handle(const std::string& id) {
    if (!leads_()) {
      // Each run has a new id, so that those of months would be kept by a process that never leads.
      if (!Loop::is_queued_anew) stall_until_leading(id);
      return;
    }
    Metrics::Reconcile pass(metrics_);
    typename Loop::Subject subject;
    const auto failed = [&](const std::exception& failure,
                            std::optional<std::chrono::seconds> wait) {
      queue_.retry(id, wait);
      Loop::log_pass(log::Level::warning, id, subject, failure.what(), pass.took());
    };
    try {
      const Outcome outcome = loop_.reconcile(id, subject);
      queue_.forget(id);
      if (outcome.again) queue_.add_after(id, *outcome.again);
      pass.ended(outcome.again ? "requeue_after" : "success");
      Loop::log_pass(level_of(outcome), id, subject, outcome.reason, pass.took());
    } catch (const kube::Fenced& fenced) {
      pass.ended("requeue");
      stall_until_leading(id);
      Loop::log_pass(log::Level::info, id, subject, fenced.what(), pass.took());
    } catch (const kube::ApiError& error) {
      if (meaning_of(error) == Failure::unreachable) stall(id);
      failed(error, error.retry_after);
    } catch (const std::exception& error) {
      failed(error, std::nullopt);
    }
  }
  void stall(const std::string& id) {
    const std::lock_guard lock(mutex_);
    stalled_.insert(id);
  }
  void stall_until_leading(const std::string& id) {
    stall(id);
    if (leads_()) try_again();  // leadership may have begun before the id was stalled
  }

  Loop& loop_;
  const std::function<bool()> leads_;
  Metrics metrics_;
  std::mutex mutex_;
  std::set<std::string> stalled_;
  WorkQueue queue_;  // last: its threads use the members above
};

}  // namespace berth::reconcilers
