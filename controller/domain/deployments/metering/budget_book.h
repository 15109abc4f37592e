#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/domain/deployments/metering/budgets.h"

// The budgets of an app, and what was charged by day. Private to metering.
namespace berth::metering {

struct BudgetRow {
  std::string deployment_id;  // empty: the app's
  std::string deployment_name;
  BudgetPeriod period = BudgetPeriod::day;
  std::int64_t limit = 0;
  AtLimit at_limit = AtLimit::stop_metered;
  int told = 0;
  std::optional<Instant> reached_at;
  // It holds for what the deployment has used until its last container has ended.
  bool is_of_destroyed = false;

  bool applies_to(const std::string& deployment) const {
    return deployment_id.empty() || deployment_id == deployment;
  }
  // Whether the deployment, which costs `price` points an hour, stops when the budget is spent.
  bool stops(const std::string& deployment, std::int64_t price) const {
    return applies_to(deployment) && (price > 0 || at_limit == AtLimit::stop_all);
  }
};

// For one transaction. What is charged in it has to be told to add().
class BudgetBook {
 public:
  BudgetBook(db::Tx& tx, const std::string& app_id);

  std::vector<BudgetRow>& budgets() { return budgets_; }
  const std::vector<BudgetRow>& budgets() const { return budgets_; }
  bool is_empty() const { return budgets_.empty(); }
  // What was charged on the days of the budget's period that ends with the day `last`.
  std::int64_t charged(const BudgetRow& budget, std::int64_t last) const;
  // What was charged on the day to what the budget is for.
  std::int64_t charged_on(const BudgetRow& budget, std::int64_t day) const;
  // How many points more the budgets of one scope (a deployment's id, or empty for the app's) allow
  // to be charged on the day, so that no period that contains it is above its limit.
  std::int64_t room_of(const std::string& scope, std::int64_t day) const;
  // The same, of both scopes, for the deployment.
  std::int64_t room(const std::string& deployment_id, std::int64_t day) const;
  // Counts points that were charged to the deployment on the day.
  void add(const std::string& deployment_id, std::int64_t day, std::int64_t points);

 private:
  using Days = std::map<std::int64_t, std::int64_t>;  // points by day
  std::int64_t sum(const std::string& scope, std::int64_t first, std::int64_t last) const;

  std::int64_t today_;
  std::vector<BudgetRow> budgets_;
  std::map<std::string, Days> charged_;  // of the scopes that have a budget
};

// The highest mark that is passed; 0 if none is.
int mark_of(std::int64_t spent, std::int64_t limit);
// The fewest points with which the mark of the budget is passed.
std::int64_t points_of(int mark, const BudgetRow& budget);

// Stores what the owner was told.
void store_told(db::Tx& tx, const std::string& app_id, const BudgetRow& budget);

}  // namespace berth::metering
