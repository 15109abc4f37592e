#include "controller/berthd/gauges.h"

#include <prometheus/metric_family.h>

#include "controller/domain/deployments/deployments.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/ledger/rewards.h"

namespace berth {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

ClientMetric gauge(double value, std::vector<ClientMetric::Label> labels = {}) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = value;
  return metric;
}

ClientMetric counter(double value) {
  ClientMetric metric;
  metric.counter.value = value;
  return metric;
}

MetricFamily family(const char* name, const char* help, MetricType type,
                    std::vector<ClientMetric> metrics) {
  MetricFamily result;
  result.name = name;
  result.help = help;
  result.type = type;
  result.metric = std::move(metrics);
  return result;
}

}  // namespace

std::vector<MetricFamily> Gauges::Collect() const {
  std::vector<ClientMetric> deployments;
  const auto counts = database_.read([](db::Tx& tx) { return deployments::count_by_status(tx); });
  for (const char* status : {"pending", "deploying", "running", "stopped", "errored"}) {
    const auto count = counts.find(status);
    deployments.push_back(gauge(count == counts.end() ? 0 : count->second, {{"status", status}}));
  }
  const Http http = http_();
  return {
      family("berth_deployments", "Deployments that aren't destroyed, by status.",
             MetricType::Gauge, deployments),
      family("berth_database_commits_total",
             "Committed transactions; each contains one or more writes.", MetricType::Counter,
             {counter(double(database_.commits()))}),
      family("berth_database_writes_total",
             "Committed writes, several of which can share a transaction.", MetricType::Counter,
             {counter(double(database_.writes()))}),
      family("berth_mail_waiting", "Mails in the outbox that wait to be sent.", MetricType::Gauge,
             {gauge(double(database_.read(outbox::waiting)))}),
      family("berth_treasury_points",
             "Points on the treasury's account, from which rewards are paid.", MetricType::Gauge,
             {gauge(double(database_.read(
                 [](db::Tx& tx) { return ledger::balance(tx, ledger::treasury()); })))}),
      family("berth_rewards_refused_total",
             "Rewards that weren't paid because the treasury had too few points.",
             MetricType::Counter, {counter(double(rewards::refused_for_empty_treasury()))}),
      family("http_open_connections", "Open connections of the API.", MetricType::Gauge,
             {gauge(double(http.open_connections))}),
      family("http_running_handlers", "Requests that are being handled.", MetricType::Gauge,
             {gauge(double(http.running_handlers))}),
      family("http_refused_connections_total",
             "Connections that were answered with 503 because a limit of connections was reached.",
             MetricType::Counter, {counter(double(http.refused_connections))}),
      family("http_displaced_connections_total",
             "Connections that were closed to make room for others.", MetricType::Counter,
             {counter(double(http.displaced_connections))}),
  };
}

}  // namespace berth
