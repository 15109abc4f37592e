#include "api/gate/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>

#include <set>

namespace berth::api {
namespace {

const prometheus::Histogram::BucketBoundaries seconds_buckets = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};

// The client chooses the method, and a series is never removed, so all methods that aren't served
// share one series.
std::string counted_as(const std::string& method) {
  static const std::set<std::string> known = {"GET",   "HEAD",   "POST",   "PUT",
                                              "PATCH", "DELETE", "OPTIONS"};
  return known.contains(method) ? method : "other";
}

}  // namespace

HttpMetrics::HttpMetrics(prometheus::Registry& registry)
    : requests_(prometheus::BuildCounter()
                    .Name("http_requests_total")
                    .Help("HTTP requests that were answered, by method, operation and status.")
                    .Register(registry)),
      durations_(prometheus::BuildHistogram()
                     .Name("http_request_duration_seconds")
                     .Help("Seconds from the end of a request to its answer, by operation.")
                     .Register(registry)) {}

void HttpMetrics::observe(const std::string& given_method, const std::string& route, int code,
                          std::chrono::nanoseconds took) {
  const std::string method = counted_as(given_method);
  std::string key = method + ' ' + route + ' ' + std::to_string(code);
  Series series{};
  {
    const std::lock_guard lock(mutex_);
    const auto known = series_.find(key);
    if (known != series_.end()) {
      series = known->second;
    } else {
      series = {
          &requests_.Add({{"method", method}, {"route", route}, {"code", std::to_string(code)}}),
          &durations_.Add({{"route", route}}, seconds_buckets)};
      series_.emplace(std::move(key), series);
    }
  }
  series.count->Increment();
  series.seconds->Observe(std::chrono::duration<double>(took).count());
}

}  // namespace berth::api
