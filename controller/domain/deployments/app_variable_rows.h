#pragma once

#include <optional>
#include <string>

#include "controller/domain/deployments/deployments.h"
#include "controller/domain/deployments/revisions.h"

// How an app's variables are stored, and what becomes of them in its deployments. Private to this
// module.
namespace berth::deployments {

// The name of the variables in a deployment's log, as the kind of a rollout and as a field.
inline constexpr const char* app_variables_in_log = "app_variables";

// Returns the app's variables, with their times and without credentials. Throws std::runtime_error
// if the data key isn't the one that encrypted them.
Secrets secrets_of_app(db::Tx& tx, const std::string& app_id, const std::string& data_key);
// Stores what differs from `before`, which is what is stored now.
void store_secrets_of_app(db::Tx& tx, const std::string& app_id, const Secrets& before,
                          const Secrets& after, const std::string& data_key);

// Returns what a container gets: its deployment's own secrets, and the variables that it inherits.
Secrets with_inherited(Secrets own, const Secrets& of_app);

// Returns the rollout that the deployment's present generation is, if a change of the app's
// variables began it and it hasn't ended well. It has no revision, because the deployment's own
// settings are the same as before; so the entry of the log says when it began.
std::optional<BegunRollout> begun_by_app_variables(db::Tx& tx, const Deployment& row);

}  // namespace berth::deployments
