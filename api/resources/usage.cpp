// What a deployment costs by the hour: when its containers ran, and what was charged for it.
#include "controller/domain/deployments/metering/usage.h"

#include <algorithm>

#include "api/gate/day_window.h"
#include "api/gate/encode.h"
#include "api/resources/shared.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/deployments/metering/prices.h"
#include "controller/domain/kernel/utc_date.h"

namespace berth::api {
namespace {

constexpr std::int64_t milliseconds_of_second = 1'000;

std::int64_t seconds_of(std::int64_t milliseconds) { return milliseconds / milliseconds_of_second; }

json encode(const metering::Interval& interval, Instant now) {
  const Duration time = interval.ended_at.value_or(now) - interval.started_at;
  return {{"process", interval.process},
          {"item", interval.item},
          {"run", interval.run},
          {"quantity", interval.quantity},
          {"started_at", to_iso8601(interval.started_at)},
          {"ended_at", or_null(interval.ended_at)},
          {"vanished", interval.ending == metering::Ending::vanished},
          // A node's clock may be ahead of berthd's.
          {"seconds", std::max<std::int64_t>(seconds_of(time.count()), 0)}};
}

json encode(const metering::DayUse& use) {
  return {{"date", utc_date(use.day)},
          {"process", use.process},
          {"item", use.item},
          {"seconds", seconds_of(use.milliseconds)},
          {"points", use.points},
          {"pending_seconds", seconds_of(use.pending_milliseconds)},
          {"unpaid_seconds", seconds_of(use.unpaid_milliseconds)}};
}

json encode_totals(const std::vector<metering::DayUse>& uses) {
  metering::DayUse sum;
  for (const metering::DayUse& use : uses) {
    sum.milliseconds += use.milliseconds;
    sum.points += use.points;
    sum.pending_milliseconds += use.pending_milliseconds;
    sum.unpaid_milliseconds += use.unpaid_milliseconds;
  }
  return {{"seconds", seconds_of(sum.milliseconds)},
          {"points", sum.points},
          {"pending_seconds", seconds_of(sum.pending_milliseconds)},
          {"unpaid_seconds", seconds_of(sum.unpaid_milliseconds)}};
}

json encode_price(const metering::Prices& prices, const std::string& tier_id, std::int64_t today) {
  const auto now = prices.on(tier_id, today);
  const auto then = prices.on(tier_id, today + 1);
  json next;
  if (now != then)
    next = {{"points_per_hour", or_null(then)}, {"from", to_iso8601(start_of_day(today + 1))}};
  return {{"points_per_hour", or_null(now)}, {"next", std::move(next)}};
}

Reply deployment_usage(db::Tx& tx, const Call& call, const Services&) {
  const auto row = deployments::get_owned(tx, call.caller->app_id, call.id());
  const DayWindow window = day_window(call, tx.now(), metering::max_use_days);
  const auto uses = metering::uses(tx, row.id, window.first, window.last);
  const std::int64_t today = utc_day(tx.now());
  const auto newest = metering::uses(tx, row.id, today - metering::mean_days, today);
  const metering::Prices prices(tx);
  const metering::Forecast forecast = metering::daily_forecast(prices, today, row, newest);
  json body = encode_page(
      "intervals", metering::interval_page(tx, row.id, window.first, window.last, call.page()),
      [&](const metering::Interval& interval) { return encode(interval, tx.now()); });
  json charges = json::array();
  for (auto use = uses.rbegin(); use != uses.rend(); ++use) charges.push_back(encode(*use));
  body.update({{"deployment_id", row.id},
               {"tier", row.tier_slug},
               {"containers", deployments::most_replicas(row.container)},
               {"price", encode_price(prices, row.tier_id, today)},
               {"from", utc_date(window.first)},
               {"to", utc_date(window.last)},
               {"charges", std::move(charges)},
               {"totals", encode_totals(uses)},
               {"accrued", metering::accrued(prices, row, newest)},
               {"forecast", {{"points_a_day", forecast.points_a_day}, {"days", forecast.days}}}});
  return {.body = std::move(body)};
}

constexpr Route rows[] = {
    {.request = "GET /api/deploy/apps/{id}/usage",
     .name = "deploymentUsage",
     .tag = "Deployments",
     .summary = "Show when a deployment's containers ran, and what was charged by the hour",
     .text = "Returns the times in which containers of the deployment ran and were metered, those "
             "that began last first, in pages; and on each page the charges of all days, their "
             "sums, what has accrued and isn't charged yet, and what a day will probably cost. A "
             "window has at most 400 UTC days; by default it is the last 30. Times are kept for 35 "
             "days, charges for 400. A deployment whose tier has no price by the hour has none.",
     .guards = {reads_deployments, deploy_reads},
     .in_path = {&deployment_in_path},
     .paged = true,
     .query = day_window_query,
     .answer = {200, "DeploymentUsage"},
     .errors = {Code::deployment_not_found, Code::forbidden},
     .served_by = {"berth usage", "/console"},
     .run = ReadHandler{deployment_usage}},
};

}  // namespace

std::span<const Route> usage_routes() { return rows; }

}  // namespace berth::api
