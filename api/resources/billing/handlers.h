#pragma once

#include "api/gate/call.h"

// Handlers of deployments' costs and of their suspension by administrators.
namespace berth::api {

Reply deployment_billing(db::Tx& tx, const Call& call, const Services& services);
Reply suspend_deployment(db::Tx& tx, const Call& call, const Services& services);
Reply reactivate_deployment(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
