#pragma once

#include "api/gate/route.h"

// The changes of a deployment's status, as a stream.
namespace berth::api {

Reply deployment_events(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
