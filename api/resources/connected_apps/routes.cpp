#include "api/resources/routes.h"

#include "api/resources/connected_apps/handlers.h"

namespace berth::api {

std::vector<Route> connected_apps_routes() {
  return {
      {.method = "GET",
       .path = "/api/oauth/connected-apps",
       .name = "listConnectedApps",
       .tag = "OAuth",
       .summary = "The apps that one has connected",
       .access = session(),
       .rate = account_reads,
       .query = paged,
       .answer = {200, "ConnectedAppList"},
       .run = ReadHandler{list_connected_apps}},
      {.method = "GET",
       .path = "/api/oauth/connected-apps/{app_id}",
       .name = "getConnectedApp",
       .tag = "OAuth",
       .summary = "An app that one has connected",
       .access = session(),
       .rate = account_reads,
       .answer = {200, "ConnectedAppEnvelope"},
       .errors = {Code::app_not_found},
       .run = ReadHandler{get_connected_app}},
      {.method = "PATCH",
       .path = "/api/oauth/connected-apps/{app_id}",
       .name = "limitConnectedApp",
       .tag = "OAuth",
       .summary = "Set what the app may spend in a day, and whether it may act as oneself",
       .access = session(),
       .rate = account_writes,
       .body_kind = Body::only_json,
       .body = "ConnectedAppChanges",
       .answer = {200, "ConnectedAppEnvelope"},
       .errors = {Code::app_not_found},
       .run = WriteHandler{limit_connected_app}},
      {.method = "DELETE",
       .path = "/api/oauth/connected-apps/{app_id}",
       .name = "disconnectApp",
       .tag = "OAuth",
       .summary = "Take one's consent back: every token of the app for oneself ends at once",
       .access = session(),
       .rate = account_writes,
       .answer = {200, "Message"},
       .errors = {Code::app_not_found},
       .run = WriteHandler{disconnect_app}},
  };
}

}  // namespace berth::api
