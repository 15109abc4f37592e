#pragma once

#include <optional>
#include <string>

#include "api/http.h"
#include "api/route.h"

namespace berth::api {

// What stands behind "Bearer" (RFC 6750, section 2.1); empty where there is nothing of the kind.
std::string bearer_token(const Request& request);

// Who a token speaks for; which one is set follows from the route's access.
struct Bearer {
  std::optional<accounts::User> user = {};
  std::string session_id = {};
  std::optional<oauth::Caller> caller = {};
  std::optional<play::Session> play = {};
};
// Checks that the token opens what asks for `access`, right now. Nothing for open and internal
// access. Throws invalid_token, wrong_token_type, token_expired, token_revoked, account_suspended,
// insufficient_scope.
Bearer check_bearer(db::Tx& tx, const Access& access, const std::string& token,
                    const Services& services);

// "a b": the names, for people and for WWW-Authenticate.
std::string scope_names(const std::vector<Scope>& scopes);

}  // namespace berth::api
