#pragma once

#include <expected>
#include <optional>
#include <string>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/kernel/scopes.h"
#include "controller/domain/oauth/play_sessions.h"

// The authorization server: codes, tokens and their rotation (RFC 6749, RFC 7636 with S256 alone,
// RFC 7009, RFC 7662, RFC 9700). Tokens are 256 random bits behind a prefix; only their SHA-256 is
// stored.
namespace berth::oauth {

inline constexpr Duration code_lifetime = std::chrono::seconds(600);
inline constexpr Duration access_token_lifetime = std::chrono::seconds(3600);
inline constexpr Duration refresh_token_lifetime = std::chrono::days(30);
inline constexpr Duration session_token_lifetime = play::token_lifetime;

struct Policy {  // configuration keys refresh-reuse-grace, refresh-family-lifetime, secret-grace
  Duration refresh_reuse_grace = std::chrono::seconds(10);
  Duration family_lifetime = std::chrono::days(90);
  Duration secret_grace = std::chrono::seconds(0);
};

struct AuthorizationRequest {
  std::string client_id;
  std::string redirect_uri;
  std::string response_type;
  std::string response_mode = {};  // empty: query, which is the only one
  std::string scope;               // separated by spaces or pluses
  std::string code_challenge;
  std::string code_challenge_method;
  // A parameter that is there more than once, if there is one: it can't be either of the first two,
  // which say where a refusal may go.
  std::string repeated = {};
};

// The app that asks. Throws invalid_request where client_id is unknown or redirect_uri isn't
// registered with it: nothing may be sent to that URI then (RFC 6749, section 4.1.2.1). Everything
// else that is wrong with the request goes there.
apps::App asking_app(db::Tx& tx, const AuthorizationRequest& request);
// What the user is asked to consent to. Refused with invalid_request, unsupported_response_type,
// unauthorized_client, invalid_scope (also where a scope isn't approved, or is for the app's owner
// and the user isn't).
std::expected<ScopeSet, Error> asked_scopes(const apps::App& app, const accounts::User& user,
                                            const AuthorizationRequest& request);

struct AuthorizationCode {
  std::string code;
  std::string redirect_uri;
};
// A code for the user's consent to what was asked; throws and refuses like the two above.
// `session_access`: what the user chose that the app may do with its session tokens; where they
// weren't asked, what they chose before stays.
std::expected<AuthorizationCode, Error> authorize(
    db::Tx& tx, const accounts::User& user, const AuthorizationRequest& request,
    const std::optional<play::SessionAccess>& session_access = {});

struct Tokens {
  std::string access_token;
  Instant access_token_expires_at;
  std::string refresh_token;  // empty: there is none
  ScopeSet scopes;            // of the access token, right now
  std::string user_id;
  // On authorization_code grants alone, of apps that take session tokens.
  std::optional<std::string> session_token;
  std::optional<Instant> session_token_expires_at;
};

// What comes back instead of tokens is an answer too, and not a throw: the revocations that a
// replay causes have to be committed with it.
using Answer = std::expected<Tokens, Error>;

// Grant authorization_code, for a client that has authenticated. A code works once: used again it
// revokes what it gave (RFC 6749, section 4.1.2). Errors: invalid_grant.
Answer exchange_code(db::Tx& tx, const apps::App& client, const std::string& code,
                     const std::string& redirect_uri, const std::string& code_verifier,
                     const Policy& policy);

// Grant refresh_token: a new pair, and the old refresh token is consumed. One that was consumed
// longer ago than the grace revokes its family (RFC 9700, section 4.14.2). `client` empty: by
// /api/auth/refresh without client authentication, which an app can refuse for its tokens; then
// nothing is consumed or revoked. `scope`: for an access token that has less (RFC 6749, section 6).
// Errors: consumed_refresh_token, invalid_scope, invalid_client.
Answer refresh(db::Tx& tx, const std::optional<apps::App>& client, const std::string& refresh_token,
               const Policy& policy, const std::optional<std::string>& scope = {});

// Grant client_credentials: an access token of the app's owner, for CI jobs, without a refresh
// token. It has what the app is approved for; but what moves a user's points only where the owner
// consented to that as a user. `scope` empty: all of it. Throws unauthorized_client, invalid_scope.
Tokens client_credentials(db::Tx& tx, const apps::App& client,
                          const std::optional<std::string>& scope);

// Who calls with an access token, and what he may do right now.
struct Caller {
  std::string user_id;
  std::string app_id;
  std::string grant_id;
  ScopeSet scopes;  // of the token, less what was withdrawn from the app since
  Instant expires_at;
};
// Throws invalid_token, token_expired, token_revoked, account_suspended.
Caller check_access_token(db::Tx& tx, const std::string& token);

struct Introspection {
  std::optional<Caller> active;
  std::string reason;  // where it isn't active: not_found, expired, revoked, suspended
};
Introspection introspect(db::Tx& tx, const std::string& token);

// What a client may know of a token (RFC 7662, section 2.2).
struct TokenFacts {
  enum class Kind { access, refresh, session } kind = Kind::access;
  std::string user_id;
  ScopeSet scopes;  // of a session token: none
  Instant expires_at;
};
// Nothing where the token doesn't work, or belongs to another client. Writes nothing.
std::optional<TokenFacts> introspect_for(db::Tx& tx, const apps::App& client,
                                         const std::string& token);
// An access token or a session ends alone; a refresh token, consumed or not, ends with its family
// (RFC 7009, section 2.1). Does nothing where the token is unknown. Throws invalid_grant where it
// belongs to another client.
void revoke(db::Tx& tx, const apps::App& client, const std::string& token);

}  // namespace berth::oauth
