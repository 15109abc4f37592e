#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/db/database.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/deployments/metering/budgets.h"
#include "controller/domain/deployments/metering/meter.h"
#include "controller/domain/deployments/metering/prices.h"
#include "controller/domain/kernel/page.h"

// What the API shows of the meter besides meter.h and settlement.h. These functions only read.
namespace berth::metering {

// Returns the deployment's intervals that lie in the UTC days from `first` to `last`, at least
// partly: those that began last come first.
Page<Interval> interval_page(db::Tx& tx, const std::string& deployment_id, std::int64_t first,
                             std::int64_t last, const PageRequest& page);

// Returns what the uses (meter.h) of a deployment come to that aren't charged yet, in whole points,
// at the prices of its present tier.
std::int64_t accrued(const Prices& prices, const deployments::Deployment& deployment,
                     const std::vector<DayUse>& uses);

// What a deployment will probably be charged by the hour.
struct Forecast {
  // The mean of the last mean_days whole UTC days, or of as many as there are since something
  // ran, rounded up. If there is none, what as many containers as the deployment may have cost on a
  // day at today's price.
  std::int64_t points_a_day = 0;
  std::int64_t days = 0;  // how many whole days the mean is of
};
inline constexpr std::int64_t mean_days = 7;
// `uses` are those of the last mean_days days before `today` at least.
Forecast daily_forecast(const Prices& prices, std::int64_t today,
                        const deployments::Deployment& deployment, const std::vector<DayUse>& uses);

// Returns what happens at the limit of the budget that the change is about; nothing if there is no
// such budget yet.
std::optional<AtLimit> present_at_limit(db::Tx& tx, const BudgetChange& change);

// Apps with fewer points than all of their deployments would cost by the hour on a day.
struct ShortApp {
  std::string app_id;
  std::string app_name;
  std::int64_t balance = 0;
  std::int64_t points_a_day = 0;
};
struct ShortApps {
  std::int64_t count = 0;
  std::vector<ShortApp> first;  // at most max_short_apps, those with the fewest points first
};
inline constexpr int max_short_apps = 100;
// Returns those of the apps with a deployment on the tier that would be short of points if the tier
// cost `points_per_hour`; 0 stands for no price. Reads all deployments of these apps, so it belongs
// on a thread for heavy reads.
ShortApps short_apps(db::Tx& tx, const std::string& tier_id, std::int64_t points_per_hour);

}  // namespace berth::metering
