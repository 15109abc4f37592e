#include "manifests/manifests.h"

#include <algorithm>
#include <stdexcept>

#include "controller/base/crypto.h"
#include "controller/base/embedded.h"
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

// Before the key of an operator's label, so that it can't be one of berth's or the cluster's own.
const std::string user_label_prefix = "label.berth/";

// The ratio between a container's limit and its request, the amount that it is guaranteed. Web
// applications are idle most of the time, so the processor is overcommitted generously; memory
// can't be taken back, so it is overcommitted with care.
constexpr std::int64_t cpu_limit_to_request = 10;
constexpr std::int64_t memory_limit_to_request = 2;

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

// The same and the operator's own. Objects whose hash is part of a pod don't have those, because a
// label replaces no container.
json all_labels(const deployments::Deployment& deployment, const Settings& settings) {
  json labels = deployment_labels(deployment, settings);
  for (const auto& [key, value] : deployment.labels) labels[user_label_prefix + key] = value;
  return labels;
}

// What several templates need of a deployment.
struct Parts {
  const deployments::Wish& wish;
  const Settings& settings;
  std::string name;
  Values common;  // name, namespace and labels

  Values with(Values more) const {
    more.insert(common.begin(), common.end());
    return more;
  }
  Values with_all_labels(Values more) const {
    more["labels"] = all_labels(wish.deployment, settings);
    return with(std::move(more));
  }
};

Parts parts_of(const deployments::Wish& wish, const Settings& settings) {
  const auto& deployment = wish.deployment;
  const std::string name = object_name(deployment.id);
  return {wish,
          settings,
          name,
          {{"name", name},
           {"namespace", namespace_of(deployment.app_id)},
           {"labels", deployment_labels(deployment, settings)}}};
}

Object env_secret(const Parts& parts) {
  json data;
  for (const auto& [key, value] : parts.wish.secrets.env) data[key] = base64(value);
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
  const auto& credentials = *parts.wish.secrets.registry_credentials;
  const json entry = {{"username", credentials.username},
                      {"password", credentials.password},
                      {"auth", base64(credentials.username + ":" + credentials.password)}};
  const json config = {{"auths", {{registry_key(parts.wish.deployment.container.image), entry}}}};
  Values values = parts.with({{"config", base64(config.dump())}});
  values["name"] = registry_secret_name(parts.wish.deployment.id);
  return finished("registry_secret.yaml", values);
}

json readiness_probe(const deployments::Deployment& deployment) {
  if (!deployment.container.health_path) return filled("readiness_tcp.yaml", {});
  return filled("readiness_http.yaml", {{"path", *deployment.container.health_path}});
}

json pull_secrets(const Parts& parts) {
  if (!parts.wish.secrets.registry_credentials) return nullptr;
  return json::array({{{"name", registry_secret_name(parts.wish.deployment.id)}}});
}

Values container_values(const deployments::Deployment& deployment) {
  const int cpu = deployment.cpu_limit_millicores;
  const int memory = deployment.memory_limit_mb;
  return {{"image", deployment.container.image},
          {"port", deployment.container.port},
          {"port_text", std::to_string(deployment.container.port)},
          {"limits_cpu", millicores(cpu)},
          {"limits_memory", mebibytes(memory)},
          {"requests_cpu", millicores(rounded_up(cpu, cpu_limit_to_request))},
          {"requests_memory", mebibytes(rounded_up(memory, memory_limit_to_request))},
          {"readiness_probe", readiness_probe(deployment)}};
}

Object deployment_object(const Parts& parts, const Object& env) {
  const auto& deployment = parts.wish.deployment;
  Values values = parts.with_all_labels(container_values(deployment));
  values["deployment"] = deployment.id;
  values["replicas"] = deployment.status == deployments::Status::stopped ? 0 : 1;
  values["rollout"] = std::to_string(deployment.rollout);
  values["env_secret"] = parts.name;
  values["env_hash"] = env["metadata"]["annotations"][hash_annotation];
  values["pull_secrets"] = pull_secrets(parts);
  Object object = filled("deployment.yaml", values);
  json& pod = object["spec"]["template"];
  pod["metadata"]["labels"] = parts.common.at("labels");
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
  const std::string host = host_of(parts.wish.deployment, parts.settings);
  return finished("ingress.yaml", parts.with_all_labels({{"class", parts.settings.ingress_class},
                                                         {"host", host},
                                                         {"service", parts.name},
                                                         {"tls", tls_of(host, parts)}}));
}

// The pod that serves, the one that a rollout starts beside it, and three that earlier rollouts
// have ended and that count until they are gone (kubernetes.io, "Resource Quotas"): with ten
// restarts a minute and about 20 s for a pod to end.
constexpr std::int64_t pods_of_a_deployment = 5;

Object resource_quota(const Values& common, const deployments::AppSize& size) {
  const std::int64_t pods = pods_of_a_deployment * size.deployments;
  const std::int64_t cpu = pods_of_a_deployment * size.cpu_millicores;
  const std::int64_t memory = pods_of_a_deployment * size.memory_mb;
  // Each pod's requests are rounded up, so their sum may exceed the exact amount by one for each
  // pod.
  Values values = {{"pods", std::to_string(pods)},
                   {"limits_cpu", millicores(cpu)},
                   {"limits_memory", mebibytes(memory)},
                   {"requests_cpu", millicores(cpu / cpu_limit_to_request + pods)},
                   {"requests_memory", mebibytes(memory / memory_limit_to_request + pods)}};
  values.insert(common.begin(), common.end());
  return finished("resource_quota.yaml", values);
}

Object limit_range(const Values& common, const deployments::AppSize& size) {
  Values values = {{"largest_cpu", millicores(size.largest_cpu_millicores)},
                   {"largest_memory", mebibytes(size.largest_memory_mb)}};
  values.insert(common.begin(), common.end());
  return finished("limit_range.yaml", values);
}

}  // namespace

std::string selector(const Settings& settings) {
  return std::string(managed_by_label) + "=berth," + instance_label + "=" + settings.instance;
}

std::string namespace_of(const std::string& app_id) { return "berth-app-" + app_id; }
std::string object_name(const std::string& deployment_id) {
  return deployments::object_name(deployment_id);
}
std::string registry_secret_name(const std::string& deployment_id) {
  return object_name(deployment_id) + "-registry";
}

std::vector<Object> of_namespace(const std::string& app_id, const deployments::AppSize& size,
                                 const Settings& settings) {
  const Values common = {{"namespace", namespace_of(app_id)},
                         {"labels", app_labels(app_id, settings)}};
  const Values name = {
      {"namespace", namespace_of(app_id)}, {"instance", settings.instance}, {"app", app_id}};
  return {finished("namespace.yaml", name), finished("service_account.yaml", common),
          finished("network_policy.yaml", common), limit_range(common, size),
          resource_quota(common, size)};
}

std::vector<Object> of_deployment(const deployments::Wish& wish, const Settings& settings) {
  const Parts parts = parts_of(wish, settings);
  std::vector<Object> objects = {env_secret(parts)};
  if (wish.secrets.registry_credentials) objects.push_back(registry_secret(parts));
  objects.push_back(
      finished("service.yaml", parts.with_all_labels({{"deployment", wish.deployment.id}})));
  objects.push_back(deployment_object(parts, objects.front()));
  if (!wish.host_is_held) {
    objects.push_back(ingress(parts));
    if (settings.has_subdomain_certificates())
      objects.push_back(certificate(parts.common, host_of(wish.deployment, settings),
                                    parts.name + tls_suffix, settings));
  }
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
