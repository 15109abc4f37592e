#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// What a deployment is to be, from flags or a berth.yaml, and how it differs from what is there.
namespace berth::cli {

using nlohmann::json;

// KEY=VALUE, or KEY alone, whose value is the variable of that name in our own environment: so
// that no secret has to stand in a command line. Throws Failure usage.
std::pair<std::string, std::string> parse_env(const std::string& text);
// Lines KEY=VALUE; empty ones and those that start with # don't count. Quotes around a value are
// taken off. Throws Failure usage with the number of the line.
json parse_env_file(const std::string& text, const std::string& source);

// Deployments of a berth.yaml as bodies of POST /api/deploy/apps. Either one deployment at the top
// level, or a list under `deployments`; of one document. Keys: those of the request (name, image,
// tier, port, custom_domain, health_path, env_vars or env, registry_credentials). In env_vars and
// registry_credentials ${NAME} stands for a variable of our own environment and $$ for a $. Throws
// Failure usage with source and key.
std::vector<json> parse_orders(const std::string& text, const std::string& source);

// What `up` would do with one deployment.
struct Change {
  std::string field;
  std::string from;  // for people; empty where there was nothing
  std::string to;    // likewise
};
struct Plan {
  enum class Kind { create, patch, nothing };
  Kind kind = Kind::nothing;
  std::string name;
  std::string id;  // of a deployment that is there
  json body;       // of the POST or PATCH
  std::vector<Change> changes = {};
  // Values that the server never gives back, so that only it can tell whether they differ. They are
  // sent; where none differs, nothing is rolled out.
  std::vector<std::string> unseen = {};
};

// `live` is the deployment as GET gives it, or null. Fields that the order leaves out stay as they
// are. Variables are the whole set: what is there and isn't in the order is removed, unless the
// order has none at all.
Plan plan_for(const json& order, const json& live);

// Lines as a diff shows them: +, ~ and - before each field. Values of variables aren't shown.
std::string describe(const Plan& plan);

}  // namespace berth::cli
