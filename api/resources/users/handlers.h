#pragma once

#include "api/gate/route.h"

// Users as others see them.
namespace berth::api {

Reply search_users(db::Tx& tx, const Call& call, const Services& services);
Reply get_user(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
