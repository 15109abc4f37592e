#include "controller/domain/deployments/metering/budget_book.h"

#include <algorithm>

#include "controller/db/enum_column.h"
#include "controller/domain/deployments/billing/period.h"
#include "controller/domain/deployments/metering/units.h"
#include "controller/domain/ledger/days.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/ledger/numbers.h"

namespace berth::metering {
namespace {

using Days = std::map<std::int64_t, std::int64_t>;

// Periods that contain a day of the present one begin so many days ago at most.
constexpr std::int64_t days_read = 2 * days_of(BudgetPeriod::thirty_days);

std::vector<BudgetRow> rows_of(db::Tx& tx, const std::string& app_id) {
  std::vector<BudgetRow> budgets;
  auto rows = tx.query(R"(
      SELECT b.deployment_id, b.period, b.points, b.at_limit, b.told, b.reached_at,
             coalesce(d.name, '') AS deployment_name,
             CASE WHEN d.status = 'destroyed' THEN 1 ELSE 0 END AS is_of_destroyed
      FROM budgets b
      LEFT JOIN deployments d ON d.id = b.deployment_id
      WHERE b.app_id = $1
      ORDER BY b.deployment_id, b.period)",
                       app_id);
  while (rows.next())
    budgets.push_back({.deployment_id = rows.text("deployment_id"),
                       .deployment_name = rows.text("deployment_name"),
                       .period = db::enum_of<BudgetPeriod>(rows, "period"),
                       .limit = rows.integer("points"),
                       .at_limit = db::enum_of<AtLimit>(rows, "at_limit"),
                       .told = int(rows.integer("told")),
                       .reached_at = rows.instant_or_null("reached_at"),
                       .is_of_destroyed = rows.flag("is_of_destroyed")});
  return budgets;
}

// What is charged by the hour counts on the day on which it was used, and what is charged for 30
// days on the day of the charge.
Days charged_to_app(db::Tx& tx, const std::string& app_id, std::int64_t today) {
  Days days;
  {
    auto rows = tx.query(R"(
        SELECT day, points
        FROM meter_settlements
        WHERE app_id = $1 AND day > $2)",
                         app_id, today - days_read);
    while (rows.next()) days[rows.integer("day")] += rows.integer("points");
  }
  const auto kinds = ledger::kinds(tx, ledger::app_account(app_id), today - days_read + 1, today);
  for (const ledger::KindDay& kind : kinds)
    if (kind.kind == "deployment" || kind.kind == "tier_change")
      days[kind.day] += kind.sum.debited - kind.sum.credited;
  return days;
}

Days charged_to_deployment(db::Tx& tx, const std::string& deployment_id, std::int64_t today) {
  Days days;
  const std::int64_t first = today - days_read + 1;
  {
    auto rows = tx.query(R"(
        SELECT day, points
        FROM meter_days
        WHERE deployment_id = $1 AND day >= $2)",
                         deployment_id, first);
    while (rows.next()) days[rows.integer("day")] += rows.integer("points");
  }
  {
    // A period may be paid until its end.
    auto rows = tx.query(R"(
        SELECT transaction_id, amount
        FROM deployment_charges
        WHERE deployment_id = $1 AND period_start > $2)",
                         deployment_id, start_of_day(first) - billing::period_length);
    while (rows.next()) {
      const Instant at = ledger::time_of_id(ledger::parts_of_id(rows.text("transaction_id")));
      days[utc_day(at)] += rows.integer("amount");
    }
  }
  auto rows = tx.query(R"(
      SELECT at, amount
      FROM deployment_tier_changes
      WHERE deployment_id = $1 AND at >= $2)",
                       deployment_id, start_of_day(first));
  while (rows.next()) days[utc_day(rows.instant("at"))] += rows.integer("amount");
  return days;
}

}  // namespace

BudgetBook::BudgetBook(db::Tx& tx, const std::string& app_id)
    : today_(utc_day(tx.now())), budgets_(rows_of(tx, app_id)) {
  for (const BudgetRow& budget : budgets_) {
    const std::string& scope = budget.deployment_id;
    if (charged_.contains(scope)) continue;
    charged_[scope] = scope.empty() ? charged_to_app(tx, app_id, today_)
                                    : charged_to_deployment(tx, scope, today_);
  }
}

std::int64_t BudgetBook::sum(const std::string& scope, std::int64_t first,
                             std::int64_t last) const {
  const auto days = charged_.find(scope);
  if (days == charged_.end()) return 0;
  std::int64_t points = 0;
  for (auto day = days->second.lower_bound(first); day != days->second.end() && day->first <= last;
       ++day)
    points += day->second;
  return points;
}

std::int64_t BudgetBook::charged(const BudgetRow& budget, std::int64_t last) const {
  return std::max<std::int64_t>(sum(budget.deployment_id, last - days_of(budget.period) + 1, last),
                                0);
}

std::int64_t BudgetBook::charged_on(const BudgetRow& budget, std::int64_t day) const {
  return std::max<std::int64_t>(sum(budget.deployment_id, day, day), 0);
}

std::int64_t BudgetBook::room_of(const std::string& scope, std::int64_t day) const {
  std::int64_t room = ledger::max_points;
  for (const BudgetRow& budget : budgets_) {
    if (budget.deployment_id != scope) continue;
    const std::int64_t newest = std::max(today_, day);
    const std::int64_t last = std::min(newest, day + days_of(budget.period) - 1);
    for (std::int64_t end = day; end <= last; ++end)
      room = std::min(room, budget.limit - charged(budget, end));
  }
  return std::max<std::int64_t>(room, 0);
}

std::int64_t BudgetBook::room(const std::string& deployment_id, std::int64_t day) const {
  return std::min(room_of("", day), room_of(deployment_id, day));
}

void BudgetBook::add(const std::string& deployment_id, std::int64_t day, std::int64_t points) {
  for (const std::string& scope : {std::string(), deployment_id})
    if (const auto days = charged_.find(scope); days != charged_.end()) days->second[day] += points;
}

int mark_of(std::int64_t spent, std::int64_t limit) {
  // A limit is at most 2^53-1, so a hundred times as much fits 64 bits.
  for (auto mark = marks.rbegin(); mark != marks.rend(); ++mark)
    if (std::min(spent, limit) * 100 >= limit * *mark) return *mark;
  return 0;
}

std::int64_t points_of(int mark, const BudgetRow& budget) {
  return (budget.limit * mark + 99) / 100;
}

void store_told(db::Tx& tx, const std::string& app_id, const BudgetRow& budget) {
  tx.execute(R"(
      UPDATE budgets
      SET told = $4, reached_at = $5
      WHERE app_id = $1 AND deployment_id = $2 AND period = $3)",
             app_id, budget.deployment_id, to_string(budget.period), budget.told,
             budget.reached_at);
}

}  // namespace berth::metering
