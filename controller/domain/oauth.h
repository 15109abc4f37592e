#pragma once

#include <expected>
#include <optional>
#include <string>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/db/database.h"
#include "controller/domain/accounts.h"
#include "controller/domain/apps.h"
#include "controller/domain/scopes.h"

// The authorization server: codes, tokens and their rotation (RFC 6749, RFC 7636 with S256 alone,
// RFC 9700). Tokens are 256 random bits behind a prefix; only their SHA-256 is stored.
namespace berth::oauth {

inline constexpr Duration code_lifetime = std::chrono::seconds(600);
inline constexpr Duration access_token_lifetime = std::chrono::seconds(3600);
inline constexpr Duration refresh_token_lifetime = std::chrono::days(30);
inline constexpr Duration session_token_lifetime = std::chrono::hours(24);

struct Policy {  // configuration keys refresh-reuse-grace and refresh-family-lifetime
  Duration refresh_reuse_grace = std::chrono::seconds(10);
  Duration family_lifetime = std::chrono::days(90);
};

struct AuthorizationRequest {
  std::string client_id;
  std::string redirect_uri;
  std::string response_type;
  std::string scope;  // separated by spaces or pluses
  std::string code_challenge;
  std::string code_challenge_method;
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

// A code for the user's consent. Throws invalid_request, unsupported_response_type, invalid_scope
// (also where a scope isn't approved, or is for the app's owner and the user isn't),
// account_suspended.
AuthorizationCode authorize(db::Tx& tx, const accounts::User& user,
                            const AuthorizationRequest& request);

struct Tokens {
  std::string access_token;
  std::string refresh_token;
  ScopeSet scopes;
  std::string user_id;
  // On authorization_code grants alone.
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
// /api/auth/refresh, which has no client authentication. Errors: consumed_refresh_token.
Answer refresh(db::Tx& tx, const std::optional<apps::App>& client, const std::string& refresh_token,
               const Policy& policy);

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

}  // namespace berth::oauth
