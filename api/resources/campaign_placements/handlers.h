#pragma once

#include "api/gate/call.h"

// The placements of campaigns, under /api/v1/ads/campaigns/{id}/placements.
namespace berth::api {

Reply list_campaign_placements(db::Tx& tx, const Call& call, const Services& services);
Reply place_campaign(db::Tx& tx, const Call& call, const Services& services);
Reply change_campaign_placement(db::Tx& tx, const Call& call, const Services& services);
Reply remove_campaign_placement(db::Tx& tx, const Call& call, const Services& services);
Reply add_placement_segment(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
