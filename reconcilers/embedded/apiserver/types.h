#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

// The kinds of objects that the simulated cluster serves.
namespace berth::embedded {

using Json = nlohmann::json;
using ObjectPtr = std::shared_ptr<const Json>;

enum class Kind {
  namespaces,
  nodes,
  secrets,
  config_maps,
  services,
  service_accounts,
  pods,
  events,
  resource_quotas,
  limit_ranges,
  deployments,
  replica_sets,
  ingresses,
  network_policies,
  certificates,
  leases,
  role_bindings,
  pod_disruption_budgets,
  jobs,
};

enum class Scope { cluster, namespaced };
enum class HasStatus { no, yes };
// Whether metadata.generation counts changes of the spec.
enum class Generation { none, of_spec };
// Custom resources are returned as they were written: the items of their lists contain apiVersion
// and kind, and nothing is defaulted.
enum class Origin { built_in, custom };
// Whether a PUT may leave out metadata.resourceVersion, and whether it creates a missing object
// (AllowUnconditionalUpdate and AllowCreateOnUpdate of the API server's strategies).
enum class Put { conditional, unconditional, or_create };

struct Type {
  Kind id;
  std::string_view group;  // empty for the core group
  std::string_view version;
  std::string_view kind;
  std::string_view plural;
  Scope scope;
  HasStatus status;
  Generation generation;
  Origin origin;
  Put put;
  bool namespaced() const { return scope == Scope::namespaced; }
};

std::span<const Type> all_types();
const Type& type_of(Kind kind);
// Returns null if no such resource is served.
const Type* find_type(std::string_view group, std::string_view version, std::string_view plural);
// Looks up a type by its plural, which is unique here. Throws std::invalid_argument.
const Type& type_named(std::string_view plural);
// Looks up a type by an object's apiVersion and kind; null if it is unknown.
const Type* type_of_object(const Json& object);

std::string api_version(const Type& type);       // "v1", "apps/v1"
std::string qualified_plural(const Type& type);  // "pods", "deployments.apps"
std::string qualified_kind(const Type& type);    // "Pod", "Deployment.apps"

// Parts of an object; an empty string if they are missing.
std::string name_of(const Json& object);
std::string namespace_of(const Json& object);
std::string uid_of(const Json& object);
std::string text_at(const Json& object, std::string_view key);
// The value at a JSON pointer; null, or the fallback, if part of the path is missing.
const Json& at_path(const Json& object, const char* pointer);
std::int64_t number_at(const Json& object, const char* pointer, std::int64_t fallback);
// The present time in the API's formats: RFC 3339 with whole seconds, and with microseconds
// (MicroTime).
std::string timestamp();
std::string micro_timestamp();

}  // namespace berth::embedded
