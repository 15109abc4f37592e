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
  std::string image;
  int port = 0;
  std::optional<std::string> custom_domain;
  std::optional<std::string> health_path;
  std::map<std::string, std::string> env;
  std::optional<RegistryCredentials> credentials;
  std::vector<std::string> container;  // changed fields for which the container has to be replaced
  bool other_domain = false;
  std::string old_tier;             // the old tier's slug
  std::optional<tiers::Tier> tier;  // the new tier, if it changes
  std::int64_t price = 0;           // for the rest of the period; negative for a credit
};

bool same(const std::optional<RegistryCredentials>& a,
          const std::optional<RegistryCredentials>& b) {
  if (!a || !b) return !a && !b;
  return a->username == b->username && a->password == b->password;
}

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
  Next next = {.image = change.image.value_or(row.image),
               .port = change.port.value_or(row.port),
               .custom_domain = change.custom_domain.value_or(row.custom_domain),
               .health_path = change.health_path.value_or(row.health_path),
               .env = merged(now.env, change),
               .credentials = change.registry_credentials.value_or(now.registry_credentials),
               .container = {},
               .old_tier = row.tier_slug,
               .tier = {}};
  if (next.image != row.image) next.container.emplace_back("image");
  if (next.port != row.port) next.container.emplace_back("port");
  if (next.health_path != row.health_path) next.container.emplace_back("health_path");
  if (next.env != now.env) next.container.emplace_back("env_vars");
  if (!same(next.credentials, now.registry_credentials))
    next.container.emplace_back("registry_credentials");
  next.other_domain = next.custom_domain != row.custom_domain;
  return next;
}

void log_change(db::Tx& tx, const Deployment& row, const Actor& actor, const Next& next) {
  std::vector<std::string> fields = next.container;
  if (next.other_domain) fields.emplace_back("custom_domain");
  nlohmann::json details = {{"kind", to_string(RolloutKind::patch)}, {"fields", fields}};
  if (next.tier)
    details["tier"] = {{"from", next.old_tier}, {"to", next.tier->slug}, {"amount", next.price}};
  const bool rolls_out = !next.container.empty() && row.status != Status::stopped;
  if (!next.container.empty()) details["generation"] = row.generation + 1;
  write_log(tx, row.id,
            {.action = "deploy",
             .status = rolls_out ? "started" : "succeeded",
             .initiated_by = actor.user_id,
             .details = details.dump()});
}

void replace_container(db::Tx& tx, const Deployment& row, const Actor& actor, const Next& next,
                       const std::string& data_key) {
  const SealedEnv env = seal_env(row.id, next.env, data_key);
  const auto credentials =
      next.credentials ? std::optional(seal_credentials(row.id, *next.credentials, data_key))
                       : std::nullopt;
  tx.execute(
      "UPDATE deployments SET image = $2, port = $3, health_path = $4, env_keys = $5, env_sealed "
      "= $6, credentials_sealed = $7, request_id = $8, updated_at = $9, generation = generation + "
      "1, status = CASE WHEN status IN ('stopped', 'pending') THEN status ELSE 'deploying' END, "
      "phase = '', reason = NULL, cause = NULL, message = NULL, health_status = NULL WHERE id = $1",
      row.id, next.image, next.port, next.health_path, env.keys, env.values, credentials,
      actor.request_id, tx.now());
  begin_revision(tx, row.id, RolloutKind::patch, actor.user_id);
  tx.notify(db::Topic::deployment, row.id);
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
  next.container.emplace_back("tier");
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
  check(change, next.env, rules);
  if (change.tier && *change.tier != row.tier_slug) set_tier(tx, row, *change.tier, next);
  if (next.custom_domain && (change.custom_domain || next.tier))
    check_has_domains(next.tier ? *next.tier : *tiers::find(tx, row.tier_id));
  if (change.custom_domain) change_domain(tx, row, next.custom_domain, data_key);
  if (!next.other_domain && next.container.empty()) return *find(tx, id);
  const Deployment paid = pay_for(tx, row, actor, next);
  if (!next.container.empty()) replace_container(tx, paid, actor, next, data_key);
  log_change(tx, paid, actor, next);
  return *find(tx, id);
}

}  // namespace berth::deployments
