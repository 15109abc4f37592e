// Accounts and logins: register, verify, login, logout, token, whoami.
#include "cli/login.h"

#include <algorithm>

#include "cli/commands/account.h"
#include "cli/commands/commands.h"
#include "cli/loopback.h"
#include "cli/terminal.h"
#include "controller/base/clock.h"
#include "controller/base/crypto.h"
#include "controller/base/text.h"
#include "controller/base/url.h"

namespace berth::cli {
namespace {

constexpr std::chrono::seconds longest_browser_login{300};

struct LoginFlags {
  std::string email;
  bool password_stdin = false;
  std::string totp_code;
  bool client_credentials = false;
  bool client_secret_stdin = false;
  std::string scope;
  bool no_browser = false;
  bool device = false;
  bool token = false;
};

struct RegisterFlags {
  std::string email;
  std::string username;
  std::string referral_code;
  bool password_stdin = false;
};

StoredSession sign_in(Run& run, const json& credentials) {
  const json answer = run.api().post("/api/auth/login", credentials, As::nobody);
  return {.jwt = answer.at("token"),
          .email = answer.at("user").at("email"),
          .username = answer.at("user").at("username")};
}

StoredSession sign_in_with_code(Run& run, const LoginFlags& flags, const std::string& password) {
  json credentials = {{"email", flags.email}, {"password", password}};
  if (!flags.totp_code.empty()) credentials["totp_code"] = flags.totp_code;
  try {
    return sign_in(run, credentials);
  } catch (const Failure& failure) {
    if (failure.server_code != "totp_required" || !is_interactive()) throw;
  }
  credentials["totp_code"] = ask("Code of the second factor", "Pass --totp-code.");
  return sign_in(run, credentials);
}

// The app that the flags or the stored choice name, with the secret that was passed in.
StoredApp app_for_login(Run& run, const LoginFlags& flags) {
  const Settings& settings = run.settings();
  Account account = run.store().load(settings.server);
  const StoredApp* known =
      account.find(settings.client_id.empty() ? settings.app : settings.client_id);
  StoredApp app = known != nullptr ? *known : StoredApp{};
  if (known == nullptr) {
    if (settings.client_id.empty())
      throw Failure(Exit::usage,
                    settings.app.empty() ? "no app is stored here"
                                         : "the app " + settings.app + " isn't stored here",
                    "Log in without --app, which works for all your apps; or pass --client-id and "
                    "--client-secret-stdin of an existing app.");
    app.client_id = app.name = settings.client_id;
    app.redirect_uri = loopback_redirect_uri;
  }
  if (flags.client_secret_stdin) app.client_secret = secret_from_stdin("client secret");
  if (app.client_secret.empty() && settings.client_secret)
    app.client_secret = *settings.client_secret;
  if (app.client_secret.empty())
    throw Failure(Exit::usage, "the secret of the app " + app.name + " isn't stored here",
                  "Pass --client-secret-stdin, or set BERTH_CLIENT_SECRET.");
  return app;
}

void keep(Run& run, const StoredApp& app, const Tokens& tokens) {
  StoredApp complete = app;
  complete.tokens = tokens;
  if (complete.id.empty()) {
    const json seen =
        run.api().post("/api/oauth/token/verify", {{"token", tokens.access_token}}, As::nobody);
    complete.id = seen.value("app_id", "");
    const json known =
        run.api().get("/api/oauth/apps/" + percent_encode(app.client_id), As::nobody);
    complete.name = known.value("name", app.client_id);
  }
  run.store().update(run.settings().server, [&](Account& account) {
    account.apps[complete.client_id] = complete;
    account.current = complete.client_id;
  });
  run.out().done({{"app", complete.name}, {"app_id", complete.id}, {"scope", tokens.scope}},
                 "Logged in for the app " + complete.name + ", with " + tokens.scope + ".");
}

std::string scope_of(const LoginFlags& flags, const StoredApp& app) {
  if (!flags.scope.empty()) return joined(split({flags.scope}), " ");
  std::vector<std::string> wanted;
  for (const std::string& scope : useful_scopes())
    if (app.scopes.empty() ? scope == "profile:read" || scope == "deploy:manage"
                           : std::ranges::find(app.scopes, scope) != app.scopes.end())
      wanted.push_back(scope);
  return joined(wanted, " ");
}

// Apps of another account stay stored, because their secrets can't be obtained again, but none of
// them stays the current app.
void keep_session(Run& run, const StoredSession& session) {
  run.store().update(run.settings().server, [&](Account& account) {
    if (account.session && account.session->email != session.email) account.current.clear();
    if (account.login && account.login->email != session.email) {
      account.current.clear();
      account.login.reset();
    }
    account.session = session;
  });
}

// The session, the app's tokens and the login by berth's own client may be those of different
// people; the newest one counts.
void keep_login(Run& run, const Tokens& tokens) {
  const HttpResponse response =
      run.api().raw({.method = "GET",
                     .url = "/api/auth/me",
                     .headers = {"Authorization: Bearer " + tokens.access_token}});
  if (response.status != 200) throw failure_of(response);
  const json user = json::parse(response.body).at("user");
  const StoredLogin login = {
      .tokens = tokens, .email = user.at("email"), .username = user.at("username")};
  run.store().update(run.settings().server, [&](Account& account) {
    const auto& before = account.session ? account.session->email
                         : account.login ? account.login->email
                                         : login.email;
    if (before != login.email) account.current.clear();
    account.session.reset();
    for (auto& [client_id, app] : account.apps) app.tokens.reset();
    account.login = login;
  });
  run.out().done({{"username", login.username}, {"email", login.email}, {"scope", tokens.scope}},
                 "Logged in as " + login.username + ", with " + tokens.scope +
                     ". It works for all your apps; `berth apps use` chooses one.");
}

std::string scope_of_login(const LoginFlags& flags) {
  return joined(flags.scope.empty() ? scopes_of_login() : split({flags.scope}), " ");
}

void login_by_device(Run& run, const LoginFlags& flags) {
  const DeviceCodes codes = start_device_login(run.api(), scope_of_login(flags));
  const std::string& server = run.settings().server;
  if (!is_name_of(codes.verification_uri, server))
    throw Failure(
        Exit::failed,
        server + " sends you to " + printable(codes.verification_uri) + ", which is another server",
        "If that is the server that you mean, name it with --server.");
  say("Open " + codes.verification_uri + " in any browser, and enter this code:");
  say("  " + codes.user_code);
  keep_login(run, finish_device_login(run.api(), codes));
}

// Tokens that were made elsewhere: a session's, one of berth's own client, or one of an app.
void login_by_token(Run& run) {
  const std::string token =
      is_interactive() ? ask_secret("Token", "Pass it on stdin.") : secret_from_stdin("token");
  if (token.starts_with("eyJ")) {
    const HttpResponse response = run.api().raw(
        {.method = "GET", .url = "/api/auth/me", .headers = {"Authorization: Bearer " + token}});
    if (response.status != 200) throw failure_of(response);
    const json user = json::parse(response.body).at("user");
    keep_session(run, {.jwt = token, .email = user.at("email"), .username = user.at("username")});
    run.out().done({{"username", user.at("username")}, {"email", user.at("email")}},
                   "Logged in as " + user.at("username").get<std::string>() + ".");
    return;
  }
  if (is_personal_token(token))
    throw Failure(Exit::usage, "a personal access token isn't stored",
                  "Set BERTH_TOKEN to it: every command of deployments and apps takes it there.");
  const json seen = run.api().post("/api/oauth/token/verify", {{"token", token}}, As::nobody);
  if (!seen.value("active", false))
    throw Failure(Exit::not_logged_in, "the token is " + seen.value("reason", "refused"));
  const Tokens tokens = {
      .access_token = token,
      .refresh_token = {},
      .scope = joined(seen.at("scopes").get<std::vector<std::string>>(), " "),
      .expires_at = to_millis(*parse_iso8601(seen.at("expires_at").get<std::string>())) / 1000};
  try {
    keep_login(run, tokens);
  } catch (const Failure& failure) {
    if (failure.server_code != "wrong_token_type") throw;
    const std::string id = seen.at("app_id");
    run.store().update(run.settings().server, [&](Account& account) {
      StoredApp& app = account.apps[id];
      app.client_id = app.id = app.name = id;
      app.tokens = tokens;
      account.current = id;
    });
    run.out().done({{"app_id", id}, {"scope", tokens.scope}},
                   "Logged in for the app " + id + ", with " + tokens.scope + ".");
  }
}

// The authorization code flow for native apps (RFC 8252) with PKCE; checks `iss` against mix-up
// attacks (RFC 9207).
void login_by_browser(Run& run, const LoginFlags& flags) {
  const Settings& settings = run.settings();
  const bool for_one_app = !settings.app.empty() || !settings.client_id.empty();
  const StoredApp app = for_one_app ? app_for_login(run, flags) : built_in_app();
  const std::string scope = for_one_app ? scope_of(flags, app) : scope_of_login(flags);
  const json server = run.api().get("/.well-known/oauth-authorization-server", As::nobody);
  const std::string issuer = server.at("issuer");
  if (!is_name_of(issuer, settings.server))
    throw Failure(
        Exit::failed, settings.server + " says that it is " + issuer,
        "If that is the server that you mean, name it so: `berth login --server " + issuer + "`.");
  const Pkce pkce = new_pkce();
  const std::string state = base64url(random_bytes(16));
  Loopback loopback;
  const std::string url = server.at("authorization_endpoint").get<std::string>() + "?" +
                          encoded({{"response_type", "code"},
                                   {"client_id", app.client_id},
                                   {"redirect_uri", loopback.redirect_uri()},
                                   {"scope", scope},
                                   {"state", state},
                                   {"code_challenge", pkce.challenge},
                                   {"code_challenge_method", "S256"}});
  const bool opened = !flags.no_browser && run.settings().opens_browser && open_in_browser(url);
  say(opened ? "Continue in your browser. If it doesn't open, open this address:"
             : "Open this address in a browser on this machine:");
  say(url);
  auto answer = loopback.wait(state, longest_browser_login);
  if (answer["iss"] != issuer)
    throw Failure(Exit::failed,
                  "the answer came from " + answer["iss"] + ", which is another server");
  if (!answer.contains("code"))
    throw Failure(
        Exit::forbidden,
        answer["error"] == "access_denied" ? "access was denied in the browser"
                                           : answer["error"] + ": " + answer["error_description"],
        answer["error"] == "invalid_scope" ? "`berth scopes list` shows which scopes are approved "
                                             "for the app; ask for fewer with --scope."
                                           : "");
  const Tokens tokens =
      exchange_code(run.api(), app, answer["code"], loopback.redirect_uri(), pkce.verifier);
  if (for_one_app)
    keep(run, app, tokens);
  else
    keep_login(run, tokens);
}

void login_by_password(Run& run, const LoginFlags& flags) {
  if (flags.email.empty()) throw Failure(Exit::usage, "no account was named", "Pass --email.");
  const StoredSession session = sign_in_with_code(run, flags, password_of(flags.password_stdin));
  keep_session(run, session);
  Account account = run.store().load(run.settings().server);
  const StoredApp* app = account.find(run.settings().app);
  if (app == nullptr) {
    run.out().done({{"username", session.username}, {"email", session.email}},
                   "Logged in as " + session.username +
                       ". Next: " + (account.apps.empty() ? "" : "`berth apps use NAME`, or ") +
                       "`berth apps create NAME --scopes deploy:manage`.");
    return;
  }
  keep(run, *app,
       authorize_by_session(run.api(), *app, session.jwt, joined(split({flags.scope}), " ")));
}

void login(Run& run, const LoginFlags& flags) {
  if (flags.token) {
    login_by_token(run);
  } else if (flags.device) {
    login_by_device(run, flags);
  } else if (flags.client_credentials) {
    const StoredApp app = app_for_login(run, flags);
    keep(run, app,
         client_credentials(run.api(), app.client_id, app.client_secret,
                            joined(split({flags.scope}), " ")));
  } else if (flags.password_stdin || !flags.email.empty()) {
    login_by_password(run, flags);
  } else {
    login_by_browser(run, flags);
  }
}

void register_account(Run& run, const RegisterFlags& flags) {
  const std::string password = password_of(flags.password_stdin);
  json body = {{"email", flags.email}, {"username", flags.username}, {"password", password}};
  if (!flags.referral_code.empty()) body["referral_code"] = flags.referral_code;
  const json answer = run.api().post("/api/auth/register", body, As::nobody);
  const StoredSession session = sign_in(run, {{"email", flags.email}, {"password", password}});
  keep_session(run, session);
  std::string next = "Open the link in the mail to " + session.email +
                     ", or run `berth verify` with the token in it.";
  try {
    run.api().post("/api/auth/self-verify-email", nullptr, As::account);
    next = "The address counts as verified, because this server is in development mode.";
  } catch (const Failure& failure) {
    // This endpoint doesn't exist in production.
    if (failure.exit != Exit::not_found && failure.exit != Exit::forbidden) throw;
  }
  run.out().done(answer, "Registered and logged in as " + session.username + ". " + next);
}

void logout(Run& run) {
  Api& api = run.api();
  std::vector<std::string> left;
  // What can't be ended on the server expires by itself; it is removed here in any case.
  const auto unless_refused = [&](const std::string& what, const std::function<void()>& end) {
    try {
      end();
    } catch (const Failure& failure) {
      if (failure.exit != Exit::not_logged_in) left.push_back(what + ": " + failure.what());
    }
  };
  Account account = run.store().load(run.settings().server);
  for (const auto& [id, app] : account.apps) {
    if (!app.tokens || app.client_secret.empty()) continue;
    // References of their own, because the analyzer doesn't follow parts of a binding into a
    // lambda.
    const std::string &client_id = id, &client_secret = app.client_secret;
    const Tokens& tokens = *app.tokens;
    unless_refused("the tokens of " + app.name, [&] {
      for (const std::string& token : {tokens.refresh_token, tokens.access_token})
        if (!token.empty())
          api.post("/api/oauth/revoke",
                   {{"token", token}, {"client_id", client_id}, {"client_secret", client_secret}},
                   As::nobody);
    });
  }
  if (account.login)
    unless_refused("the login", [&] {
      const Tokens& tokens = account.login->tokens;
      const std::string& token =
          tokens.refresh_token.empty() ? tokens.access_token : tokens.refresh_token;
      api.post("/api/oauth/revoke", {{"token", token}, {"client_id", built_in_client}}, As::nobody);
    });
  if (account.session)
    unless_refused("the session", [&] { api.post("/api/auth/logout", nullptr, As::account); });
  run.store().update(run.settings().server, [](Account& now) {
    now.session.reset();
    now.login.reset();
    for (auto& [client_id, app] : now.apps) app.tokens.reset();
  });
  for (const std::string& line : left) say("still valid on the server: " + line);
  run.out().done({{"server", run.settings().server}},
                 "Logged out of " + run.settings().server + ".");
}

// Returns what a personal access token may see of its owner: nothing without profile:read.
json user_of_personal_token(Run& run) {
  try {
    return run.api().get("/api/external/profile", As::app).value("user", json());
  } catch (const Failure& failure) {
    if (failure.server_code != "insufficient_scope") throw;
    return nullptr;
  }
}

void whoami(Run& run) {
  const Settings& settings = run.settings();
  json result = {{"server", settings.server}};
  Account account = run.store().load(settings.server);
  // Credentials from the environment take precedence over stored ones.
  const bool as_client = !settings.client_id.empty() && settings.client_secret;
  const bool has_session = settings.token ? settings.token->starts_with("eyJ")
                                          : (account.session || account.login) && !as_client;
  if (has_session) result["user"] = run.api().get("/api/auth/me", As::account).at("user");
  const StoredApp* app = account.find(settings.app);
  if (app != nullptr && !settings.token && !as_client)
    result["app"] = {{"name", app->name}, {"id", app->id}, {"client_id", app->client_id}};
  const bool is_personal = settings.token && is_personal_token(*settings.token);
  if (is_personal) {
    result["user"] = user_of_personal_token(run);
    result["token"] = {{"active", true}, {"kind", "personal_token"}};
  } else if (!has_session || (app != nullptr && app->tokens && !settings.token)) {
    json seen = run.api().post("/api/oauth/token/verify",
                               {{"token", run.api().login().access_token()}}, As::nobody);
    if (!seen.value("active", false))
      throw Failure(Exit::not_logged_in, "the token is " + seen.value("reason", "refused"),
                    "Log in again: `berth login`.");
    result["token"] = seen;
  }
  run.out().object(result, result,
                   {{"Server", "server"},
                    {"User", "user.username"},
                    {"Email", "user.email"},
                    {"Verified", "user.email_verified"},
                    {"Second factor", "user.totp_enabled"},
                    {"Points", "user.points"},
                    {"App", "app.name"},
                    {"App id", "token.app_id"},
                    {"Scopes", "token.scopes"},
                    {"Token until", "token.expires_at"}});
}

void add_register(CLI::App& root, Run& run) {
  const auto flags = std::make_shared<RegisterFlags>();
  CLI::App* command = add_command(root, "register", "Create an account and log in",
                                  "berth register --email ada@example.org --username ada",
                                  [&run, flags] { register_account(run, *flags); });
  command->add_option("--email", flags->email, "Email address of the account")->required();
  command->add_option("--username", flags->username, "User name, which others see")->required();
  command->add_flag("--password-stdin", flags->password_stdin,
                    "Read the password from stdin instead of asking");
  command->add_option("--referral-code", flags->referral_code,
                      "Referral code of the user who referred you");
}

void add_login(CLI::App& root, Run& run) {
  const auto flags = std::make_shared<LoginFlags>();
  CLI::App* command = add_command(
      root, "login", "Log in with a browser, on another device, with a password, or as an app",
      "berth login --device", [&run, flags] { login(run, *flags); });
  command->add_option("--email", flags->email, "Log in with this account's password");
  command->add_flag("--password-stdin", flags->password_stdin,
                    "Read the password from stdin instead of asking");
  command->add_option("--totp-code", flags->totp_code, "Code of the second factor");
  command->add_flag("--client-credentials", flags->client_credentials,
                    "Log in as the app itself, for machines; requires --client-id");
  command->add_flag("--client-secret-stdin", flags->client_secret_stdin,
                    "Read the app's secret from stdin");
  command->add_option("--scope", flags->scope,
                      "Scopes to ask for; by default all that commands use");
  command->add_flag("--no-browser", flags->no_browser, "Only print the address");
  command->add_flag("--device", flags->device,
                    "Show a code to enter in a browser on another machine");
  command->add_flag("--token", flags->token, "Log in with a token that is read from stdin");
}

void add_token(CLI::App& root, Run& run) {
  const auto session = std::make_shared<bool>(false);
  CLI::App* command = add_command(root, "token", "Print a valid token, for other programs",
                                  "berth token --session", [&run, session] {
                                    Login& tokens = run.api().login();
                                    const std::string token =
                                        *session ? tokens.session() : tokens.access_token();
                                    run.out().done({{"token", token}}, token);
                                  });
  command->add_flag("--session", *session,
                    "Print the account's session JWT instead of the app's token");
}

}  // namespace

void add_login_commands(CLI::App& root, Run& run) {
  add_register(root, run);
  const auto token = std::make_shared<std::string>();
  add_command(root, "verify", "Verify the email address with the token in the mail",
              "berth verify ev_example",
              [&run, token] {
                const json answer =
                    run.api().post("/api/auth/verify-email", {{"token", *token}}, As::nobody);
                run.out().done(answer, "The address is now verified.");
              })
      ->add_option("TOKEN", *token, "Token from the mail")
      ->required();
  add_login(root, run);
  add_command(root, "logout", "End the session and revoke the tokens, here and on the server",
              "berth logout", [&run] { logout(run); });
  add_token(root, run);
  add_command(root, "whoami", "Show who you are on the server, and your scopes", "berth whoami",
              [&run] { whoami(run); });
}

}  // namespace berth::cli
