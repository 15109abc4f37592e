#pragma once

#include "api/gate/call.h"

// Handlers of users' public profiles and of the search for users.
namespace berth::api {

Reply search_users(db::Tx& tx, const Call& call, const Services& services);
Reply get_user(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
