#include "controller/domain/deployments/deployments.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/db/enum_column.h"
#include "controller/domain/accounts/account_changes.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/deployments/billing/billing.h"
#include "controller/domain/deployments/custom_domains/custom_domains.h"
#include "controller/domain/deployments/custom_domains/domain_names.h"
#include "controller/domain/deployments/custom_domains/name_history.h"
#include "controller/domain/deployments/deployment_rows.h"
#include "controller/domain/deployments/erasure.h"
#include "controller/domain/deployments/previews.h"
#include "controller/domain/deployments/process_rules.h"
#include "controller/domain/deployments/pushes.h"
#include "controller/domain/deployments/revisions.h"
#include "controller/domain/deployments/rules.h"
#include "controller/domain/kernel/read_page.h"

namespace berth::deployments {
namespace {

LogEntry log_of(const db::Query& row) {
  return {.id = row.text("id"),
          .action = db::enum_of<LogAction>(row, "action"),
          .status = db::enum_of<LogStatus>(row, "status"),
          .initiated_by = row.text_or_null("initiated_by"),
          .details = row.text_or_null("details"),
          .inserted_at = row.instant("inserted_at")};
}

constexpr int most_numbered_names = 20;  // before a name gets random digits

std::string with_ending(const std::string& name, const std::string& ending) {
  std::string begin = name.substr(0, max_name_length - ending.size());
  while (begin.ends_with('-')) begin.pop_back();
  return begin + ending;
}

}  // namespace

std::string free_name(db::Tx& tx, const std::string& name) {
  constexpr int first_number = 2;
  if (!holder_of_name(tx, name)) return name;
  for (int number = first_number; number < most_numbered_names; ++number)
    if (const std::string next = with_ending(name, "-" + std::to_string(number));
        !holder_of_name(tx, next))
      return next;
  constexpr size_t random_digits = 3;
  return with_ending(name, "-" + hex(random_bytes(random_digits)));
}

namespace {

// The checks of a create request, in the order of precedence that the API documents.
tiers::Tier check_order(db::Tx& tx, const apps::App& app, const custom_domains::Claimant& claimant,
                        const Order& order) {
  const tiers::Tier tier = payable_tier(tx, order.tier);
  if (order.custom_domain) {
    check_has_domains(tier);
    check_is_served(order.container);
  }
  check_size(order.container, tier);
  check_tier_allowed(app, tier);
  if (holder_of_name(tx, order.name))
    throw Error(Code::subdomain_taken, "another deployment has the name " + order.name);
  if (order.custom_domain) custom_domains::refuse_taken(tx, claimant, *order.custom_domain);
  check_tier_cap(tx, claimant.owner_id, tier);
  return tier;
}

// More writes than a PostgreSQL has connections for, so no more deployments are created at once.
constexpr int most_creates_at_once = 1'000;

// Others may have created deployments of the tier since the check. So if the limit is so near that
// they could have passed it, the deployments are counted with the account locked. That is done as
// late as possible, because all who create deployments of this owner wait for it. Whether the app
// is still there is asked by a trigger, even later (deployments_in_living_apps).
void check_tier_cap_again(db::Tx& tx, const std::string& owner_id, const tiers::Tier& tier) {
  const bool may_others_commit =
      tx.isolation() == db::Isolation::row_locks && tx.writers() == db::Writers::many;
  if (!may_others_commit || !tier.max_deployments) return;
  const auto used = [&] { return used_of_tier(tx, owner_id, tier.id); };
  if (used() <= *tier.max_deployments - most_creates_at_once) return;
  accounts::lock(tx, owner_id);
  if (used() > *tier.max_deployments) throw db::Overtaken("another deployment was created");
}

}  // namespace

Deployment create(db::Tx& tx, const Actor& actor, const Order& ordered, const Rules& rules,
                  const std::string& data_key) {
  Order order = ordered;
  if (order.custom_domain) order.custom_domain = domain_names::normalised(*order.custom_domain);
  check(order, rules);
  check_own_image(tx, actor.app_id, order.container.image, rules);
  const auto app = apps::find(tx, actor.app_id);
  if (!app) throw Error(Code::app_not_found, "there is no such app");
  custom_domains::Claimant claimant = {
      .deployment_id = {}, .app_id = app->id, .owner_id = app->owner_id};
  const tiers::Tier tier = check_order(tx, *app, claimant, order);
  const std::string id = claimant.deployment_id = new_uuid(tx.now());
  insert(tx, id, actor, order, tier, app->owner_id, data_key);
  name_history::remember(tx, name_history::Kind::subdomain, order.name, app->owner_id, data_key);
  const Deployment deployment = *find(tx, id);
  billing::open_account(tx, deployment, tier);
  if (order.custom_domain) custom_domains::claim(tx, claimant, *order.custom_domain, data_key);
  begin_revision(tx, id, RolloutKind::create, actor.user_id);
  write_log(tx, id,
            {.action = LogAction::create,
             .status = LogStatus::succeeded,
             .initiated_by = actor.user_id,
             .details = nlohmann::json{{"image", order.container.image},
                                       {"tier", tier.slug},
                                       {"port", order.container.port},
                                       {"generation", deployment.generation}}
                            .dump()});
  if (order.container.auto_deploy) pushes::follow(tx, deployment);
  check_tier_cap_again(tx, claimant.owner_id, tier);
  tx.notify(db::Topic::deployment, id);
  return deployment;
}

Deployment get_living(db::Tx& tx, const Actor& actor, const std::string& id) {
  Deployment deployment = get_owned(tx, actor.app_id, id);
  if (deployment.status == Status::destroyed)
    throw Error(Code::deployment_destroyed, "the deployment was deleted");
  return deployment;
}

Deployment get_owned(db::Tx& tx, const std::string& app_id, const std::string& id) {
  auto deployment = find(tx, id);
  if (!deployment) throw Error(Code::deployment_not_found, "there is no such deployment");
  if (deployment->app_id != app_id)
    throw apps::foreign(tx, "the deployment", deployment->app_id, app_id);
  return std::move(*deployment);
}

Deployment stop(db::Tx& tx, const Actor& actor, const std::string& id) {
  const Deployment deployment = get_living(tx, actor, id);
  const bool is_stopped = deployment.status == Status::stopped;
  const bool would_have_started = billing::stop_renewal(tx, id);
  if (is_stopped && !would_have_started) return deployment;
  write_log(tx, id,
            {.action = LogAction::stop,
             .status = LogStatus::succeeded,
             .initiated_by = actor.user_id,
             .details = {}});
  if (is_stopped) return *find(tx, id);
  begin_generation(tx, id, {.status = Status::stopped, .request_id = actor.request_id});
  return *find(tx, id);
}

Deployment restart(db::Tx& tx, const Actor& actor, const std::string& id) {
  check_not_suspended(get_living(tx, actor, id));
  billing::resume(tx, actor, id);
  begin_generation(tx, id, {.request_id = actor.request_id, .replace = Replace::always});
  const Deployment next = *find(tx, id);
  begin_revision(tx, id, RolloutKind::restart, actor.user_id);
  write_log(
      tx, id,
      {.action = LogAction::restart,
       .status = LogStatus::started,
       .initiated_by = actor.user_id,
       .details = nlohmann::json{{"generation", next.generation}, {"image", next.container.image}}
                      .dump()});
  return next;
}

Deployment restart_process(db::Tx& tx, const Actor& actor, const std::string& id,
                           const std::string& process) {
  const Deployment before = get_living(tx, actor, id);
  check_not_suspended(before);
  const auto all = processes_of(before.container);
  if (std::ranges::find(all, process, &ProcessSpec::name) == all.end())
    throw invalid_field("process", "must be one of the deployment's processes");
  if (before.status == Status::stopped)
    throw Error(Code::invalid_state,
                "the deployment is stopped, and its processes start together: restart all of it");
  billing::resume(tx, actor, id);
  tx.execute(R"(UPDATE deployments SET process_rollouts = $2 WHERE id = $1)", id,
             nlohmann::json(next_rollouts(before, {process})).dump());
  begin_generation(
      tx, id, {.status = status_with_new_container(before.status), .request_id = actor.request_id});
  const Deployment next = *find(tx, id);
  begin_revision(tx, id, RolloutKind::restart, actor.user_id);
  write_log(tx, id,
            {.action = LogAction::restart,
             .status = LogStatus::started,
             .initiated_by = actor.user_id,
             .details = nlohmann::json{
                 {"generation", next.generation},
                 {"image", next.container.image},
                 {"process",
                  process}}.dump()});
  return next;
}

Deployment destroy(db::Tx& tx, const Actor& actor, const std::string& id) {
  const Deployment deployment = get_owned(tx, actor.app_id, id);
  if (deployment.status == Status::destroyed) return deployment;
  write_log(tx, id,
            {.action = LogAction::destroy,
             .status = LogStatus::succeeded,
             .initiated_by = actor.user_id,
             .details = {}});
  custom_domains::release(tx, id);
  billing::stop_renewal(tx, id);
  forget_revisions(tx, id);
  erase_secrets(tx, deployment);
  begin_generation(tx, id, {.status = Status::destroyed, .request_id = actor.request_id});
  const Deployment destroyed = *find(tx, id);
  pushes::follow(tx, destroyed);
  previews::deleted(tx, id);
  return destroyed;
}

std::vector<LogEntry> newest_logs(db::Tx& tx, const std::string& id) {
  std::vector<LogEntry> result;
  auto rows = tx.query(
      R"(
      SELECT id, action, status, initiated_by, details, inserted_at
      FROM deploy_logs
      WHERE deployment_id = $1
      ORDER BY number DESC
      LIMIT $2)",
      id, max_log_entries);
  while (rows.next()) result.push_back(log_of(rows));
  std::ranges::reverse(result);
  return result;
}

Page<LogEntry> logs(db::Tx& tx, const std::string& id, const PageRequest& page) {
  static const ListSql sql = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM deploy_logs WHERE deployment_id = $1 LIMIT $2) counted)",
                              .rows = R"(
      SELECT id, number, action, status, initiated_by, details, inserted_at
      FROM deploy_logs
      WHERE deployment_id = $1 AND number > $2
      ORDER BY number
      LIMIT $3 OFFSET $4)",
                              .sorted_by = {{SortColumn::Type::integer, "number"}},
                              .order = ListSql::Order::ascending};
  return read_page(tx, sql, page, log_of, id);
}

namespace {

std::vector<Allowance::Use> uses_of_tier(db::Tx& tx, const std::string& owner_id,
                                         const std::string& tier_id) {
  std::vector<Allowance::Use> uses;
  auto rows = tx.query(R"(
    SELECT d.id, d.name, d.status, a.id AS app_id, a.app_name
    FROM deployments d
    JOIN apps a ON a.id = d.app_id
    WHERE d.owner_id = $1 AND d.tier_id = $2 AND d.status <> 'destroyed'
    ORDER BY d.inserted_at DESC, d.id DESC
    LIMIT $3)",
                       owner_id, tier_id, max_listed_in_allowance);
  while (rows.next())
    uses.push_back({.deployment_id = rows.text("id"),
                    .name = rows.text("name"),
                    .status = db::enum_of<Status>(rows, "status"),
                    .app_id = rows.text("app_id"),
                    .app_name = rows.text("app_name")});
  return uses;
}

}  // namespace

Allowance sandbox_allowance(db::Tx& tx, const std::string& app_id) {
  Allowance result;
  const auto app = apps::find(tx, app_id);
  const auto tiers = tiers::list(tx);
  const auto tier = std::ranges::find_if(tiers, [](const tiers::Tier& row) {
    return row.auto_approve && row.monthly_cost_points == 0;
  });
  if (tier == tiers.end() || !app) {
    result.reasons.emplace_back(name(Code::tier_not_found));
    return result;
  }
  result.tier = tier->slug;
  result.most = tier->max_deployments;
  result.max_replicas = tier->max_replicas;
  result.exec_allowed = tier->exec_allowed;
  result.used = used_of_tier(tx, app->owner_id, tier->id);
  result.uses = uses_of_tier(tx, app->owner_id, tier->id);
  if (result.most && result.used >= *result.most)
    result.reasons.emplace_back("deployment_limit_reached");
  result.eligible = result.reasons.empty();
  return result;
}

}  // namespace berth::deployments
