#pragma once

#include <optional>
#include <string>

#include "controller/base/clock.h"
#include "controller/base/enum_text.h"
#include "controller/db/database.h"
#include "controller/domain/ledger/rewards.h"

// Sessions of users in apps. An app gets a session token (st_live_) together with the tokens for a
// user's code. The token proves that the user is present; it has no scopes. Functions throw
// berth::Error if they refuse.
namespace berth::play {

// What the user allows an app to do with its session tokens besides the session's own routes: act
// as the user (chat, friends, avatar, presence, learning), or only read what those routes show.
enum class SessionAccess { full, read };
constexpr auto texts_of(SessionAccess) { return EnumTexts<SessionAccess::read>{"full", "read"}; }

inline constexpr Duration token_lifetime = std::chrono::hours(24);
// A session counts as alive for this long after its last heartbeat, as in presence.
inline constexpr Duration alive_for = std::chrono::seconds(60);
// The time between two heartbeats counts as live if it isn't longer than this: a minute, and what
// timers and the network add to it. More heartbeats don't earn more, because only the time between
// them counts.
inline constexpr Duration counted_gap = alive_for + std::chrono::seconds(15);
// A session ends by itself this long after its last heartbeat: long enough for a player who puts
// the phone away between two looks at a game.
inline constexpr Duration ends_after = std::chrono::minutes(30);

struct Token {
  std::string token;
  Instant expires_at;  // after token_lifetime, or when the family ends
};

struct Session {
  std::string id;
  std::string token_hash;
  std::string user_id;
  std::string app_id;
  std::string grant_id;
  Instant family_end;
  Instant expires_at;
  std::optional<Instant> last_heartbeat_at;
  std::optional<Instant> ended_at;  // also set if the session ended by itself
  std::int64_t points_earned = 0;
  SessionAccess access = SessionAccess::full;  // as the user allows it at present
};
inline bool is_alive(const Session& session, Instant now) {
  return !session.ended_at && session.last_heartbeat_at &&
         now - *session.last_heartbeat_at < alive_for;
}

// Starts a session in a token family. It ends no later than `family_end`.
Token start(db::Tx& tx, const std::string& family_id, Instant family_end);

// Returns the token's session, whether or not it has ended. Throws invalid_token, token_expired,
// account_suspended, or token_revoked if its family or consent was revoked or the app takes no
// session tokens any more.
Session check(db::Tx& tx, const std::string& token);
// Returns the token's session in whatever state it is; nothing if the token is unknown.
std::optional<Session> find(db::Tx& tx, const std::string& token);

// Records that the user is present. The time since the last heartbeat counts as live time if it
// isn't longer than counted_gap by berth's clock, except for time that was already counted in
// another app. Each whole minute of live time earns the session's reward from the treasury; a
// minute that can't be paid (ledger/rewards.h) is lost. Throws invalid_state if the session has
// ended.
Session heartbeat(db::Tx& tx, const Session& session, const rewards::Rules& rules);
// Replaces the session's token; the old one stops working. Throws invalid_state if the session has
// ended, or another call has replaced the token since it was checked.
Token refresh(db::Tx& tx, const Session& session);
// Ends the session. Ending it again changes nothing.
void end(db::Tx& tx, const Session& session);

// For accounts that are deleted: removes up to when the user's time has counted.
void forget(db::Tx& tx, const std::string& user_id);

}  // namespace berth::play
