#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "controller/domain/apps/apps.h"
#include "controller/domain/deployments/deployments.h"

namespace berth::deployments {

// Checks what can be checked without the database. Throws validation_failed that names everything
// wrong, or else unsupported_registry.
void check(const Order& order, const Rules& rules);
// The same for a change; members that aren't set aren't checked. `next` is the order as it would be
// after it.
void check(const Change& change, const Order& next, const Rules& rules);
// Throws unsupported_registry if the image is one that berthd builds, and this app may not run it
// (builds::check_image). Called after check().
void check_own_image(db::Tx& tx, const std::string& app_id, const std::string& image,
                     const Rules& rules);

// Throws validation_failed if the variables have wrong names, or are too many or too long. The
// details name `field`, or a variable as `field`, a dot and its name.
void check_variables(const std::map<std::string, std::string>& env, const std::string& field);

// Returns the order that would create the deployment as it is now. `own` are its own secrets,
// without what it inherits.
Order order_of(const Deployment& row, const Secrets& own);
// Sets variables, and removes those without a value. A value that stays keeps its time.
void change_variables(Secrets& secrets,
                      const std::map<std::string, std::optional<std::string>>& changes);
// Returns the order with the change applied. The tier stays, because a change of it is paid for
// separately.
Order changed(Order order, const Change& change);
// The names of the fields in which two orders differ, without name and tier.
struct Differences {
  std::vector<std::string> container;  // those for which the container has to be replaced
  std::vector<std::string> other;      // those that leave it running
};
Differences differences(const Order& from, const Order& to);
// The same differences for people, as a JSON array of {field, from, to}: long values are cut. Of
// variables it has the names alone ({field, added, changed, removed}), and of credentials nothing
// but the field.
nlohmann::json described_differences(const Order& from, const Order& to);

// The part of it that is about variables.
nlohmann::json described_variables(const Secrets& from, const Secrets& to);

// Returns the tier with this slug. Throws unknown_tier or payment_method_unsupported.
tiers::Tier payable_tier(db::Tx& tx, const std::string& slug);
// Returns the deployment's tier as far as it holds for what the deployment has already: its sizes
// are those that it got, and it may keep as many containers as it has, whatever was changed of the
// tier since.
tiers::Tier tier_as_agreed(db::Tx& tx, const Deployment& deployment);
// Throws tier_not_allowed if the app may not use the tier.
void check_tier_allowed(const apps::App& app, const tiers::Tier& tier);
// Returns how many deployments of the tier, not counting destroyed ones, the account has.
int used_of_tier(db::Tx& tx, const std::string& owner_id, const std::string& tier_id);
// Throws deployment_limit_reached if the account may not have one more deployment of the tier.
void check_tier_cap(db::Tx& tx, const std::string& owner_id, const tiers::Tier& tier);

// Throws deployment_suspended if an admin has suspended the deployment.
void check_not_suspended(const Deployment& deployment);
// Throws validation_failed for custom_domain if the tier doesn't allow custom domains.
void check_has_domains(const tiers::Tier& tier);

}  // namespace berth::deployments
