#include "controller/domain/deployments/metering/usage.h"

#include <algorithm>

#include "controller/db/enum_column.h"
#include "controller/domain/kernel/read_page.h"

namespace berth::metering {
namespace {

constexpr std::int64_t hours_of_day = 24;

Interval interval_of(const db::Query& row) {
  return {.run = row.text("pod") + "/" + std::to_string(row.integer("restart")),
          .process = row.text("process"),
          .item = db::enum_of<Item>(row, "item"),
          .quantity = row.integer("quantity"),
          .started_at = row.instant("started_at"),
          .ended_at = row.instant_or_null("ended_at"),
          .ending = db::enum_or_null<Ending>(row, "ending")};
}

bool is_to_run(const deployments::Deployment& deployment) {
  return deployment.status != deployments::Status::stopped &&
         deployment.status != deployments::Status::destroyed;
}

}  // namespace

Page<Interval> interval_page(db::Tx& tx, const std::string& deployment_id, std::int64_t first,
                             std::int64_t last, const PageRequest& page) {
  static const ListSql sql = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one
            FROM meter_intervals
            WHERE deployment_id = $1 AND started_at < $2 AND (ended_at IS NULL OR ended_at > $3)
            LIMIT $4) counted)",
                              .rows = R"(
      SELECT pod, restart, process, item, quantity, started_at, ended_at, ending
      FROM meter_intervals
      WHERE deployment_id = $1 AND started_at < $2 AND (ended_at IS NULL OR ended_at > $3)
        AND (started_at, pod, restart) < ($4, $5, $6)
      ORDER BY started_at DESC, pod DESC, restart DESC
      LIMIT $7 OFFSET $8)",
                              .sorted_by = {{SortColumn::Type::integer, "started_at"},
                                            {SortColumn::Type::text, "pod"},
                                            {SortColumn::Type::integer, "restart"}}};
  return read_page(tx, sql, page, interval_of, deployment_id, start_of_day(last + 1),
                   start_of_day(first));
}

std::int64_t accrued(const Prices& prices, const deployments::Deployment& deployment,
                     const std::vector<DayUse>& uses) {
  std::int64_t units = 0;
  for (const DayUse& use : uses)
    units += units_of(use.pending_milliseconds, prices.on(deployment.tier_id, use.day).value_or(0));
  return units / units_of_point;
}

Forecast daily_forecast(const Prices& prices, std::int64_t today,
                        const deployments::Deployment& deployment,
                        const std::vector<DayUse>& uses) {
  std::int64_t first = today;
  std::int64_t points = 0;
  for (const DayUse& use : uses) {
    if (use.day < today - mean_days || use.day >= today) continue;
    first = std::min(first, use.day);
    points += use.points;
  }
  if (const std::int64_t days = today - first; days > 0)
    return {.points_a_day = (points + days - 1) / days, .days = days};
  if (!is_to_run(deployment)) return {};
  return {.points_a_day = hours_of_day * prices.on(deployment.tier_id, today).value_or(0) *
                          deployments::most_replicas(deployment.container)};
}

std::optional<AtLimit> present_at_limit(db::Tx& tx, const BudgetChange& change) {
  auto row = tx.query(R"(
      SELECT at_limit
      FROM budgets
      WHERE app_id = $1 AND deployment_id = $2 AND period = $3)",
                      change.app_id, change.deployment_id, to_string(change.period));
  return row.next() ? std::optional(db::enum_of<AtLimit>(row, "at_limit")) : std::nullopt;
}

ShortApps short_apps(db::Tx& tx, const std::string& tier_id, std::int64_t points_per_hour) {
  ShortApps result;
  auto row = tx.query(R"(
      WITH costs AS (
        SELECT d.app_id,
               CAST(sum(CASE WHEN d.tier_id = $1 THEN CAST($2 AS BIGINT)
                             ELSE coalesce(t.points_per_hour, 0) END * d.most_containers)
                    AS BIGINT) * $3 AS a_day
        FROM deployments d
        JOIN deploy_tiers t ON t.id = d.tier_id
        WHERE d.status <> 'destroyed' AND d.status <> 'stopped' AND d.suspended_at IS NULL
          AND d.app_id IN (SELECT h.app_id
                           FROM deployments h
                           WHERE h.tier_id = $1 AND h.status <> 'destroyed'
                             AND h.status <> 'stopped' AND h.suspended_at IS NULL)
        GROUP BY d.app_id
      ), balances AS (
        SELECT c.app_id, o.app_name, c.a_day,
               CAST(coalesce(a.balance, 0)
                    + coalesce((SELECT sum(p.amount)
                                FROM ledger_pending p
                                WHERE p.account_number = a.number), 0) AS BIGINT) AS balance
        FROM costs c
        JOIN apps o ON o.id = c.app_id
        LEFT JOIN ledger_accounts a ON a.id = 'app:' || c.app_id
      )
      SELECT app_id, app_name, a_day, balance, count(*) OVER () AS all_apps
      FROM balances
      WHERE balance < a_day
      ORDER BY balance, app_id
      LIMIT $4)",
                      tier_id, points_per_hour, hours_of_day, max_short_apps);
  while (row.next()) {
    result.first.push_back({.app_id = row.text("app_id"),
                            .app_name = row.text("app_name"),
                            .balance = row.integer("balance"),
                            .points_a_day = row.integer("a_day")});
    result.count = row.integer("all_apps");
  }
  return result;
}

}  // namespace berth::metering
