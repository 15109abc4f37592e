// OAuth apps, and the approval of their scopes by administrators.
#include "api/resources/handlers.h"

#include "api/resources/apps/encode.h"
#include "controller/domain/apps/app_mail.h"
#include "controller/domain/apps/apps.h"

namespace berth::api {
namespace {

json encode_request(const apps::ScopeRequest& request) {
  return {{"id", request.id},
          {"app_id", request.app_id},
          {"status", request.status},
          {"requested_scopes", request.requested.names()},
          {"reason", or_null(request.reason)},
          {"inserted_at", to_iso8601(request.inserted_at)},
          {"decided_at", or_null(request.decided_at)}};
}

// For admins, who have to know whom they give something to.
json encode_request_for_admin(db::Tx& tx, const apps::ScopeRequest& request) {
  json encoded = encode_request(request);
  const auto app = apps::find(tx, request.app_id);
  const auto owner = app ? accounts::find(tx, app->owner_id) : std::nullopt;
  encoded["app_name"] = app ? json(app->app_name) : json();
  encoded["owner"] = owner ? json(owner->username) : json();
  return encoded;
}

std::optional<std::string> status_filter(const Call& call) {
  const auto status = call.query("status");
  if (status && *status != "pending" && *status != "approved" && *status != "rejected" &&
      *status != "withdrawn")
    throw invalid_field("status", "must be pending, approved, rejected or withdrawn");
  return status;
}

}  // namespace

json encode(const apps::App& app) {
  return {{"id", app.id},
          {"app_name", app.app_name},
          {"app_description", app.app_description},
          {"client_id", app.client_id},
          {"redirect_uris", app.redirect_uris},
          {"allowed_scopes", app.allowed_scopes.names()},
          {"approved_scopes", app.approved_scopes.names()},
          {"is_approved", app.is_approved()},
          {"logo_url", or_null(app.logo_url)},
          {"website_url", or_null(app.website_url)},
          {"session_tokens", app.session_tokens},
          {"refresh_requires_client", app.refresh_requires_client},
          {"inserted_at", to_iso8601(app.inserted_at)}};
}

ScopeSet decode_scopes(const json& body, const char* field) {
  const auto scopes = parse_scopes(body.at(field).get<std::vector<std::string>>());
  if (!scopes) throw invalid_field(field, "must have known scopes, and at least one");
  return *scopes;
}

Reply create_app(db::Tx& tx, const Call& call, const Services&) {
  const json& body = call.body;
  const apps::NewApp wanted = {
      .app_name = body.at("app_name"),
      .app_description = text_or_nothing(body, "app_description").value_or(""),
      .logo_url = text_or_nothing(body, "logo_url"),
      .website_url = text_or_nothing(body, "website_url"),
      .redirect_uris = body.at("redirect_uris"),
      .allowed_scopes = body.contains("allowed_scopes") ? decode_scopes(body, "allowed_scopes")
                                                        : ScopeSet{Scope::profile_read},
      .session_tokens = body.value("session_tokens", true),
      .refresh_requires_client = body.value("refresh_requires_client", false)};
  const apps::AppWithSecret created = apps::create(tx, call.user->id, wanted);
  json app = encode(created.app);
  app["client_secret"] = created.client_secret;
  return {
      .status = 201, .body = {{"app", std::move(app)}}, .headers = {{"Cache-Control", "no-store"}}};
}

Reply my_apps(db::Tx& tx, const Call& call, const Services&) {
  return {.body = encode_page("apps", apps::list_owned(tx, call.user->id, call.page()), encode)};
}

Reply public_app(db::Tx& tx, const Call& call, const Services&) {
  const auto app = apps::find_by_client_id(tx, call.id("client_id"));
  if (!app) throw Error(Code::app_not_found, "there is no such app");
  return {.body = {{"name", app->app_name},
                   {"client_id", app->client_id},
                   {"description", app->app_description}}};
}

Reply request_scopes(db::Tx& tx, const Call& call, const Services&) {
  const apps::App app = apps::get_owned(tx, call.user->id, call.id("app_id"));
  return {.status = 201,
          .body = encode_request(
              apps::request_scopes(tx, app, decode_scopes(call.body, "requested_scopes")))};
}

Reply list_scope_requests(db::Tx& tx, const Call& call, const Services&) {
  const apps::App app = apps::get_owned(tx, call.user->id, call.id("app_id"));
  return {.body = encode_page("scope_requests",
                              apps::list_requests(tx, app.id, status_filter(call), call.page()),
                              encode_request)};
}

Reply withdraw_scope_request(db::Tx& tx, const Call& call, const Services&) {
  const apps::App app = apps::get_owned(tx, call.user->id, call.id("app_id"));
  return {.body = encode_request(apps::withdraw(tx, app, call.id()))};
}

Reply internal_scope_requests(db::Tx& tx, const Call& call, const Services&) {
  return {.body =
              encode_page("scope_requests",
                          apps::list_requests(tx, std::nullopt, status_filter(call), call.page()),
                          [&](const apps::ScopeRequest& request) {
                            return encode_request_for_admin(tx, request);
                          })};
}

Reply approve_scope_request(db::Tx& tx, const Call& call, const Services& services) {
  const auto request = apps::approve(tx, call.id(), call.admin);
  apps::tell_decision(tx, request, services.keys.data);
  return {.body = encode_request(request)};
}

Reply reject_scope_request(db::Tx& tx, const Call& call, const Services& services) {
  const auto request = apps::reject(tx, call.id(), call.body.at("reason"), call.admin);
  apps::tell_decision(tx, request, services.keys.data);
  return {.body = encode_request(request)};
}

Reply revoke_scopes(db::Tx& tx, const Call& call, const Services&) {
  return {.body = {{"app", encode(apps::revoke_scopes(
                               tx, call.id(), decode_scopes(call.body, "scopes"), call.admin))}}};
}

Reply promote_app(db::Tx& tx, const Call& call, const Services&) {
  return {.body = {{"app", encode(apps::promote(tx, call.id("app_id"), call.body.at("tier"),
                                                call.admin))}}};
}

Reply suspend_app(db::Tx& tx, const Call& call, const Services&) {
  return {.body = {{"app", encode(apps::suspend(tx, call.id(), call.admin))}}};
}

Reply reactivate_app(db::Tx& tx, const Call& call, const Services&) {
  return {.body = {{"app", encode(apps::reactivate(tx, call.id(), call.admin))}}};
}

}  // namespace berth::api
