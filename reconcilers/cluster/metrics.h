#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "reconcilers/cluster/work_queue.h"
#include "reconcilers/kube/client.h"

namespace berth::reconcilers {

// The metrics that Kubernetes controllers usually export, under the names that controller-runtime
// and client-go use (book.kubebuilder.io, "Default Exported Metrics References"). Thread-safe.
class Metrics {
 public:
  // `controller` is the name of the loop and becomes a label; `host` is that of the API server.
  Metrics(std::shared_ptr<prometheus::Registry> registry, const std::string& controller,
          std::string host, int workers);

  // Callbacks that count for these metrics. They must not outlive this object.
  WorkQueue::Observer queue_observer();
  kube::RequestObserver request_observer();

  // Counts a worker as active for the lifetime of this object. `result` is one of success, error,
  // requeue and requeue_after, and is "error" unless ended() is called.
  class Reconcile {
   public:
    explicit Reconcile(Metrics& metrics);
    ~Reconcile();
    Reconcile(const Reconcile&) = delete;
    Reconcile& operator=(const Reconcile&) = delete;
    void ended(std::string_view result) { result_ = result; }
    std::chrono::duration<double> took() const { return std::chrono::steady_clock::now() - start_; }

   private:
    Metrics& metrics_;
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    std::string result_ = "error";
  };

  // The reconciles that have failed so far.
  std::int64_t errors() const { return std::int64_t(errors_.Value()); }

  // Sets the gauges that change merely because time passes.
  void refresh(const WorkQueue& queue);

 private:
  const std::shared_ptr<prometheus::Registry> registry_;
  const prometheus::Labels controller_;
  const std::string host_;

  prometheus::Gauge& depth_;
  prometheus::Counter& adds_;
  prometheus::Counter& retries_;
  prometheus::Histogram& waited_;
  prometheus::Histogram& worked_;
  prometheus::Gauge& unfinished_;
  prometheus::Gauge& longest_;

  prometheus::Family<prometheus::Counter>& reconciles_;
  prometheus::Counter& errors_;
  prometheus::Histogram& took_;
  prometheus::Gauge& active_;

  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Family<prometheus::Histogram>& request_took_;
};

}  // namespace berth::reconcilers
