#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <utility>
#include <vector>

// Builds families of metrics whose values are read when somebody scrapes.
namespace berth {

using Labels = std::vector<prometheus::ClientMetric::Label>;

inline prometheus::ClientMetric gauge(double value, Labels labels = {}) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = value;
  return metric;
}

inline prometheus::ClientMetric counter(double value, Labels labels = {}) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  metric.counter.value = value;
  return metric;
}

inline prometheus::MetricFamily gauges(const char* name, const char* help,
                                       std::vector<prometheus::ClientMetric> metrics) {
  return {name, help, prometheus::MetricType::Gauge, std::move(metrics)};
}

inline prometheus::MetricFamily counters(const char* name, const char* help,
                                         std::vector<prometheus::ClientMetric> metrics) {
  return {name, help, prometheus::MetricType::Counter, std::move(metrics)};
}

}  // namespace berth
