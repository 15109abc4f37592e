#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/gate/route.h"

namespace berth::api {

// What stands behind the scheme in Authorization, in whatever case the scheme was written (RFC
// 9110, section 11.1). Nothing where there is another scheme or none.
std::optional<std::string_view> credentials(const Request& request, std::string_view scheme);
// What stands behind "Bearer" (RFC 6750, section 2.1); empty where there is nothing of the kind.
std::string bearer_token(const Request& request);

// With spaces between them.
std::string scope_names(const std::vector<Scope>& scopes);

// Who a token speaks for, as far as the access that it opens asks for it.
struct Bearer {
  std::optional<accounts::User> user = {};
  std::string session_id = {};
  std::optional<oauth::Caller> caller = {};
  std::optional<play::Session> play = {};
};
// Checks that the token opens what asks for `access`, right now. Nothing for open and internal
// access. Throws as authenticate() does.
Bearer check_bearer(db::Tx& tx, const Access& access, const std::string& token,
                    const Services& services);

// Finds out who calls, and fills in the call's user, session_id, caller, play and admin as far as
// the route's access says. The internal secret was looked at before. Throws invalid_token,
// wrong_token_type, token_expired, token_revoked, account_suspended, insufficient_scope.
void authenticate(db::Tx& tx, const Access& access, const Services& services, Call& call);

}  // namespace berth::api
