#pragma once

#include "api/gate/call.h"

// Handlers of avatars, which say how users look in all apps.
namespace berth::api {

Reply my_avatar(const Call& call, const Services& services);
Reply avatar_of(const Call& call, const Services& services);
Reply change_avatar(db::Tx& tx, const Call& call, const Services& services);
Reply equip_avatar(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
