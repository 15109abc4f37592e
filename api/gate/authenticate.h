#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/gate/route.h"

namespace berth::api {

// The text after the scheme in the Authorization header, where the scheme is compared without
// regard to case (RFC 9110, section 11.1). Nothing if the header is missing or has another scheme.
std::optional<std::string_view> credentials(const Request& request, std::string_view scheme);
// The token after "Bearer" (RFC 6750, section 2.1); empty if there is none.
std::string bearer_token(const Request& request);

// Returns the name of the admin who calls an internal route: the value of X-Admin-Actor, or
// "internal" if that is missing or too long.
std::string admin_actor(const Request& request);

// Returns the scopes' names, separated by spaces.
std::string scope_names(const std::vector<Scope>& scopes);

// Whom a token speaks for. Only the fields that the access concerns are set.
struct Bearer {
  std::optional<accounts::User> user = {};
  std::string session_id = {};
  bool ends_idle = false;  // whether the session ends when it is idle
  std::optional<oauth::Caller> caller = {};
  std::optional<play::Session> play = {};
};
// Checks that the token gives this access at this moment. Returns an empty Bearer for open and
// internal access. Throws like authenticate().
Bearer check_bearer(db::Tx& tx, const Access& access, const std::string& token,
                    const Services& services);

// Whether callers present a token. On open routes and below /api/internal/ they don't.
bool takes_token(const Access& access);

// Finds out who calls, and sets the call's user, session_id, caller and play as the route's access
// says; sets nothing if the route takes no token. Throws invalid_token, wrong_token_type,
// token_expired, token_revoked, account_suspended or insufficient_scope.
void authenticate(db::Tx& tx, const Access& access, const Services& services, Call& call);

}  // namespace berth::api
