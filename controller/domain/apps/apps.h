#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/enum_text.h"
#include "controller/base/error.h"
#include "controller/db/database.h"
#include "controller/domain/apps/openid_settings.h"
#include "controller/domain/kernel/page.h"
#include "controller/domain/kernel/scopes.h"

// OAuth applications of operators, and the approval of their scopes. Functions throw berth::Error
// if they refuse.
namespace berth::apps {

inline constexpr int max_apps_per_account = 10;
inline constexpr size_t max_name_length = 80;
inline constexpr size_t max_description_length = 1000;
inline constexpr size_t max_url_length = 2048;
inline constexpr size_t max_redirect_uris = 10;
inline constexpr size_t max_origins = 10;

struct App {
  std::string id;
  std::string owner_id;
  std::string app_name;
  std::string app_description;
  std::optional<std::string> logo_url;
  std::optional<std::string> website_url;
  std::string client_id;
  std::vector<std::string> redirect_uris;
  ScopeSet allowed_scopes;  // the scopes that it has registered, and may ask users for
  // The scopes that it may get now, including those that need no approval.
  ScopeSet approved_scopes;
  bool session_tokens = true;
  bool refresh_requires_client = false;
  bool is_public = false;  // a public client: it has no secret (RFC 6749, section 2.1)
  bool built_in = false;   // berth's own client (built_in.h)
  // A client that nobody has registered, whose client_id is the URL of a document (unregistered.h).
  bool unregistered = false;
  bool listed = false;  // shown in the public list of operators
  bool suspended = false;
  std::optional<std::string> promoted_tier;
  Instant inserted_at;
  Instant updated_at;
  // Whether all scopes that the app has registered are approved.
  bool is_approved() const { return allowed_scopes.within(approved_scopes.with_included()); }
};

struct Profile {  // the part that the app's owner writes
  std::string app_name;
  std::string app_description;
  std::optional<std::string> logo_url;
  std::optional<std::string> website_url;
  std::vector<std::string> redirect_uris;
  ScopeSet allowed_scopes;
  // Whether exchanging a user's authorization code also gives a session token (st_live_). If it is
  // set to false, session tokens that were given before stop working too.
  bool session_tokens = true;
  // Whether POST /api/auth/refresh requires the client's secret, as POST /api/oauth/token does (RFC
  // 6749, section 6).
  bool refresh_requires_client = false;
  // The web origins of the app's pages, which may call the API from browsers (CORS).
  std::vector<std::string> allowed_origins = {};
  // Whether the app can't keep a secret, for example because it runs on its users' devices (RFC
  // 6749, section 2.1). This is decided when the app is created; update() doesn't change it.
  bool is_public = false;
  OpenIdSettings openid = {};
};
using NewApp = Profile;
enum class Listing { unlisted, listed };

enum class RequestStatus { pending, approved, rejected, withdrawn };
constexpr auto texts_of(RequestStatus) {
  return EnumTexts<RequestStatus::withdrawn>{"pending", "approved", "rejected", "withdrawn"};
}
struct ScopeRequest {
  std::string id;
  std::string app_id;
  ScopeSet requested;
  std::optional<std::string> tier = {};  // the slug of a deploy tier that is asked for, too
  RequestStatus status = RequestStatus::pending;
  std::optional<std::string> reason;
  Instant inserted_at;
  std::optional<Instant> decided_at;
  // The id of the request that this one includes and has withdrawn. Only set in the result of the
  // call that made this one.
  std::optional<std::string> replaces = {};
};

struct AppWithSecret {
  App app;
  // Shown once, because only its hash is stored. Empty for a public client.
  std::string client_secret;
  // After a rotation with a grace period: the time until which the old secret works too.
  std::optional<Instant> previous_works_until = {};
  // After the creation: what the admins were asked to approve.
  std::optional<ScopeRequest> scope_request = {};
};
struct UpdatedApp {
  App app;
  std::optional<ScopeRequest> scope_request;  // what the admins were asked to approve
};

// Checks whether an app may register this redirect URI. Accepted are https, http on localhost,
// 127.0.0.1 or [::1], and private-use schemes (RFC 8252, section 7.1), without a fragment or user
// information, and with a host that parse_url() (base/url.h) can read. Returns the reason of a
// refusal.
std::optional<std::string> refuse_redirect_uri(const std::string& uri);
// Returns what the app's owner should know of a redirect URI that isn't refused: its private-use
// scheme isn't made of a reversed domain name, which RFC 8252, section 7.1, asks for.
std::optional<std::string> warn_of_redirect_uri(const std::string& uri);
// Whether the scheme is of the kind that apps on a device use: letters, digits, '+', '-' and '.',
// with a letter in front (RFC 3986, section 3.1), and no scheme that browsers, operating systems or
// well-known protocols use.
bool is_private_use_scheme(std::string_view scheme);
// Whether `uri` is one of the app's redirect URIs. They are compared exactly, except that http on
// localhost, 127.0.0.1 and [::1], registered without a port, matches with any port (RFC 8252,
// section 7.3; RFC 9700, section 2.1). Returns false for each URI that refuse_redirect_uri()
// refuses.
bool is_registered(const App& app, const std::string& uri);

// Returns the origin (RFC 6454) that `text` names, as browsers write it in the Origin field: in
// lower case and without the scheme's default port. Returns nothing unless it is https, or http on
// this machine (is_loopback() in base/url.h), without a path, a user or a wildcard.
std::optional<std::string> parse_origin(const std::string& text);
// Returns the app's origins in alphabetical order.
std::vector<std::string> allowed_origins(db::Tx& tx, const std::string& app_id);
// Whether pages of this origin may call the API with the app's tokens, and whether they may with
// those of any app that isn't deleted. `origin` may be any text.
bool allows_origin(db::Tx& tx, const std::string& app_id, std::string_view origin);
bool is_origin_of_any(db::Tx& tx, std::string_view origin);

// Creates an app, and asks the admins to approve its scopes that aren't automatic. The caller has
// checked that the name couldn't pass for the platform's (accounts::check_name()). Throws
// email_not_verified, app_limit_reached; and validation_failed, also if another owner has given the
// name up a short time ago (accounts/given_up_names.h).
AppWithSecret create(db::Tx& tx, const std::string& owner_id, const NewApp& app);
// Returns nothing if the app was deleted. The functions below treat a deleted app as unknown, too.
std::optional<App> find(db::Tx& tx, const std::string& id);
std::optional<App> find_by_client_id(db::Tx& tx, const std::string& client_id);
// Makes the error `forbidden` for a thing of the app `owning` that the app `asking` asked for.
// `what` names the thing at the start of the message. The message says if both apps have the same
// owner.
Error foreign(db::Tx& tx, const std::string& what, const std::string& owning,
              const std::string& asking);
Page<App> list_owned(db::Tx& tx, const std::string& owner_id, const PageRequest& page);
// Returns all apps, newest first; with `search`, those whose name begins with it in upper or lower
// case, whose id or client_id it is, or whose owner has it as their username.
Page<App> list_all(db::Tx& tx, const std::optional<std::string>& search, const PageRequest& page);
// Returns the apps that are listed and not suspended, newest first.
Page<App> list_public(db::Tx& tx, const PageRequest& page);
// Notes for each app of the account whether a webhook or an alert wants the events of its spends.
// Alerts are those of the account, and those of members about one app. To be called after every
// change of those; create() does it for a new app.
void note_spend_wishes(db::Tx& tx, const std::string& owner_id);
// Returns how many users have connected the app at present.
std::int64_t count_users(db::Tx& tx, const std::string& app_id);

// Returns the app with these client credentials, even if it is suspended. Throws invalid_client.
App authenticate(db::Tx& tx, const std::string& client_id, const std::string& client_secret);
// Returns the public client with this client_id, even if it is suspended. Throws invalid_client,
// also for a client that has a secret.
App public_client(db::Tx& tx, const std::string& client_id);
// Gives the app a new secret. The old one works until `grace` is over; an even older one stops
// working now. Throws invalid_state for a public client.
AppWithSecret rotate_secret(db::Tx& tx, const App& app, Duration grace);

// Writes the owner's changes. The caller has checked a new name as for create(), which looks for
// names that were given up, too; the old name stays reserved for the owner. A scope that is no
// longer in allowed_scopes loses its approval, and tokens lose it at once. The admins are asked to
// approve scopes that are new in allowed_scopes and neither automatic nor approved. Throws
// validation_failed or app_not_found.
UpdatedApp update(db::Tx& tx, const App& app, const Profile& profile, Listing listing);
// Deletes the app for good: its tokens and secrets stop working, and the points on its account go
// to the treasury. Throws invalid_state if it has deployments that aren't destroyed or campaigns
// that haven't ended. Like suspend(), reactivate() and promote(), it is implemented in lifecycle,
// because it changes several modules' tables.
void remove(db::Tx& tx, const App& app);

// Used by admins; `actor` is the admin's id. A suspended app gets no codes or tokens, and its
// existing tokens don't work until it is reactivated. Calling either function again changes
// nothing but the audit log. Both throw app_not_found.
App suspend(db::Tx& tx, const std::string& app_id, const std::string& actor);
App reactivate(db::Tx& tx, const std::string& app_id, const std::string& actor);

// Asks the admins to approve scopes. If none of them needs approval, or all are approved, the
// request is approved at once. Otherwise the scopes of the pending request are asked for, too, so
// that an app has at most one. If it had all of them already (apart from automatic ones), it is
// returned; if not, it is withdrawn and another one takes its place. With `tier`, which has to be
// the slug of a tier that needs a promotion, that is asked for, too, in place of another one.
ScopeRequest request_scopes(db::Tx& tx, const App& app, const ScopeSet& asked,
                            const std::optional<std::string>& tier = {});
// Returns the requests of the app, or of all apps, with the status, or with any; newest first.
Page<ScopeRequest> list_requests(db::Tx& tx, const std::optional<std::string>& app_id,
                                 std::optional<RequestStatus> status, const PageRequest& page);
// Withdraws a request of the app. Throws like approve().
ScopeRequest withdraw(db::Tx& tx, const App& app, const std::string& request_id);
// Used by admins; `actor` is the admin's id, and the owner reads `reason`. Both throw
// scope_request_not_found, and invalid_state if the request isn't pending.
ScopeRequest approve(db::Tx& tx, const std::string& request_id, const std::string& actor,
                     const std::optional<std::string>& reason = {});
ScopeRequest reject(db::Tx& tx, const std::string& request_id, const std::string& reason,
                    const std::string& actor);
// Approves a request and promotes the app to the tier that it asks for, if it asks for one. Throws
// like approve() and promote(). Like promote(), it is implemented in lifecycle.
ScopeRequest grant(db::Tx& tx, const std::string& request_id, const std::string& actor,
                   const std::optional<std::string>& reason = {});
// Takes scopes away from the app. Tokens that contain them lose them at once. The app stays
// registered for them, so an admin may approve them again. Throws app_not_found.
App revoke_scopes(db::Tx& tx, const std::string& app_id, const ScopeSet& scopes,
                  const std::string& actor);
// Sets the deploy tier that the app may use in addition to those that need no approval. Throws
// app_not_found or tier_not_found.
App promote(db::Tx& tx, const std::string& app_id, const std::string& tier,
            const std::string& actor);

}  // namespace berth::apps
