#include "controller/domain/oauth/play_sessions.h"

#include <algorithm>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/db/enum_column.h"
#include "controller/domain/oauth/token_rows.h"

namespace berth::play {
namespace {

db::Query find_row(db::Tx& tx, const std::string& token) {
  static const std::string sql = oauth::select_holder + R"(
             t.last_heartbeat_at, t.ended_at, t.started_at, t.id, t.token_hash, t.expires_at,
             t.points_earned, g.session_access, a.session_tokens
      FROM play_sessions t)" + oauth::of_token;
  return tx.query(sql, token_hash(token));
}

// Returns when a session ends by itself.
Instant end_without_heartbeat(Instant started_at, std::optional<Instant> last_heartbeat_at) {
  return last_heartbeat_at.value_or(started_at) + ends_after;
}

Session session_of(const db::Query& row, Instant now) {
  const oauth::Holder holder = oauth::holder_of(row);
  const auto last_heartbeat_at = row.instant_or_null("last_heartbeat_at");
  auto ended_at = row.instant_or_null("ended_at");
  const Instant end = end_without_heartbeat(row.instant("started_at"), last_heartbeat_at);
  if (!ended_at && end <= now) ended_at = end;
  return {.id = row.text("id"),
          .token_hash = row.text("token_hash"),
          .user_id = holder.user_id,
          .app_id = holder.app_id,
          .grant_id = holder.grant_id,
          .family_end = holder.family_end,
          .expires_at = row.instant("expires_at"),
          .last_heartbeat_at = last_heartbeat_at,
          .ended_at = ended_at,
          .points_earned = row.integer("points_earned"),
          .access = db::enum_of<SessionAccess>(row, "session_access")};
}

bool is_wanted_by_app(const db::Query& row) { return row.flag("session_tokens"); }

Token new_token(Instant now, Instant family_end) {
  return {.token = random_token("st_live_"),
          .expires_at = std::min(now + token_lifetime, family_end)};
}

constexpr Duration minute = std::chrono::minutes(1);

struct LiveTime {
  std::optional<Instant> last_heartbeat_at;
  Duration unpaid;
  std::int64_t points_earned = 0;
};

// Reads the state in this transaction, because `session` was read before it and another heartbeat
// may have arrived since.
LiveTime live_time(db::Tx& tx, const Session& session) {
  auto rows = tx.query(R"(
      SELECT last_heartbeat_at, unpaid_ms, points_earned, started_at
      FROM play_sessions
      WHERE id = $1 AND ended_at IS NULL)",
                       session.id);
  if (!rows.next()) throw Error(Code::invalid_state, "the session has ended");
  const auto last_heartbeat_at = rows.instant_or_null("last_heartbeat_at");
  if (end_without_heartbeat(rows.instant("started_at"), last_heartbeat_at) <= tx.now())
    throw Error(Code::invalid_state, "the session has ended because it had no heartbeat");
  return {.last_heartbeat_at = last_heartbeat_at,
          .unpaid = Duration(rows.integer("unpaid_ms")),
          .points_earned = rows.integer("points_earned")};
}

// Returns the time that this heartbeat proves and that no heartbeat in any app has counted yet.
Duration lived(db::Tx& tx, const Session& session, const LiveTime& before) {
  const Instant now = tx.now();
  Instant since = before.last_heartbeat_at.value_or(now);
  if (now - since > counted_gap) return Duration(0);
  since = std::max(since, from_millis(tx.number(R"(
      SELECT counted_until
      FROM play_time
      WHERE user_id = $1)",
                                                session.user_id)));
  if (since >= now) return Duration(0);
  const int counted = tx.execute(R"(
      INSERT INTO play_time (user_id, counted_until)
      VALUES ($1, $2)
      ON CONFLICT (user_id) DO UPDATE
        SET counted_until = excluded.counted_until
        WHERE play_time.counted_until <= $3)",
                                 session.user_id, now, since);
  if (counted == 0) throw db::Overtaken("another heartbeat of the user has counted this time");
  return now - since;
}

std::string owner_of(db::Tx& tx, const std::string& app_id) {
  auto rows = tx.query(R"(SELECT owner_id FROM apps WHERE id = $1)", app_id);
  return rows.next() ? rows.text("owner_id") : std::string();
}

}  // namespace

Token start(db::Tx& tx, const std::string& family_id, Instant family_end) {
  const Token token = new_token(tx.now(), family_end);
  tx.execute(R"(
      INSERT INTO play_sessions (id, family_id, token_hash, started_at, expires_at)
      VALUES ($1, $2, $3, $4, $5))",
             new_uuid(tx.now()), family_id, token_hash(token.token), tx.now(), token.expires_at);
  return token;
}

Session check(db::Tx& tx, const std::string& token) {
  auto rows = find_row(tx, token);
  if (!rows.next()) throw Error(Code::invalid_token, "the session token is unknown");
  Session session = session_of(rows, tx.now());
  oauth::check_holder(rows, session.expires_at, tx.now());
  if (!is_wanted_by_app(rows))
    throw Error(Code::token_revoked, "the app no longer accepts session tokens");
  return session;
}

std::optional<Session> find(db::Tx& tx, const std::string& token) {
  auto rows = find_row(tx, token);
  return rows.next() ? std::optional(session_of(rows, tx.now())) : std::nullopt;
}

Session heartbeat(db::Tx& tx, const Session& session, const rewards::Rules& rules) {
  const LiveTime before = live_time(tx, session);
  const Duration live = before.unpaid + lived(tx, session, before);
  const std::int64_t minutes = live / minute;
  std::int64_t earned = 0;
  if (minutes > 0)
    earned = rewards::pay(tx, rules,
                          {.kind = rewards::Kind::session,
                           .user_id = session.user_id,
                           .app_owner_id = owner_of(tx, session.app_id),
                           .amount = minutes * rules.session,
                           .memo = "live minutes in app " + session.app_id})
                 .points;
  tx.require_change(R"(
      UPDATE play_sessions
      SET last_heartbeat_at = $2, unpaid_ms = $3, points_earned = points_earned + $4
      WHERE id = $1 AND ended_at IS NULL AND last_heartbeat_at IS NOT DISTINCT FROM $5)",
                    session.id, tx.now(), (live % minute).count(), earned,
                    before.last_heartbeat_at);
  Session seen = session;
  seen.last_heartbeat_at = tx.now();
  seen.points_earned = before.points_earned + earned;
  return seen;
}

Token refresh(db::Tx& tx, const Session& session) {
  Token token = new_token(tx.now(), session.family_end);
  if (session.ended_at ||
      tx.execute(R"(
          UPDATE play_sessions
          SET token_hash = $2, expires_at = $3
          WHERE id = $1 AND token_hash = $4 AND ended_at IS NULL)",
                 session.id, token_hash(token.token), token.expires_at, session.token_hash) == 0)
    throw Error(Code::invalid_state, "the session has ended, or its token was already refreshed");
  return token;
}

void end(db::Tx& tx, const Session& session) {
  tx.execute(R"(
      UPDATE play_sessions
      SET ended_at = $2
      WHERE id = $1 AND ended_at IS NULL)",
             session.id, session.ended_at.value_or(tx.now()));
}

void forget(db::Tx& tx, const std::string& user_id) {
  tx.execute(R"(DELETE FROM play_time WHERE user_id = $1)", user_id);
}

}  // namespace berth::play
