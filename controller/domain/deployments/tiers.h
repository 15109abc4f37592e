#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controller/db/database.h"

// The sizes and prices that a deployment can have. Rows of a table: the configuration fills it at
// the first start, admins change it afterwards.
namespace berth::tiers {

struct Tier {
  std::string id;
  std::string name;
  std::string slug;
  std::string description;
  std::string payment_method = "service_points";  // or bitcoin
  std::optional<std::int64_t> monthly_cost_points;
  std::optional<std::int64_t> monthly_cost_sats;
  int memory_limit_mb = 0;
  int cpu_limit_millicores = 0;
  std::optional<int> max_deployments;  // per owner account; nothing: no limit
  bool custom_domain_allowed = false;
  bool auto_approve = false;  // else an admin promotes an app to it
  std::int64_t monthly_stipend_points = 0;
  std::string ad_reach_multiplier = "1.0";  // a decimal
};

std::vector<Tier> list(db::Tx& tx);
std::optional<Tier> find_by_slug(db::Tx& tx, const std::string& slug);
std::optional<Tier> find(db::Tx& tx, const std::string& id);
// A new one, last in the list. Throws validation_failed where the slug is taken, or the price
// doesn't fit the payment method.
Tier create(db::Tx& tx, const Tier& tier);
// Stores every field of `tier` but id, slug and payment method. A new price counts from the next
// period of each deployment, sizes for those that come to the tier. Throws as create does.
Tier update(db::Tx& tx, const Tier& tier);
// Fills an empty table; where it has rows, changes nothing.
void seed(db::Tx& tx, const std::vector<Tier>& tiers);

}  // namespace berth::tiers
