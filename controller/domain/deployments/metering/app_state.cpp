#include "controller/domain/deployments/metering/app_state.h"

#include <algorithm>
#include <limits>

#include "controller/domain/ledger/ledger.h"

namespace berth::metering {

namespace {

std::int64_t clamped(Wide number) {
  return std::int64_t(std::min<Wide>(number, std::numeric_limits<std::int64_t>::max()));
}

std::vector<OpenRun> open_runs(db::Tx& tx, const std::string& app_id) {
  std::vector<OpenRun> open;
  auto rows = tx.query(R"(
      SELECT i.deployment_id, d.tier_id, i.quantity, i.counted_to
      FROM deployments d
      JOIN meter_intervals i ON i.deployment_id = d.id
      WHERE d.app_id = $1 AND d.removed_at IS NULL AND i.ended_at IS NULL)",
                       app_id);
  while (rows.next())
    open.push_back({.deployment_id = rows.text("deployment_id"),
                    .tier_id = rows.text("tier_id"),
                    .quantity = rows.integer("quantity"),
                    .counted_to = rows.instant("counted_to")});
  return open;
}

std::vector<ToRun> all_to_run(db::Tx& tx, const std::string& app_id) {
  std::vector<ToRun> to_run;
  auto rows = tx.query(R"(
      SELECT id, name, tier_id, most_containers
      FROM deployments
      WHERE app_id = $1 AND status <> 'destroyed' AND status <> 'stopped'
        AND suspended_at IS NULL)",
                       app_id);
  while (rows.next())
    to_run.push_back({.deployment_id = rows.text("id"),
                      .name = rows.text("name"),
                      .tier_id = rows.text("tier_id"),
                      .containers = rows.integer("most_containers")});
  return to_run;
}

// By the owner's runs, which are few (runs/runs.h), because the index of those that aren't over is
// by owner.
std::vector<RunsUnderWay> runs_under_way(db::Tx& tx, const std::string& app_id) {
  std::vector<RunsUnderWay> runs;
  auto rows = tx.query(R"(
      SELECT r.deployment_id, d.tier_id
      FROM deployment_runs r
      JOIN deployments d ON d.id = r.deployment_id
      WHERE r.owner_id = (SELECT owner_id FROM apps WHERE id = $1)
        AND r.app_id = $1 AND r.finished_at IS NULL)",
                       app_id);
  while (rows.next()) {
    const std::string id = rows.text("deployment_id");
    const auto known = std::ranges::find(runs, id, &RunsUnderWay::deployment_id);
    if (known == runs.end())
      runs.push_back({.deployment_id = id, .tier_id = rows.text("tier_id"), .count = 1});
    else
      ++known->count;
  }
  return runs;
}

}  // namespace

std::optional<AppState> load(db::Tx& tx, const std::string& app_id) {
  auto row = tx.query(R"(
      SELECT m.remainder, m.due_at, m.warned_at, a.owner_id, a.app_name
      FROM meter_apps m
      JOIN apps a ON a.id = m.app_id
      WHERE m.app_id = $1)",
                      app_id);
  if (!row.next()) return std::nullopt;
  const ledger::Account account = ledger::app_account(app_id);
  return AppState{.app_id = app_id,
                  .owner_id = row.text("owner_id"),
                  .name = row.text("app_name"),
                  .now = tx.now(),
                  .today = utc_day(tx.now()),
                  .remainder = row.integer("remainder"),
                  .due_at = row.instant_or_null("due_at"),
                  .warned_at = row.instant_or_null("warned_at"),
                  .balance = ledger::balance(tx, account),
                  .held = ledger::held(tx, account),
                  .prices = Prices(tx),
                  .lines = pending_lines(tx, app_id),
                  .open = open_runs(tx, app_id),
                  .to_run = all_to_run(tx, app_id),
                  .runs = runs_under_way(tx, app_id)};
}

void open_and_lock(db::Tx& tx, const std::string& app_id) {
  tx.execute(R"(
      INSERT INTO meter_apps (app_id)
      VALUES ($1)
      ON CONFLICT (app_id) DO NOTHING)",
             app_id);
  lock_app(tx, app_id);
}

void lock_app(db::Tx& tx, const std::string& app_id) {
  tx.lock(R"(UPDATE meter_apps SET remainder = remainder WHERE app_id = $1)", app_id);
}

void store(db::Tx& tx, const AppState& state) {
  tx.execute(R"(
      UPDATE meter_apps
      SET remainder = $2, due_at = $3, warned_at = $4
      WHERE app_id = $1)",
             state.app_id, state.remainder, state.due_at, state.warned_at);
}

Spending::Spending(const AppState& state, const BudgetBook& book) : state_(state), book_(book) {
  for (const Line& line : state.lines) {
    Use& use = uses_[line.deployment_id];
    use.units += line.units;
    if (line.day == state.today) use.units_today += line.units;
  }
  for (const OpenRun& run : state.open) {
    Use& use = uses_[run.deployment_id];
    use.rate += run.quantity * state.price_of(run.tier_id);
    for (const Piece& piece : pieces(state.prices, run.tier_id, run.counted_to, state.now)) {
      const std::int64_t units = metering::units_of(piece.milliseconds * run.quantity, piece.price);
      use.units += units;
      if (piece.day == state.today) use.units_today += units;
    }
  }
  // What may run beside what runs already, which may be more: old versions, until they have ended.
  std::map<std::string, std::int64_t> allowed;
  for (const ToRun& deployment : state.to_run)
    allowed[deployment.deployment_id] += state.price_of(deployment);
  for (const RunsUnderWay& runs : state.runs)
    allowed[runs.deployment_id] += state.price_of(runs.tier_id) * runs.count;
  for (const auto& [deployment_id, price] : allowed) {
    if (price == 0) continue;
    Use& use = uses_[deployment_id];
    use.rate = std::max(use.rate, price);
  }
  Wide units = state.remainder;
  for (auto& [deployment_id, use] : uses_) {
    use.room = clamped(units_in(book.room_of(deployment_id, state.today)));
    units += std::min(use.units, use.room);
    rate_ += use.rate;
  }
  units_ = clamped(
      std::min(units, std::max(units_in(book.room_of("", state.today)), Wide(state.remainder))));
}

std::int64_t Spending::units_of(const BudgetRow& budget) const {
  Wide units = budget.deployment_id.empty() ? state_.remainder : 0;
  for (const auto& [deployment_id, use] : uses_) {
    if (!budget.applies_to(deployment_id)) continue;
    const std::int64_t used = budget.period == BudgetPeriod::day ? use.units_today : use.units;
    units += budget.deployment_id.empty() ? std::min(used, use.room) : used;
  }
  return clamped(units);
}

std::int64_t Spending::spent(const BudgetRow& budget) const {
  return book_.charged(budget, state_.today) + units_of(budget) / units_of_point;
}

Duration Spending::until(const BudgetRow& budget, std::int64_t points) const {
  std::int64_t rate = 0;
  for (const auto& [deployment_id, use] : uses_)
    if (budget.applies_to(deployment_id)) rate += use.rate;
  const Wide left = units_in(points - book_.charged(budget, state_.today)) - units_of(budget);
  return time_of(left, rate);
}

}  // namespace berth::metering
