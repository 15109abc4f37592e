// Deployments, for operators.
#include "api/resources/deployments/handlers.h"

#include "api/gate/decode.h"
#include "api/gate/encode.h"
#include "api/resources/deployments/encode.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/deployments/dry_run.h"
#include "controller/domain/deployments/owner_list.h"
#include "controller/domain/deployments/rollback.h"
#include "controller/domain/deployments/variables.h"

namespace berth::api {
namespace {

using deployments::Deployment;

// The URL with the custom domain if that is being served, otherwise with the name under
// apps-domain.
std::string url_of(const Deployment& row, const Services& services) {
  return services.url_of(
      row.served_domain.value_or(row.name + "." + services.deployment_rules.apps_domain));
}

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
      runs && services.deployment_health ? services.deployment_health(row.id) : std::nullopt;
  if (!live) return {row.health_status, row.last_health_check};
  using enum deployments::HealthStatus;
  const auto known = row.health_status.value_or(unknown);
  const auto failing = known == healthy ? unhealthy : known;
  return {live->ready ? healthy : failing, services.clock.now() - live->age};
}

json encode(const Deployment& row, const Services& services) {
  const ShownHealth health = health_of(row, services);
  return {{"id", row.id},
          {"app_id", row.app_id},
          {"deploy_tier_id", row.tier_id},
          {"name", row.name},
          {"container_name", deployments::object_name(row.id)},
          {"container_image", row.container.image},
          {"subdomain", row.name},
          {"status", row.status},
          {"phase", row.phase},
          {"reason", or_null(row.reason)},
          {"cause", or_null(row.cause)},
          {"message", or_null(row.message)},
          {"port", row.container.port},
          {"tier", row.tier_slug},
          {"env_keys", row.env_keys},
          {"labels", row.labels},
          {"health_path", or_null(row.container.health_path)},
          {"url", url_of(row, services)},
          {"memory_limit_mb", row.memory_limit_mb},
          {"cpu_limit_millicores", row.cpu_limit_millicores},
          {"inserted_at", to_iso8601(row.inserted_at)},
          {"billing_status", or_null(row.billing_status)},
          {"custom_domain", or_null(row.custom_domain)},
          {"deployed_at", or_null(row.deployed_at)},
          {"last_health_check", or_null(health.checked_at)},
          {"stopped_at", or_null(row.stopped_at)},
          {"health_status", or_null(health.status)},
          {"host_server", or_null(row.host_server)}};
}

json encode_log(const deployments::LogEntry& entry) {
  return {{"id", entry.id},
          {"action", entry.action},
          {"status", entry.status},
          {"initiated_by", or_null(entry.initiated_by)},
          {"details", entry.details ? json::parse(*entry.details) : json(nullptr)},
          {"inserted_at", to_iso8601(entry.inserted_at)}};
}

const json& field_or_null(const json& body, const char* field) {
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

// berth sets this variable of each container to the field `port`. A value from a request would have
// no effect, so it isn't stored, and the answer says so.
constexpr const char* variable_of_port = "PORT";

bool sets_port_variable(const json& body) {
  return env_of(body).is_object() && !field_or_null(env_of(body), variable_of_port).is_null();
}

void warn_of_port(const json& request, json& answer) {
  if (sets_port_variable(request))
    answer["warnings"].push_back(
        "env_vars.PORT was left out: the container's PORT is always the field port");
}

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

std::map<std::string, std::optional<std::string>> decode_env_changes(const json& body) {
  std::map<std::string, std::optional<std::string>> changes;
  for (const auto& [key, value] : env_of(body).items())
    if (key != variable_of_port || value.is_null())
      changes[key] = value.is_null() ? std::nullopt : std::optional(value.get<std::string>());
  return changes;
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
      .container = {.image = body.at("image"), .health_path = text_or_nothing(body, "health_path")},
      .secrets = {.env = decode_env(body), .registry_credentials = decode_credentials(body)},
      .labels = decode_labels(body)};
  if (const json& port = field_or_null(body, "port"); !port.is_null()) order.container.port = port;
  return order;
}

deployments::Change decode_change(const json& body) {
  deployments::Change change = {.image = text_or_nothing(body, "image"),
                                .port = {},
                                .env = decode_env_changes(body),
                                .custom_domain = {},
                                .health_path = {},
                                .registry_credentials = {},
                                .tier = text_or_nothing(body, "tier")};
  if (const json& port = field_or_null(body, "port"); !port.is_null()) change.port = port;
  if (body.contains("custom_domain")) change.custom_domain = text_or_nothing(body, "custom_domain");
  if (body.contains("health_path")) change.health_path = text_or_nothing(body, "health_path");
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

deployments::Actor actor_of(const Call& call) {
  return {.user_id = call.caller->user_id,
          .app_id = call.caller->app_id,
          .request_id = call.request_id};
}

// The most steps in an answer: 24 hours of minutes, or 31 days of quarters of an hour.
constexpr int max_steps = 3'000;

Duration decode_step(const Call& call, Instant from, Instant now) {
  using namespace usage_history;
  const auto text = call.query("step", Kind::integer);
  if (!text) return now - from <= minutes_kept_for ? minute : quarter;
  for (const Duration step : {minute, quarter})
    if (*text == std::to_string(std::chrono::duration_cast<std::chrono::seconds>(step).count()))
      return step;
  throw invalid_field("step", "must be 60 or 900");
}

usage_history::Wanted decode_history(const Call& call, const std::string& id, Instant now) {
  const Instant end = std::min(end_query(call, "to").value_or(now), now);
  const Instant begin = instant_query(call, "from").value_or(end - usage_history::minutes_kept_for);
  if (begin >= end) throw invalid_field("from", "must be before to, and not in the future");
  const Duration step = decode_step(call, begin, now);
  const std::int64_t first = begin.time_since_epoch() / step;
  const std::int64_t count = (end.time_since_epoch() + step - Duration(1)) / step - first;
  if (count > max_steps)
    throw invalid_field("from",
                        "must not be more than " + std::to_string(max_steps) + " steps before to");
  return {.deployment_id = id, .from = Instant(first * step), .step = step, .count = int(count)};
}

}  // namespace

json encode_both(const Deployment& row, const Services& services) {
  json body = encode(row, services);
  body["deployment"] = json(body);
  return body;
}

Reply create_deployment(db::Tx& tx, const Call& call, const Services& services) {
  const Deployment row = deployments::create(tx, actor_of(call), decode_order(call.body),
                                             services.deployment_rules, services.keys.data);
  json body = {{"deployment", encode(row, services)},
               {"id", row.id},
               {"name", row.name},
               {"status", row.status},
               {"url", url_of(row, services)},
               {"message", "the deployment was accepted; follow it at GET /api/deploy/apps/" +
                               row.id + "/status"}};
  warn_of_port(call.body, body);
  return {.status = 201, .body = std::move(body)};
}

Reply dry_run_deployments(db::Tx& tx, const Call& call, const Services& services) {
  std::vector<deployments::Operation> operations;
  for (const json& each : call.body.at("operations"))
    operations.push_back(decode_operation(each, "operations." + std::to_string(operations.size())));
  const auto outcomes = deployments::dry_run(tx, actor_of(call), operations,
                                             services.deployment_rules, services.keys.data);
  json list = json::array();
  for (const deployments::Outcome& outcome : outcomes) {
    json entry = {{"action", outcome.effect},
                  {"fields", outcome.fields},
                  {"replaces_container", outcome.replaces_container},
                  {"points", outcome.points},
                  {"deployment", nullptr},
                  {"refusal", nullptr}};
    if (outcome.deployment) entry["deployment"] = encode(*outcome.deployment, services);
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
      warn_of_port(each.at(each.contains("create") ? "create" : "change"), body);
  return {.body = std::move(body)};
}

Reply list_deployments(db::Tx& tx, const Call& call, const Services& services) {
  const auto label = call.query("label");
  const auto wanted = label ? std::optional(deployments::parse_label(*label)) : std::nullopt;
  const oauth::Caller& caller = *call.caller;
  const auto page = caller.app_id.empty()
                        ? deployments::list_of_owner(tx, caller.user_id, call.page(), wanted)
                        : deployments::list(tx, caller.app_id, call.page(), wanted);
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
       deployments::variables(tx, call.caller->app_id, call.id(), services.keys.data))
    list.push_back({{"name", variable.name},
                    {"digest", variable.digest},
                    {"set_at", to_iso8601(variable.set_at)}});
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
    return {.body = encode_page("logs", deployments::logs(tx, row.id, call.page()), encode_log)};
  json logs = json::array();
  for (const deployments::LogEntry& entry : deployments::newest_logs(tx, row.id))
    logs.push_back(encode_log(entry));
  return {.body = {{"logs", std::move(logs)}}};
}

Reply change_deployment(db::Tx& tx, const Call& call, const Services& services) {
  json body =
      encode_both(deployments::change(tx, actor_of(call), call.id(), decode_change(call.body),
                                      services.deployment_rules, services.keys.data),
                  services);
  warn_of_port(call.body, body);
  return {.body = std::move(body)};
}

Reply stop_deployment(db::Tx& tx, const Call& call, const Services& services) {
  return {.body = encode_both(deployments::stop(tx, actor_of(call), call.id()), services)};
}

Reply restart_deployment(db::Tx& tx, const Call& call, const Services& services) {
  return {.body = encode_both(deployments::restart(tx, actor_of(call), call.id()), services)};
}

Reply rollback_deployment(db::Tx& tx, const Call& call, const Services& services) {
  return {.body = encode_both(deployments::rollback(tx, actor_of(call), call.id(),
                                                    text_or_nothing(call.body, "to_log_id"),
                                                    services.deployment_rules, services.keys.data),
                              services)};
}

Reply deployment_metrics(const Call& call, const Services& services) {
  const Deployment row = services.db.read(
      [&](db::Tx& tx) { return deployments::get_owned(tx, call.caller->app_id, call.id()); });
  const Usage usage = services.deployment_usage ? services.deployment_usage(row) : Usage();
  return {.body = {{"id", row.id},
                   {"cpu", or_null(usage.cpu_millicores)},
                   {"memory", or_null(usage.memory_bytes)},
                   {"restarts", or_null(usage.restarts)},
                   {"requests", or_null(usage.requests)}}};
}

Reply deployment_metrics_history(const Call& call, const Services& services) {
  const Deployment row = services.db.read(
      [&](db::Tx& tx) { return deployments::get_owned(tx, call.caller->app_id, call.id()); });
  const auto metric = enum_query<usage_history::Metric>(call, "metric");
  const usage_history::Wanted wanted = decode_history(call, row.id, services.clock.now());
  const auto steps = services.usage_history ? services.usage_history(wanted)
                                            : std::vector<usage_history::Values>(wanted.count);
  json series = json::object();
  for (size_t each = 0; each < usage_history::metrics; ++each) {
    if (metric && size_t(*metric) != each) continue;
    json values = json::array();
    for (const usage_history::Values& step : steps) values.push_back(or_null(step.at(each)));
    series[std::string(to_string(usage_history::Metric(each)))] = std::move(values);
  }
  return {.body = {{"id", row.id},
                   {"from", to_iso8601(wanted.from)},
                   {"step", std::chrono::duration_cast<std::chrono::seconds>(wanted.step).count()},
                   {"count", wanted.count},
                   {"series", std::move(series)}}};
}

Reply delete_deployment(db::Tx& tx, const Call& call, const Services&) {
  const Deployment row = deployments::destroy(tx, actor_of(call), call.id());
  return {.body = {{"message", "the deployment was deleted; its name is free"}, {"id", row.id}}};
}

Reply sandbox_status(db::Tx& tx, const Call& call, const Services&) {
  const deployments::Allowance allowance = deployments::sandbox_allowance(tx, call.caller->app_id);
  json deployments = json::array();
  for (const auto& use : allowance.uses)
    deployments.push_back({{"id", use.deployment_id},
                           {"name", use.name},
                           {"status", use.status},
                           {"app_id", use.app_id},
                           {"app_name", use.app_name}});
  return {.body = {{"eligible", allowance.eligible},
                   {"tier", allowance.tier},
                   {"deployments_used", allowance.used},
                   {"max_deployments", or_null(allowance.most)},
                   {"reasons", allowance.reasons},
                   {"deployments", std::move(deployments)}}};
}

Reply list_orphans(const Call&, const Services& services) {
  return {.body = {{"deployments", services.orphans()}}};
}

}  // namespace berth::api
