#include "reconcilers/embedded/apiserver/types.h"

#include <array>
#include <stdexcept>

#include "controller/base/clock.h"

namespace berth::embedded {
namespace {

constexpr auto cluster = Scope::cluster;
constexpr auto namespaced = Scope::namespaced;
constexpr auto plain = HasStatus::no;
constexpr auto status = HasStatus::yes;
constexpr auto no_generation = Generation::none;
constexpr auto generation = Generation::of_spec;
constexpr auto built_in = Origin::built_in;
constexpr auto any = Put::unconditional;

// In the order of the enum Kind.
constexpr std::array types{
    Type{Kind::namespaces, "", "v1", "Namespace", "namespaces", cluster, status, no_generation,
         built_in, any},
    Type{Kind::nodes, "", "v1", "Node", "nodes", cluster, status, no_generation, built_in, any},
    Type{Kind::secrets, "", "v1", "Secret", "secrets", namespaced, plain, no_generation, built_in,
         any},
    Type{Kind::config_maps, "", "v1", "ConfigMap", "configmaps", namespaced, plain, no_generation,
         built_in, any},
    Type{Kind::services, "", "v1", "Service", "services", namespaced, status, no_generation,
         built_in, any},
    Type{Kind::service_accounts, "", "v1", "ServiceAccount", "serviceaccounts", namespaced, plain,
         no_generation, built_in, any},
    Type{Kind::pods, "", "v1", "Pod", "pods", namespaced, status, generation, built_in, any},
    Type{Kind::events, "", "v1", "Event", "events", namespaced, plain, no_generation, built_in,
         Put::or_create},
    Type{Kind::resource_quotas, "", "v1", "ResourceQuota", "resourcequotas", namespaced, status,
         no_generation, built_in, any},
    Type{Kind::limit_ranges, "", "v1", "LimitRange", "limitranges", namespaced, plain,
         no_generation, built_in, any},
    Type{Kind::deployments, "apps", "v1", "Deployment", "deployments", namespaced, status,
         generation, built_in, any},
    Type{Kind::replica_sets, "apps", "v1", "ReplicaSet", "replicasets", namespaced, status,
         generation, built_in, any},
    Type{Kind::ingresses, "networking.k8s.io", "v1", "Ingress", "ingresses", namespaced, status,
         generation, built_in, any},
    Type{Kind::network_policies, "networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies",
         namespaced, plain, generation, built_in, any},
    Type{Kind::certificates, "cert-manager.io", "v1", "Certificate", "certificates", namespaced,
         status, generation, Origin::custom, Put::conditional},
    Type{Kind::leases, "coordination.k8s.io", "v1", "Lease", "leases", namespaced, plain,
         no_generation, built_in, Put::or_create},
    Type{Kind::role_bindings, "rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings",
         namespaced, plain, no_generation, built_in, any},
    Type{Kind::pod_disruption_budgets, "policy", "v1", "PodDisruptionBudget",
         "poddisruptionbudgets", namespaced, status, generation, built_in, Put::conditional},
    Type{Kind::jobs, "batch", "v1", "Job", "jobs", namespaced, status, generation, built_in, any},
};

const Json null_value;

}  // namespace

std::span<const Type> all_types() { return types; }

const Type& type_of(Kind kind) { return types.at(static_cast<size_t>(kind)); }

const Type* find_type(std::string_view group, std::string_view version, std::string_view plural) {
  for (const Type& type : types)
    if (type.plural == plural && type.group == group && type.version == version) return &type;
  return nullptr;
}

const Type& type_named(std::string_view plural) {
  for (const Type& type : types)
    if (type.plural == plural) return type;
  throw std::invalid_argument("the simulated cluster has no " + std::string(plural));
}

const Type* type_of_object(const Json& object) {
  const std::string version = text_at(object, "apiVersion");
  const std::string kind = text_at(object, "kind");
  for (const Type& type : types)
    if (type.kind == kind && api_version(type) == version) return &type;
  return nullptr;
}

std::string api_version(const Type& type) {
  const std::string version(type.version);
  return type.group.empty() ? version : std::string(type.group) + "/" + version;
}

std::string qualified_plural(const Type& type) {
  const std::string plural(type.plural);
  return type.group.empty() ? plural : plural + "." + std::string(type.group);
}

std::string qualified_kind(const Type& type) {
  const std::string kind(type.kind);
  return type.group.empty() ? kind : kind + "." + std::string(type.group);
}

std::string text_at(const Json& object, std::string_view key) {
  if (!object.is_object()) return "";
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

namespace {

std::string metadata_text(const Json& object, std::string_view key) {
  const auto metadata = object.find("metadata");
  return metadata == object.end() ? "" : text_at(*metadata, key);
}

}  // namespace

std::string name_of(const Json& object) { return metadata_text(object, "name"); }
std::string namespace_of(const Json& object) { return metadata_text(object, "namespace"); }
std::string uid_of(const Json& object) { return metadata_text(object, "uid"); }

const Json& at_path(const Json& object, const char* pointer) {
  const Json* here = &object;
  std::string_view rest(pointer);
  while (!rest.empty()) {
    rest.remove_prefix(1);  // the slash
    const size_t end = std::min(rest.find('/'), rest.size());
    if (!here->is_object()) return null_value;
    const auto found = here->find(rest.substr(0, end));
    if (found == here->end()) return null_value;
    here = &*found;
    rest.remove_prefix(end);
  }
  return *here;
}

std::int64_t number_at(const Json& object, const char* pointer, std::int64_t fallback) {
  const Json& value = at_path(object, pointer);
  return value.is_number_integer() ? value.get<std::int64_t>() : fallback;
}

std::string timestamp() { return to_iso8601(system_time()).substr(0, 19) + "Z"; }

std::string micro_timestamp() {
  const auto now = std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now);
  std::string micros = std::to_string((now - seconds).count());
  micros.insert(0, 6 - micros.size(), '0');
  return to_iso8601(std::chrono::floor<Duration>(now)).substr(0, 19) + "." + micros + "Z";
}

}  // namespace berth::embedded
