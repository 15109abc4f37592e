#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "controller/domain/deployments/deployments.h"
#include "controller/domain/deployments/variables.h"

// Variables in common: an operator sets them once for an app, and all its deployments inherit them,
// those that are created later, too. A deployment's own variable of the same name takes the place
// of the app's. What the API says of a deployment's env_keys, its revisions and a rollback are
// about its own variables alone.
//
// The limits of names and values are those of a deployment's own variables (max_env_keys,
// max_env_bytes), so a container gets at most twice as much, for which a Secret has room. That is
// why a deployment is never refused because of what it inherits, and the other way around.
namespace berth::deployments {

inline constexpr size_t max_bytes_of_secret = 1024 * 1024;  // kubernetes.io, "Secrets"
static_assert(2 * max_env_bytes < max_bytes_of_secret);

// Returns the app's variables by name.
std::vector<Variable> app_variables(db::Tx& tx, const std::string& app_id,
                                    const std::string& data_key);

struct AppVariablesChange {
  std::vector<Variable> variables;  // as they are afterwards
  struct Replaced {
    std::string id;
    std::string name;
  };
  std::vector<Replaced> replaced;  // the deployments whose containers are replaced, oldest first
};
// The most deployments that one change reaches. Each costs a row and an entry of its log in the
// transaction of the change, for which other writes wait.
inline constexpr size_t max_inheriting = 500;

// Sets variables, and removes those without a value; the others stay. Each deployment that runs,
// starts or has failed, and that doesn't override all that changes, gets a new generation and a log
// entry, so that its container is replaced. One that is stopped stays so, and starts with the
// variables of that time. Nothing is charged. If nothing changes, nothing is written. Throws
// app_not_found, and validation_failed for `variables` or one of them, also if more than
// max_inheriting deployments would be reached. Needs a serializable write.
AppVariablesChange change_app_variables(
    db::Tx& tx, const Actor& actor,
    const std::map<std::string, std::optional<std::string>>& changes, const std::string& data_key);

// Removes the app's variables, for the deletion of the app, which has no deployments then.
void forget_app_variables(db::Tx& tx, const std::string& app_id);

}  // namespace berth::deployments
