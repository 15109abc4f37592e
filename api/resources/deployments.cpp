// Deployments: their list, status, log and variables; stopping, restarting, rollback and deletion.
#include "api/resources/deployments.h"

#include <algorithm>
#include <functional>

#include "api/gate/encode.h"
#include "api/resources/shared.h"
#include "controller/domain/apps/members.h"
#include "controller/domain/deployments/container.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/deployments/owner_list.h"
#include "controller/domain/deployments/rollback.h"
#include "controller/domain/deployments/variables.h"

namespace berth::api {
namespace {

using deployments::Deployment;

struct ShownHealth {
  std::optional<deployments::HealthStatus> status;
  std::optional<Instant> checked_at;
};

// The probe's present result if it is known, otherwise the last recorded one. A failing probe
// doesn't tell whether the container was ever healthy, but the record does.
ShownHealth health_of(const Deployment& row, const Services& services) {
  const bool runs =
      row.status != deployments::Status::stopped && row.status != deployments::Status::destroyed;
  const auto live =
      runs && services.cluster.health_of ? services.cluster.health_of(row.id) : std::nullopt;
  if (!live) return {row.health_status, row.last_health_check};
  using enum deployments::HealthStatus;
  const auto known = row.health_status.value_or(unknown);
  const auto failing = known == healthy ? unhealthy : known;
  return {live->ready ? healthy : failing, services.clock.now() - live->age};
}

}  // namespace

json encode(const deployments::LogEntry& entry) {
  return {{"id", entry.id},
          {"action", entry.action},
          {"status", entry.status},
          {"initiated_by", or_null(entry.initiated_by)},
          {"details", entry.details ? json::parse(*entry.details) : json(nullptr)},
          {"inserted_at", to_iso8601(entry.inserted_at)}};
}

std::string url_of(const Deployment& row, const Services& services) {
  return services.cluster.url_of(
      row.served_domain.value_or(row.name + "." + services.rules.deployments.apps_domain));
}

json encode(const Deployment& row, const Services& services) {
  const ShownHealth health = health_of(row, services);
  json body = {{"id", row.id},
               {"app_id", row.app_id},
               {"deploy_tier_id", row.tier_id},
               {"name", row.name},
               {"container_name", deployments::object_name(row.id)},
               {"subdomain", row.name},
               {"status", row.status},
               {"phase", row.phase},
               {"reason", or_null(row.reason)},
               {"cause", or_null(row.cause)},
               {"message", or_null(row.message)},
               {"tier", row.tier_slug},
               {"env_keys", row.env_keys},
               {"labels", row.labels},
               {"url", url_of(row, services)},
               {"memory_limit_mb", row.memory_limit_mb},
               {"cpu_limit_millicores", row.cpu_limit_millicores},
               {"scaled_to", or_null(row.scaled_to)},
               {"resized", or_null(row.resized)},
               {"inserted_at", to_iso8601(row.inserted_at)},
               {"billing_status", or_null(row.billing_status)},
               {"custom_domain", or_null(row.custom_domain)},
               {"deployed_at", or_null(row.deployed_at)},
               {"last_health_check", or_null(health.checked_at)},
               {"stopped_at", or_null(row.stopped_at)},
               {"health_status", or_null(health.status)},
               {"host_server", or_null(row.host_server)}};
  for (const deployments::ContainerField& field : deployments::container_fields)
    body[std::string(field.answered_as)] = value_of(row.container, field);
  return body;
}

deployments::Actor actor_of(const Call& call) {
  return {.user_id = call.caller->user_id,
          .app_id = call.caller->app_id,
          .request_id = call.request_id};
}

json encode(const deployments::Variable& variable) {
  return {{"name", variable.name},
          {"digest", variable.digest},
          {"set_at", to_iso8601(variable.set_at)}};
}

json encode_both(const Deployment& row, const Services& services) {
  json body = encode(row, services);
  body["deployment"] = json(body);
  return body;
}

namespace {

Page<Deployment> deployments_of(db::Tx& tx, const oauth::Caller& caller, const PageRequest& page,
                                const std::optional<deployments::Label>& label) {
  if (!caller.deployments.empty())
    return deployments::list_of_app(tx, caller.app_id, caller.deployments, page, label);
  if (!caller.app_id.empty()) return deployments::list(tx, caller.app_id, page, label);
  return apps::is_any_member(tx, caller.user_id)
             ? deployments::list_of_member(tx, caller.user_id, page, label)
             : deployments::list_of_owner(tx, caller.user_id, page, label);
}

Reply list_deployments(db::Tx& tx, const Call& call, const Services& services) {
  const auto label = call.query("label");
  const auto wanted = label ? std::optional(deployments::parse_label(*label)) : std::nullopt;
  const auto page = deployments_of(tx, *call.caller, call.page(), wanted);
  return {.body = encode_page("deployments", page,
                              [&](const Deployment& row) { return encode(row, services); })};
}

Reply get_deployment(db::Tx& tx, const Call& call, const Services& services) {
  return {.body =
              encode_both(deployments::get_owned(tx, call.caller->app_id, call.id()), services)};
}

Reply list_variables(db::Tx& tx, const Call& call, const Services& services) {
  json list = json::array();
  for (const auto& variable :
       deployments::variables(tx, call.caller->app_id, call.id(), services.keys.data)) {
    list.push_back(encode(variable));
    list.back().update({{"from", variable.from}, {"overrides", variable.overrides}});
  }
  return {.body = {{"variables", std::move(list)}}};
}

Reply deployment_status(db::Tx& tx, const Call& call, const Services& services) {
  const Deployment row = deployments::get_owned(tx, call.caller->app_id, call.id());
  const ShownHealth health = health_of(row, services);
  return {.body = {{"id", row.id},
                   {"status", row.status},
                   {"subdomain", row.name},
                   {"phase", row.phase},
                   {"reason", or_null(row.reason)},
                   {"cause", or_null(row.cause)},
                   {"message", or_null(row.message)},
                   {"url", url_of(row, services)},
                   {"container_id", or_null(row.container_id)},
                   {"health_status", or_null(health.status)},
                   {"last_health_check", or_null(health.checked_at)}}};
}

Reply deployment_logs(db::Tx& tx, const Call& call, const Services&) {
  const Deployment row = deployments::get_owned(tx, call.caller->app_id, call.id());
  if (call.query("page") || call.query("page_size") || call.query("cursor"))
    return {.body = encode_page("logs", deployments::logs(tx, row.id, call.page()),
                                [](const deployments::LogEntry& entry) { return encode(entry); })};
  json logs = json::array();
  for (const deployments::LogEntry& entry : deployments::newest_logs(tx, row.id))
    logs.push_back(encode(entry));
  return {.body = {{"logs", std::move(logs)}}};
}

Reply stop_deployment(db::Tx& tx, const Call& call, const Services& services) {
  return {.body = encode_both(deployments::stop(tx, actor_of(call), call.id()), services)};
}

Reply restart_deployment(db::Tx& tx, const Call& call, const Services& services) {
  const auto process = text_or_nothing(call.body, "process");
  const Deployment row = process
                             ? deployments::restart_process(tx, actor_of(call), call.id(), *process)
                             : deployments::restart(tx, actor_of(call), call.id());
  return {.body = encode_both(row, services)};
}

Reply rollback_deployment(db::Tx& tx, const Call& call, const Services& services) {
  return {.body = encode_both(deployments::rollback(tx, actor_of(call), call.id(),
                                                    text_or_nothing(call.body, "to_log_id"),
                                                    services.rules.deployments, services.keys.data),
                              services)};
}

Reply delete_deployment(db::Tx& tx, const Call& call, const Services&) {
  const Deployment row = deployments::destroy(tx, actor_of(call), call.id());
  return {.body = {{"message", "the deployment was deleted; its name is free"}, {"id", row.id}}};
}

Reply sandbox_status(db::Tx& tx, const Call& call, const Services&) {
  const deployments::Allowance allowance = deployments::sandbox_allowance(tx, call.caller->app_id);
  // The names of the owner's other apps are no business of those whom they let into this one.
  const oauth::Caller& caller = *call.caller;
  const auto app = apps::find(tx, caller.app_id);
  const bool sees_all = !caller.first_party || !app || app->owner_id == caller.user_id;
  json deployments = json::array();
  for (const auto& use : allowance.uses) {
    if (!sees_all && use.app_id != caller.app_id) continue;
    deployments.push_back({{"id", use.deployment_id},
                           {"name", use.name},
                           {"status", use.status},
                           {"app_id", use.app_id},
                           {"app_name", use.app_name}});
  }
  return {.body = {{"eligible", allowance.eligible},
                   {"tier", allowance.tier},
                   {"deployments_used", allowance.used},
                   {"max_deployments", or_null(allowance.most)},
                   {"max_replicas", allowance.max_replicas},
                   {"exec_allowed", allowance.exec_allowed},
                   {"reasons", allowance.reasons},
                   {"deployments", std::move(deployments)}}};
}

Reply list_orphans(const Call&, const Services& services) {
  return {.body = {{"deployments", services.cluster.orphans()}}};
}

constexpr Errors owned = {Code::deployment_not_found, Code::forbidden};

constexpr Param label_query[] = {
    {.name = "label",
     .description = "Returns only deployments with this label: its key, `=`, and its value.",
     .example = "stage=test"}};

constexpr Route rows[] = {
    {.request = "GET /api/deploy/apps",
     .name = "listDeployments",
     .tag = "Deployments",
     .summary =
         "List the app's deployments; berth's own programs get those of all of the user's apps",
     .text = "Lists the deployments of the token's app that aren't destroyed, newest first.",
     .guards = {keeping_to_deployments(
                    to_viewers(oauth_token({Scope::deploy_read}, Access::ForApp::one_or_all))),
                deploy_reads},
     .paged = true,
     .query = label_query,
     .answer = {200, "DeploymentList"},
     .served_by = {"berth deploy list", "/console"},
     .run = ReadHandler{list_deployments}},
    {.request = "GET /api/deploy/apps/{id}",
     .name = "getDeployment",
     .tag = "Deployments",
     .summary = "A deployment",
     .text = "Returns a deployment of the app with its settings and its status. A deleted one is "
             "still returned, as destroyed.",
     .guards = {to_viewers(reads_deployments), deploy_reads},
     .in_path = {&deployment_in_path},
     .answer = {200, "DeploymentEnvelope"},
     .errors = owned,
     .served_by = {"berth deploy get", "/console"},
     .run = ReadHandler{get_deployment}},
    {.request = "GET /api/deploy/apps/{id}/env",
     .name = "listVariables",
     .tag = "Deployments",
     .summary = "List a deployment's variables without their values",
     .text = "Lists by name what the container gets: the deployment's own variables, and those of "
             "the app that it doesn't override. Each has a digest that changes when its value "
             "does, and the time at which it got its value. The values themselves are never "
             "returned.",
     .guards = {to_viewers(reads_deployments), deploy_reads},
     .in_path = {&deployment_in_path},
     .answer = {200, "VariableList"},
     .errors = owned,
     .served_by = {"berth env list"},
     .run = ReadHandler{list_variables}},
    {.request = "GET /api/deploy/apps/{id}/status",
     .name = "deploymentStatus",
     .tag = "Deployments",
     .summary = "Show a deployment's status",
     .text = "Returns the status as it was last observed on the cluster and, if the deployment "
             "isn't running, the reason.",
     .guards = {to_viewers(reads_deployments), deploy_reads},
     .in_path = {&deployment_in_path},
     .answer = {200, "DeploymentStatus"},
     .errors = owned,
     .read_committed = true,
     .served_by = {"berth deploy status"},
     .run = ReadHandler{deployment_status}},
    {.request = "GET /api/deploy/apps/{id}/logs",
     .name = "deploymentLogs",
     .tag = "Deployments",
     .summary = "List a deployment's log entries",
     .text = "Lists what was done with the deployment, by whom, and how it went, oldest first. "
             "Without a page, the newest 1,000 entries.",
     .guards = {to_viewers(reads_deployments), deploy_reads},
     .in_path = {&deployment_in_path},
     .paged = true,
     .answer = {200, "DeployLogList"},
     .errors = owned,
     .served_by = {"berth deploy history", "/console"},
     .run = ReadHandler{deployment_logs}},
    {.request = "POST /api/deploy/apps/{id}/stop",
     .name = "stopDeployment",
     .tag = "Deployments",
     .summary = "Stop a deployment; its name stays reserved",
     .text = "Stops the container. The name stays reserved, and nothing is charged while it is "
             "stopped; the paid period isn't refunded. Stopping again changes nothing.",
     .guards = {to_developers(changes_deployments), deploy_writes},
     .stores = Stores::nothing,
     .in_path = {&deployment_in_path},
     .answer = {200, "DeploymentEnvelope"},
     .errors = {Code::deployment_not_found, Code::forbidden, Code::deployment_destroyed},
     .idempotency = Idempotency::kept,
     .served_by = {"berth deploy stop", "/console"},
     .run = WriteHandler{stop_deployment}},
    {.request = "POST /api/deploy/apps/{id}/restart",
     .name = "restartDeployment",
     .tag = "Deployments",
     .summary = "Replace the container, with the image pulled again",
     .text = "Starts or replaces the container and pulls its image again. With `process`, only the "
             "containers of that process are replaced. If the current period isn't paid, its price "
             "is taken from the app's balance first.",
     .guards = {to_developers(changes_deployments), deploy_writes},
     .stores = Stores::deployments,
     .in_path = {&deployment_in_path},
     .body = {"RestartRequest", Body::Form::optional_json},
     .answer = {200, "DeploymentEnvelope"},
     .errors = {Code::deployment_not_found, Code::forbidden, Code::deployment_destroyed,
                Code::deployment_suspended, Code::invalid_state, Code::insufficient_balance,
                Code::budget_reached},
     .idempotency = Idempotency::kept,
     .served_by = {"berth deploy restart", "/console"},
     .run = WriteHandler{restart_deployment}},
    {.request = "POST /api/deploy/apps/{id}/rollback",
     .name = "rollbackDeployment",
     .tag = "Deployments",
     .summary = "Return to what an earlier rollout ran, without dropping requests",
     .text = "Runs the image and settings of an earlier rollout again, the last one by default. "
             "Variables that it inherits from the app stay as they are. If the current period "
             "isn't paid, its price is taken from the app's balance first.",
     .guards = {to_developers(changes_deployments), deploy_writes},
     .stores = Stores::deployments,
     .in_path = {&deployment_in_path},
     .body = {"RollbackRequest", Body::Form::optional_json},
     .answer = {200, "DeploymentEnvelope"},
     .errors = {Code::deployment_not_found, Code::forbidden, Code::deployment_destroyed,
                Code::deployment_suspended, Code::log_entry_not_found, Code::invalid_state,
                Code::unsupported_registry, Code::insufficient_balance, Code::budget_reached},
     .idempotency = Idempotency::kept,
     .served_by = {"berth deploy rollback", "/console"},
     .run = WriteHandler{rollback_deployment}},
    {.request = "DELETE /api/deploy/apps/{id}",
     .name = "deleteDeployment",
     .tag = "Deployments",
     .summary = "Delete a deployment for good; its name is free at once",
     .text = "Stops the container and removes everything of it from the cluster. Nothing is "
             "refunded. Deleting again changes nothing.",
     .guards = {to_developers(changes_deployments), deploy_writes},
     .stores = Stores::nothing,
     .in_path = {&deployment_in_path},
     .answer = {200, "DeletedDeployment"},
     .errors = owned,
     .served_by = {"berth deploy delete", "/console"},
     .run = WriteHandler{delete_deployment}},
    {.request = "GET /api/deploy/sandbox-status",
     .name = "sandboxStatus",
     .tag = "Deployments",
     .summary = "Show whether the free tier has room for another deployment",
     .text = "Says whether a deployment of the free tier could be created now, and which "
             "deployments of the owner's apps use its limit. Other members of the app get those of "
             "this app alone.",
     .guards = {to_viewers(reads_deployments), deploy_reads},
     .answer = {200, "SandboxStatus"},
     .served_by = {"berth doctor", "/console/new"},
     .run = ReadHandler{sandbox_status}},
    {.request = "GET /api/internal/deploy/orphans",
     .name = "listOrphans",
     .tag = "Internal",
     .summary = "List deployments that have objects on the cluster but no row in the database",
     .text = "Compares the cluster with the database. The listed objects are never deleted "
             "automatically.",
     .guards = every_admin,
     .answer = {200, "Orphans"},
     .served_by = {"berth admin orphans", "/console/admin"},
     .run = FreeHandler{list_orphans}},
};

}  // namespace

std::span<const Route> deployments_routes() { return rows; }

}  // namespace berth::api
