#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/base/error.h"
#include "controller/db/database.h"
#include "controller/domain/kernel/page.h"
#include "controller/domain/kernel/scopes.h"

// OAuth applications of operators and the approval of their scopes. Functions throw berth::Error.
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
  ScopeSet allowed_scopes;   // what it registered that it may ask for
  ScopeSet approved_scopes;  // what it may get now, the automatic ones included
  bool session_tokens = true;
  bool refresh_requires_client = false;
  bool listed = false;  // among the public operators
  bool suspended = false;
  std::optional<std::string> promoted_tier;
  Instant inserted_at;
  Instant updated_at;
  // Everything that it registered for may be had.
  bool is_approved() const { return allowed_scopes.within(approved_scopes); }
};

struct Profile {  // what its owner says of it
  std::string app_name;
  std::string app_description;
  std::optional<std::string> logo_url;
  std::optional<std::string> website_url;
  std::vector<std::string> redirect_uris;
  ScopeSet allowed_scopes;
  // Whether authorization codes of users give a session token (st_live_) beside the others. Where
  // it is false, those that were given before don't work either.
  bool session_tokens = true;
  // Whether POST /api/auth/refresh asks for the client's secret, as POST /api/oauth/token does (RFC
  // 6749, section 6).
  bool refresh_requires_client = false;
  // The web origins of its pages, which may call the API from browsers (CORS).
  std::vector<std::string> allowed_origins = {};
};
using NewApp = Profile;
enum class Listing { unlisted, listed };

struct ScopeRequest {
  std::string id;
  std::string app_id;
  ScopeSet requested;
  std::string status;  // pending, approved, rejected, withdrawn
  std::optional<std::string> reason;
  Instant inserted_at;
  std::optional<Instant> decided_at;
};

struct AppWithSecret {
  App app;
  std::string client_secret;  // shown once: only its hash is stored
  // After a rotation with a grace: until then the old secret works too.
  std::optional<Instant> previous_works_until = {};
  // At the creation: what was asked of the admins for it.
  std::optional<ScopeRequest> scope_request = {};
};
struct UpdatedApp {
  App app;
  std::optional<ScopeRequest> scope_request;  // what was asked of the admins for this change
};

// What a redirect URI may be: https; http on localhost, 127.0.0.1 or [::1]; or a private-use scheme
// (RFC 8252, section 7.1). No fragment, no user information, and a host that parse_url()
// (base/url.h) reads. Returns why not.
std::optional<std::string> refuse_redirect_uri(const std::string& uri);
// What the owner of an app should know of a redirect URI that isn't refused: that its private-use
// scheme isn't made of a domain in reverse, which RFC 8252, section 7.1, asks for.
std::optional<std::string> warn_of_redirect_uri(const std::string& uri);
// Whether it is a scheme of an app on a device: letters, digits, + - and . with a letter in front
// (RFC 3986, section 3.1), and none that browsers, systems or known protocols use.
bool is_private_use_scheme(std::string_view scheme);
// Whether `uri` is one of the app's: exactly, but for the port of one that was registered as http
// on localhost, 127.0.0.1 or [::1] without a port (RFC 8252, section 7.3; RFC 9700, section 2.1).
// Never one that refuse_redirect_uri() refuses.
bool is_registered(const App& app, const std::string& uri);

// The origin (RFC 6454) that `text` names, as browsers write it in the Origin field: in lower case
// and without the scheme's own port. Nothing unless it is https, or http on this machine
// (is_loopback() of base/url.h), and has no path, no user and no wildcard.
std::optional<std::string> parse_origin(const std::string& text);
// In the order of the alphabet.
std::vector<std::string> allowed_origins(db::Tx& tx, const std::string& app_id);
// Whether a page of this origin may call the API with the app's tokens; and whether one of any app
// that isn't deleted. `origin` may be any text from outside.
bool allows_origin(db::Tx& tx, const std::string& app_id, std::string_view origin);
bool is_origin_of_any(db::Tx& tx, std::string_view origin);

// Asks the admins for the scopes of allowed_scopes that aren't automatic. Throws
// email_not_verified, validation_failed, app_limit_reached.
AppWithSecret create(db::Tx& tx, const std::string& owner_id, const NewApp& app);
// Nothing where it was deleted, like everything below.
std::optional<App> find(db::Tx& tx, const std::string& id);
std::optional<App> find_by_client_id(db::Tx& tx, const std::string& client_id);
// Throws app_not_found, or forbidden where somebody else owns it.
App get_owned(db::Tx& tx, const std::string& owner_id, const std::string& id);
// The refusal of what belongs to the app `owning` and was asked for by the app `asking`: forbidden.
// `what` names the thing at the start of a sentence. It says where both apps have the same owner.
Error foreign(db::Tx& tx, const std::string& what, const std::string& owning,
              const std::string& asking);
Page<App> list_owned(db::Tx& tx, const std::string& owner_id, const PageRequest& page);
// Those that are listed and not suspended, newest first.
Page<App> list_public(db::Tx& tx, const PageRequest& page);
// How many users have consented to it and not taken it back.
std::int64_t count_users(db::Tx& tx, const std::string& app_id);

// The app of these client credentials; a suspended one too. Throws invalid_client.
App authenticate(db::Tx& tx, const std::string& client_id, const std::string& client_secret);
// A new secret. The old one goes on working for `grace`; one before it no longer.
AppWithSecret rotate_secret(db::Tx& tx, const App& app, Duration grace);

// Its owner's changes. A scope that is no longer in allowed_scopes isn't approved any more either,
// and tokens lose it at once. For scopes that are new in allowed_scopes and neither automatic nor
// approved, the admins are asked. Throws validation_failed.
UpdatedApp update(db::Tx& tx, const App& app, const Profile& profile, Listing listing);
// For good: its tokens and secrets work no more, what is on its account goes to the treasury.
// Throws invalid_state while it has deployments that aren't destroyed, or campaigns that live.
void remove(db::Tx& tx, const App& app);

// By an admin, `actor`. While an app is suspended it gets no codes and no tokens, and those that
// are out don't work; reactivated, they do again. Both may be repeated. Throw app_not_found.
App suspend(db::Tx& tx, const std::string& app_id, const std::string& actor);
App reactivate(db::Tx& tx, const std::string& app_id, const std::string& actor);

// Asks the admins for scopes. Where all of them can be had already it is approved at once. A
// pending request for the same scopes (but for automatic ones) is returned as it is; one for others
// is withdrawn, so that an app has one pending request at most.
ScopeRequest request_scopes(db::Tx& tx, const App& app, const ScopeSet& scopes);
Page<ScopeRequest> list_requests(db::Tx& tx, const std::optional<std::string>& app_id,
                                 const std::optional<std::string>& status, const PageRequest& page);
ScopeRequest withdraw(db::Tx& tx, const App& app, const std::string& request_id);
// By an admin, `actor`. Throw scope_request_not_found; invalid_state where it isn't pending.
ScopeRequest approve(db::Tx& tx, const std::string& request_id, const std::string& actor);
ScopeRequest reject(db::Tx& tx, const std::string& request_id, const std::string& reason,
                    const std::string& actor);
// The app may no longer have these; tokens that hold them lose them at once.
App revoke_scopes(db::Tx& tx, const std::string& app_id, const ScopeSet& scopes,
                  const std::string& actor);
// The deploy tier that the app may use beside those that are approved automatically. Throws
// app_not_found, tier_not_found.
App promote(db::Tx& tx, const std::string& app_id, const std::string& tier,
            const std::string& actor);

}  // namespace berth::apps
