#include "cli/login.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <thread>

#include "cli/config.h"
#include "cli/job_login.h"
#include "controller/base/crypto.h"
#include "controller/base/text.h"
#include "controller/base/url.h"

namespace berth::cli {
namespace {

// A token is renewed this long before it expires, so that it doesn't expire on its way.
constexpr std::int64_t spare_seconds = 30;

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

HttpRequest form_post(const std::string& path,
                      const std::vector<std::pair<std::string, std::string>>& form) {
  return {
      .method = "POST",
      .url = path,
      .headers = {"Accept: application/json", "Content-Type: application/x-www-form-urlencoded"},
      .body = encoded(form)};
}

bool is_jwt(const std::string& token) { return token.starts_with("eyJ"); }

Failure not_logged_in() {
  return Failure(Exit::not_logged_in, "not logged in",
                 "Run `berth login`, on a machine without a browser `berth login --device`, or "
                 "`berth register` for a new account. In CI, set BERTH_ID_TOKEN and BERTH_APP, or "
                 "BERTH_TOKEN, or BERTH_CLIENT_ID and BERTH_CLIENT_SECRET.");
}

// A refresh token works only once, so it must not be sent a second time.
Tokens refresh(Api& api, const Tokens& old) {
  HttpRequest request = {.method = "POST",
                         .url = "/api/auth/refresh",
                         .headers = {"Accept: application/json", "Content-Type: application/json"},
                         .body = json{{"refresh_token", old.refresh_token}}.dump()};
  return tokens_in(api.raw(request), Grant::authorization_code);
}

Failure no_way_left(const StoredApp& app) {
  return Failure(Exit::not_logged_in, "the login for the app " + app.name + " has ended",
                 "Log in again: `berth login`.");
}

// Obtains tokens with whatever else is stored: the app's secret or the account's session.
Tokens new_tokens(Api& api, const Account& account, const StoredApp& app) {
  const auto& old = app.tokens;
  if (old && old->grant == Grant::client_credentials && !app.client_secret.empty())
    return client_credentials(api, app.client_id, app.client_secret, "");
  if (account.session && !app.client_secret.empty())
    return authorize_by_session(api, app, account.session->jwt, "");
  throw no_way_left(app);
}

Tokens refreshed_or_new(Api& api, const Account& account, const StoredApp& app) {
  if (app.tokens && !app.tokens->refresh_token.empty()) {
    try {
      return refresh(api, *app.tokens);
    } catch (const Failure& failure) {
      // If there was no answer, the refresh token wasn't refused and stays for later.
      if (failure.exit != Exit::not_logged_in || !account.session) throw;
    }
  }
  return new_tokens(api, account, app);
}

// Returns what the list of the account's devices calls this machine; empty if it has no name.
std::string machine_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace

bool is_name_of(const std::string& issuer, const std::string& server) {
  if (stays_on_machine(server)) return true;
  const auto named = parse_url(issuer), asked = parse_url(server);
  const auto port = [](const Url& url) {
    return url.port != 0 ? url.port : port_of_scheme(url.scheme);
  };
  return named && asked && named->scheme == asked->scheme && named->host == asked->host &&
         port(*named) == port(*asked);
}

bool is_personal_token(const std::string& token) { return token.starts_with("pat_live_"); }

const std::vector<std::string>& useful_scopes() {
  static const std::vector<std::string> scopes = {
      "profile:read",   "points:read", "app:balance:read", "deploy:manage", "campaigns:manage",
      "campaign:write", "deploy:exec", "deploy:read",      "deploy:write",  "logs:read"};
  return scopes;
}

const std::vector<std::string>& scopes_of_login() {
  static const std::vector<std::string> scopes = [] {
    std::vector<std::string> usual = useful_scopes();
    // deploy:manage includes the others.
    for (const char* unasked : {"deploy:exec", "deploy:read", "deploy:write", "logs:read"})
      std::erase(usual, unasked);
    return usual;
  }();
  return scopes;
}

StoredApp built_in_app() {
  StoredApp app;
  app.client_id = app.name = built_in_client;
  app.redirect_uri = loopback_redirect_uri;
  return app;
}

Pkce new_pkce() {
  const std::string verifier = base64url(random_bytes(32));
  return {.verifier = verifier, .challenge = base64url(sha256(verifier))};
}

Tokens tokens_in(const HttpResponse& response, Grant grant) {
  if (response.status != 200) throw failure_of(response);
  const json body = json::parse(response.body, nullptr, false);
  if (!body.is_object() || !body.contains("access_token") || !body.contains("expires_in"))
    throw Failure(Exit::failed, "the token endpoint's answer contains no token");
  return {.access_token = body.at("access_token"),
          .refresh_token = body.value("refresh_token", ""),
          .scope = body.value("scope", ""),
          .expires_at = now() + body.at("expires_in").get<std::int64_t>(),
          .grant = grant};
}

Tokens exchange_code(Api& api, const StoredApp& app, const std::string& code,
                     const std::string& redirect_uri, const std::string& verifier) {
  std::vector<std::pair<std::string, std::string>> form = {{"grant_type", "authorization_code"},
                                                           {"code", code},
                                                           {"redirect_uri", redirect_uri},
                                                           {"code_verifier", verifier},
                                                           {"client_id", app.client_id}};
  if (!app.client_secret.empty()) form.emplace_back("client_secret", app.client_secret);
  if (app.client_id == built_in_client) form.emplace_back("device_name", machine_name());
  return tokens_in(api.raw(form_post("/api/oauth/token", form)), Grant::authorization_code);
}

Tokens client_credentials(Api& api, const std::string& client_id, const std::string& secret,
                          const std::string& scope) {
  std::vector<std::pair<std::string, std::string>> form = {
      {"grant_type", "client_credentials"}, {"client_id", client_id}, {"client_secret", secret}};
  if (!scope.empty()) form.emplace_back("scope", scope);
  return tokens_in(api.raw(form_post("/api/oauth/token", form)), Grant::client_credentials);
}

namespace {

std::string approved_scope(Api& api, const StoredApp& app, const std::string& jwt) {
  const HttpResponse response = api.raw({.method = "GET",
                                         .url = "/api/oauth/my-apps?page_size=100",
                                         .headers = {"Authorization: Bearer " + jwt}});
  if (response.status != 200) throw failure_of(response);
  const json body = json::parse(response.body);
  for (const json& entry : body.at("apps")) {
    if (entry.at("client_id") != app.client_id) continue;
    const auto approved = entry.at("approved_scopes").get<std::vector<std::string>>();
    std::string scope;
    for (const std::string& name : useful_scopes())
      if (std::ranges::find(approved, name) != approved.end())
        scope += (scope.empty() ? "" : " ") + name;
    return scope;
  }
  throw Failure(Exit::not_found, "the app " + app.name + " is no longer among your apps",
                "`berth apps list` shows your apps; choose another one with `berth apps use`.");
}

}  // namespace

Tokens authorize_by_session(Api& api, const StoredApp& app, const std::string& jwt,
                            const std::string& scope) {
  const Pkce pkce = new_pkce();
  const std::string wanted = scope.empty() ? approved_scope(api, app, jwt) : scope;
  const std::string query = encoded({{"response_type", "code"},
                                     {"client_id", app.client_id},
                                     {"redirect_uri", app.redirect_uri},
                                     {"scope", wanted},
                                     {"code_challenge", pkce.challenge},
                                     {"code_challenge_method", "S256"}});
  const HttpResponse response =
      api.raw({.method = "GET",
               .url = "/api/oauth/authorize?" + query,
               .headers = {"Accept: application/json", "Authorization: Bearer " + jwt}});
  if (response.status != 200) throw failure_of(response);
  const std::string code = json::parse(response.body).at("code");
  return exchange_code(api, app, code, app.redirect_uri, pkce.verifier);
}

DeviceCodes start_device_login(Api& api, const std::string& scope) {
  const HttpResponse response = api.raw(form_post(
      "/api/oauth/device_authorization", {{"client_id", built_in_client}, {"scope", scope}}));
  if (response.status != 200) throw failure_of(response);
  const json body = json::parse(response.body, nullptr, false);
  if (!body.is_object() || !body.contains("device_code") || !body.contains("user_code"))
    throw Failure(Exit::failed, "the server's answer contains no device code");
  return {.device_code = body.at("device_code"),
          .user_code = body.at("user_code"),
          .verification_uri = body.at("verification_uri"),
          .expires_in = std::chrono::seconds(body.at("expires_in").get<std::int64_t>()),
          // RFC 8628, section 3.2
          .interval = std::chrono::seconds(body.value("interval", std::int64_t(5)))};
}

Tokens finish_device_login(Api& api, const DeviceCodes& codes) {
  constexpr std::chrono::seconds slow_down_by{5};  // RFC 8628, section 3.5
  const auto end = std::chrono::steady_clock::now() + codes.expires_in;
  auto interval = codes.interval;
  while (std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(interval);
    const HttpResponse response = api.raw(form_post(
        "/api/oauth/token", {{"grant_type", "urn:ietf:params:oauth:grant-type:device_code"},
                             {"device_code", codes.device_code},
                             {"device_name", machine_name()},
                             {"client_id", built_in_client}}));
    if (response.status == 200) return tokens_in(response, Grant::authorization_code);
    const Failure failure = failure_of(response);
    if (failure.server_code == "slow_down")
      interval += slow_down_by;
    else if (failure.server_code == "access_denied")
      throw Failure(Exit::forbidden, "access was denied in the browser");
    else if (failure.server_code == "expired_token")
      break;
    else if (failure.server_code != "authorization_pending")
      throw failure;
  }
  throw Failure(Exit::timed_out, "the code has expired", "Run `berth login --device` again.");
}

std::string Login::session() {
  if (api_.settings().token && is_jwt(*api_.settings().token)) return *api_.settings().token;
  const Account account = api_.store().load(api_.settings().server);
  if (account.session) return account.session->jwt;
  Failure failure = not_logged_in();
  if (api_.settings().token && is_personal_token(*api_.settings().token))
    failure = Failure(Exit::not_logged_in,
                      "this command needs the account's own login, and BERTH_TOKEN is a personal "
                      "access token",
                      "Unset BERTH_TOKEN, and log in with `berth login --email YOU@EXAMPLE.ORG`.");
  else if (account.login || !account.apps.empty() || api_.settings().token)
    failure = Failure(Exit::not_logged_in,
                      "this command needs the account's own login, not an app's token",
                      "Log in with `berth login --email YOU@EXAMPLE.ORG`.");
  throw failure;
}

std::string Login::account_token() {
  if (api_.settings().token) return *api_.settings().token;
  const Account account = api_.store().load(api_.settings().server);
  return !account.session && account.login ? login_token() : session();
}

std::string Login::login_token() {
  if (!login_token_.empty()) return login_token_;
  const Account account = api_.store().load(api_.settings().server);
  if (!account.login) throw not_logged_in();
  const Tokens& stored = account.login->tokens;
  if (stored.expires_at - spare_seconds > now())
    login_token_ = stored.access_token;
  else
    refresh_login(stored.access_token);
  return login_token_;
}

// Runs under the file's lock, like replace().
void Login::refresh_login(const std::string& old_token) {
  api_.store().update(api_.settings().server, [&](Account& account) {
    if (!account.login) throw not_logged_in();
    Tokens& stored = account.login->tokens;
    const bool replaced =
        stored.access_token != old_token && stored.expires_at - spare_seconds > now();
    if (!replaced && stored.refresh_token.empty())
      throw Failure(Exit::not_logged_in, "the login has ended", "Log in again: `berth login`.");
    if (!replaced) stored = refresh(api_, stored);
    login_token_ = stored.access_token;
  });
}

bool Login::renew_account() {
  if (api_.settings().token) return false;
  const Account account = api_.store().load(api_.settings().server);
  if (!account.login) return false;
  if (account.session) {
    // It has ended; the other login may still work.
    api_.store().update(api_.settings().server, [](Account& now) { now.session.reset(); });
    return true;
  }
  const std::string old = login_token();
  refresh_login(old);
  return login_token_ != old;
}

bool Login::add_built_in() {
  const Account account = api_.store().load(api_.settings().server);
  if (!account.session || account.login) return false;
  const StoredSession& session = *account.session;
  Tokens tokens;
  try {
    tokens =
        authorize_by_session(api_, built_in_app(), session.jwt, joined(scopes_of_login(), " "));
  } catch (const Failure& failure) {
    if (failure.exit == Exit::unavailable) throw;
    return false;
  }
  api_.store().update(api_.settings().server, [&](Account& now) {
    if (now.session && now.session->email == session.email && !now.login)
      now.login = {.tokens = tokens, .email = session.email, .username = session.username};
  });
  return true;
}

// Returns what Berth-App says for the app that the person has named. The server knows of apps that
// aren't stored here, but not by their names.
std::string Login::named_app(const std::string& name) {
  const json& mine = api_.once("/api/oauth/my-apps", "apps", As::account);
  std::vector<std::string> ids;
  for (const json& app : mine.at("apps"))
    for (const char* key : {"id", "client_id", "app_name"})
      if (app.at(key) == name) {
        ids.push_back(app.at("id"));
        break;
      }
  if (ids.size() == 1) return ids[0];
  if (ids.empty())
    throw Failure(Exit::not_found, "you have no app " + name, "`berth apps list` shows your apps.");
  Failure failure(Exit::usage, "several apps are called " + name + ": name one by its id");
  failure.details = std::move(ids);
  throw failure;
}

std::string Login::access_token() {
  const Settings& settings = api_.settings();
  if (settings.token) {
    if (!is_jwt(*settings.token)) {
      // The token may be one of `berth login`, or a personal one, which work for all of the user's
      // apps, so the app has to be named. For a token of a single app, this has no effect.
      Account account = api_.store().load(settings.server);
      const StoredApp* known = account.find(settings.app);
      if (!settings.app.empty()) chosen_app_ = known != nullptr ? known->client_id : settings.app;
      return *settings.token;
    }
    throw Failure(Exit::not_logged_in,
                  "BERTH_TOKEN is a session JWT, but this command needs an access token",
                  "Access tokens begin with at_live_, personal ones with pat_live_.");
  }
  if (token_.empty() && !settings.client_id.empty() && settings.client_secret)
    token_ = client_credentials(api_, settings.client_id, *settings.client_secret, "").access_token;
  if (token_.empty()) token_ = is_job() ? job_token("") : stored_token();
  return token_;
}

// Many jobs may ask for ID tokens because of another service, so a login on this machine comes
// first there.
bool Login::is_job() const {
  if (!cli::is_job(api_.settings())) return false;
  if (!asks_for_id_tokens(api_.settings())) return true;
  const Account account = api_.store().load(api_.settings().server);
  return !account.session && !account.login && account.apps.empty();
}

// Runs under the file's lock, like replace(), so that of several commands of a job only the first
// one exchanges its ID token. `old_token` was refused.
std::string Login::job_token(const std::string& old_token) {
  const Settings& settings = api_.settings();
  if (api_.store().file().empty()) return exchange_id_token(api_).access_token;
  const std::string key = key_of_job(settings);
  std::string token;
  api_.store().update(settings.server, [&](Account& account) {
    const bool is_usable = account.job && account.job->key == key &&
                           account.job->tokens.access_token != old_token &&
                           account.job->tokens.expires_at - spare_seconds > now();
    if (!is_usable) account.job = StoredJob{.key = key, .tokens = exchange_id_token(api_)};
    token = account.job->tokens.access_token;
  });
  return token;
}

StoredApp Login::app_in_use(Account& account) const {
  const Settings& settings = api_.settings();
  const StoredApp* app = account.find(settings.app.empty() ? settings.client_id : settings.app);
  if (app != nullptr) return *app;
  if (!account.session && account.apps.empty()) throw not_logged_in();
  throw Failure(Exit::not_logged_in,
                settings.app.empty() ? "there is no current app"
                                     : "the app " + settings.app + " isn't stored here",
                "Create one with `berth apps create NAME`, or choose one with `berth apps use`.");
}

std::string Login::stored_token() {
  const Settings& settings = api_.settings();
  Account account = api_.store().load(settings.server);
  const std::string& choice = settings.app.empty() ? settings.client_id : settings.app;
  const auto has_own_tokens = [&](const StoredApp* app) {
    return app != nullptr && (app->tokens || (account.session && !app->client_secret.empty()));
  };
  if (!account.login && !has_own_tokens(account.find(choice)) && add_built_in())
    account = api_.store().load(settings.server);
  if (account.login) {
    const StoredApp* known = account.find(choice);
    if (!has_own_tokens(known)) {
      if (known != nullptr)
        chosen_app_ = known->client_id;
      else if (!choice.empty())
        chosen_app_ = named_app(choice);
      return login_token();
    }
  }
  const StoredApp app = app_in_use(account);
  if (app.tokens && app.tokens->expires_at - spare_seconds > now()) return app.tokens->access_token;
  replace(app.tokens ? app.tokens->access_token : "", Why::refused);
  return token_;
}

// Runs under the file's lock. If another process has renewed the tokens first, its tokens are used,
// since using a refresh token a second time would end the whole login.
void Login::replace(const std::string& old_token, Why why) {
  api_.store().update(api_.settings().server, [&](Account& account) {
    const StoredApp app = app_in_use(account);
    const bool replaced = app.tokens && app.tokens->access_token != old_token &&
                          app.tokens->expires_at - spare_seconds > now();
    StoredApp& stored = account.apps.at(app.client_id);
    if (!replaced)
      stored.tokens = why == Why::lacks_scope ? new_tokens(api_, account, app)
                                              : refreshed_or_new(api_, account, app);
    token_ = stored.tokens->access_token;
  });
}

bool Login::renew(Why why) {
  const Settings& settings = api_.settings();
  if (settings.token || (!settings.client_id.empty() && settings.client_secret)) return false;
  const std::string old = token_;
  if (is_job()) {
    if (why == Why::lacks_scope || !asks_for_id_tokens(settings)) return false;
    token_ = job_token(old);
    return token_ != old;
  }
  if (!login_token_.empty() && old == login_token_) {
    if (why == Why::lacks_scope) return false;
    refresh_login(old);
    token_ = login_token_;
    return token_ != old;
  }
  const Account account = api_.store().load(settings.server);
  // A refresh never adds scopes.
  if (why == Why::lacks_scope && !account.session) return false;
  replace(old, why);
  return token_ != old;
}

}  // namespace berth::cli
