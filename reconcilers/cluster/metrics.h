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

// The families that controllers are watched by everywhere, under controller-runtime's and
// client-go's names (book.kubebuilder.io, "Default Exported Metrics References"). Thread-safe.
class Metrics {
 public:
  // `controller`: the loop's name, which becomes a label; `host`: of the API server.
  Metrics(std::shared_ptr<prometheus::Registry> registry, const std::string& controller,
          std::string host, int workers);

  WorkQueue::Observer queue_observer();
  kube::RequestObserver request_observer();

  // A worker is at it as long as this lives. `result`: success, error, requeue or requeue_after.
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

  // Sets the gauges that only grow by the time that passes.
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
