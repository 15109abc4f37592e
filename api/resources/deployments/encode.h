#pragma once

#include "api/gate/call.h"
#include "controller/domain/deployments/deployments.h"

namespace berth::api {

// Returns the deployment's fields, and in addition the same fields under the name `deployment`,
// because the specification has both forms.
json encode_both(const deployments::Deployment& row, const Services& services);

}  // namespace berth::api
