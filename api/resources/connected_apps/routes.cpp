#include "api/resources/routes.h"

#include "api/resources/connected_apps/handlers.h"

namespace berth::api {

std::vector<Route> connected_apps_routes() {
  return {
      {.method = "GET",
       .path = "/api/oauth/connected-apps",
       .name = "listConnectedApps",
       .tag = "OAuth",
       .summary = "List the apps that the caller has connected",
       .access = person(),
       .rate = account_reads,
       .query = paged,
       .answer = {200, "ConnectedAppList"},
       .run = ReadHandler{list_connected_apps}},
      {.method = "GET",
       .path = "/api/oauth/connected-apps/{app_id}",
       .name = "getConnectedApp",
       .tag = "OAuth",
       .summary = "Show an app that the caller has connected",
       .access = person(),
       .rate = account_reads,
       .answer = {200, "ConnectedAppEnvelope"},
       .errors = {Code::app_not_found},
       .run = ReadHandler{get_connected_app}},
      {.method = "PATCH",
       .path = "/api/oauth/connected-apps/{app_id}",
       .name = "limitConnectedApp",
       .tag = "OAuth",
       .summary = "Set what an app may spend in a day, and whether it may act as the caller",
       .access = session(),
       .rate = account_writes,
       .stores = Stores::account,
       .body_kind = Body::only_json,
       .body = "ConnectedAppChanges",
       .answer = {200, "ConnectedAppEnvelope"},
       .errors = {Code::app_not_found},
       .run = WriteHandler{limit_connected_app}},
      {.method = "DELETE",
       .path = "/api/oauth/connected-apps/{app_id}",
       .name = "disconnectApp",
       .tag = "OAuth",
       .summary = "Disconnect an app: all its tokens for the caller end at once",
       .access = session(),
       .rate = account_writes,
       .stores = Stores::nothing,
       .answer = {200, "Message"},
       .errors = {Code::app_not_found},
       .run = WriteHandler{disconnect_app}},
  };
}

}  // namespace berth::api
