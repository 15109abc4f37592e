#pragma once

#include "api/gate/call.h"

// Handlers of audience segments, by which campaigns restrict who sees their ads. Segments belong to
// the platform or to an app.
namespace berth::api {

Reply market_segments(db::Tx& tx, const Call& call, const Services& services);
Reply create_own_segment(db::Tx& tx, const Call& call, const Services& services);
Reply internal_segments(db::Tx& tx, const Call& call, const Services& services);
Reply create_ad_segment(db::Tx& tx, const Call& call, const Services& services);
Reply change_ad_segment(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
