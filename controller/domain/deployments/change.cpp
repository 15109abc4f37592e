// PATCH: changes what is wanted of a deployment.
#include <nlohmann/json.hpp>

#include "controller/base/error.h"
#include "controller/domain/deployments/billing/billing.h"
#include "controller/domain/deployments/custom_domains/custom_domains.h"
#include "controller/domain/deployments/custom_domains/domain_names.h"
#include "controller/domain/deployments/deployment_rows.h"
#include "controller/domain/deployments/revisions.h"
#include "controller/domain/deployments/rules.h"

namespace berth::deployments {
namespace {

// The result of a change, and the names of the fields that it changes.
struct Next {
  ContainerSpec container;
  Secrets secrets;
  std::optional<std::string> custom_domain;
  std::vector<std::string> container_fields;  // changed fields that replace the container
  bool other_domain = false;
  std::string old_tier;             // the old tier's slug
  std::optional<tiers::Tier> tier;  // the new tier, if it changes
  std::int64_t price = 0;           // for the rest of the period; negative for a credit
};

std::map<std::string, std::string> merged(std::map<std::string, std::string> env,
                                          const Change& change) {
  for (const auto& [key, value] : change.env) {
    if (value)
      env[key] = *value;
    else
      env.erase(key);
  }
  return env;
}

Next next_of(const Wish& now, const Change& change) {
  const Deployment& row = now.deployment;
  Next next = {.container = {.image = change.image.value_or(row.container.image),
                             .port = change.port.value_or(row.container.port),
                             .health_path = change.health_path.value_or(row.container.health_path)},
               .secrets = {.env = merged(now.secrets.env, change),
                           .registry_credentials = change.registry_credentials.value_or(
                               now.secrets.registry_credentials)},
               .custom_domain = change.custom_domain.value_or(row.custom_domain),
               .container_fields = {},
               .old_tier = row.tier_slug,
               .tier = {}};
  const auto note = [&](bool differs, const char* field) {
    if (differs) next.container_fields.emplace_back(field);
  };
  note(next.container.image != row.container.image, "image");
  note(next.container.port != row.container.port, "port");
  note(next.container.health_path != row.container.health_path, "health_path");
  note(next.secrets.env != now.secrets.env, "env_vars");
  note(next.secrets.registry_credentials != now.secrets.registry_credentials,
       "registry_credentials");
  next.other_domain = next.custom_domain != row.custom_domain;
  return next;
}

void log_change(db::Tx& tx, const Deployment& row, const Actor& actor, const Next& next) {
  std::vector<std::string> fields = next.container_fields;
  if (next.other_domain) fields.emplace_back("custom_domain");
  nlohmann::json details = {{"kind", to_string(RolloutKind::patch)}, {"fields", fields}};
  if (next.tier)
    details["tier"] = {{"from", next.old_tier}, {"to", next.tier->slug}, {"amount", next.price}};
  const bool rolls_out = !next.container_fields.empty() && row.status != Status::stopped;
  if (!next.container_fields.empty()) details["generation"] = row.generation + 1;
  write_log(tx, row.id,
            {.action = "deploy",
             .status = rolls_out ? "started" : "succeeded",
             .initiated_by = actor.user_id,
             .details = details.dump()});
}

void replace_container(db::Tx& tx, const Deployment& row, const Actor& actor, const Next& next,
                       const std::string& data_key) {
  store_container(tx, row.id, next.container, seal(next.secrets, row.id, data_key));
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
  if (domain == row.custom_domain) return;
  tx.execute("UPDATE deployments SET custom_domain = $2, updated_at = $3 WHERE id = $1", row.id,
             domain, tx.now());
}

// Checks whether the deployment may be on that tier. What that costs is checked last, because the
// order of refusals is part of the API.
void set_tier(db::Tx& tx, const Deployment& row, const std::string& slug, Next& next) {
  next.tier = payable_tier(tx, slug);
  check_tier_allowed(*apps::find(tx, row.app_id), *next.tier);
  next.container_fields.emplace_back("tier");
}

// Returns the deployment as it is afterwards; one that was suspended for lack of points is
// deploying.
Deployment pay_for(db::Tx& tx, const Deployment& row, const Actor& actor, Next& next) {
  if (next.tier) {
    check_tier_cap(tx, row.owner_id, *next.tier);
    next.price = billing::change_tier(tx, actor, row.id, *next.tier);
  } else {
    billing::resume(tx, actor, row.id);
  }
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
  Next next = next_of(*wish(tx, id, data_key), change);
  check(change, next.secrets.env, rules);
  if (change.tier && *change.tier != row.tier_slug) set_tier(tx, row, *change.tier, next);
  if (next.custom_domain && (change.custom_domain || next.tier))
    check_has_domains(next.tier ? *next.tier : *tiers::find(tx, row.tier_id));
  if (change.custom_domain) change_domain(tx, row, next.custom_domain, data_key);
  if (!next.other_domain && next.container_fields.empty()) return *find(tx, id);
  const Deployment paid = pay_for(tx, row, actor, next);
  if (!next.container_fields.empty()) replace_container(tx, paid, actor, next, data_key);
  log_change(tx, paid, actor, next);
  return *find(tx, id);
}

}  // namespace berth::deployments
