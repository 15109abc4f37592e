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

// Throws insufficient_scope unless the token's user owns the app, or the owner gave the token
// `app:balance:read`; app_not_found if the app was deleted.
void check_may_see_figures(db::Tx& tx, const Call& call);

// The user of an app's token (/api/external/) or of a session.
inline const std::string& user_of(const Call& call) {
  return call.caller ? call.caller->user_id : call.user->id;
}

}  // namespace berth::api
