// OAuth apps, and the scopes that they may use.
#include <algorithm>

#include "cli/commands/commands.h"
#include "cli/login.h"
#include "cli/terminal.h"
#include "controller/base/text.h"
#include "controller/base/url.h"

namespace berth::cli {
namespace {

const std::vector<std::string> automatic_scopes = {"profile:read", "points:read"};

const std::vector<Column> app_fields = {
    {"Name", "app_name"},           {"Id", "id"},
    {"Client id", "client_id"},     {"Description", "app_description"},
    {"Website", "website_url"},     {"Redirect URIs", "redirect_uris"},
    {"Asks for", "allowed_scopes"}, {"Approved", "approved_scopes"},
    {"Created", "inserted_at"},     {"Client secret", "client_secret"}};

struct AppFlags {
  std::string app;
  std::string name;
  std::string description;
  std::string website;
  std::vector<std::string> redirect_uris;
  std::vector<std::string> scopes;
  std::vector<std::string> origins;
  std::string tier;
  bool is_public = false;
  bool show_secret = false;
  bool secret_stdin = false;
  bool rotate = false;
  bool yes = false;
};
using SharedAppFlags = std::shared_ptr<AppFlags>;

std::string my_app(Run& run, const std::string& app, const std::string& behind = "") {
  return "/api/oauth/my-apps/" + app_id(run, app) + behind;
}

json find_app(Run& run, const std::string& app) {
  const std::string id = app_id(run, app);
  const json& mine = run.api().once("/api/oauth/my-apps", "apps", As::account);
  for (const json& entry : mine.at("apps"))
    if (entry.at("id") == id) return entry;
  throw Failure(Exit::not_found, "you have no app " + app, "`berth apps list` shows your apps.");
}

// The client needs the client id, the secret and a redirect URI to act for an app.
StoredApp stored_form(const json& app, const std::string& secret) {
  const auto uris = app.at("redirect_uris").get<std::vector<std::string>>();
  const bool has_loopback = std::ranges::find(uris, loopback_redirect_uri) != uris.end();
  return {.client_id = app.at("client_id"),
          .id = app.at("id"),
          .name = app.at("app_name"),
          .client_secret = secret,
          .redirect_uri = has_loopback ? loopback_redirect_uri : uris.at(0),
          .scopes = app.at("allowed_scopes").get<std::vector<std::string>>(),
          .tokens = {}};
}

void put_in_use(Run& run, const StoredApp& app) {
  run.store().update(run.settings().server, [&](Account& account) {
    StoredApp& stored = account.apps[app.client_id];
    const std::string known_secret = stored.client_secret;
    std::optional<Tokens> tokens = stored.tokens;
    stored = app;
    if (stored.client_secret.empty()) stored.client_secret = known_secret;
    stored.tokens = std::move(tokens);
    account.current = app.client_id;
  });
}

// The secret is only printed on request, since it is in the credentials file.
json without_secret(json body, bool show_secret) {
  if (!show_secret) body.at("app").erase("client_secret");
  return body;
}

std::vector<std::string> to_be_approved(const json& app) {
  std::vector<std::string> result;
  for (const json& scope : app.at("allowed_scopes"))
    if (std::ranges::find(automatic_scopes, scope.get<std::string>()) == automatic_scopes.end())
      result.push_back(scope);
  return result;
}

void create_app(Run& run, const AppFlags& flags) {
  json body = {{"app_name", flags.name},
               {"redirect_uris", flags.redirect_uris.empty()
                                     ? std::vector<std::string>{loopback_redirect_uri}
                                     : flags.redirect_uris}};
  std::vector<std::string> scopes = split(flags.scopes);
  if (!scopes.empty()) {
    if (std::ranges::find(scopes, "profile:read") == scopes.end())
      scopes.insert(scopes.begin(), "profile:read");
    body["allowed_scopes"] = scopes;
  }
  if (!flags.origins.empty()) body["allowed_origins"] = flags.origins;
  if (flags.is_public) body["token_endpoint_auth_method"] = "none";
  if (!flags.description.empty()) body["app_description"] = flags.description;
  if (!flags.website.empty()) body["website_url"] = flags.website;
  json answer = run.api().post("/api/oauth/apps", body, As::account);
  const json& app = answer.at("app");
  put_in_use(run, stored_form(app, app.value("client_secret", "")));
  std::string sentence =
      "Created the app " + flags.name + ", which is the current app from now on.";
  if (const auto wanted = to_be_approved(app); !wanted.empty()) {
    const json request =
        run.api().post("/api/oauth/my-apps/" + app.at("id").get<std::string>() + "/scope-request",
                       {{"requested_scopes", wanted}}, As::account);
    answer["scope_request"] = request;
    sentence += " An admin has to approve " + joined(wanted, ", ") + " (scope request " +
                request.at("id").get<std::string>() + ", " +
                request.at("status").get<std::string>() + ").";
  }
  const bool shows = flags.show_secret && app.contains("client_secret");
  if (shows)
    sentence += "\nClient id: " + app.at("client_id").get<std::string>() +
                "\nClient secret: " + app.at("client_secret").get<std::string>();
  run.out().print(without_secret(answer, shows), [&] { return sentence + "\n"; });
}

void rotate_secret(Run& run, const AppFlags& flags) {
  confirm("Programs that use the app's current secret will stop working. Continue?", flags.yes);
  const json answer =
      run.api().post(my_app(run, flags.app, "/rotate-secret"), nullptr, As::account);
  const json& app = answer.at("app");
  // Stored even if the app wasn't stored here before, because the secret can't be looked up later.
  run.store().update(run.settings().server, [&](Account& account) {
    StoredApp& known = account.apps[app.at("client_id")];
    const auto tokens = known.tokens;
    known = stored_form(app, app.at("client_secret"));
    known.tokens = tokens;
  });
  run.out().print(without_secret(answer, flags.show_secret), [&] {
    return "The app has a new secret" +
           (flags.show_secret ? ": " + app.at("client_secret").get<std::string>()
                              : std::string("; it is stored in the credentials file")) +
           ".\n";
  });
}

// The server has only the hash of the secret. The client stores it where the app was created, or
// where its secret was rotated.
std::string stored_secret(Run& run, const json& app) {
  Account account = run.store().load(run.settings().server);
  const StoredApp* stored = account.find(app.at("client_id"));
  if (stored != nullptr && !stored->client_secret.empty()) return stored->client_secret;
  throw Failure(Exit::not_found,
                "the secret of " + cell(app, "app_name") +
                    " isn't stored here, and the server has only its hash",
                "It is where the app was created. `berth apps rotate-secret --show-secret` makes a "
                "new one, after which programs with the old one stop working.");
}

bool is_public(const json& app) { return app.value("token_endpoint_auth_method", "") == "none"; }

void use_app(Run& run, const AppFlags& flags) {
  json app = find_app(run, flags.app);
  std::string secret;
  if (flags.secret_stdin) secret = secret_from_stdin("client secret");
  if (flags.rotate)
    secret = run.api()
                 .post(my_app(run, app.at("id"), "/rotate-secret"), nullptr, As::account)
                 .at("app")
                 .at("client_secret");
  Account account = run.store().load(run.settings().server);
  const StoredApp* known = account.find(app.at("client_id"));
  const bool has_secret = !secret.empty() || (known != nullptr && !known->client_secret.empty());
  // A login with berth's own client gives access to all of the user's apps without their secrets.
  const bool needs_secret =
      !has_secret && !account.login && !is_public(app) && !run.api().login().add_built_in();
  if (needs_secret)
    throw Failure(Exit::usage,
                  "the app's secret isn't stored here, and the server has only its hash",
                  "Log in with `berth login`, which works for all your apps; or pass "
                  "--secret-stdin, or --rotate-secret for a new secret, after which programs with "
                  "the old one stop working.");
  put_in_use(run, stored_form(app, secret));
  run.out().done({{"app", app}},
                 "The app " + app.at("app_name").get<std::string>() + " is now the current app.");
}

// Says what happens to the app's points when it is deleted. How many there are is only known for
// the current app, because the client has a token of no other.
std::string fate_of_points(Run& run, const std::string& id) {
  std::string points = "The points";
  Account account = run.store().load(run.settings().server);
  const StoredApp* used = account.find(run.settings().app);
  if (used != nullptr && used->id == id) {
    try {
      points = "The " + cell(run.api().get("/api/external/app/balance"), "balance") + " points";
    } catch (const Failure&) {
      // The app may lack the scope; the question can be asked without the number.
    }
  }
  return points + " on its account go to the treasury for good.";
}

void delete_app(Run& run, const AppFlags& flags) {
  const json app = find_app(run, flags.app);
  const std::string id = app.at("id");
  const std::string name = cell(app, "app_name");
  if (!flags.yes)
    confirm_name(
        "This deletes the app " + name + " (" + id + ") for good. " + fate_of_points(run, id), name,
        flags.yes);
  const json answer =
      run.api().call({.method = "DELETE", .path = "/api/operator/apps/" + id, .as = As::account});
  run.store().update(run.settings().server, [&](Account& account) {
    std::erase_if(account.apps, [&](const auto& entry) { return entry.second.id == id; });
    if (!account.apps.contains(account.current)) account.current.clear();
  });
  run.out().done(answer, "The app was deleted; the points on its account went to the treasury.");
}

void add_app_creation(CLI::App& apps, Run& run) {
  const SharedAppFlags flags = std::make_shared<AppFlags>();
  CLI::App* create = add_command(
      apps, "create",
      "Register an app, make it the current app, and ask the admins to approve its scopes",
      "berth apps create \"My game\" --scopes deploy:manage",
      [&run, flags] { create_app(run, *flags); });
  create->add_option("NAME", flags->name, "Name, which users see when they log in to the app")
      ->required();
  create
      ->add_option("--scopes", flags->scopes,
                   "Scopes that the app may ask for, such as deploy:manage; may be repeated")
      ->allow_extra_args(false);
  create
      ->add_option("--redirect-uri", flags->redirect_uris,
                   "Redirect URI of logins; by default http://127.0.0.1/callback, for this client")
      ->allow_extra_args(false);
  create
      ->add_option("--origin", flags->origins,
                   "Origin whose pages may call berth from browsers, such as "
                   "https://game.example.org; may be repeated")
      ->allow_extra_args(false);
  create->add_option("--description", flags->description,
                     "Description that the consent page shows");
  create->add_option("--website", flags->website, "Website, which is shown as a link");
  create->add_flag("--show-secret", flags->show_secret, "Print the client secret, too");
  create->add_flag("--public", flags->is_public,
                   "For a program on users' devices: the app gets no secret");
}

void add_app_changes(CLI::App& apps, Run& run) {
  const SharedAppFlags rotation = std::make_shared<AppFlags>();
  CLI::App* rotate = add_command(apps, "rotate-secret", "Replace an app's secret",
                                 "berth apps rotate-secret --show-secret",
                                 [&run, rotation] { rotate_secret(run, *rotation); });
  rotate->add_option("APP", rotation->app, "Name, id or client id; by default the current app");
  rotate->add_flag("--show-secret", rotation->show_secret, "Print the new secret");
  rotate->add_flag("--yes,-y", rotation->yes, "Don't ask for confirmation");

  const SharedAppFlags choice = std::make_shared<AppFlags>();
  CLI::App* use =
      add_command(apps, "use", "Choose the app that the other commands act for",
                  "berth apps use \"My game\"", [&run, choice] { use_app(run, *choice); });
  use->add_option("APP", choice->app, "Name, id or client id")->required();
  CLI::Option* from_stdin =
      use->add_flag("--secret-stdin", choice->secret_stdin, "Read the app's secret from stdin");
  use->add_flag("--rotate-secret", choice->rotate, "Replace the app's secret")
      ->excludes(from_stdin);

  const SharedAppFlags end = std::make_shared<AppFlags>();
  CLI::App* remove =
      add_command(apps, "delete", "Delete an app that has no deployments",
                  "berth apps delete \"My game\"", [&run, end] { delete_app(run, *end); });
  remove->add_option("APP", end->app, "Name, id or client id")->required();
  remove->add_flag("--yes,-y", end->yes, "Don't ask for the name");
}

const std::vector<Column> own_request_columns = {
    {"ID", "id"},     {"STATUS", "status"},     {"SCOPES", "requested_scopes"},
    {"TIER", "tier"}, {"ASKED", "inserted_at"}, {"REASON", "reason"}};

}  // namespace

std::string what_is_asked(const json& request) {
  std::string what = cell(request, "requested_scopes");
  if (const auto tier = request.find("tier"); tier != request.end() && tier->is_string())
    what.append(what.empty() ? "" : ", ").append("the tier ").append(tier->get<std::string>());
  return what;
}

namespace {

void request_scopes(Run& run, const AppFlags& flags) {
  if (flags.scopes.empty() && flags.tier.empty())
    throw Failure(Exit::usage, "nothing was asked for", "Name scopes, or a tier with --tier.");
  json body = json::object();
  if (!flags.scopes.empty()) body["requested_scopes"] = split(flags.scopes);
  if (!flags.tier.empty()) body["tier"] = flags.tier;
  const json request = run.api().post(my_app(run, flags.app, "/scope-request"), body, As::account);
  run.out().done(request, "Scope request " + request.at("id").get<std::string>() + ": " +
                              request.at("status").get<std::string>() + ", for " +
                              what_is_asked(request) + ".");
}

// Remembers the scopes, so that the next login by browser asks for those approved since.
void remember_approved(Run& run, const json& app) {
  run.store().update(run.settings().server, [&](Account& account) {
    if (StoredApp* stored = account.find(app.at("client_id")))
      stored->scopes = app.at("approved_scopes").get<std::vector<std::string>>();
  });
}

void list_scopes(Run& run, const AppFlags& flags) {
  const json app = find_app(run, flags.app);
  remember_approved(run, app);
  json body =
      run.api().all(my_app(run, app.at("id"), "/scope-requests"), "scope_requests", As::account);
  body["approved_scopes"] = app.at("approved_scopes");
  run.out().print(body, [&] {
    const json& requests = body.at("scope_requests");
    std::vector<std::vector<std::string>> rows;
    for (const json& request : requests) {
      rows.emplace_back();
      for (const Column& column : own_request_columns)
        rows.back().push_back(cell(request, column.path));
    }
    return facts_of({{"App", cell(app, "app_name")},
                     {"Asks for", cell(app, "allowed_scopes")},
                     {"Approved", cell(app, "approved_scopes")}}) +
           (rows.empty()
                ? ""
                : "\n" +
                      table_of({"REQUEST", "STATUS", "SCOPES", "TIER", "ASKED", "REASON"}, rows));
  });
}

}  // namespace

void add_app_commands(CLI::App& root, Run& run) {
  CLI::App* apps = add_group(root, "apps", "OAuth apps, to which deployments and campaigns belong");
  add_command(*apps, "list", "List your apps", "berth apps list", [&run] {
    const json body = run.api().all("/api/oauth/my-apps", "apps", As::account);
    run.out().list(body, body.at("apps"),
                   {{"NAME", "app_name"},
                    {"ID", "id"},
                    {"CLIENT ID", "client_id"},
                    {"CREATED", "inserted_at"},
                    {"APPROVED", "approved_scopes"}});
  });
  add_app_creation(*apps, run);
  const SharedAppFlags shown = std::make_shared<AppFlags>();
  CLI::App* show =
      add_command(*apps, "show", "Show one of your apps", "berth apps show", [&run, shown] {
        json app = find_app(run, shown->app);
        if (shown->show_secret) app["client_secret"] = stored_secret(run, app);
        run.out().object(app, app, app_fields);
      });
  show->add_option("APP", shown->app, "Name, id or client id; by default the current app");
  show->add_flag("--show-secret", shown->show_secret,
                 "Print the client secret, too, if it is stored on this machine");
  add_command(
      *apps, "balance", "Show the points on the app's account", "berth apps balance", [&run] {
        const json body = run.api().get("/api/external/app/balance");
        const std::string held = cell(body, "held");
        run.out().done(body,
                       cell(body, "balance") + " points" +
                           (held == "0" || held == "-" ? "" : ", of which " + held + " are held"));
      });
  add_app_statement(*apps, run);
  add_app_audit_command(*apps, run);
  add_app_changes(*apps, run);
}

void add_scope_commands(CLI::App& root, Run& run) {
  CLI::App* scopes =
      add_group(root, "scopes", "Scopes of an app: see them, and ask the admins for more");
  const SharedAppFlags flags = std::make_shared<AppFlags>();
  CLI::App* request = add_command(
      *scopes, "request", "Ask the admins to approve scopes, or the use of a tier",
      "berth scopes request campaigns:manage", [&run, flags] { request_scopes(run, *flags); });
  request->add_option("SCOPES", flags->scopes, "Scopes, such as deploy:manage");
  request->add_option("--tier", flags->tier, "Deploy tier that an admin has to promote the app to");
  const SharedAppFlags shown = std::make_shared<AppFlags>();
  add_command(*scopes, "list", "List the scopes of the current app, and its scope requests",
              "berth scopes list", [&run, shown] { list_scopes(run, *shown); });
  const SharedAppFlags back = std::make_shared<AppFlags>();
  add_command(*scopes, "withdraw", "Withdraw a pending request",
              "berth scopes withdraw 01936f5e-7c1a-7000-8000-000000000003",
              [&run, back] {
                const json answer = run.api().call(
                    {.method = "DELETE",
                     .path = my_app(run, "", "/scope-requests/" + percent_encode(back->name)),
                     .as = As::account});
                run.out().done(answer, "The request was withdrawn.");
              })
      ->add_option("REQUEST", back->name, "Id of the request")
      ->required();
}

}  // namespace berth::cli
