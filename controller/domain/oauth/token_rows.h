#pragma once

#include <optional>
#include <string>

#include "controller/db/database.h"
#include "controller/domain/kernel/scopes.h"
#include "controller/domain/oauth/oauth.h"

// How consents, token families and tokens are stored. Private to this module.
namespace berth::oauth {

// A family is all tokens that come from one authorization. They stop working at its end, however
// often they are refreshed.
struct Family {
  std::string id;
  Instant end;
  // What its refresh tokens have in common (mark_of()), and what they begin with as they are
  // stored. Empty: the next one gets a new mark.
  std::string mark = {};
  std::string mark_hash = {};
};
// Each login into an app opens a family, and an unused one stays until its refresh token expires.
// If a grant has more than this many, its oldest ones end. Only one opening in 16 checks that, so a
// grant can have some dozens more for a while.
inline constexpr int max_families_per_grant = 1'000;
// `login` is given if the scopes include openid and the session is known.
Family open_family(db::Tx& tx, const std::string& grant_id, const ScopeSet& scopes,
                   Duration lifetime, const std::optional<openid::Login>& login = {});
// Returns the login in a row's columns app_id, session_id and authenticated_at; nothing if the last
// two are NULL.
std::optional<openid::Login> login_of(const db::Query& row);
// Returns whether it hadn't been revoked before.
bool revoke_family(db::Tx& tx, const std::string& family_id);
// Something that works once and was used again, so that one of both callers is a thief.
struct Reuse {
  std::string kind;  // refresh_token, authorization_code
  std::string app_id;
  std::string user_id;     // whose family it is
  bool by_client = false;  // whether the caller has authenticated as the app
};
// Revokes the family. Unless it had been revoked before, the audit log gets an entry: one for each
// family, so that nobody can fill the log by sending a token again and again.
void end_reused_family(db::Tx& tx, const std::string& family_id, const Reuse& reuse);

// `narrowed` is given if the token has fewer scopes than its family.
std::string add_access_token(db::Tx& tx, const std::string& family_id, Instant expires_at,
                             const std::optional<ScopeSet>& narrowed = {});

// Refresh tokens consist of the prefix rt_live_, a mark of 128 random bits, which all tokens of
// their family share, and 256 random bits of their own. So a consumed token needs no row of its own
// to be recognised: whoever shows its mark has had a token of the family. Tokens that older
// versions made have no mark; they are found until they expire.
//
// Returns the token's mark; empty if it has none, or is no refresh token.
std::string mark_of(const std::string& token);
// Returns how a refresh token is stored: a hash of its mark, a dot, and the hash of all of it, so
// that the rows of a family stand together. For a token without a mark it is its hash.
std::string stored_refresh_token(const std::string& token);
std::string add_refresh_token(db::Tx& tx, const Family& family);
// Looks at 64 of the family's refresh tokens, and removes those that were consumed at that time or
// before. A refresh adds one, so that a call for each refresh leaves none for long.
void remove_consumed_tokens(db::Tx& tx, const Family& family, Instant consumed);
// Returns a refresh token, as it is stored, of the family whose mark the token has; nothing if the
// family has none any more, or the token has no mark.
std::optional<std::string> relative_of(db::Tx& tx, const std::string& token);
// Adds an access token and a refresh token to the family, for the user `user_id`. `scopes` is what
// they can be used for at present.
Tokens add_tokens(db::Tx& tx, const Family& family, const ScopeSet& scopes,
                  const std::string& user_id, const std::optional<ScopeSet>& narrowed = {});

// Adds the scopes to those that the user has consented to for the app. Returns the grant's id.
std::string consent(db::Tx& tx, const std::string& app_id, const std::string& user_id,
                    const ScopeSet& scopes);

// Returns the id of the user's consent to berth's own client, revoked or not; empty if there is
// none.
std::string built_in_grant(db::Tx& tx, const std::string& user_id);

// Adds `change` to the number of users who have a consent to the app.
void count_app_users(db::Tx& tx, const std::string& app_id, int change);

// Ends every family, every unused code and every device of the grant that has no tokens yet.
void revoke_contents(db::Tx& tx, const std::string& grant_id);

// Returns which of the granted scopes can be used at present: those that the app is approved for;
// and operators' scopes only if `bears_operators`: if the user owns the app, or the app is the
// built-in client, which works for the user's own apps.
ScopeSet usable(const ScopeSet& granted, const ScopeSet& approved, bool bears_operators);

// The two parts of a query for a token `t` by its hash ($1), with its family, grant, user and app.
// `select_holder` is "SELECT …, ", with the columns that the functions below read. The query's own
// columns and FROM with the token's table stand between it and `of_token`.
extern const std::string select_holder;
extern const std::string of_token;

// Finds a refresh token as it is stored ($1): the holder's columns and the token's own family_id,
// expires_at and consumed_at, and the app's refresh_requires_client.
extern const std::string find_refresh_token;
// The row of a refresh token that somebody has shown. If it was consumed and removed, it is the row
// of a relative.
struct ShownRefreshToken {
  std::string stored;  // stored_refresh_token() of it
  db::Query row;
  bool was_removed = false;
};
// Returns nothing if the token is unknown.
std::optional<ShownRefreshToken> find_shown(db::Tx& tx, const std::string& refresh_token);

struct Holder {
  std::string grant_id;
  std::string user_id;
  std::string app_id;
  ScopeSet scopes;  // the family's scopes that can be used at present
  Instant family_end;
  bool built_in = false;         // whether the app is berth's own client
  bool owns_app = false;         // whether the user is the owner of another app
  bool tells_of_spends = false;  // whether somebody wants the events of the app's spends
  bool unregistered = false;     // whether the client isn't registered (apps/unregistered.h)
  bool is_guest = false;         // whether the user is a guest (accounts/guests.h)
};
Holder holder_of(const db::Query& row);
bool is_held_by(const db::Query& row, const std::string& app_id);
// Throws token_revoked, token_expired or account_suspended, in this order of precedence; and
// account_suspended first for a token that the account's suspension has ended, as long as the
// account is suspended.
// `expires_at` is the token's own.
void check_holder(const db::Query& row, Instant expires_at, Instant now);

}  // namespace berth::oauth
