#include "api/gate/authenticate.h"

#include <algorithm>
#include <iterator>

#include "api/gate/admin_token.h"
#include "api/gate/browser_session.h"
#include "controller/base/ascii.h"
#include "controller/domain/accounts/sessions.h"
#include "controller/domain/apps/members.h"
#include "controller/domain/oauth/first_party.h"
#include "controller/domain/oauth/personal_tokens.h"

namespace berth::api {
namespace {

constexpr size_t max_admin_actor_length = 128;

// The kind of a token according to its prefix. `unknown` tokens may have come from anywhere.
enum class TokenKind { jwt, access, refresh, play_session, personal, other_of_ours, unknown };

TokenKind kind_of(const std::string& token) {
  if (accounts::looks_like_jwt(token)) return TokenKind::jwt;
  if (token.starts_with("at_live_")) return TokenKind::access;
  if (token.starts_with("rt_live_")) return TokenKind::refresh;
  if (token.starts_with("st_live_")) return TokenKind::play_session;
  if (token.starts_with(personal_tokens::prefix)) return TokenKind::personal;
  return token.find("_live_") == std::string::npos ? TokenKind::unknown : TokenKind::other_of_ours;
}

// Returns what the security log calls this kind of token.
std::string_view name_of(TokenKind kind) {
  switch (kind) {
    case TokenKind::jwt:
      return "session_jwt";
    case TokenKind::access:
      return "access_token";
    case TokenKind::refresh:
      return "refresh_token";
    case TokenKind::play_session:
      return "play_session_token";
    case TokenKind::personal:
      return "personal_token";
    case TokenKind::other_of_ours:
    case TokenKind::unknown:
      break;
  }
  return "unknown";
}

Bearer use_session(db::Tx& tx, const std::string& token, const Services& services) {
  accounts::SignedIn signed_in =
      accounts::check_signed_in(tx, token, services.keys, &services.logins.session_uses);
  return {.user = std::move(signed_in.user),
          .session_id = std::move(signed_in.session_id),
          .ends_idle = signed_in.ends_idle};
}

Bearer use_play_session(db::Tx& tx, const std::string& token) {
  return {.play = play::check(tx, token)};
}

void require_scope(const ScopeSet& scopes, const Few<Scope, 3>& any_of, const std::string& who) {
  const bool enough = any_of.empty() || std::ranges::any_of(any_of, [&](Scope scope) {
                        return scopes.grants(scope);
                      });
  if (!enough)
    throw Error(Code::insufficient_scope, who + " lacks the scope " + scope_names(any_of));
}

// Returns the app that the console or the client asks about, in which the user has the role that
// the operation needs. Returns nothing if the operation is about no app, or about all of the user's
// apps.
std::optional<apps::Membership> app_for(db::Tx& tx, const Access& access,
                                        const std::string& user_id, const std::string& wanted) {
  if (access.for_app == Access::ForApp::none) return std::nullopt;
  if (access.for_app == Access::ForApp::one_or_all && wanted.empty()) return std::nullopt;
  apps::Membership own = apps::choose(tx, user_id, wanted);
  require_not_suspended(tx, own.app, user_id);
  apps::require_role(own, access.role.value_or(apps::Role::owner));
  return own;
}

// Returns the scopes that the console never has. A user limits what an app may spend of their
// points when they consent to the app, and nobody consents to the console. Users transfer points in
// their own name instead.
const ScopeSet& moves_points() {
  static const ScopeSet scopes = {Scope::points_spend, Scope::points_transfer, Scope::points_award};
  return scopes;
}

// Returns the caller that a request of the console stands for: the user, who may do with an app
// what the app is approved for and their role in it includes.
oauth::Caller console_caller(db::Tx& tx, const Access& access, const std::string& user_id,
                             const std::string& wanted) {
  const auto own = app_for(tx, access, user_id, wanted);
  const ScopeSet scopes = (own ? apps::scopes_of(own->role, own->app.approved_scopes)
                               : ScopeSet::automatic() | ScopeSet::operators()) -
                          moves_points();
  require_scope(scopes, access.any_of, own ? "the app " + own->app.app_name : "the console");
  return {.user_id = user_id,
          .app_id = own ? own->app.id : "",
          .grant_id = "",
          .family_id = "",
          .scopes = scopes,
          .expires_at = Instant::max(),
          .first_party = true,
          .deployments = own ? own->deployments : std::vector<std::string>()};
}

// Narrows the deployments that a caller may use to those of their membership. In both lists, none
// means all.
void narrow(std::vector<std::string>& deployments, const std::vector<std::string>& to) {
  if (to.empty()) return;
  if (deployments.empty()) {
    deployments = to;
    return;
  }
  std::erase_if(deployments,
                [&](const std::string& id) { return std::ranges::find(to, id) == to.end(); });
  if (deployments.empty())
    throw Error(Code::forbidden, "the caller may only use other deployments of the app");
}

// Narrows the caller behind a token of the built-in client to one of the user's apps.
void choose_app(db::Tx& tx, const Access& access, const std::string& wanted,
                oauth::Caller& caller) {
  const auto own = app_for(tx, access, caller.user_id, wanted);
  caller.app_id = own ? own->app.id : "";
  if (!own) return;
  caller.scopes = caller.scopes.cut_to(apps::scopes_of(own->role, own->app.approved_scopes));
  narrow(caller.deployments, own->deployments);
  require_scope(caller.scopes, access.any_of, "the app " + own->app.app_name);
}

// Returns the app that a personal token calls for; nothing if it is about no app or all of them.
std::optional<apps::Membership> app_of(db::Tx& tx, const Access& access,
                                       const personal_tokens::Token& token,
                                       const std::string& wanted) {
  if (!token.app_id) return app_for(tx, access, token.user_id, wanted);
  Access for_one = access;
  for_one.for_app = Access::ForApp::one;
  // What is about no app asks for no role in one, and every member has the least.
  if (access.for_app == Access::ForApp::none) for_one.role = apps::Role::viewer;
  auto own = app_for(tx, for_one, token.user_id, wanted.empty() ? *token.app_id : wanted);
  if (own && own->app.id != *token.app_id)
    throw Error(Code::forbidden, "the personal access token is for another app");
  return own;
}

// Checks a personal token. What its scopes let it do is cut each time: to what the app is approved
// for and the user's role in it includes, as for the built-in client.
Bearer use_personal_token(db::Tx& tx, const Shown& shown, const Access& access) {
  const personal_tokens::Token token = personal_tokens::check(tx, shown.token);
  // Operations that ask an app's token for no scope are about the points of the app.
  const Few<Scope, 3> any_of =
      access.any_of.empty() ? Few<Scope, 3>{Scope::app_balance_read} : access.any_of;
  const ScopeSet scopes = token.scopes - moves_points();
  require_scope(scopes, any_of, "the personal access token");
  const auto own = app_of(tx, access, token, shown.app);
  oauth::Caller caller = {
      .user_id = token.user_id,
      .app_id = own ? own->app.id : "",
      .grant_id = "",
      .family_id = "",
      .scopes = own ? scopes.cut_to(apps::scopes_of(own->role, own->app.approved_scopes)) : scopes,
      .expires_at = token.expires_at,
      .first_party = true,
      .personal_token_id = token.id};
  if (own) require_scope(caller.scopes, any_of, "the app " + own->app.app_name);
  if (token.deployment_id) caller.deployments = {*token.deployment_id};
  if (own) narrow(caller.deployments, own->deployments);
  return {.caller = std::move(caller)};
}

Bearer use_access_token(db::Tx& tx, const Shown& shown, const Access& access) {
  oauth::Caller caller = oauth::check_access_token(tx, shown.token);
  require_scope(caller.scopes, access.any_of, "the token");
  // Operations that ask for no scope are about the points of the app, and it has none.
  if (caller.unregistered && access.any_of.empty())
    throw Error(Code::insufficient_scope, "this is for apps that are registered");
  if (caller.first_party && access.kind == Access::Kind::oauth)
    choose_app(tx, access, shown.app, caller);
  return {.caller = caller};
}

[[noreturn]] void refuse_kind(const char* needed) {
  throw Error(Code::wrong_token_type, std::string(needed) + " is required here");
}

// Checks a token of the built-in client, which acts for the user who logged in with it.
Bearer use_token_of_client(db::Tx& tx, const Shown& shown, const Access& access) {
  // Another app's token is refused for its kind, even if it has expired or was revoked.
  if (!oauth::is_of_built_in_client(tx, shown.token))
    refuse_kind("a session token from POST /api/auth/login");
  Bearer bearer = {.caller = oauth::check_access_token(tx, shown.token)};
  require_scope(bearer.caller->scopes, access.any_of, "the token");
  bearer.user = account_of(tx, bearer.caller->user_id);
  return bearer;
}

Bearer by_session(db::Tx& tx, const Shown& shown, const Access& access, const Services& services) {
  const TokenKind kind = kind_of(shown.token);
  if (kind == TokenKind::access && access.first_party == Access::FirstParty::console_and_client)
    return use_token_of_client(tx, shown, access);
  if (kind != TokenKind::jwt && kind != TokenKind::unknown)
    refuse_kind("a session token from POST /api/auth/login");
  return use_session(tx, shown.token, services);
}

Bearer by_console(db::Tx& tx, const Shown& shown, const Access& access, const Services& services) {
  if (access.first_party == Access::FirstParty::none)
    refuse_kind(access.kind == Access::Kind::play_session
                    ? "an app's session token (st_live_...)"
                    : "a session token in the Authorization field");
  Bearer bearer = use_session(tx, shown.token, services);
  if (access.kind == Access::Kind::oauth)
    bearer.caller = console_caller(tx, access, bearer.user->id, shown.app);
  return bearer;
}

Bearer by_play_session(db::Tx& tx, const std::string& token) {
  const TokenKind kind = kind_of(token);
  if (kind == TokenKind::jwt || kind == TokenKind::access || kind == TokenKind::refresh ||
      kind == TokenKind::personal)
    refuse_kind("an app's session token (st_live_...)");
  return use_play_session(tx, token);
}

Bearer by_access_token(db::Tx& tx, const Shown& shown, const Access& access) {
  const TokenKind kind = kind_of(shown.token);
  if (kind == TokenKind::jwt || kind == TokenKind::play_session || kind == TokenKind::refresh)
    refuse_kind("an OAuth access token (at_live_...) or a personal access token (pat_live_...)");
  if (kind == TokenKind::personal) return use_personal_token(tx, shown, access);
  return use_access_token(tx, shown, access);
}

Bearer by_session_or_play_session(db::Tx& tx, const std::string& token, const Services& services) {
  const TokenKind kind = kind_of(token);
  if (kind == TokenKind::jwt || kind == TokenKind::unknown) return use_session(tx, token, services);
  if (kind != TokenKind::play_session)
    refuse_kind(
        "a session token from POST /api/auth/login or an app's session token (st_live_...)");
  Bearer bearer = use_play_session(tx, token);
  // A session that has ended only gives access to its own routes, which report the end.
  if (bearer.play->ended_at) throw Error(Code::token_revoked, "the session has ended");
  bearer.user = account_of(tx, bearer.play->user_id);
  return bearer;
}

Bearer by_session_or_access_token(db::Tx& tx, const Shown& shown, const Access& access,
                                  const Services& services) {
  const TokenKind kind = kind_of(shown.token);
  if (kind == TokenKind::jwt || kind == TokenKind::unknown)
    return use_session(tx, shown.token, services);
  if (kind != TokenKind::access && kind != TokenKind::personal)
    refuse_kind("a session token from POST /api/auth/login or an OAuth access token (at_live_...)");
  Bearer bearer = kind == TokenKind::personal ? use_personal_token(tx, shown, access)
                                              : use_access_token(tx, shown, access);
  bearer.user = account_of(tx, bearer.caller->user_id);
  return bearer;
}

}  // namespace

accounts::User account_of(db::Tx& tx, const std::string& user_id) {
  auto user = accounts::find(tx, user_id);
  if (!user) throw Error(Code::token_revoked, "the account was deleted");
  return *std::move(user);
}

std::optional<std::string_view> credentials(const Request& request, std::string_view scheme) {
  const std::string_view value = request.headers.get("Authorization");
  const size_t end = std::min(value.find(' '), value.size());
  if (!same_name(value.substr(0, end), scheme)) return std::nullopt;
  return value.substr(std::min(value.find_first_not_of(' ', end), value.size()));
}

std::string bearer_token(const Request& request) {
  return std::string(credentials(request, "Bearer").value_or(""));
}

std::string admin_actor(const Request& request, const std::string& secret) {
  const std::string_view actor = request.headers.get("X-Admin-Actor");
  if (actor.empty() || actor.size() > max_admin_actor_length)
    return secret.empty() ? "internal" : secret;
  const bool is_plain =
      std::ranges::all_of(actor, [](unsigned char c) { return c >= 0x20 && c < 0x7f; });
  if (!is_plain)
    throw Error(Code::malformed_request,
                "X-Admin-Actor may only have visible ASCII characters and blanks");
  std::string letters;  // what is left to a reader who overlooks blanks and cases
  std::ranges::copy_if(actor, std::back_inserter(letters), [](char c) { return c != ' '; });
  if (lower_case(letters).starts_with(actor_of_console))
    throw Error(Code::malformed_request,
                "X-Admin-Actor can't begin with user:, which stands for a person who uses the "
                "console");
  return secret.empty() ? std::string(actor) : (secret + ": ").append(actor);
}

std::string scope_names(std::span<const Scope> scopes) {
  std::string names;
  for (const Scope scope : scopes) names.append(names.empty() ? "" : " ").append(info(scope).name);
  return names;
}

bool takes_token(const Access& access) {
  return access.kind != Access::Kind::open && access.kind != Access::Kind::internal;
}

Shown shown_by(const Request& request, const Services& services) {
  std::string jwt = console_jwt(request, services.base_url);
  const bool is_console = !jwt.empty();
  std::string app(request.headers.get("Berth-App"));
  // Pages can't send this field with the handshake of a WebSocket.
  const auto named = request.query.find("app");
  if (app.empty() && wants_websocket(request) && named != request.query.end()) app = named->second;
  return {.token = is_console ? std::move(jwt) : bearer_token(request),
          .is_console = is_console,
          .app = std::move(app)};
}

void require_not_suspended(db::Tx& tx, const apps::App& app, const std::string& user_id) {
  if (app.suspended) throw Error(Code::account_suspended, "the app is suspended");
  if (app.owner_id != user_id && account_of(tx, app.owner_id).suspended)
    throw Error(Code::account_suspended, "the account that the app belongs to is suspended");
}

namespace {

Bearer bearer_of(db::Tx& tx, const Access& access, const Shown& shown, const Services& services) {
  if (shown.token.empty())
    throw Error(Code::invalid_token, "a token is required: Authorization: Bearer <token>");
  if (shown.is_console) return by_console(tx, shown, access, services);
  switch (access.kind) {
    case Access::Kind::session:
      return by_session(tx, shown, access, services);
    case Access::Kind::play_session:
      return by_play_session(tx, shown.token);
    case Access::Kind::oauth:
      return by_access_token(tx, shown, access);
    case Access::Kind::session_or_play_session:
      return by_session_or_play_session(tx, shown.token, services);
    case Access::Kind::session_or_oauth:
      return by_session_or_access_token(tx, shown, access, services);
    case Access::Kind::open:
    case Access::Kind::internal:
      break;
  }
  return {};
}

// Returns what the path has for the placeholder that is this component; an empty text if it has
// none.
std::string in_path(const Route& route, const PathValues& path, std::string_view component) {
  const auto names = placeholders_in(route.path());
  for (std::size_t i = 0; i < names.size(); ++i)
    if (route.in_path[i]->component == component) return path.find(names[i])->second;
  return "";
}

// Throws forbidden unless the caller may use the deployment that the path names.
void require_deployment(const oauth::Caller& caller, const Route& route, const PathValues& path) {
  if (caller.deployments.empty()) return;
  const std::string id = in_path(route, path, "DeploymentId");
  if (id.empty() && route.guards.access.keeps_to_deployments) return;
  if (id.empty())
    throw Error(Code::forbidden,
                "this concerns the whole app, and the caller may only use some of its deployments");
  if (std::ranges::find(caller.deployments, id) == caller.deployments.end())
    throw Error(Code::forbidden, "the caller may only use other deployments of the app");
}

// Throws unless the user has the role that the operation needs in the app that the path names.
void require_role(db::Tx& tx, const Route& route, const PathValues& path,
                  const accounts::User& user) {
  const Access& access = route.guards.access;
  std::string id = in_path(route, path, "OwnAppId");
  if (id.empty()) id = in_path(route, path, "MyAppId");
  if (id.empty()) return;
  const apps::Membership own = apps::membership(tx, user.id, id);
  apps::require_role(own, access.role.value_or(apps::Role::owner));
  if (!own.deployments.empty() && !access.keeps_to_deployments)
    throw Error(Code::forbidden,
                "this concerns the whole app, and you may only use some of its deployments");
}

}  // namespace

Bearer check_bearer(db::Tx& tx, const Route& route, const PathValues& path, const Shown& shown,
                    const Services& services) {
  const Access& access = route.guards.access;
  if (!takes_token(access)) return {};
  Bearer bearer = bearer_of(tx, access, shown, services);
  if (bearer.caller) require_deployment(*bearer.caller, route, path);
  if (bearer.user) require_role(tx, route, path, *bearer.user);
  return bearer;
}

namespace {

// Whether the refusal is about what the caller has shown, and not about the app that they named.
bool is_about_token(Code code) { return status(code) == 401 || status(code) == 403; }

// Returns the result of check(). If check() refuses a token, adds an entry for the security log to
// the error. A request without a token gets no entry, because no token was rejected.
template <typename Check>
Bearer noting_refusals(const Shown& shown, Check&& check) {
  try {
    return check();
  } catch (Error& refusal) {
    if (!shown.token.empty() && is_about_token(refusal.code)) {
      if (!refusal.event)
        refusal.event = {.kind = SecurityKind::token_rejected, .reason = name(refusal.code)};
      refusal.event->token_kind =
          shown.is_console ? "session_cookie" : name_of(kind_of(shown.token));
    }
    throw;
  }
}

// Makes the refusal of a user who isn't accepted as an admin. `step_up` tells the console and
// the hosted pages what the user can do about it, and is empty if they can do nothing.
Error no_admin(const accounts::User& user, const char* why, const std::string& step_up = {}) {
  const Details details =
      step_up.empty() ? Details() : Details{{std::string("step_up"), {step_up}}};
  return with_event(
      Error(Code::forbidden, why, details),
      {.kind = SecurityKind::token_rejected, .reason = "forbidden", .user_id = user.id});
}

}  // namespace

bool is_read(std::string_view method) { return method == "GET" || method == "HEAD"; }

void require_admin_with_factor(const accounts::User& user) {
  if (!user.is_admin) throw no_admin(user, "this is for admins of the platform only");
  if (!user.has_second_factor())
    throw no_admin(user, "admins need a second factor; enable it first", "enable_second_factor");
}

void admit_admin(db::Tx& tx, const accounts::User& user, const std::string& session_id,
                 AdminAccess access) {
  require_admin_with_factor(user);
  const bool reads = access == AdminAccess::reads;
  const Duration age = reads ? Duration(accounts::second_factor_reads_for)
                             : Duration(accounts::second_factor_fresh_for);
  if (!accounts::has_proven_second_factor(tx, session_id, age))
    throw no_admin(user,
                   reads
                       ? "the second factor was last proven more than 12 hours ago; prove it again"
                       : "the second factor was last proven more than 15 minutes ago; prove it "
                         "again",
                   "prove_second_factor");
}

Bearer check_admin(db::Tx& tx, const std::string& jwt, const Services& services,
                   AdminAccess access) {
  return noting_refusals({.token = jwt, .is_console = true}, [&] {
    Bearer bearer = use_session(tx, jwt, services);
    admit_admin(tx, *bearer.user, bearer.session_id, access);
    return bearer;
  });
}

Bearer check_admin_token(db::Tx& tx, const std::string& token, const Services& services,
                         const std::string& address) {
  return noting_refusals({.token = token}, [&] {
    const personal_tokens::Token found = personal_tokens::check(tx, token);
    Bearer bearer = {.user = admin_of(tx, found), .admin_token_id = found.id};
    services.logins.personal_token_uses.note(found.id, tx.now(), address);
    return bearer;
  });
}

void authenticate(db::Tx& tx, const Services& services, Call& call) {
  const Access& access = call.route->guards.access;
  if (!takes_token(access)) return;
  const Shown shown = shown_by(call.http, services);
  Bearer bearer = noting_refusals(
      shown, [&] { return check_bearer(tx, *call.route, call.path, shown, services); });
  // Routes that take nothing but a session token stay open, because they concern the session itself
  // and don't act as the user.
  if (bearer.play && access.kind == Access::Kind::session_or_play_session &&
      bearer.play->access == play::SessionAccess::read && !is_read(call.http.method))
    throw Error(Code::insufficient_scope,
                "the user allows this app only to read with its session token, not to act as them");
  if (bearer.caller && !bearer.caller->grant_id.empty())
    services.logins.uses.note(bearer.caller->grant_id, tx.now());
  if (bearer.caller && bearer.caller->first_party && !bearer.caller->family_id.empty())
    services.logins.device_uses.note(bearer.caller->family_id, tx.now());
  if (bearer.caller && !bearer.caller->personal_token_id.empty())
    services.logins.personal_token_uses.note(bearer.caller->personal_token_id, tx.now(),
                                             call.address);
  if (bearer.play) services.logins.uses.note(bearer.play->grant_id, tx.now());
  if (bearer.ends_idle) services.logins.session_uses.note(bearer.session_id, tx.now());
  call.user = std::move(bearer.user);
  call.session_id = std::move(bearer.session_id);
  call.caller = std::move(bearer.caller);
  call.play = std::move(bearer.play);
}

}  // namespace berth::api
