#include "controller/domain/deployments/metering/budgets.h"

#include <algorithm>
#include <map>

#include "controller/base/error.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/deployments/metering/app_state.h"
#include "controller/domain/deployments/metering/settlement.h"
#include "controller/domain/ledger/ledger.h"

namespace berth::metering {
namespace {

constexpr std::int64_t forecast_days = 7;
constexpr std::int64_t day_length = Duration(std::chrono::days(1)).count();

// What the days before today had on average.
struct Pace {
  std::int64_t points = 0;  // of all these days
  std::int64_t days = 0;
};
Pace pace_of(const BudgetBook& book, const BudgetRow& budget, std::int64_t today) {
  Pace pace;
  for (std::int64_t day = today - forecast_days; day < today; ++day) {
    const std::int64_t points = book.charged_on(budget, day);
    if (pace.days > 0 || points > 0) ++pace.days;  // from the first day that had any
    pace.points += points;
  }
  return pace;
}

void forecast(const Pace& pace, Instant now, Budget& budget) {
  if (pace.points == 0) return;
  budget.forecast =
      std::int64_t((Wide(pace.points) * days_of(budget.period) + pace.days - 1) / pace.days);
  if (budget.is_reached) return;
  const Wide left = Wide(budget.limit - budget.spent) * pace.days * day_length / pace.points;
  const Instant end = budget.period == BudgetPeriod::day
                          ? budget.period_ends
                          : now + std::chrono::days(days_of(budget.period));
  if (left < (end - now).count()) budget.forecast_reached_at = now + Duration(std::int64_t(left));
}

Budget budget_of(const BudgetRow& row, const BudgetBook& book, const Spending& spending,
                 const AppState& app) {
  const std::int64_t spent = spending.spent(row);
  const int mark = mark_of(spent, row.limit);
  Budget budget = {.deployment_id = row.deployment_id,
                   .deployment_name = row.deployment_name,
                   .period = row.period,
                   .limit = row.limit,
                   .at_limit = row.at_limit,
                   .spent = spent,
                   .mark = mark,
                   .is_reached = mark == 100,
                   .reached_at = mark == 100 ? row.reached_at : std::nullopt,
                   .period_ends = start_of_day(app.today + 1),
                   .forecast = 0,
                   .forecast_reached_at = {}};
  forecast(pace_of(book, row, app.today), app.now, budget);
  return budget;
}

std::optional<BudgetRow> find(db::Tx& tx, const BudgetChange& change) {
  const BudgetBook book(tx, change.app_id);
  const auto found = std::ranges::find_if(book.budgets(), [&](const BudgetRow& row) {
    return row.deployment_id == change.deployment_id && row.period == change.period;
  });
  return found == book.budgets().end() ? std::nullopt : std::optional(*found);
}

void check(db::Tx& tx, const BudgetChange& change) {
  if (change.limit && (*change.limit < 1 || *change.limit > ledger::max_points))
    throw invalid_field("limit", "must be from 1 to 2^53-1 points, or null for no budget");
  if (change.deployment_id.empty()) return;
  const auto deployment = deployments::find(tx, change.deployment_id);
  if (!deployment || deployment->app_id != change.app_id ||
      deployment->status == deployments::Status::destroyed)
    throw Error(Code::deployment_not_found, "the app has no such deployment");
}

void check_room(db::Tx& tx, const std::string& app_id) {
  if (tx.number(R"(SELECT count(*) FROM budgets WHERE app_id = $1)", app_id) >= max_budgets)
    throw invalid_field("limit", "can't be set, because the app has " +
                                     std::to_string(max_budgets) + " budgets already");
}

}  // namespace

std::vector<Budget> budgets(db::Tx& tx, const std::string& app_id) {
  const BudgetBook book(tx, app_id);
  std::vector<Budget> all;
  if (book.is_empty()) return all;
  const auto app = load(tx, app_id);
  if (!app) return all;
  const Spending spending(*app, book);
  for (const BudgetRow& row : book.budgets())
    if (!row.is_of_destroyed) all.push_back(budget_of(row, book, spending, *app));
  return all;
}

bool lets_more_be_spent(db::Tx& tx, const BudgetChange& change) {
  const auto before = find(tx, change);
  if (!before) return false;
  if (!change.limit || *change.limit > before->limit) return true;
  return before->at_limit == AtLimit::stop_all && change.at_limit == AtLimit::stop_metered;
}

std::optional<Budget> set_budget(db::Tx& tx, const BudgetChange& change) {
  tx.require_serializable();
  check(tx, change);
  open_and_lock(tx, change.app_id);
  // Afterwards the loop looks at once: it stops what is beyond the budget, or lets what was stopped
  // start again.
  charge_now(tx, change.app_id);
  if (!change.limit) {
    tx.execute(R"(
        DELETE FROM budgets
        WHERE app_id = $1 AND deployment_id = $2 AND period = $3)",
               change.app_id, change.deployment_id, to_string(change.period));
    return std::nullopt;
  }
  if (!find(tx, change)) check_room(tx, change.app_id);
  tx.execute(R"(
      INSERT INTO budgets (app_id, deployment_id, period, points, at_limit)
      VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (app_id, deployment_id, period)
      DO UPDATE SET points = excluded.points, at_limit = excluded.at_limit)",
             change.app_id, change.deployment_id, to_string(change.period), *change.limit,
             to_string(change.at_limit));
  for (const Budget& budget : budgets(tx, change.app_id))
    if (budget.deployment_id == change.deployment_id && budget.period == change.period)
      return budget;
  return std::nullopt;
}

void remove_budgets(db::Tx& tx, const std::string& app_id) {
  tx.execute(R"(DELETE FROM budgets WHERE app_id = $1)", app_id);
}

void remove_budgets_of_deployment(db::Tx& tx, const std::string& app_id,
                                  const std::string& deployment_id) {
  tx.execute(R"(DELETE FROM budgets WHERE app_id = $1 AND deployment_id = $2)", app_id,
             deployment_id);
}

}  // namespace berth::metering
