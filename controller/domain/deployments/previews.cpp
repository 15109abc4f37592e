#include "controller/domain/deployments/previews.h"

#include <algorithm>

#include "controller/base/error.h"
#include "controller/base/image_reference.h"
#include "controller/domain/deployments/billing/billing.h"
#include "controller/domain/deployments/deployment_rows.h"
#include "controller/domain/deployments/metering/budgets.h"
#include "controller/domain/deployments/rules.h"

namespace berth::previews {
namespace {

using deployments::Deployment;
using deployments::Status;

constexpr const char* initiator = "preview";  // as the id of a request
constexpr const char* label = "preview-of";

bool is_preview(db::Tx& tx, const std::string& id) {
  return tx.number(R"(SELECT count(*) FROM deployment_previews WHERE deployment_id = $1)", id) > 0;
}

void check(db::Tx& tx, const Deployment& of, const Wanted& wanted) {
  if (of.status == Status::destroyed)
    throw Error(Code::deployment_destroyed, "the deployment was deleted");
  check_not_suspended(of);
  if (is_preview(tx, of.id))
    throw Error(Code::invalid_state,
                "the deployment is a preview itself; make one of the deployment that it is of");
  if (wanted.ttl < shortest || wanted.ttl > longest)
    throw invalid_field("ttl_seconds", "must be from 60 to 2592000, which is 30 days");
  if (tx.number(R"(SELECT count(*) FROM deployment_previews WHERE of_id = $1)", of.id) >=
      max_of_deployment)
    throw Error(Code::invalid_state,
                "the deployment has 10 previews, which is the limit; delete one of them");
}

// What is charged for the first 30 days counts in the budget, which would stop the preview at once.
void check_budget(db::Tx& tx, const std::string& id, std::int64_t budget) {
  const std::int64_t price = billing::view(tx, id).price;
  if (price > 0 && price >= budget)
    throw Error(Code::budget_reached, "the preview's budget of " + std::to_string(budget) +
                                          " points must be above the " + std::to_string(price) +
                                          " points that its first 30 days cost");
}

// One container of each process: a preview isn't there for many people.
void make_small(deployments::ContainerSpec& container) {
  container.replicas = 1;
  container.scale.reset();
  for (auto& [name, process] : container.processes) {
    process.replicas.reset();
    process.scale.reset();
  }
  container.crons.clear();
  container.auto_deploy = false;
  container.identity = false;
  container.deploy_hours.clear();
}

}  // namespace

Preview create(db::Tx& tx, const deployments::Actor& actor, const std::string& of_id,
               const Wanted& wanted, const deployments::Rules& rules, const std::string& data_key) {
  tx.require_serializable();
  const Deployment of = deployments::get_owned(tx, actor.app_id, of_id);
  check(tx, of, wanted);
  deployments::Order order =
      deployments::order_of(of, deployments::own_secrets(tx, of_id, data_key));
  order.name = wanted.name;
  order.custom_domain.reset();
  order.secrets.env = wanted.env;
  order.secrets.env_set_at.clear();
  order.labels = {{label, of.name}};
  if (wanted.image) order.container.image = normalized_image(*wanted.image);
  make_small(order.container);
  const Deployment made = deployments::create(tx, actor, order, rules, data_key);
  const Instant expires_at = tx.now() + wanted.ttl;
  tx.execute(R"(
      INSERT INTO deployment_previews (deployment_id, of_id, expires_at)
      VALUES ($1, $2, $3))",
             made.id, of.id, expires_at);
  if (wanted.budget) {
    check_budget(tx, made.id, *wanted.budget);
    metering::set_budget(tx, {.app_id = actor.app_id,
                              .deployment_id = made.id,
                              .period = metering::BudgetPeriod::thirty_days,
                              .limit = wanted.budget,
                              .at_limit = metering::AtLimit::stop_all});
  }
  return {.deployment = made, .expires_at = expires_at};
}

std::vector<Preview> list(db::Tx& tx, const std::string& app_id, const std::string& of_id) {
  deployments::get_owned(tx, app_id, of_id);
  std::vector<std::pair<std::string, Instant>> found;
  auto rows = tx.query(R"(
      SELECT deployment_id, expires_at
      FROM deployment_previews
      WHERE of_id = $1)",
                       of_id);
  while (rows.next()) found.emplace_back(rows.text("deployment_id"), rows.instant("expires_at"));
  std::vector<Preview> previews;
  for (const auto& [id, expires_at] : found)
    if (auto deployment = deployments::find(tx, id))
      previews.push_back({.deployment = *std::move(deployment), .expires_at = expires_at});
  std::ranges::sort(previews, {}, &Preview::expires_at);
  return previews;
}

void deleted(db::Tx& tx, const std::string& deployment_id) {
  tx.execute(R"(DELETE FROM deployment_previews WHERE deployment_id = $1)", deployment_id);
  tx.execute(R"(UPDATE deployment_previews SET expires_at = $2 WHERE of_id = $1)", deployment_id,
             tx.now());
}

std::vector<std::string> expired(db::Tx& tx, int most) {
  std::vector<std::string> ids;
  auto rows = tx.query(R"(
      SELECT p.deployment_id
      FROM deployment_previews p
      WHERE p.expires_at <= $1
      ORDER BY p.expires_at
      LIMIT $2)",
                       tx.now(), most);
  while (rows.next()) ids.push_back(rows.text("deployment_id"));
  return ids;
}

void end(db::Tx& tx, const std::string& deployment_id) {
  tx.require_serializable();
  const auto deployment = deployments::find(tx, deployment_id);
  if (deployment && deployment->status != Status::destroyed)
    deployments::destroy(
        tx,
        {.user_id = deployment->owner_id, .app_id = deployment->app_id, .request_id = initiator},
        deployment_id);
  tx.execute(R"(DELETE FROM deployment_previews WHERE deployment_id = $1)", deployment_id);
}

}  // namespace berth::previews
