#pragma once

#include "api/gate/route.h"

// The places in apps where ads are shown: for operators to read, for administrators to change.
namespace berth::api {

Reply market_placements(db::Tx& tx, const Call& call, const Services& services);
Reply internal_placements(db::Tx& tx, const Call& call, const Services& services);
Reply create_ad_placement(db::Tx& tx, const Call& call, const Services& services);
Reply change_ad_placement(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
