#pragma once

#include <chrono>
#include <string>

#include "api/gate/authenticate.h"
#include "controller/base/clock.h"
#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/scopes.h"

// Personal access tokens (pat_live_) with the scope `admin`: by such a token a program does below
// /api/internal/ what the admin who made it may do, in their name. The second factor is proven when
// the token is made, because a program can't prove it; so the token lives for 30 days at most.
namespace berth::api {

inline constexpr std::string_view personal_token_prefix = "pat_live_";
inline constexpr std::chrono::days longest_admin_token{30};

// What the gate has to know of the token, which was found and works.
struct AdminToken {
  std::string user_id;
  ScopeSet scopes;
  Instant made_at;
  Instant expires_at;
};

// Returns the admin behind the token. They must have a role and a second factor still. Throws
// insufficient_scope without the scope, token_revoked if the account was deleted,
// account_suspended, and forbidden; the detail `step_up` is that of admit_admin(). A token that
// lives longer than longest_admin_token is refused, whoever made it.
Bearer check_admin_token(db::Tx& tx, const AdminToken& token);

// To be called when a token with these scopes is made, by the user's session. Does nothing without
// the scope `admin`. Throws what admit_admin() throws for a change, validation_failed if the token
// is to live longer than longest_admin_token, and forbidden if it is asked for without a session,
// as by another token.
void require_may_make(db::Tx& tx, const ScopeSet& scopes, Duration lifetime,
                      const accounts::User& user, const std::string& session_id);

}  // namespace berth::api
