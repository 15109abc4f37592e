#pragma once

#include "api/gate/route.h"
#include "controller/domain/deployments/deployments.h"

namespace berth::api {

// The deployment's fields, and beside them the same under `deployment`: both forms of the
// specification.
json encode_both(const deployments::Deployment& row, const Services& services);

}  // namespace berth::api
