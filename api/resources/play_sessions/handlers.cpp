// The sessions of users in an app, with the app's session token (st_live_).
#include "api/resources/play_sessions/handlers.h"

#include "api/gate/encode.h"
#include "controller/domain/oauth/play_sessions.h"

namespace berth::api {
namespace {

Reply encode(const play::Session& session, Instant now) {
  return {.body = {{"session_active", !session.ended_at},
                   {"session_id", session.id},
                   {"points_earned", session.points_earned},
                   {"last_heartbeat", or_null(session.last_heartbeat_at)},
                   {"is_alive", play::is_alive(session, now)}}};
}

}  // namespace

Reply session_heartbeat(db::Tx& tx, const Call& call, const Services& services) {
  const play::Session session = play::heartbeat(tx, *call.play, services.reward_rules);
  services.presence->touch(session.user_id, tx.now());
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

}  // namespace berth::api
