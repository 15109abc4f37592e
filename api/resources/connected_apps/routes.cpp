#include "api/resources/connected_apps/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

constexpr Route rows[] = {
    {.request = "GET /api/oauth/connected-apps",
     .name = "listConnectedApps",
     .tag = "OAuth",
     .summary = "List the apps that the caller has connected",
     .text =
         "Lists the apps that the caller has consented to, with their scopes, limits and last use.",
     .guards = {person(), account_reads},
     .paged = true,
     .answer = {200, "ConnectedAppList"},
     .served_by = {"berth account apps", "/console/account"},
     .run = ReadHandler{list_connected_apps}},
    {.request = "GET /api/oauth/connected-apps/{app_id}",
     .name = "getConnectedApp",
     .tag = "OAuth",
     .summary = "Show an app that the caller has connected",
     .text = "Returns one connected app with its scopes, limits and last use.",
     .guards = {person(), account_reads},
     .in_path = {&app_in_path},
     .answer = {200, "ConnectedAppEnvelope"},
     .errors = {Code::app_not_found},
     .served_by = {.page = "/connected-apps"},
     .run = ReadHandler{get_connected_app}},
    {.request = "PATCH /api/oauth/connected-apps/{app_id}",
     .name = "limitConnectedApp",
     .tag = "OAuth",
     .summary = "Set what an app may spend in a day, and whether it may act as the caller",
     .text = "Limits what the app may spend of the caller's points in a UTC day, or what it may do "
             "with its session tokens. It applies at once.",
     .guards = {session(), account_writes},
     .stores = Stores::account,
     .in_path = {&app_in_path},
     .body = {"ConnectedAppChanges"},
     .answer = {200, "ConnectedAppEnvelope"},
     .errors = {Code::app_not_found},
     .event = {SecurityKind::consent_changed, "limited"},
     .served_by = {"berth account limit", "/console/account"},
     .run = WriteHandler{limit_connected_app}},
    {.request = "DELETE /api/oauth/connected-apps/{app_id}",
     .name = "disconnectApp",
     .tag = "OAuth",
     .summary = "Disconnect an app: all its tokens for the caller end at once",
     .text = "Withdraws the consent. All access, refresh and session tokens of the app for the "
             "caller stop working.",
     .guards = {session(), account_writes},
     .stores = Stores::nothing,
     .in_path = {&app_in_path},
     .answer = {200, "Message"},
     .errors = {Code::app_not_found},
     .event = {SecurityKind::consent_changed, "withdrawn"},
     .served_by = {"berth account disconnect", "/console/account"},
     .run = WriteHandler{disconnect_app}},
};

}  // namespace

std::span<const Route> connected_apps_routes() { return rows; }

}  // namespace berth::api
