#pragma once

#include "api/gate/call.h"

// Cosmetics: items for avatars, which users buy with points, for themselves or as a gift.
namespace berth::api {

Reply list_cosmetics(db::Tx& tx, const Call& call, const Services& services);
Reply my_cosmetics(db::Tx& tx, const Call& call, const Services& services);
Reply purchase_cosmetic(db::Tx& tx, const Call& call, const Services& services);
Reply give_cosmetic(db::Tx& tx, const Call& call, const Services& services);
Reply create_cosmetic(db::Tx& tx, const Call& call, const Services& services);
Reply change_cosmetic(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
