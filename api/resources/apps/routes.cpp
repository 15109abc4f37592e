#include "api/resources/apps/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

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
     .guards = admins,
     .paged = true,
     .query = search_query,
     .answer = {200, "InternalAppList"},
     .served_by = {.page = "/console/admin"},
     .run = ReadHandler{list_all_apps}},
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
     .guards = {person(), account_writes},
     .stores = Stores::apps,
     .in_path = {&app_in_path},
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
     .guards = admins,
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
     .guards = admins,
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
