#pragma once

#include "api/gate/route.h"
#include "controller/domain/deployments/deployments.h"

namespace berth::api {

// Its fields, and `deployment` beside them: both forms of the specification.
json encode_both(const deployments::Deployment& row, const Services& services);

}  // namespace berth::api
