#pragma once

#include "api/gate/call.h"

// Handlers with which apps get ads to show and report their impressions and clicks.
namespace berth::api {

Reply serve_ad(const Call& call, const Services& services);
Reply record_ad_event(db::Tx& tx, const Call& call, const Services& services);

}  // namespace berth::api
