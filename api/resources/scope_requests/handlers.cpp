// Requests for scopes, and the decisions of administrators about them.
#include "api/resources/scope_requests/handlers.h"

#include "api/gate/decode.h"
#include "api/resources/apps/encode.h"
#include "controller/domain/accounts/accounts.h"
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

std::optional<apps::RequestStatus> status_filter(const Call& call) {
  return enum_query<apps::RequestStatus>(call, "status");
}

}  // namespace

json request_or_null(const std::optional<apps::ScopeRequest>& request) {
  return request ? encode_request(*request) : json(nullptr);
}

Reply request_scopes(db::Tx& tx, const Call& call, const Services&) {
  const apps::App app = apps::get_owned(tx, call.user->id, call.id("app_id"));
  const apps::ScopeRequest made =
      apps::request_scopes(tx, app, decode_scopes(call.body, "requested_scopes"));
  json body = encode_request(made);
  if (made.replaces) body["replaces"] = *made.replaces;
  return {.status = 201, .body = std::move(body)};
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
  return {.body = {{"app", encode(tx, apps::revoke_scopes(tx, call.id(),
                                                          decode_scopes(call.body, "scopes"),
                                                          call.admin))}}};
}

}  // namespace berth::api
