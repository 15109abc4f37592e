#pragma once

#include <map>
#include <optional>
#include <string>

#include "api/gate/call.h"
#include "controller/domain/deployments/deployments.h"
#include "controller/domain/deployments/variables.h"

namespace berth::api {

// Returns the URL with the custom domain if that is being served, otherwise with the name under
// apps-domain.
std::string url_of(const deployments::Deployment& row, const Services& services);

json encode(const deployments::Deployment& row, const Services& services);
json encode(const deployments::LogEntry& entry);
// What a deployment costs; defined in billing.cpp. Throws deployment_not_found.
json encode_billing(db::Tx& tx, const deployments::Deployment& row);

// A variable without its value. Those of a deployment also say where they come from.
json encode(const deployments::Variable& variable);
// Returns the changes of variables that a request asks for: null removes one. Without a value for
// PORT, which would have no effect: berth sets that variable of each container to the field `port`.
std::map<std::string, std::optional<std::string>> decode_variable_changes(const json& variables);
// Adds a sentence to the answer's `warnings` if the variables of the request have a value for PORT.
// `field` is their name in the request.
void warn_of_port(const json& variables, const std::string& field, json& answer);

// Returns who acts on the token's app.
deployments::Actor actor_of(const Call& call);

// Returns the deployment's fields, and in addition the same fields under the name `deployment`,
// because the specification has both forms.
json encode_both(const deployments::Deployment& row, const Services& services);

}  // namespace berth::api
