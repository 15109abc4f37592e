#pragma once

#include "api/gate/call.h"
#include "controller/domain/deployments/deployments.h"

namespace berth::api {

// Returns the URL with the custom domain if that is being served, otherwise with the name under
// apps-domain.
std::string url_of(const deployments::Deployment& row, const Services& services);

json encode(const deployments::Deployment& row, const Services& services);
json encode(const deployments::LogEntry& entry);
// What a deployment costs; defined in billing.cpp. Throws deployment_not_found.
json encode_billing(db::Tx& tx, const deployments::Deployment& row);

// Returns who acts on the token's app.
deployments::Actor actor_of(const Call& call);

// Returns the deployment's fields, and in addition the same fields under the name `deployment`,
// because the specification has both forms.
json encode_both(const deployments::Deployment& row, const Services& services);

}  // namespace berth::api
