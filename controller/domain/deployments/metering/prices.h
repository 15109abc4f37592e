#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "controller/base/clock.h"
#include "controller/db/database.h"
#include "controller/domain/deployments/metering/units.h"

// What an hour on a tier costs, by UTC day. A change applies from the next UTC midnight on, so what
// was agreed counts until the day ends; a new tier's price counts at once.
namespace berth::metering {

// The prices of all tiers, as they were when it was made. For one transaction.
class Prices {
 public:
  explicit Prices(db::Tx& tx);
  // Points for an hour on that day; nothing if nothing is metered then.
  std::optional<std::int64_t> on(const std::string& tier_id, std::int64_t day) const;
  // Whether runs on the tier have to be recorded: it has a price on that day or on the next one.
  bool is_metered(const std::string& tier_id, std::int64_t day) const;
  // The first day of the time without a gap in which the tier has had a price until `day`, or has
  // one from the next day on. Nothing if !is_metered().
  std::optional<std::int64_t> metered_since(const std::string& tier_id, std::int64_t day) const;

 private:
  std::map<std::string, std::map<std::int64_t, std::optional<std::int64_t>>, std::less<>> tiers_;
};

// ---- For tiers ----------------------------------------------------------------------------------

// Records the price of a tier that was created just now: it counts from this day on.
void price_created(db::Tx& tx, const std::string& tier_id,
                   std::optional<std::int64_t> points_per_hour);
// Records a tier's new price from the next UTC day on; a second change on one day replaces the
// first. The deployments of the tier are reconciled, so that what runs is recorded, and their apps
// are looked at, so that their owners are warned before it applies. Does nothing if that price
// counts on the next day anyway.
void price_changed(db::Tx& tx, const std::string& tier_id,
                   std::optional<std::int64_t> points_per_hour);

// ---- For admins, before they change a price -----------------------------------------------------

struct PriceEffect {
  Instant from;                       // when it would apply: the next UTC midnight
  std::optional<std::int64_t> today;  // what counts until then
  std::optional<std::int64_t> next;   // what counts from then on without the change
  std::int64_t deployments = 0;       // that run on the tier, or are to run
  std::int64_t apps = 0;              // that they belong to
  // What all of these deployments cost for an hour, with as many containers as they may have, with
  // today's price and with the new one.
  std::int64_t points_per_hour_before = 0;
  std::int64_t points_per_hour_after = 0;
  // How many of the apps have too few points for 24 hours of these deployments at the new price.
  std::int64_t apps_short_of_points = 0;
};
// Returns what a price would do. Changes nothing.
PriceEffect effect_of(db::Tx& tx, const std::string& tier_id,
                      std::optional<std::int64_t> points_per_hour);

}  // namespace berth::metering
