#include "reconcilers/cluster/metrics.h"

namespace berth::reconcilers {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Labels;
using prometheus::Registry;

// The bucket boundaries of client-go's queues, controller-runtime's reconciles and client-go's
// requests.
const Histogram::BucketBoundaries queue_buckets = {1e-8, 1e-7, 1e-6, 1e-5, 1e-4,
                                                   1e-3, 1e-2, 1e-1, 1,    10};
const Histogram::BucketBoundaries reconcile_buckets = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
                                                       1,     2.5,  5,     10,   20,  30,   60};
const Histogram::BucketBoundaries request_buckets = {0.005, 0.025, 0.1, 0.25, 0.5, 1,
                                                     2,     4,     8,   15,   30,  60};

prometheus::Family<Counter>& counters(Registry& registry, const std::string& name,
                                      const std::string& help) {
  return BuildCounter().Name(name).Help(help).Register(registry);
}
prometheus::Family<Gauge>& gauges(Registry& registry, const std::string& name,
                                  const std::string& help) {
  return BuildGauge().Name(name).Help(help).Register(registry);
}
prometheus::Family<Histogram>& histograms(Registry& registry, const std::string& name,
                                          const std::string& help) {
  return BuildHistogram().Name(name).Help(help).Register(registry);
}

std::string_view http_method(std::string_view verb) {
  if (verb == "apply" || verb == "merge") return "PATCH";
  if (verb == "create") return "POST";
  if (verb == "update") return "PUT";
  if (verb == "delete") return "DELETE";
  return "GET";
}

}  // namespace

Metrics::Metrics(std::shared_ptr<Registry> registry, const std::string& controller,
                 std::string host, int workers)
    : registry_(std::move(registry)),
      controller_{{"controller", controller}},
      host_(std::move(host)),
      depth_(gauges(*registry_, "workqueue_depth", "Keys that wait in the queue for a worker")
                 .Add({{"name", controller}})),
      adds_(counters(*registry_, "workqueue_adds_total", "Keys that were added to the queue")
                .Add({{"name", controller}})),
      retries_(counters(*registry_, "workqueue_retries_total",
                        "Keys that were added again after a failure")
                   .Add({{"name", controller}})),
      waited_(histograms(*registry_, "workqueue_queue_duration_seconds",
                         "Seconds that keys waited for a worker")
                  .Add({{"name", controller}}, queue_buckets)),
      worked_(histograms(*registry_, "workqueue_work_duration_seconds",
                         "Seconds that workers held a key")
                  .Add({{"name", controller}}, queue_buckets)),
      unfinished_(
          gauges(*registry_, "workqueue_unfinished_work_seconds",
                 "Sum of the seconds for which the keys that workers hold now have been held")
              .Add({{"name", controller}})),
      longest_(gauges(*registry_, "workqueue_longest_running_processor_seconds",
                      "Seconds for which the key that is held longest has been held")
                   .Add({{"name", controller}})),
      reconciles_(
          counters(*registry_, "controller_runtime_reconcile_total", "Reconciles by their result")),
      errors_(counters(*registry_, "controller_runtime_reconcile_errors_total",
                       "Reconciles that failed")
                  .Add(controller_)),
      took_(histograms(*registry_, "controller_runtime_reconcile_time_seconds",
                       "Seconds that reconciles took")
                .Add(controller_, reconcile_buckets)),
      active_(gauges(*registry_, "controller_runtime_active_workers", "Workers that hold a key now")
                  .Add(controller_)),
      requests_(counters(*registry_, "rest_client_requests_total",
                         "Answers of the API server, by status, method and host")),
      request_took_(histograms(*registry_, "rest_client_request_duration_seconds",
                               "Seconds until the API server answered, except for watches")) {
  gauges(*registry_, "controller_runtime_max_concurrent_reconciles", "Number of workers")
      .Add(controller_)
      .Set(workers);
}

WorkQueue::Observer Metrics::queue_observer() {
  return {.added =
              [this] {
                adds_.Increment();
                depth_.Increment();
              },
          .retried = [this] { retries_.Increment(); },
          .waited =
              [this](std::chrono::duration<double> time) {
                depth_.Decrement();
                waited_.Observe(time.count());
              },
          .worked = [this](std::chrono::duration<double> time) { worked_.Observe(time.count()); }};
}

kube::RequestObserver Metrics::request_observer() {
  return
      [this](std::string_view verb, std::string_view, int status, std::chrono::nanoseconds took) {
        requests_
            .Add({{"code", status == 0 ? "<error>" : std::to_string(status)},
                  {"method", std::string(http_method(verb))},
                  {"host", host_}})
            .Increment();
        if (verb != "watch")
          request_took_.Add({{"verb", std::string(verb)}}, request_buckets)
              .Observe(std::chrono::duration<double>(took).count());
      };
}

Metrics::Reconcile::Reconcile(Metrics& metrics) : metrics_(metrics) {
  metrics_.active_.Increment();
}

Metrics::Reconcile::~Reconcile() {
  metrics_.active_.Decrement();
  metrics_.took_.Observe(took().count());
  if (result_ == "error") metrics_.errors_.Increment();
  Labels labels = metrics_.controller_;
  labels["result"] = result_;
  metrics_.reconciles_.Add(labels).Increment();
}

void Metrics::refresh(const WorkQueue& queue) {
  unfinished_.Set(queue.unfinished().count());
  longest_.Set(queue.longest_running().count());
}

}  // namespace berth::reconcilers
