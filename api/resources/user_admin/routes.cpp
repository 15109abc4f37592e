#include "api/resources/shared.h"
#include "api/resources/user_admin/handlers.h"

namespace berth::api {
namespace {

constexpr Param search_query[] = {
    {.name = "q",
     .description = "Returns only users whose address or username begins with this "
                    "text, or whose username contains it and who aren't suspended.",
     .example = "ada"}};

constexpr Route rows[] = {
    {.request = "GET /api/internal/users",
     .name = "listUsers",
     .tag = "Internal",
     .summary = "List all accounts, newest first",
     .text = "Lists the accounts with their balances, newest first.",
     .guards = admins,
     .paged = true,
     .query = search_query,
     .answer = {200, "InternalUserList"},
     .served_by = {"berth admin users list", "/console/admin"},
     .run = ReadHandler{list_users}},
    {.request = "POST /api/internal/users/{id}/promote",
     .name = "promoteUser",
     .tag = "Internal",
     .summary = "Change an account's tier, or whether it belongs to an admin",
     .text = "Changes the fields that are sent: the tier, or the right to use the admin pages.",
     .guards = admins,
     .stores = Stores::administration,
     .in_path = {&account_in_path},
     .body = {"PromoteUserRequest"},
     .answer = {200, "InternalUserEnvelope"},
     .errors = {Code::user_not_found, Code::tier_not_found},
     .served_by = {"berth admin users promote", "/console/admin"},
     .run = WriteHandler{promote_user}},
    {.request = "POST /api/internal/users/{id}/suspend",
     .name = "suspendUser",
     .tag = "Internal",
     .summary = "Suspend an account: its sessions and tokens end, and the campaigns of its apps "
                "aren't shown",
     .text = "Suspends the account until it is reactivated, and ends all of its sessions and "
             "tokens. A mail tells the user. Deployments of its apps keep running.",
     .guards = admins,
     .stores = Stores::administration,
     .in_path = {&account_in_path},
     .answer = {200, "InternalUserEnvelope"},
     .errors = {Code::user_not_found},
     .served_by = {"berth admin suspend", "/console/admin"},
     .run = WriteHandler{suspend_user}},
    {.request = "POST /api/internal/users/{id}/reactivate",
     .name = "reactivateUser",
     .tag = "Internal",
     .summary = "Reactivate a suspended account",
     .text = "Ends the suspension. What the suspension has ended doesn't come back: the user logs "
             "in again.",
     .guards = admins,
     .stores = Stores::administration,
     .in_path = {&account_in_path},
     .answer = {200, "InternalUserEnvelope"},
     .errors = {Code::user_not_found},
     .served_by = {"berth admin reactivate", "/console/admin"},
     .run = WriteHandler{reactivate_user}},
    {.request = "DELETE /api/internal/users/{id}/sessions",
     .name = "endUserSessions",
     .tag = "Internal",
     .summary = "End all sessions of an account, and all tokens that act for it",
     .text = "Ends all sessions of the account, the tokens of berth's own client and of apps that "
             "act for the user, and mailed links for a new password. The password, the second "
             "factor and consents to apps stay. A mail tells the user what has ended.",
     .guards = admins,
     .stores = Stores::administration,
     .in_path = {&account_in_path},
     .answer = {200, "EndedWays"},
     .errors = {Code::user_not_found},
     .served_by = {"berth admin users end-sessions", "/console/admin"},
     .run = WriteHandler{end_user_sessions}},
    {.request = "POST /api/internal/session-keys/rotate",
     .name = "rotateSessionKey",
     .tag = "Internal",
     .summary = "Sign session JWTs with a new key from now on; sessions stay valid",
     .text = "Creates a key for new session JWTs. Old keys stay until the sessions that they "
             "signed have ended.",
     .guards = admins,
     .stores = Stores::administration,
     .answer = {200, "SessionKey"},
     .served_by = {"berth admin rotate-session-key", "/console/admin"},
     .run = FreeHandler{rotate_session_key}},
};

}  // namespace

std::span<const Route> user_admin_routes() { return rows; }

}  // namespace berth::api
