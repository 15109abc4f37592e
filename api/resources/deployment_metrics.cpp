// What deployments use: now, and in the last 30 days.
#include <cmath>

#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/resources/shared.h"
#include "controller/domain/deployments/deployments.h"

namespace berth::api {
namespace {

using deployments::Deployment;

// The most steps in an answer: 24 hours of minutes, or 31 days of quarters of an hour.
constexpr int max_steps = 3'000;

Duration decode_step(const Call& call, Instant from, Instant now) {
  using namespace usage_history;
  const auto text = call.query("step", Kind::integer);
  if (!text) return now - from <= minutes_kept_for ? minute : quarter;
  for (const Duration step : {minute, quarter})
    if (*text == std::to_string(std::chrono::duration_cast<std::chrono::seconds>(step).count()))
      return step;
  throw invalid_field("step", "must be 60 or 900");
}

usage_history::Wanted decode_history(const Call& call, const std::string& id, Instant now) {
  const Instant end = std::min(end_query(call, "to").value_or(now), now);
  const Instant begin = instant_query(call, "from").value_or(end - usage_history::minutes_kept_for);
  if (begin >= end) throw invalid_field("from", "must be before to, and not in the future");
  const Duration step = decode_step(call, begin, now);
  const std::int64_t first = begin.time_since_epoch() / step;
  const std::int64_t count = (end.time_since_epoch() + step - Duration(1)) / step - first;
  if (count > max_steps)
    throw invalid_field("from",
                        "must not be more than " + std::to_string(max_steps) + " steps before to");
  return {.deployment_id = id, .from = Instant(first * step), .step = step, .count = int(count)};
}

Reply deployment_metrics(const Call& call, const Services& services) {
  const Deployment row = services.db.read(
      [&](db::Tx& tx) { return deployments::get_owned(tx, call.caller->app_id, call.id()); });
  const Usage usage = services.cluster.usage_of ? services.cluster.usage_of(row) : Usage();
  return {.body = {{"id", row.id},
                   {"cpu", or_null(usage.cpu_millicores)},
                   {"memory", or_null(usage.memory_bytes)},
                   {"restarts", or_null(usage.restarts)},
                   {"requests", or_null(usage.requests)},
                   {"in_flight", usage.in_flight ? json(std::ceil(*usage.in_flight * 10) / 10)
                                                 : json(nullptr)}}};
}

Reply deployment_metrics_history(const Call& call, const Services& services) {
  const Deployment row = services.db.read(
      [&](db::Tx& tx) { return deployments::get_owned(tx, call.caller->app_id, call.id()); });
  const auto metric = enum_query<usage_history::Metric>(call, "metric");
  const usage_history::Wanted wanted = decode_history(call, row.id, services.clock.now());
  const auto steps = services.cluster.usage_history
                         ? services.cluster.usage_history(wanted)
                         : std::vector<usage_history::Values>(wanted.count);
  json series = json::object();
  for (size_t each = 0; each < usage_history::metrics; ++each) {
    if (metric && size_t(*metric) != each) continue;
    json values = json::array();
    for (const usage_history::Values& step : steps) values.push_back(or_null(step.at(each)));
    series[std::string(to_string(usage_history::Metric(each)))] = std::move(values);
  }
  return {.body = {{"id", row.id},
                   {"from", to_iso8601(wanted.from)},
                   {"step", std::chrono::duration_cast<std::chrono::seconds>(wanted.step).count()},
                   {"count", wanted.count},
                   {"series", std::move(series)}}};
}

constexpr Errors owned = {Code::deployment_not_found, Code::forbidden};

constexpr Param history_query[] = {
    {.name = "metric",
     .description = "Returns only this metric. The default is all of them.",
     .example = "memory"},
    {.name = "from",
     .description = "The time of the first step (ISO 8601). The default is 24 hours before "
                    "`to`.",
     .example = "2026-01-31T11:00:00Z",
     .kind = Kind::time},
    {.name = "to",
     .description = "The end of the last step (ISO 8601). The default is now, and so is a "
                    "later time.",
     .example = "2026-01-31T12:00:00Z",
     .kind = Kind::time},
    {.name = "step",
     .description = "The length of a step in seconds: 60, which is kept for 24 hours, or "
                    "900, which is kept for 30 days. The default is 60 if `from` is at most "
                    "24 hours ago. There are at most 3000 steps between `from` and `to`.",
     .example = "60",
     .kind = Kind::integer,
     .limits = "{\"enum\": [60, 900]}"}};

constexpr Route rows[] = {
    {.request = "GET /api/deploy/apps/{id}/metrics",
     .name = "deploymentMetrics",
     .tag = "Deployments",
     .summary = "Show what a deployment currently uses",
     .text =
         "Returns CPU, memory, restarts and requests, as far as the cluster measures them, and of "
         "a deployment with scale the requests in flight.",
     .guards = {reads_deployments, deploy_reads},
     .in_path = {&deployment_in_path},
     .answer = {200, "DeploymentMetrics"},
     .errors = {Code::deployment_not_found, Code::forbidden},
     .served_by = {"berth deploy metrics", "/console"},
     .run = FreeHandler{deployment_metrics}},
    {.request = "GET /api/deploy/apps/{id}/metrics/history",
     .name = "deploymentMetricsHistory",
     .tag = "Deployments",
     .summary = "Show what a deployment used over time",
     .text =
         "Returns CPU, memory, ready replicas, restarts, requests and the times of answers, one "
         "value for each minute of the last 24 hours or each quarter of an hour of the last 30 "
         "days. The first minute of a deployment appears about a minute after it has begun.",
     .guards = {reads_deployments, deploy_reads},
     .in_path = {&deployment_in_path},
     .query = history_query,
     .answer = {200, "DeploymentMetricsHistory"},
     .errors = owned,
     .served_by = {.page = "/console"},
     .run = FreeHandler{deployment_metrics_history}},
};

}  // namespace

std::span<const Route> deployment_metrics_routes() { return rows; }

}  // namespace berth::api
