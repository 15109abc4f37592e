#include "controller/domain/accounts/sessions.h"

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/base/text.h"
#include "controller/base/visible_text.h"
#include "controller/domain/kernel/read_page.h"

namespace berth::accounts {
namespace {

constexpr size_t kept_of_user_agent = 256;
constexpr size_t kept_of_address = 64;  // more than any address has
constexpr int max_known_networks = 20;  // for each user; the newest ones are kept

}  // namespace

Session open_session(db::Tx& tx, const std::string& user_id, const std::string& address,
                     const std::string& user_agent, Duration lifetime,
                     std::optional<Duration> idle_timeout) {
  const auto user = find(tx, user_id);
  if (!user) throw Error(Code::invalid_credentials, "the address or the password is wrong");
  if (user->suspended) throw Error(Code::account_suspended, "the account is suspended");
  if (user->is_guest) throw Error(Code::guest_account, "a guest can't log in");
  const Session session = {.id = new_uuid(tx.now()),
                           .user_id = user_id,
                           .created_at = tx.now(),
                           .expires_at = tx.now() + lifetime};
  tx.execute(
      R"(
      INSERT INTO sessions (id, user_id, address, user_agent, created_at, expires_at,
                            authenticated_at, idle_timeout)
      VALUES ($1, $2, $3, $4, $5, $6, $5, $7))",
      session.id, user_id, cut(address, kept_of_address),
      cut(without_controls(user_agent), kept_of_user_agent), session.created_at, session.expires_at,
      idle_timeout ? std::optional<std::int64_t>(idle_timeout->count()) : std::nullopt);
  tx.execute(
      R"(
      DELETE FROM sessions
      WHERE user_id = $1
        AND id NOT IN (SELECT id
                       FROM sessions
                       WHERE user_id = $1
                       ORDER BY created_at DESC, id DESC
                       LIMIT $2))",
      user_id, max_sessions_per_user);
  return session;
}

bool has_fresh_proof(db::Tx& tx, const std::string& session_id) {
  return tx.number(R"(SELECT count(*) FROM sessions WHERE id = $1 AND authenticated_at > $2)",
                   session_id, tx.now() - proof_fresh_for) > 0;
}

std::optional<Instant> authenticated_at(db::Tx& tx, const std::string& session_id) {
  auto rows = tx.query(R"(SELECT authenticated_at FROM sessions WHERE id = $1)", session_id);
  return rows.next() ? std::optional(rows.instant("authenticated_at")) : std::nullopt;
}

void require_session(db::Tx& tx, const std::string& session_id) {
  if (!authenticated_at(tx, session_id)) throw Error(Code::token_revoked, "the session was ended");
}

void note_proof(db::Tx& tx, const std::string& session_id) {
  tx.execute(R"(UPDATE sessions SET authenticated_at = $2 WHERE id = $1)", session_id, tx.now());
}

bool has_proven_second_factor(db::Tx& tx, const std::string& session_id, Duration age) {
  return tx.number(R"(SELECT count(*) FROM sessions WHERE id = $1 AND second_factor_at > $2)",
                   session_id, tx.now() - age) > 0;
}

void note_second_factor(db::Tx& tx, const std::string& session_id) {
  tx.execute(R"(UPDATE sessions SET second_factor_at = $2 WHERE id = $1)", session_id, tx.now());
}

Page<SessionInfo> list_sessions(db::Tx& tx, const std::string& user_id, const PageRequest& page) {
  static const std::string alive = R"(
      FROM sessions
      WHERE user_id = $1
        AND revoked_at IS NULL
        AND expires_at > $2
        AND (idle_timeout IS NULL OR coalesce(last_used_at, created_at) + idle_timeout > $2))";
  static const ListSql sql = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one)" + alive + R"(
            LIMIT $3) counted)",
                              .rows = R"(
      SELECT id, address, user_agent, created_at, expires_at)" +
                                      alive + R"(
        AND (created_at, id) < ($3, $4)
      ORDER BY created_at DESC, id DESC
      LIMIT $5 OFFSET $6)",
                              .sorted_by = {{SortColumn::Type::integer, "created_at"},
                                            {SortColumn::Type::text, "id"}}};
  const auto read = [](const db::Query& row) {
    return SessionInfo{.id = row.text("id"),
                       .address = row.text("address"),
                       .user_agent = row.text("user_agent"),
                       .created_at = row.instant("created_at"),
                       .expires_at = row.instant("expires_at")};
  };
  return read_page(tx, sql, page, read, user_id, tx.now());
}

void end_session(db::Tx& tx, const std::string& user_id, const std::string& session_id) {
  if (tx.execute(
          R"(
      DELETE FROM sessions
      WHERE id = $1 AND user_id = $2 AND revoked_at IS NULL AND expires_at > $3)",
          session_id, user_id, tx.now()) != 1)
    throw Error(Code::session_not_found, "there is no such session");
}

int end_sessions(db::Tx& tx, const std::string& user_id, const std::string& kept) {
  const int alive = tx.execute(R"(
      DELETE FROM sessions
      WHERE user_id = $1
        AND id <> $2
        AND revoked_at IS NULL
        AND expires_at > $3
        AND (idle_timeout IS NULL OR coalesce(last_used_at, created_at) + idle_timeout > $3))",
                               user_id, kept, tx.now());
  tx.execute(R"(DELETE FROM sessions WHERE user_id = $1 AND id <> $2)", user_id, kept);
  return alive;
}

bool knows_network(db::Tx& tx, const std::string& user_id, const std::string& network) {
  return tx.number(
             R"(
      SELECT count(*)
      FROM login_networks
      WHERE user_id = $1 AND network = $2 AND last_at > $3)",
             user_id, network, tx.now() - networks_known_for) > 0;
}

void remember_network(db::Tx& tx, const std::string& user_id, const std::string& network) {
  tx.execute(
      R"(
      INSERT INTO login_networks (user_id, network, last_at)
      VALUES ($1, $2, $3)
      ON CONFLICT (user_id, network) DO UPDATE SET last_at = excluded.last_at)",
      user_id, network, tx.now());
  tx.execute(
      R"(
      DELETE FROM login_networks
      WHERE user_id = $1
        AND (last_at <= $2
             OR network NOT IN (SELECT network
                                FROM login_networks
                                WHERE user_id = $1
                                ORDER BY last_at DESC
                                LIMIT $3)))",
      user_id, tx.now() - networks_known_for, max_known_networks);
}

bool share_network(db::Tx& tx, const std::string& user_id, const std::string& other_id) {
  return tx.number(R"(
      SELECT 1
      FROM login_networks n
      JOIN login_networks o ON o.user_id = $2 AND o.network = n.network
      WHERE n.user_id = $1 AND n.last_at > $3 AND o.last_at > $3
      LIMIT 1)",
                   user_id, other_id, tx.now() - networks_known_for) > 0;
}

}  // namespace berth::accounts
