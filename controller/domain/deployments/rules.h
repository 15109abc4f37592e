#pragma once

#include <string>

#include "controller/domain/apps/apps.h"
#include "controller/domain/deployments/deployments.h"

namespace berth::deployments {

// What can be said of an order without looking at the database. Throws validation_failed with all
// that is wrong, else unsupported_registry.
void check(const Order& order, const Rules& rules);
// The same for a change, of which only what is set is looked at; `env` is what the variables would
// be after it.
void check(const Change& change, const std::map<std::string, std::string>& env, const Rules& rules);

// The tier of this slug. Throws unknown_tier, payment_method_unsupported.
tiers::Tier payable_tier(db::Tx& tx, const std::string& slug);
// Throws tier_not_allowed.
void check_tier_allowed(const apps::App& app, const tiers::Tier& tier);
// How many deployments of the tier the account has that aren't destroyed.
int used_of_tier(db::Tx& tx, const std::string& owner_id, const std::string& tier_id);
// That there is room for one more. Throws deployment_limit_reached.
void check_tier_cap(db::Tx& tx, const std::string& owner_id, const tiers::Tier& tier);

// Throws deployment_suspended.
void check_not_suspended(const Deployment& deployment);
// Throws validation_failed in custom_domain where the tier has none.
void check_has_domains(const tiers::Tier& tier);

}  // namespace berth::deployments
