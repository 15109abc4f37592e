#pragma once

#include <optional>
#include <string>

#include "controller/db/database.h"
#include "controller/domain/ads/surface_type.h"
#include "controller/domain/kernel/page.h"

// The ad market: where ads can be shown (placements) and what an impression costs (rates of surface
// types, pricing of placements). Admins write it, operators read it. Prices are whole points and
// multipliers are hundredths, so nothing here is a floating-point number.
namespace berth::ads {

struct Placement {
  std::string id = {};
  std::string name = {};
  SurfaceType surface_type = {};
  std::optional<std::string> app_id = {};  // the only app that may use it; empty if any may
  std::string description = {};
  bool is_active = true;
  Instant inserted_at = {};
  Instant updated_at = {};
};
enum class Which { active, all };
// Throws validation_failed if the app doesn't exist.
Placement create_placement(db::Tx& tx, const Placement& placement);
// Stores name, description and is_active. The other fields can't be changed. Throws
// placement_not_found.
Placement update_placement(db::Tx& tx, const Placement& placement);
std::optional<Placement> find_placement(db::Tx& tx, const std::string& id);
Placement get_placement(db::Tx& tx, const std::string& id);  // throws placement_not_found
Page<Placement> list_placements(db::Tx& tx, Which which, const PageRequest& page);

// Demand is computed from the served and paid impressions of other owners' campaigns on this UTC
// day and the six before it: D is their number on one surface type, T their number on all.
inline constexpr int demand_window_days = 7;
// The number of impressions that raises demand by 1.00.
inline constexpr std::int64_t demand_unit = 10'000;
inline constexpr std::int64_t max_demand = 500;
inline constexpr std::int64_t ceiling_factor = 10;
struct Rate {
  SurfaceType surface_type = {};
  std::int64_t base_rate = 0;
  std::int64_t demand = 100;      // min(500, 100 + floor(100 × D / 10,000))
  std::int64_t popularity = 100;  // 100 + floor(100 × D / T); 100 if T is 0
  std::int64_t floor_price = 0;
  std::int64_t ceiling_price() const { return ceiling_factor * base_rate; }
  // floor(base × demand × popularity / 10,000), at least floor_price, at most ceiling_price.
  std::int64_t effective_rate() const;
};
// Return the rates of all surface types in alphabetical order, and that of one.
std::vector<Rate> rates(db::Tx& tx);
Rate rate_of(db::Tx& tx, SurfaceType surface_type);
// recompute_demand() counts the paid events anew, and is_demand_old() returns whether that would
// change a rate. The ads loop calls both.
bool is_demand_old(db::Tx& tx);
void recompute_demand(db::Tx& tx);

// The price of an impression on a placement for a period of time. A campaign whose payout is below
// min_rate isn't shown there.
struct Pricing {
  std::string id = {};
  std::string ad_placement_id = {};
  std::int64_t base_rate = 0;
  std::int64_t min_rate = 0;
  std::int64_t max_rate = 0;
  Instant effective_from = {};
  std::optional<Instant> effective_until = {};
  Instant inserted_at = {};
  Instant updated_at = {};
  std::int64_t demand = 100;  // demand of the placement's surface type at present
  // floor(base × demand / 100), at least min_rate, at most max_rate.
  std::int64_t effective_rate() const;
};
// Throws validation_failed unless min ≤ base ≤ max, the placement exists, and the period isn't
// empty and doesn't overlap with that of another pricing of the placement.
Pricing create_pricing(db::Tx& tx, const Pricing& pricing);
// Stores the rates and the period. Throws like create_pricing() and get_pricing().
Pricing update_pricing(db::Tx& tx, const Pricing& pricing);
Pricing get_pricing(db::Tx& tx, const std::string& id);  // throws pricing_not_found
// Returns the pricing that is valid at present. Throws pricing_not_found.
Pricing current_pricing(db::Tx& tx, const std::string& ad_placement_id);
// Which::active selects those that are valid at present.
Page<Pricing> list_pricing(db::Tx& tx, Which which, const PageRequest& page);

}  // namespace berth::ads
