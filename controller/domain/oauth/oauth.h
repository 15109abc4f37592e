#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/enum_text.h"
#include "controller/base/error.h"
#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/apps/unregistered.h"
#include "controller/domain/kernel/scopes.h"
#include "controller/domain/oauth/openid.h"
#include "controller/domain/oauth/play_sessions.h"

// The authorization server: codes, tokens and their rotation (RFC 6749; RFC 7636 with S256 only;
// RFC 7009; RFC 7662; RFC 9700). A token is a prefix and 256 random bits; only its SHA-256 is
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
  std::string response_mode = {};  // empty means "query", the only one supported
  std::string scope;               // separated by spaces or pluses
  std::string code_challenge;
  std::string code_challenge_method;
  // The name of a parameter that the request contains more than once, or empty. client_id and
  // redirect_uri can't be named here: a request that repeats one of them is refused earlier, since
  // nobody knows where to send the error.
  std::string repeated = {};
  // The parameters of OpenID Connect (openid.h); empty if they are missing.
  std::string nonce = {};
  std::string prompt = {};
  std::string max_age = {};
  // Since when the user must have logged in, in milliseconds since 1970. berth's pages put it in
  // the place of prompt=login and max_age when they send somebody to log in, so that the new login
  // counts.
  std::string authenticated_since = {};
  bool has_request_object = false;  // the parameter `request`
  bool has_request_uri = false;
  // What was found at client_id if that is a URL (client_documents.h). Without it, the client is
  // unknown.
  std::optional<apps::ClientDocument> document = {};
};

// Returns the app that asks. Throws invalid_request if client_id is unknown or redirect_uri isn't
// registered for it; nothing may be sent to that URI then (RFC 6749, section 4.1.2.1). All other
// errors of a request are sent to it.
apps::App asking_app(db::Tx& tx, const AuthorizationRequest& request);
// Returns the scopes that the user is asked to consent to. Errors: invalid_request,
// unsupported_response_type, unauthorized_client, those of openid::refuse_parameters(), and
// invalid_scope, which also means that a scope isn't approved, or that only the app's owner may
// grant it and the user is somebody else. Every app may ask for ScopeSet::identity(); a client that
// isn't registered may ask for nothing else, and gets `openid` if it asks for nothing.
std::expected<ScopeSet, Error> asked_scopes(const apps::App& app, const accounts::User& user,
                                            const AuthorizationRequest& request);

struct AuthorizationCode {
  std::string code;
  std::string redirect_uri;
};
// Creates a code for the user's consent. Throws and returns the errors of the two functions above.
// `session_access` is the user's choice of what the app may do with its session tokens; if it is
// empty, their earlier choice stays. `session_id` is the session in which they consent, which ID
// tokens name; without one, or without the scope openid, there will be no ID token. Also returns
// the errors of openid::refuse_silently(), and unauthorized_client if the user has connected
// apps::max_unregistered_per_user clients that aren't registered, and this would be another one.
std::expected<AuthorizationCode, Error> authorize(
    db::Tx& tx, const accounts::User& user, const AuthorizationRequest& request,
    const std::optional<play::SessionAccess>& session_access = {},
    const std::string& session_id = {});

struct Tokens {
  std::string access_token;
  Instant access_token_expires_at;
  std::string refresh_token;  // empty if there is none
  ScopeSet scopes;            // what the access token may be used for at present
  std::string user_id;
  // Only in the answer to an authorization code, and only for apps that take session tokens.
  std::optional<std::string> session_token;
  std::optional<Instant> session_token_expires_at;
  // The family of the tokens, and whether they are berth's own client's (devices.h).
  std::string family_id = {};
  bool first_party = false;
  // Set if there has to be an ID token, too (openid::id_token()).
  std::optional<openid::Login> login = {};
};

// An error is returned instead of thrown, because a replayed code or refresh token has to revoke
// tokens, and the transaction that revokes them must be committed.
using Answer = std::expected<Tokens, Error>;

// Grant authorization_code, for an authenticated client. A code works once; if it is used again,
// everything that it gave is revoked (RFC 6749, section 4.1.2). Errors: invalid_grant.
Answer exchange_code(db::Tx& tx, const apps::App& client, const std::string& code,
                     const std::string& redirect_uri, const std::string& code_verifier,
                     const Policy& policy);

// Grant refresh_token: returns a new pair of tokens and consumes the old refresh token. A refresh
// token that was consumed longer ago than the policy's grace revokes its family, that is, all
// tokens of the same authorization (RFC 9700, section 4.14.2). `client` is empty for
// /api/auth/refresh without client authentication, which an app can refuse; a refused call consumes
// and revokes nothing. `scope` asks for an access token with fewer scopes (RFC 6749, section 6).
// Errors: consumed_refresh_token, invalid_scope, invalid_client.
Answer refresh(db::Tx& tx, const std::optional<apps::App>& client, const std::string& refresh_token,
               const Policy& policy, const std::optional<std::string>& scope = {});

// Grant client_credentials: returns an access token that acts as the app's owner, for CI jobs,
// without a refresh token. It has the app's approved scopes; those that move a user's points are
// included only if the owner has consented to them as a user. `scope` asks for some of them; empty
// means all. Throws unauthorized_client or invalid_scope.
Tokens client_credentials(db::Tx& tx, const apps::App& client,
                          const std::optional<std::string>& scope);

// Who calls with an access token, and what they may do at present.
struct Caller {
  std::string user_id;
  std::string app_id;
  std::string grant_id;
  std::string family_id;  // empty in the console
  ScopeSet scopes;        // the token's scopes, without those that the app has lost since
  Instant expires_at;
  // Whether berth's own client, the console or a personal token calls for the user. Then app_id is
  // the one of the user's apps that the request is about, and empty if it is about none or all of
  // them; grant_id is empty in the console and for a personal token.
  bool first_party = false;
  // The id of the personal token (personal_tokens.h) that was shown; empty for others.
  std::string personal_token_id = {};
  // The ids of the only deployments of the app that the caller may use; empty if they may use all.
  std::vector<std::string> deployments = {};
  bool owns_app = false;         // the app is the user's own; false for first_party callers
  bool unregistered = false;     // the client isn't registered (apps/unregistered.h)
  bool tells_of_spends = false;  // somebody wants the events of the app's spends
  bool is_guest = false;         // the user is a guest of the app (accounts/guests.h)
};
// Returns the caller. Throws invalid_token, token_expired, token_revoked or account_suspended.
Caller check_access_token(db::Tx& tx, const std::string& token);

enum class Inactive { not_found, expired, revoked, suspended };
constexpr auto texts_of(Inactive) {
  return EnumTexts<Inactive::suspended>{"not_found", "expired", "revoked", "suspended"};
}
struct Introspection {
  std::optional<Caller> active;
  Inactive reason = Inactive::not_found;  // if it isn't active
};
Introspection introspect(db::Tx& tx, const std::string& token);

enum class TokenKind { access, refresh, session };
constexpr auto texts_of(TokenKind) {  // what introspection calls them
  return EnumTexts<TokenKind::session>{"access_token", "refresh_token", "session_token"};
}
// What a client may learn about a token (RFC 7662, section 2.2).
struct TokenFacts {
  TokenKind kind = TokenKind::access;
  std::string user_id;
  ScopeSet scopes;  // empty for a session token
  Instant expires_at;
};
// Looks a token up for a client. The client may be looked up meanwhile: PostgreSQL gets the
// statement together with the next one. The transaction has to outlive this object. Writes nothing.
class TokenLookup {
 public:
  TokenLookup(db::Tx& tx, std::string token);
  // Returns nothing if the token doesn't work or belongs to another client. Call it once.
  std::optional<TokenFacts> facts_for(const apps::App& client);

 private:
  db::Tx& tx_;
  const std::string token_;
  std::optional<db::Query> rows_;  // nothing for a session token
};
// Revokes a token (RFC 7009, section 2.1). An access token or a session ends alone; a refresh
// token, consumed or not, ends with its family. Does nothing if the token is unknown. Throws
// invalid_grant if it belongs to another client.
void revoke(db::Tx& tx, const apps::App& client, const std::string& token);

}  // namespace berth::oauth
