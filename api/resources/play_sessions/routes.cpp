#include "api/resources/play_sessions/handlers.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

constexpr Rate often = per_minute(120);  // a heartbeat every few seconds

constexpr Route rows[] = {
    {.request = "POST /api/sessions/heartbeat",
     .name = "sessionHeartbeat",
     .tag = "Sessions",
     .summary =
         "Report that the user is present; a session without such a report for 30 minutes ends",
     .text = "Counts the time since the last report as played, at most a minute, for which the "
             "treasury may pay points. It also keeps the user online for others.",
     .guards = {with_pages_of_apps(play_session()), often},
     .stores = Stores::payments,
     .answer = {200, "SessionStatus"},
     .errors = {Code::invalid_state},
     .served_by = {.neither = called_by_apps},
     .run = WriteHandler{session_heartbeat}},
    {.request = "GET /api/sessions/status",
     .name = "sessionStatus",
     .tag = "Sessions",
     .summary = "Show the session's state",
     .text = "Returns whether the session goes on, and the points that it has earned.",
     .guards = {with_pages_of_apps(play_session()), often},
     .answer = {200, "SessionStatus"},
     .served_by = {.neither = called_by_apps},
     .run = ReadHandler{session_status}},
    {.request = "POST /api/sessions/refresh",
     .name = "refreshSession",
     .tag = "Sessions",
     .summary = "Replace the session token; the old one stops working",
     .text =
         "Gives a new session token for the same session; the one of this request stops working.",
     .guards = {with_pages_of_apps(play_session()), account_writes},
     .stores = Stores::sign_in,
     .answer = {200, "SessionRefreshResponse"},
     .errors = {Code::invalid_state},
     .event = {SecurityKind::token_issued, "session_refreshed"},
     .served_by = {.neither = called_by_apps},
     .run = WriteHandler{refresh_session}},
    {.request = "POST /api/sessions/end",
     .name = "endPlaySession",
     .tag = "Sessions",
     .summary = "End the session",
     .text = "Ends the session; its token stops working. Earned points stay.",
     .guards = {with_pages_of_apps(play_session()), account_writes},
     .stores = Stores::nothing,
     .answer = {200, "SessionEndResult"},
     .event = {SecurityKind::session_ended, "by_app"},
     .served_by = {.neither = called_by_apps},
     .run = WriteHandler{end_play_session}},
};

}  // namespace

std::span<const Route> play_sessions_routes() { return rows; }

}  // namespace berth::api
