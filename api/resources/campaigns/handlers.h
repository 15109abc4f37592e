#pragma once

#include "api/gate/call.h"

// The campaigns of the token's app, under /api/external/campaigns and in the ad market's form under
// /api/v1/ads/campaigns.
namespace berth::api {

Reply create_campaign(db::Tx& tx, const Call& call, const Services& services);
Reply list_campaigns(db::Tx& tx, const Call& call, const Services& services);
Reply get_campaign(db::Tx& tx, const Call& call, const Services& services);
Reply change_campaign(db::Tx& tx, const Call& call, const Services& services);
Reply cancel_campaign(db::Tx& tx, const Call& call, const Services& services);
Reply market_campaigns(db::Tx& tx, const Call& call, const Services& services);
Reply create_market_campaign(db::Tx& tx, const Call& call, const Services& services);
Reply campaign_analytics(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
