#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controller/base/clock.h"
#include "controller/db/database.h"
#include "controller/domain/ledger/rewards.h"

// A user's time in an app, by the session token (st_live_) that the app got with the user's code.
// It shows that the user is there; it has no scopes. Functions throw berth::Error.
namespace berth::play {

// What the user lets an app do with its session tokens beside the session's own routes: act as the
// user (chat, friends, avatar, presence, learning), or only read what those routes show.
enum class SessionAccess { full, read };
std::string_view name(SessionAccess access);
// By its name; nothing where `text` is none.
std::optional<SessionAccess> parse_session_access(std::string_view text);

inline constexpr Duration token_lifetime = std::chrono::hours(24);
// Like presence: nobody is there who wasn't heard of for so long.
inline constexpr Duration alive_for = std::chrono::seconds(60);
// The time between two heartbeats counts as live up to this: a timer of a minute runs late, and so
// does the network. More heartbeats don't earn more, since only the time between them counts.
inline constexpr Duration counted_gap = alive_for + std::chrono::seconds(15);
// A session without a heartbeat for so long ends by itself: longer than a telephone stays in a
// pocket between two looks at a game.
inline constexpr Duration ends_after = std::chrono::minutes(30);

struct Token {
  std::string token;
  Instant expires_at;  // in token_lifetime, or with the family
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
  std::optional<Instant> ended_at;  // by itself, too
  std::int64_t points_earned = 0;
  SessionAccess access = SessionAccess::full;  // as the user allows it right now
};
inline bool is_alive(const Session& session, Instant now) {
  return !session.ended_at && session.last_heartbeat_at &&
         now - *session.last_heartbeat_at < alive_for;
}

// A session of the family, whose absolute end it doesn't outlive.
Token start(db::Tx& tx, const std::string& family_id, Instant family_end);

// The session of the token, ended or not. Throws invalid_token, token_expired, token_revoked (with
// its family or consent, or where the app takes no session tokens any more), account_suspended.
Session check(db::Tx& tx, const std::string& token);
// The session of the token in whatever state.
std::optional<Session> find(db::Tx& tx, const std::string& token);

// The user is still there. The time since the heartbeat before counts as live where that was
// counted_gap ago at most, by our clock, and as far as it hasn't counted in another app; each whole
// minute of it earns the session's reward from the treasury. A minute that isn't paid (rewards.h)
// is gone. Throws invalid_state where the session has ended.
Session heartbeat(db::Tx& tx, const Session& session, const rewards::Rules& rules);
// A new token for the session; the one before works no more. Throws invalid_state where the session
// has ended, or another call has replaced its token since it was checked.
Token refresh(db::Tx& tx, const Session& session);
// May be repeated.
void end(db::Tx& tx, const Session& session);

}  // namespace berth::play
