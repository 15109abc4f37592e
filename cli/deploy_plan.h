#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

// The desired state of a deployment, from flags or a berth.yaml, and how it differs from the
// current one.
namespace berth::cli {

using nlohmann::json;

constexpr size_t longest_name = 32;
constexpr const char* name_rule =
    "1 to 32 characters of a-z, 0-9 and -, which neither begins nor ends with -";
// Whether a deployment may have this name, as far as its spelling goes.
bool is_deployment_name(std::string_view text);

// Parses the deployments of a berth.yaml into orders: bodies of POST /api/deploy/apps. The file has
// one document, with a single deployment at its top level or a list under `deployments`. The keys
// are those of the request: name, the container's fields (container_spec.h), tier, custom_domain,
// labels, env_vars or env, registry_credentials. In all of their texts, ${NAME} stands for a
// variable of the environment, which has to be set, and $${ for ${; see Dollars::braces. Throws
// Failure `usage`, which names the source and the key.
std::vector<json> parse_orders(const std::string& text, const std::string& source);

// The change of one field.
struct Change {
  std::string field;
  std::string from;  // for display; empty if there was no value
  std::string to;    // for display; empty if the value is removed
};
// What `deploy up` would do with one deployment.
struct Plan {
  enum class Kind { create, patch, nothing };
  Kind kind = Kind::nothing;
  std::string name;
  std::string id;    // the id of the existing deployment
  json body;         // the body of the POST or PATCH request
  json domain = {};  // the custom domain that the deployment has; null if it has none
  std::vector<Change> changes = {};
  // Names of values that the server never returns, so that only it can tell whether they changed.
  // They are sent, and if none of them has changed, nothing is rolled out.
  std::vector<std::string> unseen = {};
  std::int64_t points = 0;  // what the plan costs now, as far as the server was asked
  int containers = 1;       // how many there may be at once then, as the server says
};

// Compares an order with `live`, the deployment as GET returns it, or null. Fields that the order
// doesn't have stay as they are. Variables are a complete set: those that the order doesn't have
// are removed, unless the order has no variables at all.
Plan plan_for(const json& order, const json& live);

// A request that carries a plan, or a part of it, out.
struct Step {
  size_t plan = 0;               // its number
  bool releases_domain = false;  // makes room for another plan, before all others
  json operation;                // as POST /api/deploy/dry-run takes it
};
// The steps of the plans, in the order in which they are to be taken. A deployment that gives up a
// domain that another one wants does so first, so that the order of the file doesn't matter, and
// two can swap theirs.
std::vector<Step> steps_of(const std::vector<Plan>& plans);

// Takes over what the server found out about the steps: which fields really change, also those that
// it never returns, and what they cost. `outcomes` are the answer's `operations`, none of which is
// refused.
void learn(std::vector<Plan>& plans, const std::vector<Step>& steps, const json& outcomes);

// The plan as lines of a diff, with +, ~ or - before each field. Values of variables aren't shown.
std::string describe(const Plan& plan);

}  // namespace berth::cli
