// Handlers of scope requests: owners request scopes for an app, and administrators approve, reject
// and withdraw them.
#include "api/gate/decode.h"
#include "api/resources/accounts/own_machine.h"
#include "api/resources/apps.h"
#include "api/resources/shared.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/apps/app_mail.h"
#include "controller/domain/apps/apps.h"
#include "controller/domain/deployments/tiers.h"

namespace berth::api {
namespace {

json encode_request(const apps::ScopeRequest& request) {
  return {{"id", request.id},
          {"app_id", request.app_id},
          {"status", request.status},
          {"requested_scopes", request.requested.names()},
          {"tier", or_null(request.tier)},
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

namespace {

void check_needs_promotion(db::Tx& tx, const std::string& slug) {
  const auto tier = tiers::find_by_slug(tx, slug);
  if (!tier) throw Error(Code::unknown_tier, "there is no tier " + slug);
  if (tier->auto_approve)
    throw invalid_field("tier", "needs no approval; deployments can use it at once");
}

Reply request_scopes(db::Tx& tx, const Call& call, const Services& services) {
  const apps::App app = membership_in_path(tx, call, "app_id").app;
  const auto tier = text_or_nothing(call.body, "tier");
  if (tier) check_needs_promotion(tx, *tier);
  const bool has_scopes = !call.body.value("requested_scopes", json::array()).empty();
  if (!has_scopes && !tier)
    throw invalid_field("requested_scopes", "must name a scope, unless a tier is asked for");
  const ScopeSet scopes = has_scopes ? decode_scopes(call.body, "requested_scopes") : ScopeSet();
  const apps::ScopeRequest made = apps::request_scopes(tx, app, scopes, tier);
  json body = encode_request(made);
  if (made.replaces) body["replaces"] = *made.replaces;
  approve_own(tx, made, *call.user, services);
  return {.status = 201, .body = std::move(body)};
}

Reply list_scope_requests(db::Tx& tx, const Call& call, const Services&) {
  const apps::App app = membership_in_path(tx, call, "app_id").app;
  return {.body = encode_page("scope_requests",
                              apps::list_requests(tx, app.id, status_filter(call), call.page()),
                              encode_request)};
}

Reply withdraw_scope_request(db::Tx& tx, const Call& call, const Services&) {
  const apps::App app = membership_in_path(tx, call, "app_id").app;
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
  const auto request = apps::grant(tx, call.id(), call.admin);
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

constexpr Param status_query[] = {
    {.name = "status",
     .description =
         "Returns only requests with this status: pending, approved, rejected or withdrawn.",
     .example = "pending"}};

constexpr Placeholder scope_request_in_path = {"ScopeRequestId", "The id of the request.",
                                               "01936f5e-7c1a-7000-8000-000000000003"};

constexpr Route rows[] = {
    {.request = "POST /api/oauth/my-apps/{app_id}/scope-request",
     .name = "requestScopes",
     .tag = "OAuth",
     .summary =
         "Ask the admins to approve scopes or a deploy tier, beside those of the app's pending "
         "request",
     .text = "Files a request for scopes. If one is pending, the new one asks for its scopes, too, "
             "and takes its place (`replaces`). Scopes that are automatic or approved already need "
             "no decision. With `tier` it also asks that the app may use a deploy tier that isn't "
             "approved automatically. Webhooks are told of the decision.",
     .guards = {to_app_admins(person()), account_writes},
     .stores = Stores::apps,
     .in_path = {&my_app_in_path},
     .body = {"ScopeRequestBody"},
     .answer = {201, "ScopeRequest"},
     .errors = {Code::app_not_found, Code::forbidden, Code::unknown_tier},
     .idempotency = Idempotency::kept,
     .event = {SecurityKind::app_changed, "scopes_requested"},
     .served_by = {"berth scopes request", "/console/apps"},
     .run = WriteHandler{request_scopes}},
    {.request = "GET /api/oauth/my-apps/{app_id}/scope-requests",
     .name = "listScopeRequests",
     .tag = "OAuth",
     .summary = "List the app's scope requests",
     .text = "Lists the requests of one of the caller's apps, newest first.",
     .guards = {to_viewers(person()), account_reads},
     .in_path = {&my_app_in_path},
     .paged = true,
     .query = status_query,
     .answer = {200, "ScopeRequestList"},
     .errors = {Code::app_not_found, Code::forbidden},
     .served_by = {"berth scopes list", "/console/apps"},
     .run = ReadHandler{list_scope_requests}},
    {.request = "DELETE /api/oauth/my-apps/{app_id}/scope-requests/{id}",
     .name = "withdrawScopeRequest",
     .tag = "OAuth",
     .summary = "Withdraw a pending scope request",
     .text = "Withdraws the request before it is decided.",
     .guards = {to_app_admins(person()), account_writes},
     .stores = Stores::nothing,
     .in_path = {&my_app_in_path, &scope_request_in_path},
     .answer = {200, "ScopeRequest"},
     .errors = {Code::app_not_found, Code::forbidden, Code::scope_request_not_found,
                Code::invalid_state},
     .event = {SecurityKind::app_changed, "scopes_withdrawn"},
     .served_by = {"berth scopes withdraw", "/console/apps"},
     .run = WriteHandler{withdraw_scope_request}},
    {.request = "GET /api/internal/scope-requests",
     .name = "internalListScopeRequests",
     .tag = "Internal",
     .summary = "List the scope requests of all apps",
     .text = "Lists the requests of all apps, newest first, with the app and its owner.",
     .guards = every_admin,
     .paged = true,
     .query = status_query,
     .answer = {200, "ScopeRequestList"},
     .served_by = {"berth admin requests", "/console/admin"},
     .run = ReadHandler{internal_scope_requests}},
    {.request = "POST /api/internal/scope-requests/{id}/approve",
     .name = "approveScopeRequest",
     .tag = "Internal",
     .summary = "Approve a scope request",
     .text = "Gives the app the requested scopes, and the use of the requested tier, from now on. "
             "Its owner is told by webhook.",
     .guards = admins,
     .stores = Stores::administration,
     .in_path = {&scope_request_in_path},
     .answer = {200, "ScopeRequest"},
     .errors = {Code::scope_request_not_found, Code::invalid_state, Code::tier_not_found},
     .served_by = {"berth admin approve", "/console/admin"},
     .run = WriteHandler{approve_scope_request}},
    {.request = "POST /api/internal/scope-requests/{id}/reject",
     .name = "rejectScopeRequest",
     .tag = "Internal",
     .summary = "Reject a scope request",
     .text = "Refuses the request. The owner is told the reason, also by webhook.",
     .guards = admins,
     .stores = Stores::administration,
     .in_path = {&scope_request_in_path},
     .body = {"RejectRequest"},
     .answer = {200, "ScopeRequest"},
     .errors = {Code::scope_request_not_found, Code::invalid_state},
     .served_by = {"berth admin reject", "/console/admin"},
     .run = WriteHandler{reject_scope_request}},
    {.request = "POST /api/internal/apps/{id}/scopes/revoke",
     .name = "revokeScopes",
     .tag = "Internal",
     .summary = "Take approved scopes away; tokens lose them at once",
     .text = "Takes the scopes away from the app and from its existing tokens.",
     .guards = admins,
     .stores = Stores::administration,
     .in_path = {&internal_app_in_path},
     .body = {"ScopeList"},
     .answer = {200, "AppEnvelope"},
     .errors = {Code::app_not_found},
     .served_by = {"berth admin revoke", "/console/admin"},
     .run = WriteHandler{revoke_scopes}},
};

}  // namespace

std::span<const Route> scope_requests_routes() { return rows; }

}  // namespace berth::api
