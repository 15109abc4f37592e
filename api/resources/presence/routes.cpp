#include "api/resources/routes.h"

#include "api/resources/presence/handlers.h"

namespace berth::api {
namespace {

constexpr Rate heartbeats = per_minute(120);  // one every few seconds

}  // namespace

std::vector<Route> presence_routes() {
  const Access user_or_app = jwt_or_play_session();
  return {
      {.method = "PUT",
       .path = "/api/social/presence",
       .name = "setPresence",
       .tag = "Social",
       .summary =
           "Report that the user is online, and where; to be repeated at least once a minute",
       .access = user_or_app,
       .rate = heartbeats,
       .stores = Stores::people,
       .body_kind = Body::optional_json,
       .body = "PresenceUpdate",
       .answer = {200, "PresenceEnvelope"},
       .run = ReadHandler{set_presence}},
      {.method = "GET",
       .path = "/api/social/presence",
       .name = "ownPresence",
       .tag = "Social",
       .summary = "Show the caller's presence as others see it",
       .access = user_or_app,
       .rate = account_reads,
       .answer = {200, "PresenceEnvelope"},
       .run = ReadHandler{own_presence}},
      {.method = "GET",
       .path = "/api/social/presence/{user_id}",
       .name = "userPresence",
       .tag = "Social",
       .summary = "Show whether a user is online, and where",
       .access = user_or_app,
       .rate = account_reads,
       .answer = {200, "PresenceEnvelope"},
       .errors = {Code::user_not_found},
       .run = ReadHandler{user_presence}},
      {.method = "PUT",
       .path = "/api/social/tables/{table_id}/presence",
       .name = "setTablePresence",
       .tag = "Social",
       .summary = "Report that the user is at a table; to be repeated at least once a minute",
       .access = user_or_app,
       .rate = heartbeats,
       .stores = Stores::people,
       .body_kind = Body::optional_json,
       .body = "TablePresenceUpdate",
       .answer = {200, "TablePresenceEnvelope"},
       .errors = {Code::not_found},
       .run = ReadHandler{set_table_presence}},
      {.method = "GET",
       .path = "/api/social/tables/{table_id}/presence",
       .name = "tablePresence",
       .tag = "Social",
       .summary = "List who is at a table, or was in the last ten minutes",
       .access = user_or_app,
       .rate = account_reads,
       .query = paged,
       .answer = {200, "TablePresenceList"},
       .errors = {Code::not_found},
       .run = ReadHandler{table_presence}},
  };
}

}  // namespace berth::api
