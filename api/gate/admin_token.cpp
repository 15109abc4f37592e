#include "api/gate/admin_token.h"

namespace berth::api {

accounts::User admin_of(db::Tx& tx, const personal_tokens::Token& token) {
  if (!token.scopes.has(Scope::admin))
    throw Error(Code::insufficient_scope, "the personal access token lacks the scope admin");
  if (token.expires_at - token.inserted_at > longest_admin_token)
    throw Error(Code::forbidden,
                "a personal access token with the scope admin lives for 30 days at most");
  accounts::User user = account_of(tx, token.user_id);
  require_admin_with_factor(user);
  return user;
}

void require_may_make(db::Tx& tx, const ScopeSet& scopes, Duration lifetime,
                      const accounts::User& user, const std::string& session_id) {
  if (!scopes.has(Scope::admin)) return;
  if (lifetime > longest_admin_token)
    throw invalid_field("expires_in_days", "must be at most 30 with the scope admin");
  admit_admin(tx, user, session_id, AdminAccess::changes);
}

}  // namespace berth::api
