#pragma once

#include "api/gate/call.h"

// Accounts for the platform's administrators, under /api/internal/users, and the key that signs
// sessions.
namespace berth::api {

Reply list_users(db::Tx& tx, const Call& call, const Services& services);
Reply promote_user(db::Tx& tx, const Call& call, const Services& services);
Reply suspend_user(db::Tx& tx, const Call& call, const Services& services);
Reply reactivate_user(db::Tx& tx, const Call& call, const Services& services);
Reply end_user_sessions(db::Tx& tx, const Call& call, const Services& services);
Reply rotate_session_key(const Call& call, const Services& services);

}  // namespace berth::api
