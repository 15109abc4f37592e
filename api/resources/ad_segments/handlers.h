#pragma once

#include "api/gate/route.h"

// Audience segments, which campaigns are aimed at: those of the platform and those of an app.
namespace berth::api {

Reply market_segments(db::Tx& tx, const Call& call, const Services& services);
Reply create_own_segment(db::Tx& tx, const Call& call, const Services& services);
Reply internal_segments(db::Tx& tx, const Call& call, const Services& services);
Reply create_ad_segment(db::Tx& tx, const Call& call, const Services& services);
Reply change_ad_segment(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
