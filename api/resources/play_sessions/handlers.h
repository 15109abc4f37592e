#pragma once

#include "api/gate/call.h"

// The sessions of users in an app, with the app's session token (st_live_).
namespace berth::api {

Reply session_heartbeat(db::Tx& tx, const Call& call, const Services& services);
Reply session_status(db::Tx& tx, const Call& call, const Services& services);
Reply refresh_session(db::Tx& tx, const Call& call, const Services& services);
Reply end_play_session(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
