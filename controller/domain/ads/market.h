#pragma once

#include <optional>
#include <string>

#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"

// The ad market: where ads can be shown (placements), and what an impression costs (rates of the
// surface types, pricing of placements). Admins write, operators read. Prices are whole points,
// multipliers hundredths: nothing here is a float.
namespace berth::ads {

struct Placement {
  std::string id = {};
  std::string name = {};
  std::string surface_type = {};
  std::optional<std::string> app_id = {};  // whose alone it is
  std::string description = {};
  bool is_active = true;
  Instant inserted_at = {};
  Instant updated_at = {};
};
enum class Which { active, all };
// Throws validation_failed where the app or the surface type isn't there.
Placement create_placement(db::Tx& tx, const Placement& placement);
// Stores name, description, is_active.
Placement update_placement(db::Tx& tx, const Placement& placement);
std::optional<Placement> find_placement(db::Tx& tx, const std::string& id);
Placement get_placement(db::Tx& tx, const std::string& id);  // throws placement_not_found
Page<Placement> list_placements(db::Tx& tx, Which which, const PageRequest& page);

// Demand counts paid impressions of other owners' campaigns that were served, on this UTC day and
// the six before: D of the surface type, T of all.
inline constexpr int demand_window_days = 7;
inline constexpr std::int64_t demand_unit = 10'000;  // impressions that raise demand by 1.00
inline constexpr std::int64_t max_demand = 500;
inline constexpr std::int64_t ceiling_factor = 10;
struct Rate {
  std::string surface_type = {};
  std::int64_t base_rate = 0;
  std::int64_t demand = 100;      // min(500, 100 + floor(100 × D / 10,000))
  std::int64_t popularity = 100;  // 100 + floor(100 × D / T); 100 where T is 0
  std::int64_t floor_price = 0;
  std::int64_t ceiling_price() const { return ceiling_factor * base_rate; }
  // floor(base × demand × popularity / 10,000), at least floor_price, at most ceiling_price.
  std::int64_t effective_rate() const;
};
std::vector<Rate> rates(db::Tx& tx);
Rate rate_of(db::Tx& tx, const std::string& surface_type);
// From the paid events, by the loop. Whether it would change something; does so.
bool is_demand_old(db::Tx& tx);
void recompute_demand(db::Tx& tx);

// What an impression on a placement costs, for a time. A campaign that pays less than min_rate
// isn't served there.
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
  std::int64_t demand = 100;  // of the placement's surface type, now
  // floor(base × demand / 100), at least min_rate, at most max_rate.
  std::int64_t effective_rate() const;
};
// Throws validation_failed where min ≤ base ≤ max doesn't hold, the placement isn't there, or the
// time meets that of another one of the placement.
Pricing create_pricing(db::Tx& tx, const Pricing& pricing);
Pricing update_pricing(db::Tx& tx, const Pricing& pricing);  // stores rates and time
Pricing get_pricing(db::Tx& tx, const std::string& id);      // throws pricing_not_found
// The one that is valid now. Throws pricing_not_found.
Pricing current_pricing(db::Tx& tx, const std::string& ad_placement_id);
// `active`: those that are valid now.
Page<Pricing> list_pricing(db::Tx& tx, Which which, const PageRequest& page);

}  // namespace berth::ads
