// Which tiers a deployment may have.
#include <algorithm>

#include "controller/base/error.h"
#include "controller/domain/deployments/rules.h"

namespace berth::deployments {

tiers::Tier payable_tier(db::Tx& tx, const std::string& slug) {
  const auto tier = tiers::find_by_slug(tx, slug);
  if (!tier)
    throw Error(Code::unknown_tier, "there is no tier with this slug", {{"tier", {"is unknown"}}});
  if (tier->payment_method != tiers::PaymentMethod::service_points)
    throw Error(Code::payment_method_unsupported,
                "deployments can only be paid with service points");
  return *tier;
}

tiers::Tier tier_as_agreed(db::Tx& tx, const Deployment& deployment) {
  tiers::Tier tier = *tiers::find(tx, deployment.tier_id);
  tier.memory_limit_mb = deployment.memory_limit_mb;
  tier.cpu_limit_millicores = deployment.cpu_limit_millicores;
  tier.max_replicas = std::max(tier.max_replicas, most_replicas(deployment.container));
  return tier;
}

void check_tier_allowed(const apps::App& app, const tiers::Tier& tier) {
  if (!tier.auto_approve && app.promoted_tier != tier.slug)
    throw Error(Code::tier_not_allowed,
                "an admin must promote the app to the tier " + tier.slug + " first");
}

int used_of_tier(db::Tx& tx, const std::string& owner_id, const std::string& tier_id) {
  return int(tx.number(R"(
      SELECT count(*)
      FROM deployments
      WHERE owner_id = $1 AND tier_id = $2 AND status <> 'destroyed')",
                       owner_id, tier_id));
}

void check_tier_cap(db::Tx& tx, const std::string& owner_id, const tiers::Tier& tier) {
  if (tier.max_deployments && used_of_tier(tx, owner_id, tier.id) >= *tier.max_deployments)
    throw Error(Code::deployment_limit_reached,
                "the account already has " + std::to_string(*tier.max_deployments) +
                    " deployments of the tier " + tier.slug + ", which is the limit");
}

void check_not_suspended(const Deployment& deployment) {
  if (deployment.suspended_at)
    throw Error(Code::deployment_suspended, "an admin has suspended this deployment");
}

void check_has_domains(const tiers::Tier& tier) {
  if (!tier.custom_domain_allowed)
    throw invalid_field("custom_domain", "isn't available on the tier " + tier.slug);
}

}  // namespace berth::deployments
