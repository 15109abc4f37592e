#pragma once

#include "api/gate/call.h"

// The programs that have logged in to the caller's account by berth's own client.
namespace berth::api {

Reply list_devices(db::Tx& tx, const Call& call, const Services& services);
Reply end_device(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
