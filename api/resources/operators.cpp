// Handlers with which owners manage their apps, and of the public list of operators.
#include "api/resources/accounts/own_machine.h"
#include "api/resources/apps.h"
#include "api/resources/shared.h"
#include "controller/domain/accounts/accounts.h"

namespace berth::api {
namespace {

// The specification's OperatorAppUpdate; its OperatorApp has total_users in addition.
json encode_operator_app(db::Tx& tx, const apps::App& app) {
  json body = encode(tx, app);
  body["listed"] = app.listed;
  body["promoted_tier"] = or_null(app.promoted_tier);
  body["updated_at"] = to_iso8601(app.updated_at);
  return body;
}

json encode_with_users(db::Tx& tx, const apps::Membership& own) {
  json body = encode_operator_app(tx, own.app);
  body["total_users"] = apps::count_users(tx, own.app.id);
  body["role"] = to_string(own.role);
  return body;
}

json encode_public(const apps::App& app) {
  return {{"id", app.id},
          {"app_name", app.app_name},
          {"app_description", app.app_description},
          {"logo_url", or_null(app.logo_url)},
          {"website_url", or_null(app.website_url)},
          {"inserted_at", to_iso8601(app.inserted_at)}};
}

// The app's profile after the change; fields that the body doesn't have stay as they are.
apps::Profile changed_profile(db::Tx& tx, const apps::App& app, const json& body,
                              const Services& services) {
  apps::Profile profile = {
      .app_name = body.value("app_name", app.app_name),
      .app_description = app.app_description,
      .logo_url = app.logo_url,
      .website_url = app.website_url,
      .redirect_uris = body.value("redirect_uris", app.redirect_uris),
      .allowed_scopes = app.allowed_scopes,
      .session_tokens = body.value("session_tokens", app.session_tokens),
      .refresh_requires_client = body.value("refresh_requires_client", app.refresh_requires_client),
      .allowed_origins = body.value("allowed_origins", apps::allowed_origins(tx, app.id)),
      .is_public = app.is_public,
      .openid = changed_openid(body, apps::openid_settings(tx, app.id), services)};
  if (body.contains("app_description"))
    profile.app_description = text_or_nothing(body, "app_description").value_or("");
  if (body.contains("logo_url")) profile.logo_url = text_or_nothing(body, "logo_url");
  if (body.contains("website_url")) profile.website_url = text_or_nothing(body, "website_url");
  if (body.contains("allowed_scopes"))
    profile.allowed_scopes = decode_scopes(body, "allowed_scopes");
  return profile;
}

Reply list_operator_apps(db::Tx& tx, const Call& call, const Services&) {
  return {.body =
              encode_page("apps", apps::list_mine(tx, call.user->id, call.page()),
                          [&](const apps::Membership& own) { return encode_with_users(tx, own); })};
}

Reply get_operator_app(db::Tx& tx, const Call& call, const Services&) {
  return {.body = {{"app", encode_with_users(tx, membership_in_path(tx, call, "id"))}}};
}

Reply update_operator_app(db::Tx& tx, const Call& call, const Services& services) {
  const apps::App app = membership_in_path(tx, call, "id").app;
  if (const std::string name = call.body.value("app_name", app.app_name); name != app.app_name)
    accounts::check_name("app_name", name, services.rules.reserved_names);
  const bool listed = call.body.value("listed", app.listed);
  const apps::UpdatedApp updated =
      apps::update(tx, app, changed_profile(tx, app, call.body, services),
                   listed ? apps::Listing::listed : apps::Listing::unlisted);
  json body = {{"app", encode_operator_app(tx, updated.app)},
               {"scope_request", request_or_null(updated.scope_request)},
               {"warnings", warnings_about(updated.app)}};
  approve_own(tx, updated.scope_request, *call.user, services);
  return {.body = std::move(body)};
}

Reply delete_operator_app(db::Tx& tx, const Call& call, const Services&) {
  const apps::App app = membership_in_path(tx, call, "id").app;
  apps::remove(tx, app);
  return {.body = {{"message", "the app was deleted"}, {"id", app.id}}};
}

Reply list_operators(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("data", apps::list_public(tx, call.page()), encode_public)};
}

Reply get_operator(db::Tx& tx, const Call& call, const Services&) {
  const auto app = apps::find(tx, call.id());
  if (!app || !app->listed || app->suspended)
    throw Error(Code::app_not_found, "there is no such operator");
  return {.body = {{"operator", encode_public(*app)}}};
}

constexpr Errors owned = {Code::app_not_found, Code::forbidden};

constexpr Placeholder operator_in_path = {"OperatorId", "The id of the app.",
                                          "01936f5e-7c1a-7000-8000-000000000002"};

constexpr Route rows[] = {
    {.request = "GET /api/operators",
     .name = "listOperators",
     .tag = "Operators",
     .summary = "List the apps that are listed publicly",
     .text = "Lists the apps whose owners have set listed, newest first.",
     .guards = {open_to_all(), account_reads},
     .paged = true,
     .answer = {200, "PublicOperatorList"},
     .served_by = {.neither = shown_by_sites},
     .run = ReadHandler{list_operators}},
    {.request = "GET /api/operators/{id}",
     .name = "getOperator",
     .tag = "Operators",
     .summary = "Show an app that is listed publicly",
     .text = "Returns one listed app.",
     .guards = {open_to_all(), account_reads},
     .in_path = {&operator_in_path},
     .answer = {200, "PublicOperatorEnvelope"},
     .errors = {Code::app_not_found},
     .served_by = {.neither = shown_by_sites},
     .run = ReadHandler{get_operator}},
    {.request = "GET /api/operator/apps",
     .name = "listOperatorApps",
     .tag = "Operators",
     .summary = "List the caller's apps with their approval and suspension",
     .text = "Lists the apps that the caller owns or is a member of, newest first, with their "
             "number of "
             "users and the caller's role.",
     .guards = {person(), account_reads},
     .paged = true,
     .answer = {200, "OperatorAppList"},
     .served_by = {.page = "/console/apps"},
     .run = ReadHandler{list_operator_apps}},
    {.request = "GET /api/operator/apps/{id}",
     .name = "getOperatorApp",
     .tag = "Operators",
     .summary = "Show one of the caller's apps",
     .text = "Returns one of the caller's apps with its settings and its number of users.",
     .guards = {keeping_to_deployments(to_viewers(person())), account_reads},
     .in_path = {&own_app_in_path},
     .answer = {200, "OperatorAppEnvelope"},
     .errors = owned,
     .served_by = {.neither = "`berth apps` shows the same with another operation."},
     .run = ReadHandler{get_operator_app}},
    {.request = "PUT /api/operator/apps/{id}",
     .name = "updateOperatorApp",
     .tag = "Operators",
     .summary = "Change one of the caller's apps",
     .text = "Changes the fields that are sent. New scopes that aren't automatic are requested "
             "from the administrators; removed ones lose their approval at once.",
     .guards = {to_app_admins(person()), account_writes},
     .stores = Stores::apps,
     .in_path = {&own_app_in_path},
     .body = {"OperatorAppChanges"},
     .answer = {200, "OperatorAppUpdateEnvelope"},
     .errors = owned,
     .event = {SecurityKind::app_changed, "changed"},
     .served_by = {.page = "/console/apps"},
     .run = WriteHandler{update_operator_app}},
    {.request = "DELETE /api/operator/apps/{id}",
     .name = "deleteOperatorApp",
     .tag = "Operators",
     .summary = "Delete one of the caller's apps for good; its points go to the treasury",
     .text = "Deletes the app with its tokens, consents and webhooks. Its points go to the "
             "treasury. It is refused while the app has deployments or campaigns.",
     .guards = {to_owners(person()), account_writes},
     .stores = Stores::nothing,
     .in_path = {&own_app_in_path},
     .answer = {200, "DeletedApp"},
     .errors = {Code::app_not_found, Code::forbidden, Code::invalid_state},
     .event = {SecurityKind::app_changed, "deleted"},
     .served_by = {"berth apps delete", "/console/apps"},
     .run = WriteHandler{delete_operator_app}},
};

}  // namespace

std::span<const Route> operators_routes() { return rows; }

}  // namespace berth::api
