#pragma once

#include "api/gate/call.h"

// Deploy tiers, which operators choose from and administrators change.
namespace berth::api {

Reply list_tiers(db::Tx& tx, const Call& call, const Services& services);
Reply internal_tiers(db::Tx& tx, const Call& call, const Services& services);
Reply create_tier(db::Tx& tx, const Call& call, const Services& services);
Reply change_tier(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
