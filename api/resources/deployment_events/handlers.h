#pragma once

#include "api/gate/call.h"

// Handlers of the event streams: one of a deployment's status, and one of everything that happens
// to the apps of an account.
namespace berth::api {

Reply deployment_events(db::Tx& tx, const Call& call, const Services& services);
Reply account_events(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
