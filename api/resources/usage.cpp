// What a deployment costs by the hour: when its containers ran, and what was charged for it.
#include "controller/domain/deployments/metering/usage.h"

#include "api/gate/day_window.h"
#include "api/gate/encode.h"
#include "api/resources/shared.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/kernel/utc_date.h"

namespace berth::api {
namespace {

constexpr std::int64_t milliseconds_of_second = 1'000;

json encode(const usage::Interval& interval, Instant now) {
  const Duration time = interval.ended_at.value_or(now) - interval.started_at;
  return {{"process", interval.process},
          {"item", interval.item},
          {"run", interval.run},
          {"tier", interval.tier},
          {"quantity", interval.quantity},
          {"started_at", to_iso8601(interval.started_at)},
          {"ended_at", or_null(interval.ended_at)},
          {"vanished", interval.vanished},
          {"seconds", std::chrono::duration_cast<std::chrono::seconds>(time).count()}};
}

json encode(const usage::Charge& charge) {
  return {{"date", utc_date(charge.day)},
          {"process", charge.process},
          {"item", charge.item},
          {"seconds", charge.milliseconds / milliseconds_of_second},
          {"points", charge.points},
          {"unpaid_seconds", charge.unpaid_milliseconds / milliseconds_of_second}};
}

json encode_totals(const std::vector<usage::Charge>& charges) {
  usage::Charge sum;
  for (const usage::Charge& charge : charges) {
    sum.milliseconds += charge.milliseconds;
    sum.points += charge.points;
    sum.unpaid_milliseconds += charge.unpaid_milliseconds;
  }
  return {{"seconds", sum.milliseconds / milliseconds_of_second},
          {"points", sum.points},
          {"unpaid_seconds", sum.unpaid_milliseconds / milliseconds_of_second}};
}

json encode(const usage::Prices& prices) {
  json next;
  if (prices.changes)
    next = {{"points_per_hour", or_null(prices.tomorrow)},
            {"from", to_iso8601(prices.next_midnight)}};
  return {{"points_per_hour", or_null(prices.today)}, {"next", std::move(next)}};
}

Reply deployment_usage(db::Tx& tx, const Call& call, const Services&) {
  const auto row = deployments::get_owned(tx, call.caller->app_id, call.id());
  const DayWindow window = day_window(call, tx.now(), usage::max_days);
  const auto charges = usage::charges(tx, row.id, window.first, window.last);
  const usage::Forecast forecast = usage::forecast(tx, row.app_id, row.id);
  json body =
      encode_page("intervals", usage::intervals(tx, row.id, window.first, window.last, call.page()),
                  [&](const usage::Interval& interval) { return encode(interval, tx.now()); });
  json list = json::array();
  for (const usage::Charge& charge : charges) list.push_back(encode(charge));
  body.update({{"deployment_id", row.id},
               {"tier", row.tier_slug},
               {"price", encode(usage::prices(tx, row.tier_id))},
               {"from", utc_date(window.first)},
               {"to", utc_date(window.last)},
               {"charges", std::move(list)},
               {"totals", encode_totals(charges)},
               {"accrued", usage::accrued(tx, row.id)},
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
             "window has at most 92 UTC days; by default it is the last 30. Times are kept for 35 "
             "days, charges for 400. A deployment whose tier has no price by the hour has none.",
     .guards = {oauth_token({Scope::deploy_manage}), deploy_reads},
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
