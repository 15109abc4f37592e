// The sessions of users in an app, with the app's session token (st_live_).
#include "controller/domain/oauth/play_sessions.h"

#include "api/gate/encode.h"
#include "api/resources/shared.h"

namespace berth::api {
namespace {

Reply encode(const play::Session& session, Instant now) {
  return {.body = {{"session_active", !session.ended_at},
                   {"session_id", session.id},
                   {"points_earned", session.points_earned},
                   {"last_heartbeat", or_null(session.last_heartbeat_at)},
                   {"is_alive", play::is_alive(session, now)}}};
}

Reply session_heartbeat(db::Tx& tx, const Call& call, const Services& services) {
  const play::Session session = play::heartbeat(tx, *call.play, services.rules.rewards);
  services.memory.presence->touch(session.user_id, tx.now());
  return encode(session, tx.now());
}

Reply session_status(db::Tx& tx, const Call& call, const Services&) {
  return encode(*call.play, tx.now());
}

Reply refresh_session(db::Tx& tx, const Call& call, const Services&) {
  const play::Token token = play::refresh(tx, *call.play);
  return {.body = {{"session_token", token.token}, {"expires_at", to_iso8601(token.expires_at)}}};
}

Reply end_play_session(db::Tx& tx, const Call& call, const Services&) {
  play::end(tx, *call.play);
  return {.body = {{"message", "the session has ended"}, {"session_id", call.play->id}}};
}

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
     .unaudited = "Comes every half minute; the ledger has what it credits.",
     .served_by = {.neither = called_by_apps},
     .run = WriteHandler{session_heartbeat}},
    {.request = "GET /api/sessions/status",
     .name = "sessionStatus",
     .tag = "Sessions",
     .summary = "Show the session's state",
     .text = "Returns whether the session is still alive, and the points that it has earned.",
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
     .unaudited = "Goes on with what the consent to the app gave, which has its entry.",
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
