#pragma once

#include <string>

#include "controller/domain/deployments.h"

namespace berth::deployments {

// What can be said of an order without looking at the database. Throws validation_failed with all
// that is wrong, else unsupported_registry.
void check(const Order& order, const Rules& rules);
// The same for a change, of which only what is set is looked at; `env` is what the variables would
// be after it.
void check(const Change& change, const std::map<std::string, std::string>& env, const Rules& rules);

// Throws deployment_suspended.
void check_not_suspended(const Deployment& deployment);
// Throws validation_failed in custom_domain where the tier has none.
void check_has_domains(const tiers::Tier& tier);

}  // namespace berth::deployments
