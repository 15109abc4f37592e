#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/domain/deployments/metering/budget_book.h"
#include "controller/domain/deployments/metering/day_rows.h"
#include "controller/domain/deployments/metering/prices.h"

// What an app has used and not paid yet, and what is to run. Private to metering.
namespace berth::metering {

// A run that hasn't ended.
struct OpenRun {
  std::string deployment_id;
  std::string tier_id;
  std::int64_t quantity = 1;
  Instant counted_to;
};

// A deployment that runs, or is to run.
struct ToRun {
  std::string deployment_id;
  std::string name;
  std::string tier_id;
  std::int64_t containers = 1;  // how many it may have at once
};

// The runs of a deployment's commands that haven't ended (a release, a cron, `berth run`), each
// with a container of its own. The deployment itself may be stopped.
struct RunsUnderWay {
  std::string deployment_id;
  std::string tier_id;
  std::int64_t count = 0;
};

// As it is at one moment of a transaction.
struct AppState {
  std::string app_id;
  std::string owner_id;
  std::string name;
  Instant now;
  std::int64_t today = 0;
  std::int64_t remainder = 0;
  std::optional<Instant> due_at;
  std::optional<Instant> warned_at;
  std::int64_t balance = 0;
  std::int64_t held = 0;
  Prices prices;
  std::vector<Line> lines;  // used and counted by day, in the order of the days
  std::vector<OpenRun> open;
  std::vector<ToRun> to_run;
  std::vector<RunsUnderWay> runs;

  // What an hour of a container costs on the tier today; 0 if nothing is metered.
  std::int64_t price_of(const std::string& tier_id) const {
    return prices.on(tier_id, today).value_or(0);
  }
  // What an hour of as many containers as it may have costs.
  std::int64_t price_of(const ToRun& deployment) const {
    return price_of(deployment.tier_id) * deployment.containers;
  }
};
// Returns nothing if the app has no row in meter_apps.
std::optional<AppState> load(db::Tx& tx, const std::string& app_id);
// Keeps other writes from the app until the end of this one. To be called before rows of the ledger
// are changed, so that writes with row locks can't deadlock.
void lock_app(db::Tx& tx, const std::string& app_id);
// Creates the app's row before that if it has none.
void open_and_lock(db::Tx& tx, const std::string& app_id);
// Stores remainder, due_at and warned_at.
void store(db::Tx& tx, const AppState& state);

// What the app's deployments have used since they were charged, and how fast they go on.
class Spending {
 public:
  Spending(const AppState& state, const BudgetBook& book);

  // What is used and will be charged, in units: with the remainder, and no more than the budgets
  // leave.
  std::int64_t units() const { return units_; }
  // The points an hour of all that runs or is to run, with as many containers as there may be.
  std::int64_t rate() const { return rate_; }
  // What is spent of the budget, with what is used and not charged yet.
  std::int64_t spent(const BudgetRow& budget) const;
  // How long it takes until so much of the budget is spent.
  Duration until(const BudgetRow& budget, std::int64_t points) const;

 private:
  struct Use {
    std::int64_t units = 0;        // of all days
    std::int64_t units_today = 0;  // of the present one
    std::int64_t rate = 0;
    std::int64_t room = 0;  // in units, what the deployment's own budgets leave
  };
  std::int64_t units_of(const BudgetRow& budget) const;

  const AppState& state_;
  const BudgetBook& book_;
  std::map<std::string, Use> uses_;
  std::int64_t units_ = 0;
  std::int64_t rate_ = 0;
};

}  // namespace berth::metering
