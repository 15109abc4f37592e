#pragma once

#include "api/gate/route.h"

// Handler of the event stream of a deployment's status.
namespace berth::api {

Reply deployment_events(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
