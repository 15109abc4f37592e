#pragma once

#include "api/gate/call.h"

// Handlers of the prices of ads, for each surface type and each placement.
namespace berth::api {

Reply market_rates(db::Tx& tx, const Call& call, const Services& services);
Reply market_pricing(db::Tx& tx, const Call& call, const Services& services);
Reply market_placement_pricing(db::Tx& tx, const Call& call, const Services& services);
Reply internal_pricing(db::Tx& tx, const Call& call, const Services& services);
Reply create_ad_pricing(db::Tx& tx, const Call& call, const Services& services);
Reply change_ad_pricing(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
