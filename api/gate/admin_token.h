#pragma once

#include <chrono>
#include <string>

#include "api/gate/authenticate.h"
#include "controller/base/clock.h"
#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/scopes.h"
#include "controller/domain/oauth/personal_tokens.h"

// Personal access tokens (pat_live_) with the scope `admin`: by such a token a program does below
// /api/internal/ what the admin who made it may do, in their name. The second factor is proven when
// the token is made, because a program can't prove it; so the token lives for 30 days at most.
namespace berth::api {

inline constexpr std::chrono::days longest_admin_token{30};

// Returns the admin behind a token that works. They must have a role and a second factor still.
// Throws insufficient_scope without the scope, token_revoked if the account was deleted, and
// forbidden; the detail `step_up` is that of admit_admin(). A token that lives longer than
// longest_admin_token is refused, whoever made it.
accounts::User admin_of(db::Tx& tx, const personal_tokens::Token& token);

// To be called when a token with these scopes is made, by the user's session. Does nothing without
// the scope `admin`. Throws what admit_admin() throws for a change, and validation_failed if the
// token is to live longer than longest_admin_token.
void require_may_make(db::Tx& tx, const ScopeSet& scopes, Duration lifetime,
                      const accounts::User& user, const std::string& session_id);

}  // namespace berth::api
