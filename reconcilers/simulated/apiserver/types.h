#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

// The kinds of objects that the simulated cluster knows.
namespace berth::simulated {

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
};

enum class Scope { cluster, namespaced };
enum class HasStatus { no, yes };
// Whether metadata.generation counts the changes of the spec.
enum class Generation { none, of_spec };
// Custom resources come back as they were written: their lists name the kind of each item, and
// nothing is defaulted.
enum class Origin { built_in, custom };
// Whether a PUT may leave out metadata.resourceVersion, and whether it creates what is missing
// (AllowUnconditionalUpdate and AllowCreateOnUpdate of the API server's strategies).
enum class Put { conditional, unconditional, or_create };

struct Type {
  Kind id;
  std::string_view group;  // empty: core
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
// Nothing where no such resource is served.
const Type* find_type(std::string_view group, std::string_view version, std::string_view plural);
// By the plural alone, which is unique here. Throws std::invalid_argument.
const Type& type_named(std::string_view plural);
// By apiVersion and kind of an object; nothing where unknown.
const Type* type_of_object(const Json& object);

std::string api_version(const Type& type);       // "v1", "apps/v1"
std::string qualified_plural(const Type& type);  // "pods", "deployments.apps"
std::string qualified_kind(const Type& type);    // "Pod", "Deployment.apps"

// Parts of an object; an empty string where they are missing.
std::string name_of(const Json& object);
std::string namespace_of(const Json& object);
std::string uid_of(const Json& object);
std::string text_at(const Json& object, std::string_view key);
// The value at a JSON pointer, or `fallback` (null) where a part of the way is missing.
const Json& at_path(const Json& object, const char* pointer);
std::int64_t number_at(const Json& object, const char* pointer, std::int64_t fallback);
// The number in a text of digits; nothing where it is anything else or too big.
std::optional<std::uint64_t> parse_number(std::string_view text);
// The time as Kubernetes writes it: RFC 3339 in whole seconds, and with microseconds (MicroTime).
std::string timestamp();
std::string micro_timestamp();

}  // namespace berth::simulated
