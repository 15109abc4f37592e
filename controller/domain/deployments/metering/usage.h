#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "controller/db/database.h"
#include "controller/domain/deployments/tiers.h"
#include "controller/domain/kernel/page.h"

// What the API shows of the meter: when containers ran, what was charged for it, what it will
// probably cost, and what another price would change. These functions only read.
namespace berth::usage {

// One run of a container that was metered.
struct Interval {
  std::string process;
  std::string item;  // what is priced, such as "base"
  std::string run;   // the name of the run: the pod's uid, "/" and the number of restarts before it
  std::string tier;  // the tier's slug
  std::int64_t quantity = 1;
  Instant started_at;
  std::optional<Instant> ended_at;  // empty while it runs
  bool vanished = false;            // its end wasn't seen; `ended_at` is when it was last seen
};
// Returns the deployment's intervals that lie in the UTC days from `first_day` to `last_day`, at
// least partly: those that began last come first.
Page<Interval> intervals(db::Tx& tx, const std::string& deployment_id, std::int64_t first_day,
                         std::int64_t last_day, const PageRequest& page);

// What was charged for one UTC day of one process and item.
struct Charge {
  std::int64_t day = 0;
  std::string process;
  std::string item;
  std::int64_t milliseconds = 0;  // of containers, charged or not
  std::int64_t points = 0;
  std::int64_t unpaid_milliseconds = 0;  // of them, those that the platform bears
};
// The most days that are shown at once.
inline constexpr std::int64_t max_days = 92;
// Returns the deployment's charges for the days from `first_day` to `last_day`, the newest day
// first. Needs at most max_days days.
std::vector<Charge> charges(db::Tx& tx, const std::string& deployment_id, std::int64_t first_day,
                            std::int64_t last_day);

// What an app, or one of its deployments, will probably cost by the hour.
struct Forecast {
  std::int64_t points_a_day = 0;
  // From how many whole days it was computed, at most forecast_days; 0 if nothing was charged in
  // them: then the points are what everything that runs now costs on a day.
  std::int64_t days = 0;
};
inline constexpr std::int64_t forecast_days = 7;
// For the whole app if `deployment_id` is empty. Today isn't among the days, because it isn't over.
Forecast forecast(db::Tx& tx, const std::string& app_id, const std::string& deployment_id);

// What a tier costs by the hour.
struct Prices {
  std::optional<std::int64_t> today;
  // What counts from the next midnight in UTC, if that is something else.
  std::optional<std::int64_t> tomorrow;
  bool changes = false;  // whether it is something else
  Instant next_midnight;
};
Prices prices(db::Tx& tx, const std::string& tier_id);

// An app with fewer points than its deployments would cost by the hour on a day.
struct ShortApp {
  std::string app_id;
  std::string app_name;
  std::int64_t balance = 0;
  std::int64_t points_a_day = 0;
};
inline constexpr int max_short_apps = 100;
// What another price by the hour would do to a tier.
struct PriceChange {
  std::optional<std::int64_t> now;   // today's price
  std::optional<std::int64_t> then;  // the price that was asked about
  Instant applies_from;              // the next midnight in UTC
  std::int64_t deployments = 0;      // of the tier that run or are to run
  std::int64_t apps = 0;             // that they belong to
  std::int64_t points_a_day_now = 0;
  std::int64_t points_a_day_then = 0;
  std::int64_t apps_short_of_points = 0;
  // At most max_short_apps of them, those with the fewest points first.
  std::vector<ShortApp> short_of_points;
};
// Needs 1 <= then <= tiers::max_points_per_hour, or nothing. Reads all deployments of the tier's
// apps, so it belongs on a thread for heavy reads.
PriceChange price_change(db::Tx& tx, const tiers::Tier& tier,
                         const std::optional<std::int64_t>& then);

}  // namespace berth::usage
