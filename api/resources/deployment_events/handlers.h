#pragma once

#include "api/gate/route.h"

// Handlers of the event streams: of a deployment's status, and of all that happens to one's apps.
namespace berth::api {

Reply deployment_events(db::Tx& tx, const Call& call, const Services& services);
Reply account_events(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
