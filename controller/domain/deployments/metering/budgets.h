#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/enum_text.h"
#include "controller/db/database.h"

// Budgets: the most that an app, or one of its deployments, is charged for running in a UTC day or
// in 30 UTC days, of which the present one is the last. Counted are charges by the hour, with what
// is used and not charged yet, and charges for 30 days (billing.h), when they are made. Refunds
// change nothing.
//
// The owner is told at each mark. At 100 % the metered deployments that the budget is for are
// suspended; what they run until they have stopped is never charged beyond the budget. The
// deployments that aren't metered go on, or are suspended, too (AtLimit). Everything that was
// suspended starts again when the budget is raised or removed, or its period has moved on. Nothing
// is ever deleted.
namespace berth::metering {

enum class BudgetPeriod { day, thirty_days };
constexpr auto texts_of(BudgetPeriod) { return EnumTexts<BudgetPeriod::thirty_days>{"day", "30d"}; }
// The number of UTC days of the period.
constexpr std::int64_t days_of(BudgetPeriod period) { return period == BudgetPeriod::day ? 1 : 30; }

// What happens to deployments that aren't metered when the budget is spent.
enum class AtLimit {
  stop_metered,  // they go on, and are renewed
  stop_all       // they are suspended, too, and aren't renewed beyond the budget
};
constexpr auto texts_of(AtLimit) {
  return EnumTexts<AtLimit::stop_all>{"stop_metered", "stop_all"};
}

// The percentages at which the owner is told.
inline constexpr std::array<int, 4> marks = {50, 75, 90, 100};

// What an owner asks for.
struct BudgetChange {
  std::string app_id;
  std::string deployment_id;  // empty: the whole app
  BudgetPeriod period = BudgetPeriod::day;
  std::optional<std::int64_t> limit;  // points, 1 to max_points; empty removes the budget
  AtLimit at_limit = AtLimit::stop_metered;
};

struct Budget {
  std::string deployment_id;    // empty: the whole app
  std::string deployment_name;  // empty, too
  BudgetPeriod period = BudgetPeriod::day;
  std::int64_t limit = 0;
  AtLimit at_limit = AtLimit::stop_metered;
  // In the present period, with what is used and not charged yet. May be above the limit: by
  // charges for 30 days, and if the limit was set below what was spent already.
  std::int64_t spent = 0;
  int mark = 0;  // the highest one that is passed; 0 if none is
  bool is_reached = false;
  std::optional<Instant> reached_at;
  Instant period_ends;  // the next UTC midnight, when what counts moves on by a day
  // The forecast: what the last 7 full UTC days (fewer if there were fewer) had on average, for as
  // many days as the period has. 0 if there was none.
  std::int64_t forecast = 0;
  // When the limit is reached at that pace, if that is in the present period (a day), or in the
  // next 30 days.
  std::optional<Instant> forecast_reached_at;
};

// Returns the app's budgets: its own first, then those of its deployments that aren't destroyed.
std::vector<Budget> budgets(db::Tx& tx, const std::string& app_id);

// Whether the change would let more be spent: it raises or removes a limit, or lets deployments go
// on that were to stop. Such a change needs a person's fresh proof; others don't.
bool lets_more_be_spent(db::Tx& tx, const BudgetChange& change);

// Sets, changes or removes a budget, and returns it as it is then; nothing if it was removed. A
// limit below what is spent already is accepted, and reached at once: what was used until now is
// charged first, and what is metered is suspended by the loop, within a second or two. Throws
// deployment_not_found for a deployment that isn't the app's or is destroyed, and validation_failed
// for a limit out of range, and if the app has max_budgets budgets already. Needs a serializable
// write.
inline constexpr std::int64_t max_budgets = 200;
std::optional<Budget> set_budget(db::Tx& tx, const BudgetChange& change);

// For the deletion of an app.
void remove_budgets(db::Tx& tx, const std::string& app_id);
// For a destroyed deployment of which nothing more is to be charged.
void remove_budgets_of_deployment(db::Tx& tx, const std::string& app_id,
                                  const std::string& deployment_id);

}  // namespace berth::metering
