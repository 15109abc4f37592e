#include "api/resources/routes.h"

#include "api/resources/scope_requests/handlers.h"

namespace berth::api {
namespace {

std::vector<Param> paged_by_status() {
  return with(
      paged,
      {.name = "status",
       .type = "string",
       .description =
           "Returns only requests with this status: pending, approved, rejected or withdrawn.",
       .example = "pending"});
}

}  // namespace

std::vector<Route> scope_requests_routes() {
  return {
      {.method = "POST",
       .path = "/api/oauth/my-apps/{app_id}/scope-request",
       .name = "requestScopes",
       .tag = "OAuth",
       .summary = "Ask the admins to approve scopes; replaces the app's pending request",
       .access = person(),
       .rate = account_writes,
       .body_kind = Body::only_json,
       .body = "ScopeRequestBody",
       .answer = {201, "ScopeRequest"},
       .errors = {Code::app_not_found, Code::forbidden},
       .idempotency = Idempotency::kept,
       .run = WriteHandler{request_scopes}},
      {.method = "GET",
       .path = "/api/oauth/my-apps/{app_id}/scope-requests",
       .name = "listScopeRequests",
       .tag = "OAuth",
       .summary = "List the app's scope requests",
       .access = person(),
       .rate = account_reads,
       .query = paged_by_status(),
       .answer = {200, "ScopeRequestList"},
       .errors = {Code::app_not_found, Code::forbidden},
       .run = ReadHandler{list_scope_requests}},
      {.method = "DELETE",
       .path = "/api/oauth/my-apps/{app_id}/scope-requests/{id}",
       .name = "withdrawScopeRequest",
       .tag = "OAuth",
       .summary = "Withdraw a pending scope request",
       .access = person(),
       .rate = account_writes,
       .answer = {200, "ScopeRequest"},
       .errors = {Code::app_not_found, Code::forbidden, Code::scope_request_not_found,
                  Code::invalid_state},
       .run = WriteHandler{withdraw_scope_request}},
      {.method = "GET",
       .path = "/api/internal/scope-requests",
       .name = "internalListScopeRequests",
       .tag = "Internal",
       .summary = "List the scope requests of all apps",
       .access = internal(),
       .rate = internal_calls,
       .shape = Shape::nested_but_access,
       .query = paged_by_status(),
       .answer = {200, "ScopeRequestList"},
       .run = ReadHandler{internal_scope_requests}},
      {.method = "POST",
       .path = "/api/internal/scope-requests/{id}/approve",
       .name = "approveScopeRequest",
       .tag = "Internal",
       .summary = "Approve a scope request",
       .access = internal(),
       .rate = internal_calls,
       .shape = Shape::nested_but_access,
       .answer = {200, "ScopeRequest"},
       .errors = {Code::scope_request_not_found, Code::invalid_state},
       .run = WriteHandler{approve_scope_request}},
      {.method = "POST",
       .path = "/api/internal/scope-requests/{id}/reject",
       .name = "rejectScopeRequest",
       .tag = "Internal",
       .summary = "Reject a scope request",
       .access = internal(),
       .rate = internal_calls,
       .shape = Shape::nested_but_access,
       .body_kind = Body::only_json,
       .body = "RejectRequest",
       .answer = {200, "ScopeRequest"},
       .errors = {Code::scope_request_not_found, Code::invalid_state},
       .run = WriteHandler{reject_scope_request}},
      {.method = "POST",
       .path = "/api/internal/apps/{id}/scopes/revoke",
       .name = "revokeScopes",
       .tag = "Internal",
       .summary = "Take approved scopes away; tokens lose them at once",
       .access = internal(),
       .rate = internal_calls,
       .shape = Shape::nested_but_access,
       .body_kind = Body::only_json,
       .body = "ScopeList",
       .answer = {200, "AppEnvelope"},
       .errors = {Code::app_not_found},
       .run = WriteHandler{revoke_scopes}},
  };
}

}  // namespace berth::api
