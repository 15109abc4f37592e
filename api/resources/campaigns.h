#pragma once

#include "api/gate/call.h"
#include "controller/domain/ads/campaigns.h"

namespace berth::api {

// The app and user on whose behalf the call changes a campaign.
inline campaigns::Actor campaign_actor(const Call& call) {
  return {.app_id = call.caller->app_id, .user_id = call.caller->user_id};
}

}  // namespace berth::api
