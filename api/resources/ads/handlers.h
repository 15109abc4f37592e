#pragma once

#include "api/gate/route.h"

// Ads that apps show, and what they report of them.
namespace berth::api {

Reply serve_ad(const Call& call, const Services& services);
Reply record_ad_event(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
