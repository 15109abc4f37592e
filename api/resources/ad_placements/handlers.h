#pragma once

#include "api/gate/call.h"

// Handlers of placements, the places in apps where ads are shown. Operators read them,
// administrators change them.
namespace berth::api {

Reply market_placements(db::Tx& tx, const Call& call, const Services& services);
Reply internal_placements(db::Tx& tx, const Call& call, const Services& services);
Reply create_ad_placement(db::Tx& tx, const Call& call, const Services& services);
Reply change_ad_placement(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
