// Operators' apps: what their owners change, and what everybody may see.
#include "api/resources/operators/handlers.h"

#include "api/resources/apps/encode.h"
#include "controller/domain/accounts/accounts.h"

namespace berth::api {
namespace {

// The specification's OperatorAppUpdate; its OperatorApp has total_users in addition.
json encode_operator_app(db::Tx& tx, const apps::App& app) {
  json body = encode(tx, app);
  body["listed"] = app.listed;
  body["updated_at"] = to_iso8601(app.updated_at);
  return body;
}

json encode_with_users(db::Tx& tx, const apps::App& app) {
  json body = encode_operator_app(tx, app);
  body["total_users"] = apps::count_users(tx, app.id);
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
apps::Profile changed_profile(db::Tx& tx, const apps::App& app, const json& body) {
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
      .is_public = app.is_public};
  if (body.contains("app_description"))
    profile.app_description = text_or_nothing(body, "app_description").value_or("");
  if (body.contains("logo_url")) profile.logo_url = text_or_nothing(body, "logo_url");
  if (body.contains("website_url")) profile.website_url = text_or_nothing(body, "website_url");
  if (body.contains("allowed_scopes"))
    profile.allowed_scopes = decode_scopes(body, "allowed_scopes");
  return profile;
}

}  // namespace

Reply list_operator_apps(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("apps", apps::list_owned(tx, call.user->id, call.page()),
                              [&](const apps::App& app) { return encode_with_users(tx, app); })};
}

Reply get_operator_app(db::Tx& tx, const Call& call, const Services&) {
  return {.body = {{"app", encode_with_users(tx, apps::get_owned(tx, call.user->id, call.id()))}}};
}

Reply update_operator_app(db::Tx& tx, const Call& call, const Services& services) {
  const apps::App app = apps::get_owned(tx, call.user->id, call.id());
  if (const std::string name = call.body.value("app_name", app.app_name); name != app.app_name)
    accounts::check_name("app_name", name, services.reserved_names);
  const bool listed = call.body.value("listed", app.listed);
  const apps::UpdatedApp updated =
      apps::update(tx, app, changed_profile(tx, app, call.body),
                   listed ? apps::Listing::listed : apps::Listing::unlisted);
  return {.body = {{"app", encode_operator_app(tx, updated.app)},
                   {"scope_request", request_or_null(updated.scope_request)},
                   {"warnings", warnings_about(updated.app)}}};
}

Reply delete_operator_app(db::Tx& tx, const Call& call, const Services&) {
  const apps::App app = apps::get_owned(tx, call.user->id, call.id());
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

}  // namespace berth::api
