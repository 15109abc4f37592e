// What is to run: the orders that create and change deployments, and their dry run.
#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/resources/deployments.h"
#include "api/resources/shared.h"
#include "controller/base/image_reference.h"
#include "controller/domain/deployments/container.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/deployments/dry_run.h"

namespace berth::api {
namespace {

using deployments::Deployment;

const json& field_or_null(const json& body, std::string_view field) {
  static const json null;
  const auto value = body.find(field);
  return value == body.end() ? null : *value;
}

// The variables under either of their two names, or null.
const json& env_of(const json& body) {
  const json& env_vars = field_or_null(body, "env_vars");
  const json& env = field_or_null(body, "env");
  if (!env_vars.is_null() && !env.is_null())
    throw invalid_field("env", "and env_vars have the same meaning; send only one of them");
  return env_vars.is_null() ? env : env_vars;
}

// berth sets this variable of each container to the field `port`.
constexpr const char* variable_of_port = "PORT";

std::map<std::string, std::string> decode_env(const json& body) {
  const json& env = env_of(body);
  if (env.is_null()) return {};
  auto variables = env.get<std::map<std::string, std::string>>();
  variables.erase(variable_of_port);
  return variables;
}

deployments::Labels decode_labels(const json& body) {
  const json& labels = field_or_null(body, "labels");
  return labels.is_null() ? deployments::Labels() : labels.get<deployments::Labels>();
}

std::optional<deployments::RegistryCredentials> decode_credentials(const json& body) {
  const json& credentials = field_or_null(body, "registry_credentials");
  if (credentials.is_null()) return std::nullopt;
  return deployments::RegistryCredentials{.username = credentials.at("username"),
                                          .password = credentials.at("password")};
}

deployments::Order decode_order(const json& body) {
  deployments::Order order = {
      .name = body.at("name"),
      .tier = body.at("tier"),
      .custom_domain = text_or_nothing(body, "custom_domain"),
      .container = {},
      .secrets = {.env = decode_env(body), .registry_credentials = decode_credentials(body)},
      .labels = decode_labels(body)};
  for (const deployments::ContainerField& field : deployments::container_fields)
    set_value(order.container, field, field_or_null(body, field.name));
  order.container.image = normalized_image(order.container.image);
  return order;
}

deployments::Change decode_change(const json& body) {
  deployments::Change change = {.fields = {},
                                .container = {},
                                .env = decode_variable_changes(env_of(body)),
                                .custom_domain = {},
                                .registry_credentials = {},
                                .tier = text_or_nothing(body, "tier")};
  for (const deployments::ContainerField& field : deployments::container_fields) {
    const auto value = body.find(field.name);
    if (value == body.end()) continue;
    set_value(change.container, field, *value);
    change.fields.push_back(&field);
  }
  change.container.image = normalized_image(change.container.image);
  if (body.contains("custom_domain")) change.custom_domain = text_or_nothing(body, "custom_domain");
  if (body.contains("labels")) change.labels = decode_labels(body);
  if (body.contains("registry_credentials")) change.registry_credentials = decode_credentials(body);
  return change;
}

deployments::Operation decode_operation(const json& body, const std::string& where) {
  const json& create = field_or_null(body, "create");
  const json& change = field_or_null(body, "change");
  const auto id = text_or_nothing(body, "id");
  if (create.is_null() == change.is_null() || change.is_null() == id.has_value())
    throw invalid_field(where, "must have either create, or id and change");
  if (!create.is_null()) return {.order = decode_order(create), .id = {}};
  return {.order = {}, .id = *id, .change = decode_change(change)};
}

}  // namespace

std::map<std::string, std::optional<std::string>> decode_variable_changes(const json& variables) {
  std::map<std::string, std::optional<std::string>> changes;
  for (const auto& [name, value] : variables.items())
    if (name != variable_of_port || value.is_null())
      changes[name] = value.is_null() ? std::nullopt : std::optional(value.get<std::string>());
  return changes;
}

void warn_of_port(const json& variables, const std::string& field, json& answer) {
  if (variables.is_object() && !field_or_null(variables, variable_of_port).is_null())
    answer["warnings"].push_back(
        field + ".PORT was ignored: the container's PORT is always that of the field port");
}

namespace {

Reply create_deployment(db::Tx& tx, const Call& call, const Services& services) {
  const Deployment row = deployments::create(tx, actor_of(call), decode_order(call.body),
                                             services.rules.deployments, services.keys.data);
  json body = {{"deployment", encode(row, services)},
               {"id", row.id},
               {"name", row.name},
               {"status", row.status},
               {"url", url_of(row, services)},
               {"message", "the deployment was accepted; follow it at GET /api/deploy/apps/" +
                               row.id + "/status"}};
  warn_of_port(env_of(call.body), "env_vars", body);
  return {.status = 201, .body = std::move(body)};
}

Reply dry_run_deployments(db::Tx& tx, const Call& call, const Services& services) {
  std::vector<deployments::Operation> operations;
  for (const json& each : call.body.at("operations"))
    operations.push_back(decode_operation(each, "operations." + std::to_string(operations.size())));
  const auto outcomes = deployments::dry_run(tx, actor_of(call), operations,
                                             services.rules.deployments, services.keys.data);
  json list = json::array();
  for (const deployments::Outcome& outcome : outcomes) {
    json entry = {{"action", outcome.effect},
                  {"fields", outcome.fields},
                  {"replaces_container", outcome.replaces_container},
                  {"points", outcome.points},
                  {"containers", nullptr},
                  {"deployment", nullptr},
                  {"refusal", nullptr}};
    if (outcome.deployment) {
      entry["containers"] = deployments::most_replicas(outcome.deployment->container);
      entry["deployment"] = encode(*outcome.deployment, services);
    }
    if (outcome.refusal)
      entry["refusal"] = {{"status", status(outcome.refusal->code)},
                          {"code", name(outcome.refusal->code)},
                          {"message", outcome.refusal->what()},
                          {"details", outcome.refusal->details}};
    list.push_back(std::move(entry));
  }
  json body = {{"operations", std::move(list)}};
  for (const json& each : call.body.at("operations"))
    if (!body.contains("warnings"))
      warn_of_port(env_of(each.at(each.contains("create") ? "create" : "change")), "env_vars",
                   body);
  return {.body = std::move(body)};
}

Reply change_deployment(db::Tx& tx, const Call& call, const Services& services) {
  json body =
      encode_both(deployments::change(tx, actor_of(call), call.id(), decode_change(call.body),
                                      services.rules.deployments, services.keys.data),
                  services);
  warn_of_port(env_of(call.body), "env_vars", body);
  return {.body = std::move(body)};
}

constexpr Route rows[] = {
    {.request = "POST /api/deploy/apps",
     .name = "createDeployment",
     .tag = "Deployments",
     .summary = "Create a deployment: run a container under a name",
     .text = "Accepts the order with status pending and starts the container; follow …/status or "
             "…/events until it is running. A paid tier's price for 30 days of each container that "
             "it may have at once is taken from the app's balance at once, and again every 30 "
             "days; points for an hour of as many are held if the tier has a price by the hour.",
     .guards = {to_developers(changes_deployments), deploy_writes},
     .stores = Stores::deployments,
     .body = {"CreateDeploymentRequest"},
     .answer = {201, "CreateDeploymentResponse"},
     .errors = {Code::unsupported_registry, Code::unknown_tier, Code::payment_method_unsupported,
                Code::tier_not_allowed, Code::subdomain_taken, Code::domain_taken,
                Code::deployment_limit_reached, Code::insufficient_balance, Code::budget_reached},
     .idempotency = Idempotency::kept,
     .with_row_locks = true,
     .served_by = {"berth deploy create", "/console/new"},
     .run = WriteHandler{create_deployment}},
    {.request = "POST /api/deploy/dry-run",
     .name = "dryRunDeployments",
     .tag = "Deployments",
     .summary = "Say what creating and changing deployments would do, and do nothing",
     .text =
         "Carries out the creations and changes, one after the other, and undoes all of them, so "
         "that nothing is kept, charged or sent to the cluster. Each one meets limits, names "
         "and points as those before it leave them. The answer says for each one which fields "
         "would change and what it would cost, or why it would be refused.",
     .guards = {to_developers(changes_deployments), deploy_writes},
     .stores = Stores::nothing,
     .body = {"DryRunRequest"},
     .answer = {200, "DryRunResponse"},
     .unaudited = "Changes nothing.",
     .served_by = {"berth deploy up"},
     .run = WriteHandler{dry_run_deployments}},
    {.request = "PATCH /api/deploy/apps/{id}",
     .name = "changeDeployment",
     .tag = "Deployments",
     .summary = "Change a deployment; fields that aren't sent stay",
     .text =
         "Changes the fields that are sent, and replaces the container without dropping "
         "requests if it must. For a more expensive tier or more containers, the difference for "
         "the rest of the period is charged; for a cheaper one or fewer, it is credited; an unpaid "
         "period is charged first.",
     .guards = {to_developers(changes_deployments), deploy_writes},
     .stores = Stores::deployments,
     .in_path = {&deployment_in_path},
     .body = {"ChangeDeploymentRequest"},
     .answer = {200, "DeploymentEnvelope"},
     .errors = {Code::deployment_not_found, Code::forbidden, Code::deployment_destroyed,
                Code::deployment_suspended, Code::unsupported_registry, Code::unknown_tier,
                Code::payment_method_unsupported, Code::tier_not_allowed, Code::domain_taken,
                Code::deployment_limit_reached, Code::insufficient_balance, Code::budget_reached},
     .served_by = {"berth deploy update", "/console"},
     .run = WriteHandler{change_deployment}},
};

}  // namespace

std::span<const Route> deployment_orders_routes() { return rows; }

}  // namespace berth::api
