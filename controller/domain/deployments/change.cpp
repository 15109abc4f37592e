// PATCH: changes what is wanted of a deployment.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/domain/accounts/account_changes.h"
#include "controller/domain/deployments/billing/billing.h"
#include "controller/domain/deployments/custom_domains/custom_domains.h"
#include "controller/domain/deployments/custom_domains/domain_names.h"
#include "controller/domain/deployments/deployment_rows.h"
#include "controller/domain/deployments/process_rules.h"
#include "controller/domain/deployments/pushes.h"
#include "controller/domain/deployments/revisions.h"
#include "controller/domain/deployments/rules.h"
#include "controller/domain/deployments/runs/releases.h"

namespace berth::deployments {
namespace {

// The result of a change.
struct Next {
  Order before;
  Order order;
  Differences differs;
  std::optional<tiers::Tier> tier;  // the new tier, if it changes
  std::int64_t price = 0;           // that is charged at once; negative for a credit

  bool replaces_container() const { return !differs.container.empty(); }
  // How many containers there may be at once, before and after.
  int containers_before() const { return most_replicas(before.container); }
  int containers() const { return most_replicas(order.container); }
  bool is_nothing() const { return differs.container.empty() && differs.other.empty(); }
};

Next next_of(const Deployment& row, const Secrets& own, const Change& change) {
  Next next = {.before = order_of(row, own), .order = {}, .differs = {}, .tier = {}};
  next.order = changed(next.before, change);
  next.differs = differences(next.before, next.order);
  return next;
}

// A rollout that waits for its release command begins anew when that command is another one.
void retry_release(db::Tx& tx, const Deployment& row, Differences& differs) {
  const std::string field(field_of(&ContainerSpec::release_command).name);
  const auto found = std::ranges::find(differs.other, field);
  if (found == differs.other.end() ||
      releases::release_of(tx, row).state != releases::State::failed)
    return;
  differs.other.erase(found);
  differs.container.push_back(field);
}

void log_change(db::Tx& tx, const Deployment& row, const Actor& actor, const Next& next) {
  std::vector<std::string> fields = next.differs.container;
  fields.insert(fields.end(), next.differs.other.begin(), next.differs.other.end());
  nlohmann::json details = {{"kind", to_string(RolloutKind::patch)}, {"fields", fields}};
  if (next.tier)
    details["tier"] = {{"from", next.before.tier}, {"to", next.tier->slug}, {"amount", next.price}};
  if (next.containers() != next.containers_before())
    details["containers"] = {
        {"from", next.containers_before()}, {"to", next.containers()}, {"amount", next.price}};
  details["changes"] = described_differences(next.before, next.order);
  const bool rolls_out = next.replaces_container() && row.status != Status::stopped;
  if (next.replaces_container()) details["generation"] = row.generation + 1;
  write_log(tx, row.id,
            {.action = LogAction::deploy,
             .status = rolls_out ? LogStatus::started : LogStatus::succeeded,
             .initiated_by = actor.user_id,
             .details = details.dump()});
}

void store_change(db::Tx& tx, const Deployment& row, const Actor& actor, const Next& next,
                  const std::string& data_key) {
  store(tx, row.id, next.before, next.order, data_key);
  if (!next.replaces_container()) {
    tx.notify(db::Topic::deployment, row.id);
    return;
  }
  begin_generation(
      tx, row.id,
      {.status = status_with_new_container(row.status), .request_id = actor.request_id});
  begin_revision(tx, row.id, RolloutKind::patch, actor.user_id);
}

void change_domain(db::Tx& tx, const Deployment& row, const std::optional<std::string>& domain,
                   const std::string& data_key) {
  if (domain)
    custom_domains::claim(tx,
                          {.deployment_id = row.id, .app_id = row.app_id, .owner_id = row.owner_id},
                          *domain, data_key);
  else
    custom_domains::release(tx, row.id);
}

// Checks whether the deployment may be on that tier. What that costs is checked last, because the
// order of refusals is part of the API.
void set_tier(db::Tx& tx, const Deployment& row, const std::string& slug, Next& next) {
  next.tier = payable_tier(tx, slug);
  check_tier_allowed(*apps::find(tx, row.app_id), *next.tier);
  next.differs.container.emplace_back("tier");
}

// Returns the deployment as it is afterwards; one that was suspended for lack of points is
// deploying.
Deployment pay_for(db::Tx& tx, const Deployment& row, const Actor& actor, Next& next) {
  if (next.tier) {
    // locked so that check_tier_cap() counts correctly
    if (next.tier->max_deployments) accounts::lock(tx, row.owner_id);
    check_tier_cap(tx, row.owner_id, *next.tier);
  }
  next.price = billing::change_size(tx, actor, row.id, next.tier, next.order.container);
  return *find(tx, row.id);
}

}  // namespace

Deployment change(db::Tx& tx, const Actor& actor, const std::string& id, const Change& asked,
                  const Rules& rules, const std::string& data_key) {
  const Deployment row = get_living(tx, actor, id);
  check_not_suspended(row);
  Change change = asked;
  if (change.custom_domain && *change.custom_domain)
    change.custom_domain = domain_names::normalised(**change.custom_domain);
  Next next = next_of(row, own_secrets(tx, id, data_key), change);
  retry_release(tx, row, next.differs);
  check(change, next.order, rules);
  if (next.order.container.image != next.before.container.image)
    check_own_image(tx, actor.app_id, next.order.container.image, rules);
  if (change.tier && *change.tier != row.tier_slug) set_tier(tx, row, *change.tier, next);
  const bool names_container = !change.fields.empty();
  if (names_container || change.custom_domain || next.tier) {
    const tiers::Tier tier = next.tier ? *next.tier : tier_as_agreed(tx, row);
    if (next.order.custom_domain && (change.custom_domain || next.tier)) check_has_domains(tier);
    if (next.order.custom_domain) check_is_served(next.order.container);
    if (names_container || next.tier) check_size(next.order.container, tier);
  }
  if (change.custom_domain) change_domain(tx, row, next.order.custom_domain, data_key);
  if (next.is_nothing()) return *find(tx, id);
  const Deployment paid = pay_for(tx, row, actor, next);
  store_change(tx, paid, actor, next, data_key);
  log_change(tx, paid, actor, next);
  const Deployment changed_row = *find(tx, id);
  pushes::follow(tx, changed_row);
  return changed_row;
}

}  // namespace berth::deployments
