#pragma once

#include "api/gate/call.h"

// The custom domain of a deployment.
namespace berth::api {

Reply deployment_domain(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
