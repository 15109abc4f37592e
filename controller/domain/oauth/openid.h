#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "controller/base/clock.h"
#include "controller/base/error.h"
#include "controller/db/database.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/kernel/scopes.h"

// Logins with OpenID Connect Core 1.0, over the authorization server (oauth.h): what its parameters
// ask for, ID tokens, and what apps learn of a user.
namespace berth::oauth {
struct AuthorizationRequest;
struct Tokens;
}  // namespace berth::oauth

namespace berth::openid {

inline constexpr Duration id_token_lifetime = std::chrono::hours(1);
inline constexpr Duration logout_token_lifetime = std::chrono::minutes(2);
inline constexpr size_t max_nonce_length = 255;  // it is stored until the code is used
// The header `typ` of ID tokens, and that of logout tokens (Back-Channel Logout 1.0, section 2.4).
inline constexpr std::string_view id_token_type = "JWT";
inline constexpr std::string_view logout_token_type = "logout+jwt";

// The login behind an authorization that includes openid.
struct Login {
  std::string app_id;
  std::string session_id;
  Instant authenticated_at;  // when the user last proved in the session who they are
  std::string nonce = {};    // empty if the request had none, and in refreshed ID tokens
};

struct Issuer {
  std::string url;  // the base URL
  std::string data_key;
};

// ---- The parameters of an authorization request (section 3.1.2.1)
// --------------------------------

// Returns what is wrong with them: invalid_request, request_not_supported or
// request_uri_not_supported. Values of prompt that berth doesn't know are ignored.
std::optional<Error> refuse_parameters(const oauth::AuthorizationRequest& request);
// Whether the request has this value of prompt.
bool prompts(const oauth::AuthorizationRequest& request, std::string_view value);
// Returns the time since which the user must have proven who they are, by `max_age`, by
// `authenticated_since`, or by prompt=login or select_account, which ask for a new login; nothing
// if any session will do. The request must have passed refuse_parameters().
std::optional<Instant> login_needed_since(const oauth::AuthorizationRequest& request, Instant now);
// Returns why the request can't be granted to the user in this session without showing them a page
// first: login_required; and with prompt=none consent_required or interaction_required.
std::optional<Error> refuse_silently(db::Tx& tx, const apps::App& app, const std::string& user_id,
                                     const std::string& session_id,
                                     const oauth::AuthorizationRequest& request,
                                     const ScopeSet& scopes);

// ---- What apps get ------------------------------------------------------------------------------

// Returns the ID token for tokens that have a login. Writes the first keys if there are none.
std::string id_token(db::Tx& tx, const oauth::Tokens& tokens, const Issuer& issuer);
// Returns the claims about the user that the scopes allow (section 5.4): `sub` and, with profile
// and email, those of their names. There is no `picture`, because users have none.
nlohmann::json claims_about(db::Tx& tx, const accounts::User& user, const ScopeSet& scopes);
// Returns the claim `sid`: the name of the session for one client, by which no other client knows
// it.
std::string session_name(std::string_view session_id, std::string_view client_id);

// What an ID token says that comes back as id_token_hint, expired or not (RP-Initiated Logout 1.0,
// section 2).
struct Hint {
  std::string client_id;
  std::string user_id;
  std::string session_name;
};
// Returns nothing unless the text is an ID token of this issuer, signed by a published key.
std::optional<Hint> read_hint(db::Tx& tx, std::string_view text, const Issuer& issuer);

}  // namespace berth::openid
