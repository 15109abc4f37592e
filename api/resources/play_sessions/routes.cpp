#include "api/resources/routes.h"

#include "api/resources/play_sessions/handlers.h"

namespace berth::api {

std::vector<Route> play_sessions_routes() {
  const Rate often = per_minute(120);  // a heartbeat every few seconds
  return {
      {.method = "POST",
       .path = "/api/sessions/heartbeat",
       .name = "sessionHeartbeat",
       .tag = "Sessions",
       .summary =
           "Report that the user is present; a session without such a report for 30 minutes ends",
       .access = play_session(),
       .rate = often,
       .stores = Stores::payments,
       .answer = {200, "SessionStatus"},
       .errors = {Code::invalid_state},
       .run = WriteHandler{session_heartbeat}},
      {.method = "GET",
       .path = "/api/sessions/status",
       .name = "sessionStatus",
       .tag = "Sessions",
       .summary = "Show the session's state",
       .access = play_session(),
       .rate = often,
       .answer = {200, "SessionStatus"},
       .run = ReadHandler{session_status}},
      {.method = "POST",
       .path = "/api/sessions/refresh",
       .name = "refreshSession",
       .tag = "Sessions",
       .summary = "Replace the session token; the old one stops working",
       .access = play_session(),
       .rate = account_writes,
       .stores = Stores::sign_in,
       .answer = {200, "SessionRefreshResponse"},
       .errors = {Code::invalid_state},
       .run = WriteHandler{refresh_session}},
      {.method = "POST",
       .path = "/api/sessions/end",
       .name = "endPlaySession",
       .tag = "Sessions",
       .summary = "End the session",
       .access = play_session(),
       .rate = account_writes,
       .stores = Stores::nothing,
       .answer = {200, "SessionEndResult"},
       .run = WriteHandler{end_play_session}},
  };
}

}  // namespace berth::api
