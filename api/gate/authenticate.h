#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "api/gate/call.h"

namespace berth::api {

// The text after the scheme in the Authorization header, where the scheme is compared without
// regard to case (RFC 9110, section 11.1). Nothing if the header is missing or has another scheme.
std::optional<std::string_view> credentials(const Request& request, std::string_view scheme);
// The token after "Bearer" (RFC 6750, section 2.1); empty if there is none.
std::string bearer_token(const Request& request);

// Returns the name in the audit log of who calls an internal route with a secret. `secret` is the
// name of the secret: it comes first, and after it the value of X-Admin-Actor, which is only what
// the caller says. A secret without a name is called by X-Admin-Actor alone, or "internal" if that
// is missing or too long. Throws malformed_request if it has other characters than the visible ones
// of ASCII and blanks, or looks like what the gate itself writes into the audit log for a person:
// "user:" and an id.
std::string admin_actor(const Request& request, const std::string& secret = {});
// The beginning of the name of an admin who uses the console; the user's id follows.
inline constexpr std::string_view actor_of_console = "user:";

// Returns the scopes' names, separated by spaces.
std::string scope_names(std::span<const Scope> scopes);

// What check_bearer() has found out about the bearer of a token. Only the fields that the route's
// Access concerns are set.
struct Bearer {
  std::optional<accounts::User> user = {};
  std::string session_id = {};
  bool ends_idle = false;  // whether the session ends when it isn't used for a while
  std::optional<oauth::Caller> caller = {};
  std::optional<play::Session> play = {};
  std::string admin_token_id = {};  // of an admin's personal token
};
// What a request presents to prove who calls.
struct Shown {
  std::string token;        // from the Authorization field, or the JWT of the session cookie
  bool is_console = false;  // whether `token` is the cookie's, sent by the console (console_jwt())
  // The value of the Berth-App field; for a WebSocket without it, the parameter `app` of the query.
  std::string app = {};
};
// Returns what the request presents. Checks none of it.
Shown shown_by(const Request& request, const Services& services);
// Checks that `shown` gives access to the route, for the deployment that the path names, at this
// moment. Returns an empty Bearer for open and internal access. Throws like authenticate().
Bearer check_bearer(db::Tx& tx, const Route& route, const PathValues& path, const Shown& shown,
                    const Services& services);

// Throws account_suspended if the app is suspended, or the account of somebody else that it belongs
// to. The app's own tokens are refused then, too (oauth::check_access_token).
void require_not_suspended(db::Tx& tx, const apps::App& app, const std::string& user_id);
// Returns the account of the user behind a token. Throws token_revoked if it was deleted.
accounts::User account_of(db::Tx& tx, const std::string& user_id);

// Whether a request changes nothing as far as its method says (RFC 9110, section 9.2.1).
bool is_read(std::string_view method);

// What an admin is about to do.
enum class AdminAccess { reads, changes };
// Admits the user of a session as an admin of the platform: for the API, by check_admin(), and for
// the hosted pages. They need a second factor that they have proven in this session: within
// accounts::second_factor_fresh_for for what changes something, and within
// accounts::second_factor_reads_for for what only reads. Throws forbidden; its detail `step_up` is
// `enable_second_factor` or `prove_second_factor` if that would help.
void admit_admin(db::Tx& tx, const accounts::User& user, const std::string& session_id,
                 AdminAccess access);
// The part of that which needs no session: throws forbidden unless the user has a role and a second
// factor.
void require_admin_with_factor(const accounts::User& user);
// Returns the admin who uses the console, by the JWT of their session cookie. Throws what
// authenticate() throws for a session, and what admit_admin() throws.
Bearer check_admin(db::Tx& tx, const std::string& jwt, const Services& services,
                   AdminAccess access);
// Returns the admin who calls by a personal access token with the scope `admin`, and notes its use
// from this address. Throws what personal_tokens::check() and admin_of() throw (admin_token.h).
Bearer check_admin_token(db::Tx& tx, const std::string& token, const Services& services,
                         const std::string& address);

// Whether a route with this access requires a token. Open routes and those below /api/internal/
// don't.
bool takes_token(const Access& access);

// Finds out who calls, and sets the call's user, session_id, caller and play as its route's access
// says; sets nothing if the route takes no token. Throws invalid_token, wrong_token_type,
// token_expired, token_revoked, account_suspended, insufficient_scope, or forbidden for a caller
// who may only use other deployments or whose role in the app doesn't suffice, also for the app
// that the path names. For the console and the built-in client, which name an app by Berth-App,
// also throws what apps::choose() throws.
void authenticate(db::Tx& tx, const Services& services, Call& call);

}  // namespace berth::api
