#pragma once

#include "api/gate/call.h"
#include "controller/domain/oauth/debits.h"

namespace berth::api {

// Who pays for a call: the user, and the grant if an app's token asks. The console's caller has no
// grant.
inline debits::Payer payer_of(const Call& call) {
  if (!call.caller) return {.user_id = call.user->id, .grant_id = {}};
  const std::string& grant = call.caller->grant_id;
  return {.user_id = call.caller->user_id,
          .grant_id = grant.empty() ? std::nullopt : std::optional(grant)};
}

}  // namespace berth::api
