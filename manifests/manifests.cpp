#include "manifests/manifests.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "controller/base/crypto.h"
#include "controller/base/embedded.h"
#include "controller/base/public_address.h"
#include "controller/base/quantity.h"
#include "controller/base/yaml.h"
#include "manifests/fill.h"

namespace berth::manifests {
namespace templates {
const std::vector<berth::EmbeddedFile>& files();  // the YAML files beside this one
}

namespace {

using nlohmann::json;

// Long enough that two versions of an object never share a hash, short enough to be read aloud.
constexpr size_t hash_length = 32;

// Appended to an object's name, gives the name of its TLS secret.
constexpr const char* tls_suffix = "-tls";

// The prefix of the keys of operators' labels, so that none can be one of berth's or Kubernetes'
// own labels.
const std::string user_label_prefix = "label.berth/";

// The ratio between a container's limit and its request, the amount that it is guaranteed. Web
// applications are idle most of the time, so the processor is overcommitted generously; memory
// can't be taken back, so it is overcommitted with care.
constexpr std::int64_t cpu_limit_to_request = 10;
constexpr std::int64_t memory_limit_to_request = 2;

// How much a container may write to its own file system, /tmp and its log together, and how much of
// that it is guaranteed. In MiB.
constexpr std::int64_t limit_disk = 1024;
constexpr std::int64_t request_disk = 64;

// How long a container with a port has to be ready before it replaces another one.
constexpr int served_min_ready_seconds = 3;

const json& parsed_template(const std::string& file) {
  static const auto all = [] {
    std::map<std::string, json> parsed;
    for (const EmbeddedFile& embedded : templates::files()) {
      const std::string name(embedded.name);
      parsed[name] = parse_yaml(embedded.text, name);
    }
    return parsed;
  }();
  const auto found = all.find(file);
  if (found == all.end()) throw std::logic_error("there is no template " + file);
  return found->second;
}

std::string short_hash(const json& value) {
  return hex(sha256(value.dump())).substr(0, hash_length);
}

json filled(const std::string& file, const Values& values) {
  return fill_in(parsed_template(file), values, file);
}

Object finished(const std::string& file, const Values& values) {
  Object object = filled(file, values);
  object["metadata"]["annotations"][hash_annotation] = hash_of(object);
  return object;
}

std::string millicores(std::int64_t count) { return std::to_string(count) + "m"; }
std::string mebibytes(std::int64_t count) { return std::to_string(count) + "Mi"; }
// The amount's text is part of the pod template. If it changed, all pods would be replaced.
std::string disk_size(std::int64_t mebi) {
  return mebi % 1024 == 0 ? std::to_string(mebi / 1024) + "Gi" : mebibytes(mebi);
}
std::int64_t rounded_up(std::int64_t amount, std::int64_t divisor) {
  return (amount + divisor - 1) / divisor;
}

json app_labels(const std::string& app_id, const Settings& settings) {
  return {{managed_by_label, "berth"},
          {"app.kubernetes.io/name", "tenant"},
          {instance_label, settings.instance},
          {app_label, app_id}};
}

json deployment_labels(const deployments::Deployment& deployment, const Settings& settings) {
  return {{managed_by_label, "berth"},
          {"app.kubernetes.io/name", deployment.name},
          {instance_label, settings.instance},
          {app_label, deployment.app_id},
          {deployment_label, deployment.id}};
}

// Returns berth's labels and those that the operator has set. Objects whose hash is part of a pod
// template don't get the operator's labels, because a changed label must not replace the container.
json all_labels(const deployments::Deployment& deployment, const Settings& settings) {
  json labels = deployment_labels(deployment, settings);
  for (const auto& [key, value] : deployment.labels) labels[user_label_prefix + key] = value;
  return labels;
}

// What tells the pods of a process from all others. Jobs' pods don't have it.
json process_selector(const std::string& deployment_id, const std::string& process) {
  return {{deployment_label, deployment_id}, {process_label, process}};
}

// What several templates need of a deployment.
struct Parts {
  const deployments::DesiredState& state;
  const Settings& settings;
  std::string name;
  Values common;  // name, namespace and labels

  Values with(Values more) const {
    more.insert(common.begin(), common.end());
    return more;
  }
  Values with_all_labels(Values more) const {
    more["labels"] = all_labels(state.deployment, settings);
    return with(std::move(more));
  }
};

Parts parts_of(const deployments::DesiredState& state, const Settings& settings) {
  const auto& deployment = state.deployment;
  const std::string name = object_name(deployment.id);
  return {state,
          settings,
          name,
          {{"name", name},
           {"namespace", namespace_of(deployment.app_id)},
           {"labels", deployment_labels(deployment, settings)}}};
}

Object env_secret(const Parts& parts) {
  json data;
  for (const auto& [key, value] : parts.state.secrets.env) data[key] = base64(value);
  return finished("env_secret.yaml", parts.with({{"data", data}}));
}

// The key of a registry in a Docker configuration. It is the registry's host, except for Docker
// Hub, whose credentials are under the address of its old API (kubernetes.io, "Images",
// config.json).
std::string registry_key(const std::string& image) {
  const std::string host = image.substr(0, image.find('/'));
  return host == "docker.io" ? "https://index.docker.io/v1/" : host;
}

Object registry_secret(const Parts& parts) {
  const auto& credentials = *parts.state.secrets.registry_credentials;
  const json entry = {{"username", credentials.username},
                      {"password", credentials.password},
                      {"auth", base64(credentials.username + ":" + credentials.password)}};
  const json config = {{"auths", {{registry_key(parts.state.deployment.container.image), entry}}}};
  Values values = parts.with({{"config", base64(config.dump())}});
  values["name"] = registry_secret_name(parts.state.deployment.id);
  return finished("registry_secret.yaml", values);
}

// Nothing asks a container without a port whether it is ready.
json readiness_probe(const deployments::ProcessSpec& process) {
  if (!process.port) return nullptr;
  const std::string& path = process.health_path;
  return path.empty() ? filled("readiness_tcp.yaml", {})
                      : filled("readiness_http.yaml", {{"path", path}});
}

json pull_secrets(const Parts& parts) {
  if (!parts.state.secrets.registry_credentials) return nullptr;
  return json::array({{{"name", registry_secret_name(parts.state.deployment.id)}}});
}

// The parts of a pod that keep it apart from other tenants' pods and from the node.
Values confinement_values(const tiers::Confinement& confinement, const Settings& settings) {
  const auto or_left_out = [](const auto& value, bool is_set) {
    return is_set ? json(value) : json();
  };
  return {{"runtime_class", confinement.runtime_class ? json(*confinement.runtime_class) : json()},
          {"host_users", confinement.user_namespaces.value_or(false) ? json(false) : json()},
          {"bandwidth",
           confinement.bandwidth ? json(std::to_string(*confinement.bandwidth) + "M") : json()},
          {"priority_class", settings.priority_class ? json(*settings.priority_class) : json()},
          {"node_selector", or_left_out(settings.node_selector, !settings.node_selector.empty())},
          {"tolerations", or_left_out(settings.tolerations, !settings.tolerations.empty())}};
}

// The kubelet replaces $(NAME) in a container's command and arguments by the variable, and $$ by $.
// With each $ doubled, the program gets what the owner wrote. An empty list is left out.
json argv(const deployments::Texts& texts) {
  json escaped;
  for (const std::string& text : texts) {
    std::string one;
    for (const char c : text) one.append(c == '$' ? 2 : 1, c);
    escaped.push_back(one);
  }
  return escaped;
}

json ports_of(const deployments::ProcessSpec& process) {
  if (!process.port) return nullptr;
  return json::array({{{"name", "http"}, {"containerPort", *process.port}, {"protocol", "TCP"}}});
}

json env_of(const deployments::ProcessSpec& process) {
  if (!process.port) return nullptr;
  return json::array({{{"name", "PORT"}, {"value", std::to_string(*process.port)}}});
}

// What a container of this size may use, and is guaranteed.
Values resources_of(const deployments::ContainerSize& size) {
  const json changeable = changeable_resources(size);
  return {{"limits_cpu", changeable["limits"]["cpu"]},
          {"limits_memory", changeable["limits"]["memory"]},
          {"requests_cpu", changeable["requests"]["cpu"]},
          {"requests_memory", changeable["requests"]["memory"]},
          {"limit_disk", disk_size(limit_disk)},
          {"request_disk", disk_size(request_disk)}};
}

Values container_values(const deployments::Deployment& deployment,
                        const deployments::ProcessSpec& process) {
  return {{"image", deployment.container.image},
          {"command", argv(process.command)},
          {"args", argv(process.args)},
          {"ports", ports_of(process)},
          {"env", env_of(process)},
          {"readiness_probe", readiness_probe(process)},
          // Only requests that are still on their way are worth waiting for.
          {"lifecycle", process.port ? filled("pre_stop.yaml", {}) : json()}};
}

// The number of the rollout is a part of it, so that a restart writes the Secrets again, should
// somebody have changed or deleted them.
std::string hash_of_secrets(const std::vector<Object>& secrets, std::int64_t rollout) {
  json parts = json::array({rollout});
  for (const Object& secret : secrets)
    parts.push_back(secret["metadata"]["annotations"][hash_annotation]);
  return short_hash(parts);
}

json with_process(json labels, const std::string& process) {
  labels[process_label] = process;
  return labels;
}

Object disruption_budget(const Parts& parts, const deployments::ProcessSpec& process) {
  const auto& deployment = parts.state.deployment;
  Values values = parts.common;
  values["name"] = process_object_name(deployment.id, process.name);
  values["labels"] = with_process(deployment_labels(deployment, parts.settings), process.name);
  values["process_selector"] = process_selector(deployment.id, process.name);
  return finished("pod_disruption_budget.yaml", values);
}

bool has_identity(const Parts& parts) {
  return parts.state.deployment.container.identity && !parts.settings.token_audience.empty();
}

void add_token(json& pod, const Settings& settings) {
  pod["volumes"].push_back(filled("token_volume.yaml", {{"audience", settings.token_audience}}));
  for (json& container : pod["containers"])
    container["volumeMounts"].push_back(filled("token_mount.yaml", {}));
}

// `secrets` begin with the one that has the variables, if there are any.
Object deployment_object(const Parts& parts, const deployments::ProcessSpec& process,
                         const std::vector<Object>& secrets) {
  const auto& deployment = parts.state.deployment;
  const bool is_web = process.name == deployments::web_process;
  const bool has_variables = !parts.state.secrets.env.empty();
  const json pods = process_selector(deployment.id, process.name);
  const bool has_token = has_identity(parts);
  Values values = container_values(deployment, process);
  values["account"] = has_token ? parts.name : "tenant";
  const auto kept = parts.state.template_sizes.find(process.name);
  values.merge(resources_of(kept == parts.state.template_sizes.end() ? size_of(deployment, process)
                                                                     : kept->second));
  values.merge(confinement_values(parts.state.confinement, parts.settings));
  values["name"] = process_object_name(deployment.id, process.name);
  values["namespace"] = namespace_of(deployment.app_id);
  values["labels"] = with_process(all_labels(deployment, parts.settings), process.name);
  values["pod_labels"] = with_process(parts.common.at("labels"), process.name);
  values["selector"] = is_web ? json{{deployment_label, deployment.id}} : pods;
  values["process_selector"] = pods;
  values["min_ready_seconds"] = process.port ? served_min_ready_seconds : worker_min_ready_seconds;
  values["secrets_hash"] = hash_of_secrets(secrets, deployment.rollout);
  values["replicas"] = replicas_of(process, parts.state);
  values["rollout"] = std::to_string(deployment.rollout);
  if (const auto own = deployment.process_rollouts.find(process.name);
      own != deployment.process_rollouts.end())
    values["rollout"] = std::to_string(deployment.rollout) + "." + std::to_string(own->second);
  values["env_from"] =
      has_variables ? json::array({{{"secretRef", {{"name", parts.name}}}}}) : json();
  values["env_hash"] =
      has_variables ? secrets.front()["metadata"]["annotations"][hash_annotation] : json();
  values["pull_secrets"] = pull_secrets(parts);
  Object object = filled("deployment.yaml", values);
  json& pod = object["spec"]["template"];
  if (has_token) add_token(pod["spec"], parts.settings);
  pod["metadata"]["annotations"][template_annotation] = short_hash(pod);
  object["metadata"]["annotations"][hash_annotation] = hash_of(object);
  return object;
}

// An Ingress can only name secrets of its own namespace. A certificate of another namespace is the
// ingress controller's default certificate, which it uses for a host without a secret.
json tls_of(const std::string& host, const Parts& parts) {
  const Settings& settings = parts.settings;
  json entry = {{"hosts", {host}}};
  if (settings.has_subdomain_certificates())
    entry["secretName"] = parts.name + tls_suffix;
  else if (!settings.wildcard_tls_secret)
    return nullptr;
  else if (settings.wildcard_tls_secret->find('/') == std::string::npos)
    entry["secretName"] = *settings.wildcard_tls_secret;
  return json::array({entry});
}

std::string host_of(const deployments::Deployment& deployment, const Settings& settings) {
  return deployment.name + "." + settings.apps_domain;
}

Object certificate(const Values& common, const std::string& host, const std::string& secret,
                   const Settings& settings) {
  Values values = common;
  values["secret"] = secret;
  values["secret_labels"] = common.at("labels");
  values["hosts"] = json::array({host});
  values["issuer"] = settings.cluster_issuer.value();
  return finished("certificate.yaml", values);
}

Values domain_values(const deployments::Deployment& deployment, const std::string& domain,
                     const Settings& settings) {
  json labels = deployment_labels(deployment, settings);
  labels[component_label] = domain_component;
  return {{"name", domain_object_name(deployment.id, domain)},
          {"namespace", namespace_of(deployment.app_id)},
          {"labels", labels}};
}

Object ingress(const Parts& parts) {
  const std::string host = host_of(parts.state.deployment, parts.settings);
  return finished("ingress.yaml", parts.with_all_labels({{"class", parts.settings.ingress_class},
                                                         {"host", host},
                                                         {"service", parts.name},
                                                         {"tls", tls_of(host, parts)}}));
}

// For each container: the pod that runs, the one that a rollout starts beside it, and three that
// earlier rollouts have ended and that count until they are gone (kubernetes.io, "Resource
// Quotas"): with ten restarts a minute and about 20 s for a pod to end. A process with many
// containers starts only a quarter of them at once, so that more of them are terminating then.
constexpr std::int64_t pods_of_a_container = 5;

// The ingress controller as a list of peers of a network policy.
json ingress_peers(const IngressController& ingress) {
  json peers = json::array();
  if (!ingress.name_space.empty())
    peers.push_back({{"namespaceSelector",
                      {{"matchLabels", {{"kubernetes.io/metadata.name", ingress.name_space}}}}}});
  for (const AddressRange& range : ingress.ranges)
    peers.push_back({{"ipBlock", {{"cidr", to_string(range)}}}});
  return peers;
}

// All namespaces that aren't tenants', one of which is the ingress controller's.
json namespaces_of_others() {
  const json expression = {{"key", managed_by_label}, {"operator", "NotIn"}, {"values", {"berth"}}};
  return json::array({{{"namespaceSelector", {{"matchExpressions", {expression}}}}}});
}

json internet_peers(const Settings& settings) {
  json peers = json::array();
  for (const PublicBlock& block : public_blocks(settings.cluster_ranges))
    peers.push_back({{"ipBlock", {{"cidr", block.range}, {"except", block.except}}}});
  return peers;
}

// A rule without peers would allow all addresses, so there is no rule then.
Object network_policy(const Values& common, const Settings& settings) {
  const json ingress = ingress_peers(settings.ingress_controller);
  const json internet = internet_peers(settings);
  json ports = json::array();
  for (const int port : settings.ingress_controller.ports)
    ports.push_back({{"protocol", "TCP"}, {"port", port}});
  Values values = common;
  values["ingress_controller"] = ingress.empty() ? namespaces_of_others() : ingress;
  values["to_ingress_controller"] =
      ingress.empty() || ports.empty()
          ? json()
          : filled("rule_ingress.yaml", {{"ingress_controller", ingress}, {"ports", ports}});
  values["to_internet"] =
      internet.empty() ? json() : filled("rule_internet.yaml", {{"internet", internet}});
  return finished("network_policy.yaml", values);
}

// Runs that are under way, with a release command, which is never refused.
constexpr std::int64_t runs_of_a_deployment = runs::max_open_of_deployment + 1;
// The Jobs of runs that have ended stay until their logs are kept.
constexpr std::int64_t jobs_of_a_deployment = 2 * runs_of_a_deployment;

Object resource_quota(const Values& common, const deployments::AppSize& size) {
  const std::int64_t runs = runs_of_a_deployment * size.deployments;
  const std::int64_t pods = pods_of_a_container * size.containers + runs;
  const std::int64_t cpu =
      pods_of_a_container * size.cpu_millicores + runs * size.largest_cpu_millicores;
  const std::int64_t memory = pods_of_a_container * size.memory_mb + runs * size.largest_memory_mb;
  // Each pod's requests are rounded up, so their sum may exceed the exact amount by one for each
  // pod.
  Values values = {{"pods", std::to_string(pods)},
                   {"jobs", std::to_string(jobs_of_a_deployment * size.deployments)},
                   {"limits_cpu", millicores(cpu)},
                   {"limits_memory", mebibytes(memory)},
                   {"requests_cpu", millicores(cpu / cpu_limit_to_request + pods)},
                   {"requests_memory", mebibytes(memory / memory_limit_to_request + pods)},
                   {"limits_disk", disk_size(limit_disk * pods)},
                   {"requests_disk", disk_size(request_disk * pods)}};
  values.insert(common.begin(), common.end());
  return finished("resource_quota.yaml", values);
}

// What a run's objects share. The labels are the deployment's, and the run's.
Parts parts_of_run(const runs::Wanted& wanted, const Settings& settings) {
  Parts parts = parts_of(wanted.state, settings);
  parts.name = run_object_name(wanted.run);
  parts.common["name"] = parts.name;
  parts.common["labels"][run_label] = wanted.run.id;
  return parts;
}

Object job(const runs::Wanted& wanted, const Parts& parts) {
  const auto& deployment = wanted.state.deployment;
  const bool has_credentials = wanted.state.secrets.registry_credentials.has_value();
  const auto timeout = wanted.run.timeout;
  Values values =
      parts.with({{"image", deployment.container.image},
                  {"command", argv(wanted.process.command)},
                  {"args", argv(wanted.process.args)},
                  {"timeout", timeout.count()},
                  {"job_deadline", (timeout + job_starts_within).count()},
                  {"kept_seconds", job_kept_for.count()},
                  {"env_from", wanted.state.secrets.env.empty()
                                   ? json()
                                   : json::array({{{"secretRef", {{"name", parts.name}}}}})},
                  {"pull_secrets",
                   has_credentials ? json::array({{{"name", run_registry_secret_name(wanted.run)}}})
                                   : json()}});
  values.merge(resources_of(size_of(deployment, wanted.process)));
  values.merge(confinement_values(wanted.state.confinement, parts.settings));
  return finished("job.yaml", values);
}

Object limit_range(const Values& common, const deployments::AppSize& size) {
  Values values = {{"largest_cpu", millicores(size.largest_cpu_millicores)},
                   {"largest_memory", mebibytes(size.largest_memory_mb)},
                   {"limit_disk", disk_size(limit_disk)},
                   {"request_disk", disk_size(request_disk)}};
  values.insert(common.begin(), common.end());
  return finished("limit_range.yaml", values);
}

}  // namespace

std::string selector(const Settings& settings) {
  return std::string(managed_by_label) + "=berth," + instance_label + "=" + settings.instance;
}

std::string selector(const Settings& settings, const std::string& deployment_id) {
  return selector(settings) + "," + deployment_label + "=" + deployment_id;
}

std::string owner_of(const TenantRole& tenant) {
  constexpr size_t longest_label = 63;
  std::string owner = (tenant.account_namespace + "." + tenant.account).substr(0, longest_label);
  owner.erase(owner.find_last_not_of("-.") + 1);
  return owner;
}

std::string namespace_of(const std::string& app_id) { return "berth-app-" + app_id; }
std::string object_name(const std::string& deployment_id) {
  return deployments::object_name(deployment_id);
}
std::string process_object_name(const std::string& deployment_id, const std::string& process) {
  const std::string name = object_name(deployment_id);
  return process == deployments::web_process ? name : name + "-" + process;
}

std::string process_of(const Object& object) {
  static const json::json_pointer path("/metadata/labels");
  static const json none = json::object();
  const json& labels = object.contains(path) ? object.at(path) : none;
  if (labels.contains(run_label)) return "";
  return labels.value(process_label, deployments::web_process);
}

deployments::ContainerSize size_of(const deployments::Deployment& deployment,
                                   const deployments::ProcessSpec& process) {
  // A process of an earlier generation may be larger than the tier that the deployment has now.
  const int most_cpu = deployment.cpu_limit_millicores;
  const int most_memory = deployment.memory_limit_mb;
  return {.memory_mb = std::min(process.memory_mb.value_or(most_memory), most_memory),
          .cpu_millicores = std::min(process.cpu_millicores.value_or(most_cpu), most_cpu)};
}

Object changeable_resources(const deployments::ContainerSize& size) {
  const std::int64_t cpu = size.cpu_millicores;
  const std::int64_t memory = size.memory_mb;
  return {{"limits", {{"cpu", millicores(cpu)}, {"memory", mebibytes(memory)}}},
          {"requests",
           {{"cpu", millicores(rounded_up(cpu, cpu_limit_to_request))},
            {"memory", mebibytes(rounded_up(memory, memory_limit_to_request))}}}};
}

std::optional<deployments::ContainerSize> size_in(const Object& container) {
  static const json::json_pointer limits("/resources/limits");
  if (!container.is_object() || !container.contains(limits)) return std::nullopt;
  // The API server writes amounts as texts in their canonical form, such as 1 for 1000m.
  const auto whole = [&](const char* resource, long double unit) -> std::optional<int> {
    const json amount = container.at(limits).value(resource, json());
    const auto value =
        amount.is_string() ? parse_quantity(amount.get_ref<const std::string&>()) : std::nullopt;
    if (!value || *value < unit || *value > unit * std::numeric_limits<int>::max())
      return std::nullopt;
    const auto units = std::llround(*value / unit);
    if (std::abs(*value - unit * units) > unit / 1000) return std::nullopt;
    return int(units);
  };
  constexpr long double mebibyte = 1024.0L * 1024.0L;
  constexpr long double millicore = 0.001L;
  const auto memory = whole("memory", mebibyte);
  const auto cpu = whole("cpu", millicore);
  if (!memory || !cpu) return std::nullopt;
  return deployments::ContainerSize{.memory_mb = *memory, .cpu_millicores = *cpu};
}

int replicas_of(const deployments::ProcessSpec& process, const deployments::DesiredState& state) {
  if (state.deployment.status == deployments::Status::stopped) return 0;
  if (!process.scale) return process.replicas;
  const auto found = state.scaled.find(process.name);
  const int wanted = found == state.scaled.end() ? process.scale->min : found->second;
  return std::clamp(wanted, process.scale->min, process.scale->max);
}

std::string registry_secret_name(const std::string& deployment_id) {
  return object_name(deployment_id) + "-registry";
}

std::string subdomain_secret_name(const std::string& deployment_id) {
  return object_name(deployment_id) + tls_suffix;
}

std::vector<Object> of_namespace(const std::string& app_id, const deployments::AppSize& size,
                                 const Settings& settings) {
  const Values common = {{"namespace", namespace_of(app_id)},
                         {"labels", app_labels(app_id, settings)}};
  const Values name = {
      {"namespace", namespace_of(app_id)},
      {"instance", settings.instance},
      {"app", app_id},
      {"owner", settings.tenant_role ? json(owner_of(*settings.tenant_role)) : json()}};
  std::vector<Object> objects = {finished("namespace.yaml", name)};
  if (const auto& tenant = settings.tenant_role) {
    Values values = common;
    values["role"] = tenant->role;
    values["account"] = tenant->account;
    values["account_namespace"] = tenant->account_namespace;
    objects.push_back(finished("role_binding.yaml", values));
  }
  objects.push_back(finished("service_account.yaml", common));
  objects.push_back(network_policy(common, settings));
  objects.push_back(limit_range(common, size));
  objects.push_back(resource_quota(common, size));
  return objects;
}

void select_unlabelled(Object& service) {
  service["spec"]["selector"].erase(process_label);
  service["metadata"]["annotations"][hash_annotation] = hash_of(service);
}

Object emptied_secret(const Object& deployment) {
  const json& metadata = deployment.at("metadata");
  json labels = deployment.at("spec").at("template").at("metadata").at("labels");
  labels.erase(process_label);
  const std::string id = labels.at(deployment_label);
  return finished("env_secret.yaml", {{"name", object_name(id)},
                                      {"namespace", metadata.at("namespace")},
                                      {"labels", std::move(labels)},
                                      {"data", json()}});
}

std::vector<Object> of_deployment(const deployments::DesiredState& state,
                                  const Settings& settings) {
  const Parts parts = parts_of(state, settings);
  const std::string& id = state.deployment.id;
  const bool is_served = deployments::is_served(state.deployment.container);
  std::vector<Object> objects;
  if (!state.secrets.env.empty()) objects.push_back(env_secret(parts));
  if (state.secrets.registry_credentials) objects.push_back(registry_secret(parts));
  const std::vector<Object> secrets = objects;
  if (has_identity(parts)) objects.push_back(finished("deployment_account.yaml", parts.common));
  if (is_served)
    objects.push_back(finished(
        "service.yaml", parts.with_all_labels({{"process_selector",
                                                process_selector(id, deployments::web_process)}})));
  const json internet = internet_peers(settings);
  if (state.confinement.smtp && !internet.empty())
    objects.push_back(
        finished("smtp_policy.yaml", parts.with({{"deployment", id}, {"internet", internet}})));
  for (const deployments::ProcessSpec& process :
       deployments::processes_of(state.deployment.container)) {
    objects.push_back(deployment_object(parts, process, secrets));
    if (process.most_replicas() > 1) objects.push_back(disruption_budget(parts, process));
  }
  if (is_served && !state.host_is_held) {
    objects.push_back(ingress(parts));
    if (settings.has_subdomain_certificates())
      objects.push_back(certificate(parts.common, host_of(state.deployment, settings),
                                    subdomain_secret_name(id), settings));
  }
  return objects;
}

// Deployments' names leave 21 characters of the 63 that a label's value may have, and a Job's name
// is one.
std::string run_object_name(const runs::Run& run) {
  constexpr size_t enough = 16;  // characters
  const std::string what = run.minute ? "cron " + run.name + " " + to_iso8601(*run.minute) : run.id;
  return object_name(run.deployment_id) + "-r-" + hex(sha256(what)).substr(0, enough);
}

std::string run_registry_secret_name(const runs::Run& run) {
  return run_object_name(run) + "-registry";
}

std::vector<Object> of_run(const runs::Wanted& wanted, const Settings& settings) {
  const Parts parts = parts_of_run(wanted, settings);
  std::vector<Object> objects;
  if (!wanted.state.secrets.env.empty()) objects.push_back(env_secret(parts));
  if (wanted.state.secrets.registry_credentials) {
    Object secret = registry_secret(parts);
    secret["metadata"]["name"] = run_registry_secret_name(wanted.run);
    secret["metadata"]["annotations"][hash_annotation] = hash_of(secret);
    objects.push_back(std::move(secret));
  }
  objects.push_back(job(wanted, parts));
  return objects;
}

std::string domain_object_name(const std::string& deployment_id, const std::string& domain) {
  constexpr size_t enough = 10;  // characters; enough to tell a deployment's few domains apart
  return object_name(deployment_id) + "-" + hex(sha256(domain)).substr(0, enough);
}

std::string domain_secret_name(const std::string& deployment_id, const std::string& domain) {
  return domain_object_name(deployment_id, domain) + tls_suffix;
}

Object domain_ingress(const deployments::Deployment& deployment, const std::string& domain,
                      const Settings& settings) {
  Values values = domain_values(deployment, domain, settings);
  values["class"] = settings.ingress_class;
  values["host"] = domain;
  values["service"] = object_name(deployment.id);
  values["tls"] = json::array(
      {{{"hosts", {domain}}, {"secretName", domain_secret_name(deployment.id, domain)}}});
  return finished("ingress.yaml", values);
}

Object domain_certificate(const deployments::Deployment& deployment, const std::string& domain,
                          const Settings& settings) {
  return certificate(domain_values(deployment, domain, settings), domain,
                     domain_secret_name(deployment.id, domain), settings);
}

std::string hash_of(const Object& object) {
  Object bare = object;
  json& metadata = bare["metadata"];
  if (const auto found = metadata.find("annotations"); found != metadata.end()) {
    found->erase(hash_annotation);
    if (found->empty()) metadata.erase(found);
  }
  return short_hash(bare);
}

}  // namespace berth::manifests
