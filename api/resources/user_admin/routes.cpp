#include "api/resources/routes.h"

#include "api/resources/user_admin/handlers.h"

namespace berth::api {
namespace {

std::vector<Param> paged_with_search() {
  return with(paged,
              {.name = "q",
               .type = "string",
               .description = "Returns only users whose address or username begins with this "
                              "text, or whose username contains it and who aren't suspended.",
               .example = "ada"});
}

}  // namespace

std::vector<Route> user_admin_routes() {
  return {
      {.method = "GET",
       .path = "/api/internal/users",
       .name = "listUsers",
       .tag = "Internal",
       .summary = "List all accounts, newest first",
       .access = internal(),
       .rate = internal_calls,
       .shape = Shape::nested_but_access,
       .query = paged_with_search(),
       .answer = {200, "InternalUserList"},
       .run = ReadHandler{list_users}},
      {.method = "POST",
       .path = "/api/internal/users/{id}/promote",
       .name = "promoteUser",
       .tag = "Internal",
       .summary = "Change an account's tier, or whether it belongs to an admin",
       .access = internal(),
       .rate = internal_calls,
       .stores = Stores::administration,
       .shape = Shape::nested_but_access,
       .body_kind = Body::only_json,
       .body = "PromoteUserRequest",
       .answer = {200, "InternalUserEnvelope"},
       .errors = {Code::user_not_found, Code::tier_not_found},
       .run = WriteHandler{promote_user}},
      {.method = "POST",
       .path = "/api/internal/users/{id}/suspend",
       .name = "suspendUser",
       .tag = "Internal",
       .summary = "Suspend an account: its sessions and tokens end, and the campaigns of its apps "
                  "aren't shown",
       .access = internal(),
       .rate = internal_calls,
       .stores = Stores::administration,
       .shape = Shape::nested_but_access,
       .answer = {200, "InternalUserEnvelope"},
       .errors = {Code::user_not_found},
       .run = WriteHandler{suspend_user}},
      {.method = "POST",
       .path = "/api/internal/users/{id}/reactivate",
       .name = "reactivateUser",
       .tag = "Internal",
       .summary = "Reactivate a suspended account",
       .access = internal(),
       .rate = internal_calls,
       .stores = Stores::administration,
       .shape = Shape::nested_but_access,
       .answer = {200, "InternalUserEnvelope"},
       .errors = {Code::user_not_found},
       .run = WriteHandler{reactivate_user}},
      {.method = "DELETE",
       .path = "/api/internal/users/{id}/sessions",
       .name = "endUserSessions",
       .tag = "Internal",
       .summary = "End all sessions of an account, and all tokens that act for it",
       .access = internal(),
       .rate = internal_calls,
       .stores = Stores::administration,
       .shape = Shape::nested_but_access,
       .answer = {200, "EndedWays"},
       .errors = {Code::user_not_found},
       .run = WriteHandler{end_user_sessions}},
      {.method = "POST",
       .path = "/api/internal/session-keys/rotate",
       .name = "rotateSessionKey",
       .tag = "Internal",
       .summary = "Sign session JWTs with a new key from now on; sessions stay valid",
       .access = internal(),
       .rate = internal_calls,
       .stores = Stores::administration,
       .shape = Shape::nested_but_access,
       .answer = {200, "SessionKey"},
       .run = FreeHandler{rotate_session_key}},
  };
}

}  // namespace berth::api
