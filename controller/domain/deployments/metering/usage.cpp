#include "controller/domain/deployments/metering/usage.h"

#include <algorithm>

#include "controller/domain/kernel/read_page.h"

namespace berth::usage {
namespace {

constexpr std::int64_t hours_of_day = 24;

Instant start_of_day(std::int64_t day) {
  return Instant(std::chrono::duration_cast<Duration>(std::chrono::days(day)));
}

std::optional<std::int64_t> price_on(db::Tx& tx, const std::string& tier_id, std::int64_t day) {
  auto row = tx.query(R"(
      SELECT points_per_hour
      FROM tier_prices
      WHERE tier_id = $1 AND from_day <= $2
      ORDER BY from_day DESC
      LIMIT 1)",
                      tier_id, day);
  return row.next() ? row.integer_or_null("points_per_hour") : std::nullopt;
}

Interval interval_of(const db::Query& row) {
  return {.process = row.text("process"),
          .item = row.text("item"),
          .run = row.text("run"),
          .tier = row.text("slug"),
          .quantity = row.integer("quantity"),
          .started_at = row.instant("started_at"),
          .ended_at = row.instant_or_null("ended_at"),
          .vanished = row.text("ended") == "vanished"};
}

// What all that is to run costs by the hour on a day, at today's prices.
std::int64_t points_of_running(db::Tx& tx, const std::string& app_id,
                               const std::string& deployment_id) {
  static const std::string sum = R"(
      SELECT CAST(coalesce(sum(p.points_per_hour), 0) AS BIGINT) AS points
      FROM deployments d
      JOIN tier_prices p ON p.tier_id = d.tier_id
      WHERE d.app_id = $1 AND d.status NOT IN ('stopped', 'destroyed')
        AND p.from_day = (SELECT max(n.from_day)
                          FROM tier_prices n
                          WHERE n.tier_id = d.tier_id AND n.from_day <= $2)
  )";
  static const std::string of_one = sum + R"(AND d.id = $3)";
  const std::int64_t today = utc_day(tx.now());
  return hours_of_day * (deployment_id.empty() ? tx.number(sum, app_id, today)
                                               : tx.number(of_one, app_id, today, deployment_id));
}

struct ShortApps {
  std::int64_t count = 0;
  std::vector<ShortApp> first;
};
// The apps with a deployment on the tier whose points don't last for a day if the tier costs
// `price` by the hour, and the other tiers what they say.
ShortApps short_apps(db::Tx& tx, const std::string& tier_id, std::int64_t price) {
  ShortApps result;
  auto row = tx.query(R"(
      WITH costs AS (
        SELECT d.app_id,
               CAST(sum(CASE WHEN d.tier_id = $1 THEN CAST($2 AS BIGINT)
                             ELSE coalesce(t.points_per_hour, 0) END) AS BIGINT) * $3 AS a_day
        FROM deployments d
        JOIN deploy_tiers t ON t.id = d.tier_id
        WHERE d.status NOT IN ('stopped', 'destroyed')
          AND d.app_id IN (SELECT h.app_id
                           FROM deployments h
                           WHERE h.tier_id = $1 AND h.status NOT IN ('stopped', 'destroyed'))
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
                      tier_id, price, hours_of_day, max_short_apps);
  while (row.next()) {
    result.first.push_back({.app_id = row.text("app_id"),
                            .app_name = row.text("app_name"),
                            .balance = row.integer("balance"),
                            .points_a_day = row.integer("a_day")});
    result.count = row.integer("all_apps");
  }
  return result;
}

}  // namespace

Page<Interval> intervals(db::Tx& tx, const std::string& deployment_id, std::int64_t first_day,
                         std::int64_t last_day, const PageRequest& page) {
  static const ListSql sql = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one
            FROM meter_intervals
            WHERE deployment_id = $1 AND started_at < $2 AND (ended_at IS NULL OR ended_at > $3)
            LIMIT $4) counted)",
                              .rows = R"(
      SELECT i.number, i.process, i.item, i.run, t.slug, i.quantity, i.started_at, i.ended_at,
             i.ended
      FROM meter_intervals i
      LEFT JOIN deploy_tiers t ON t.id = i.tier_id
      WHERE i.deployment_id = $1 AND i.started_at < $2 AND (i.ended_at IS NULL OR i.ended_at > $3)
        AND (i.started_at, i.number) < ($4, $5)
      ORDER BY i.started_at DESC, i.number DESC
      LIMIT $6 OFFSET $7)",
                              .sorted_by = {{SortColumn::Type::integer, "started_at"},
                                            {SortColumn::Type::integer, "number"}}};
  return read_page(tx, sql, page, interval_of, deployment_id, start_of_day(last_day + 1),
                   start_of_day(first_day));
}

std::vector<Charge> charges(db::Tx& tx, const std::string& deployment_id, std::int64_t first_day,
                            std::int64_t last_day) {
  std::vector<Charge> result;
  auto row = tx.query(R"(
      SELECT day, process, item, CAST(sum(milliseconds) AS BIGINT) AS milliseconds,
             CAST(sum(points) AS BIGINT) AS points,
             CAST(sum(unpaid_milliseconds) AS BIGINT) AS unpaid_milliseconds
      FROM meter_charges
      WHERE deployment_id = $1 AND day BETWEEN $2 AND $3
      GROUP BY day, process, item
      ORDER BY day DESC, process, item)",
                      deployment_id, first_day, last_day);
  while (row.next())
    result.push_back({.day = row.integer("day"),
                      .process = row.text("process"),
                      .item = row.text("item"),
                      .milliseconds = row.integer("milliseconds"),
                      .points = row.integer("points"),
                      .unpaid_milliseconds = row.integer("unpaid_milliseconds")});
  return result;
}

Forecast forecast(db::Tx& tx, const std::string& app_id, const std::string& deployment_id) {
  static const std::string sum = R"(
      SELECT CAST(coalesce(sum(points), 0) AS BIGINT) AS points, coalesce(min(day), 0) AS first_day
      FROM meter_charges
      WHERE app_id = $1 AND day BETWEEN $2 AND $3
  )";
  static const std::string of_one = sum + R"(AND deployment_id = $4)";
  const std::int64_t today = utc_day(tx.now());
  const std::int64_t first = today - forecast_days;
  auto row = deployment_id.empty() ? tx.query(sum, app_id, first, today - 1)
                                   : tx.query(of_one, app_id, first, today - 1, deployment_id);
  if (row.next() && row.integer("first_day") > 0) {
    const std::int64_t days = today - row.integer("first_day");
    // Rounded up, so that what costs something is never said to cost nothing.
    return {.points_a_day = (row.integer("points") + days - 1) / days, .days = days};
  }
  return {.points_a_day = points_of_running(tx, app_id, deployment_id)};
}

Prices prices(db::Tx& tx, const std::string& tier_id) {
  const std::int64_t today = utc_day(tx.now());
  Prices result = {.today = price_on(tx, tier_id, today),
                   .tomorrow = price_on(tx, tier_id, today + 1),
                   .next_midnight = start_of_day(today + 1)};
  result.changes = result.today != result.tomorrow;
  return result;
}

PriceChange price_change(db::Tx& tx, const tiers::Tier& tier,
                         const std::optional<std::int64_t>& then) {
  const std::int64_t today = utc_day(tx.now());
  PriceChange change;
  change.now = price_on(tx, tier.id, today);
  change.then = then;
  change.applies_from = start_of_day(today + 1);
  auto row = tx.query(R"(
      SELECT count(*) AS deployments, count(DISTINCT app_id) AS apps
      FROM deployments
      WHERE tier_id = $1 AND status NOT IN ('stopped', 'destroyed'))",
                      tier.id);
  if (row.next()) {
    change.deployments = row.integer("deployments");
    change.apps = row.integer("apps");
  }
  change.points_a_day_now = change.deployments * change.now.value_or(0) * hours_of_day;
  change.points_a_day_then = change.deployments * then.value_or(0) * hours_of_day;
  auto found = short_apps(tx, tier.id, then.value_or(0));
  change.apps_short_of_points = found.count;
  change.short_of_points = std::move(found.first);
  return change;
}

}  // namespace berth::usage
