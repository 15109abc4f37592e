// Handlers of operators' OAuth apps: registration, secrets, and administrators' decisions about an
// app.
#include "api/resources/apps.h"

#include "api/resources/accounts/own_machine.h"
#include "api/resources/internal.h"
#include "api/resources/shared.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/apps/apps.h"

namespace berth::api {
namespace {

// The value of token_endpoint_auth_method for a public client (RFC 7591, section 2).
constexpr const char* no_authentication = "none";

// How many of an app's scope requests, the newest, admins are shown with it.
constexpr int shown_scope_requests = 20;

}  // namespace

json encode(db::Tx& tx, const apps::App& app) {
  const apps::OpenIdSettings openid = apps::openid_settings(tx, app.id);
  return {{"id", app.id},
          {"app_name", app.app_name},
          {"app_description", app.app_description},
          {"client_id", app.client_id},
          {"redirect_uris", app.redirect_uris},
          {"allowed_scopes", app.allowed_scopes.names()},
          {"approved_scopes", app.approved_scopes.names()},
          {"is_approved", app.is_approved()},
          {"allowed_origins", apps::allowed_origins(tx, app.id)},
          {"logo_url", or_null(app.logo_url)},
          {"website_url", or_null(app.website_url)},
          {"session_tokens", app.session_tokens},
          {"refresh_requires_client", app.refresh_requires_client},
          {"token_endpoint_auth_method", app.is_public ? no_authentication : "client_secret_basic"},
          {"id_token_signed_response_alg", openid.id_token_alg},
          {"post_logout_redirect_uris", openid.post_logout_redirect_uris},
          {"backchannel_logout_uri", or_null(openid.backchannel_logout_uri)},
          {"inserted_at", to_iso8601(app.inserted_at)}};
}

apps::Membership membership_in_path(db::Tx& tx, const Call& call, std::string_view placeholder) {
  apps::Membership own = apps::membership(tx, call.user->id, call.id(placeholder));
  apps::require_role(own, call.route->guards.access.role.value_or(apps::Role::owner));
  return own;
}

json encode_for_admin(db::Tx& tx, const apps::App& app) {
  const auto owner = accounts::find(tx, app.owner_id);
  return {{"id", app.id},
          {"app_name", app.app_name},
          {"client_id", app.client_id},
          {"owner_id", app.owner_id},
          {"owner", owner ? json(owner->username) : json()},
          {"allowed_scopes", app.allowed_scopes.names()},
          {"approved_scopes", app.approved_scopes.names()},
          {"promoted_tier", or_null(app.promoted_tier)},
          {"listed", app.listed},
          {"suspended", app.suspended},
          {"inserted_at", to_iso8601(app.inserted_at)}};
}

json warnings_about(const apps::App& app) {
  json warnings = json::array();
  for (const std::string& uri : app.redirect_uris)
    if (auto warning = apps::warn_of_redirect_uri(uri)) warnings.push_back(*std::move(warning));
  return warnings;
}

apps::OpenIdSettings changed_openid(const json& body, apps::OpenIdSettings before,
                                    const Services& services) {
  apps::OpenIdSettings settings = std::move(before);
  if (const auto alg = text_or_nothing(body, "id_token_signed_response_alg"))
    settings.id_token_alg = parse_enum<apps::IdTokenAlg>(*alg).value();  // the schema has the names
  if (body.contains("post_logout_redirect_uris"))
    settings.post_logout_redirect_uris =
        body.at("post_logout_redirect_uris").get<std::vector<std::string>>();
  if (body.contains("backchannel_logout_uri"))
    settings.backchannel_logout_uri = text_or_nothing(body, "backchannel_logout_uri");
  const auto& uri = settings.backchannel_logout_uri;
  const bool may_be_http = services.environment != Environment::production;
  if (uri && !may_be_http && !uri->starts_with("https://"))
    throw invalid_field("backchannel_logout_uri", "must begin with https://");
  return settings;
}

ScopeSet decode_scopes(const json& body, const char* field) {
  const auto scopes = parse_scopes(body.at(field).get<std::vector<std::string>>());
  if (!scopes) throw invalid_field(field, "must have known scopes, and at least one");
  return *scopes;
}

namespace {

Reply create_app(db::Tx& tx, const Call& call, const Services& services) {
  const json& body = call.body;
  accounts::check_name("app_name", body.at("app_name").get<std::string>(),
                       services.rules.reserved_names);
  const apps::NewApp wanted = {
      .app_name = body.at("app_name"),
      .app_description = text_or_nothing(body, "app_description").value_or(""),
      .logo_url = text_or_nothing(body, "logo_url"),
      .website_url = text_or_nothing(body, "website_url"),
      .redirect_uris = body.at("redirect_uris"),
      // An empty list counts as a missing one.
      .allowed_scopes = body.value("allowed_scopes", json::array()).empty()
                            ? ScopeSet{Scope::profile_read}
                            : decode_scopes(body, "allowed_scopes"),
      .session_tokens = body.value("session_tokens", true),
      .refresh_requires_client = body.value("refresh_requires_client", false),
      .allowed_origins = body.value("allowed_origins", std::vector<std::string>()),
      .is_public =
          text_or_nothing(body, "token_endpoint_auth_method").value_or("") == no_authentication,
      .openid = changed_openid(body, {}, services)};
  const apps::AppWithSecret created = apps::create(tx, call.user->id, wanted);
  json app = encode(tx, created.app);
  if (!created.app.is_public) app["client_secret"] = created.client_secret;
  json answer = {{"app", std::move(app)},
                 {"scope_request", request_or_null(created.scope_request)},
                 {"warnings", warnings_about(created.app)}};
  approve_own(tx, created.scope_request, *call.user, services);
  return {.status = 201, .body = std::move(answer)};
}

Reply my_apps(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("apps", apps::list_mine(tx, call.user->id, call.page()),
                              [&](const apps::Membership& own) {
                                json body = encode(tx, own.app);
                                body["role"] = to_string(own.role);
                                return body;
                              })};
}

Reply list_all_apps(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("apps", apps::list_all(tx, call.query("q"), call.page()),
                              [&](const apps::App& app) { return encode_for_admin(tx, app); })};
}

Reply get_any_app(db::Tx& tx, const Call& call, const Services&) {
  const auto app = apps::find(tx, call.id());
  if (!app) throw Error(Code::app_not_found, "there is no such app");
  json requests = json::array();
  const PageRequest newest = {.page = 1, .page_size = shown_scope_requests};
  for (const auto& request : apps::list_requests(tx, app->id, std::nullopt, newest).items)
    requests.push_back(request_or_null(request));
  const auto size = deployments::size_of_app(tx, app->id);
  json body = encode_for_admin(tx, *app);
  body.update({{"app_description", app->app_description},
               {"website_url", or_null(app->website_url)},
               {"redirect_uris", app->redirect_uris}});
  const ledger::Account account = ledger::app_account(app->id);
  return {.body = {{"app", std::move(body)},
                   {"balance", ledger::balance(tx, account)},
                   {"held", ledger::held(tx, account)},
                   {"users", apps::count_users(tx, app->id)},
                   {"deployments", size.deployments},
                   {"memory_mb", size.memory_mb},
                   {"cpu_millicores", size.cpu_millicores},
                   {"scope_requests", std::move(requests)},
                   {"movements", encode_movements(tx, account)}}};
}

Reply public_app(db::Tx& tx, const Call& call, const Services&) {
  const auto app = apps::find_by_client_id(tx, call.id("client_id"));
  if (!app) throw Error(Code::app_not_found, "there is no such app");
  return {.body = {{"name", app->app_name},
                   {"client_id", app->client_id},
                   {"description", app->app_description}}};
}

Reply rotate_secret(db::Tx& tx, const Call& call, const Services& services) {
  const apps::App app = membership_in_path(tx, call, "app_id").app;
  const apps::AppWithSecret rotated =
      apps::rotate_secret(tx, app, services.rules.oauth.secret_grace);
  json body = encode(tx, rotated.app);
  body["client_secret"] = rotated.client_secret;
  return {.body = {{"app", std::move(body)},
                   {"previous_secret_expires_at", or_null(rotated.previous_works_until)}}};
}

Reply promote_app(db::Tx& tx, const Call& call, const Services&) {
  return {.body = {{"app", encode(tx, apps::promote(tx, call.id("app_id"), call.body.at("tier"),
                                                    call.admin))}}};
}

Reply suspend_app(db::Tx& tx, const Call& call, const Services&) {
  return {.body = {{"app", encode(tx, apps::suspend(tx, call.id(), call.admin))}}};
}

Reply reactivate_app(db::Tx& tx, const Call& call, const Services&) {
  return {.body = {{"app", encode(tx, apps::reactivate(tx, call.id(), call.admin))}}};
}

constexpr Param search_query[] = {
    {.name = "q",
     .description = "Returns only apps whose name begins with this text, whose id "
                    "or client_id it is, or whose owner's username it is.",
     .example = "my"}};

constexpr Placeholder client_in_path = {"ClientId", "The app's client_id.",
                                        "client_0123456789abcdef01234567", Kind::text};

constexpr Route rows[] = {
    {.request = "POST /api/oauth/apps",
     .name = "createApp",
     .tag = "OAuth",
     .summary = "Register an OAuth app; its secret is shown once",
     .text = "Registers an app that the caller owns. Scopes that aren't automatic are requested "
             "from the administrators at once. The client_secret is shown only in this answer.",
     .guards = {person(), account_writes},
     .stores = Stores::apps,
     .body = {"CreateAppRequest"},
     .answer = {201, "CreatedApp"},
     .errors = {Code::email_not_verified, Code::app_limit_reached},
     .event = {SecurityKind::app_changed, "created"},
     .served_by = {"berth apps create", "/console/apps"},
     .run = WriteHandler{create_app}},
    {.request = "GET /api/oauth/my-apps",
     .name = "myApps",
     .tag = "OAuth",
     .summary = "List the caller's apps",
     .text = "Lists the apps that the caller owns, newest first, without their secrets.",
     .guards = {person(), account_reads},
     .paged = true,
     .answer = {200, "AppList"},
     .served_by = {"berth apps list"},
     .run = ReadHandler{my_apps}},
    {.request = "GET /api/internal/apps",
     .name = "listAllApps",
     .tag = "Internal",
     .summary = "List all apps, newest first",
     .text = "Lists the apps of all operators, newest first, with their owners, their scopes, and "
             "whether they are suspended.",
     .guards = every_admin,
     .paged = true,
     .query = search_query,
     .answer = {200, "InternalAppList"},
     .served_by = {.page = "/console/admin"},
     .run = ReadHandler{list_all_apps}},
    {.request = "GET /api/internal/apps/{id}",
     .name = "getAnyApp",
     .tag = "Internal",
     .summary = "Show an app of any operator: its owner, its points, its requests",
     .text = "Returns the app with what it has and uses, the newest 20 of its scope requests, and "
             "the newest 20 movements of its points without what people wrote about them.",
     .guards = every_admin,
     .in_path = {&internal_app_in_path},
     .answer = {200, "InternalAppDetails"},
     .errors = {Code::app_not_found},
     .served_by = {"berth admin show", "/console/admin"},
     .run = ReadHandler{get_any_app}},
    {.request = "GET /api/oauth/apps/{client_id}",
     .name = "publicApp",
     .tag = "OAuth",
     .summary = "Show an app's public profile",
     .text = "Returns the name and description of an app, as a consent page shows them.",
     .guards = {open_to_all(), account_reads},
     .in_path = {&client_in_path},
     .answer = {200, "OAuthAppPublic"},
     .errors = {Code::app_not_found},
     .served_by = {"berth login"},
     .run = ReadHandler{public_app}},
    {.request = "POST /api/oauth/my-apps/{app_id}/rotate-secret",
     .name = "rotateSecret",
     .tag = "OAuth",
     .summary = "Replace the client secret; the new one is shown once",
     .text = "Creates a new client_secret, which is shown only in this answer. The old one stops "
             "working, at once or after the configured grace.",
     .guards = {to_owners(person()), account_writes},
     .stores = Stores::apps,
     .in_path = {&my_app_in_path},
     .answer = {200, "RotatedSecret"},
     .errors = {Code::app_not_found, Code::forbidden},
     .event = {SecurityKind::client_secret_changed, "rotated"},
     .served_by = {"berth apps rotate-secret", "/console/apps"},
     .run = WriteHandler{rotate_secret}},
    {.request = "POST /api/internal/apps/{app_id}/promote",
     .name = "promoteApp",
     .tag = "Internal",
     .summary = "Promote an app to a deploy tier",
     .text = "Lets the app use a deploy tier that isn't approved automatically.",
     .guards = admins,
     .stores = Stores::administration,
     .in_path = {&app_in_path},
     .body = {"PromoteRequest"},
     .answer = {200, "AppEnvelope"},
     .errors = {Code::app_not_found, Code::tier_not_found},
     .served_by = {"berth admin promote", "/console/admin"},
     .run = WriteHandler{promote_app}},
    {.request = "POST /api/internal/apps/{id}/suspend",
     .name = "suspendApp",
     .tag = "Internal",
     .summary = "Suspend an app: it gets no tokens, its existing tokens don't work, and its "
                "campaigns aren't shown",
     .text = "Suspends the app until it is reactivated. Its deployments keep running.",
     .guards = admins_and_support,
     .stores = Stores::administration,
     .in_path = {&internal_app_in_path},
     .answer = {200, "AppEnvelope"},
     .errors = {Code::app_not_found},
     .served_by = {"berth admin suspend", "/console/admin"},
     .run = WriteHandler{suspend_app}},
    {.request = "POST /api/internal/apps/{id}/reactivate",
     .name = "reactivateApp",
     .tag = "Internal",
     .summary = "Reactivate a suspended app and its tokens",
     .text = "Ends the suspension. Tokens that haven't expired work again.",
     .guards = admins_and_support,
     .stores = Stores::administration,
     .in_path = {&internal_app_in_path},
     .answer = {200, "AppEnvelope"},
     .errors = {Code::app_not_found},
     .served_by = {"berth admin reactivate", "/console/admin"},
     .run = WriteHandler{reactivate_app}},
};

}  // namespace

std::span<const Route> apps_routes() { return rows; }

}  // namespace berth::api
