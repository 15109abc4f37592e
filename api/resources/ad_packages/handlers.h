#pragma once

#include "api/gate/call.h"

// Handlers of the ad market's packages and of operators' purchases.
namespace berth::api {

Reply market_packages(db::Tx& tx, const Call& call, const Services& services);
Reply list_purchases(db::Tx& tx, const Call& call, const Services& services);
Reply get_purchase(db::Tx& tx, const Call& call, const Services& services);
Reply buy_package(db::Tx& tx, const Call& call, const Services& services);
Reply internal_packages(db::Tx& tx, const Call& call, const Services& services);
Reply create_ad_package(db::Tx& tx, const Call& call, const Services& services);
Reply change_ad_package(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
