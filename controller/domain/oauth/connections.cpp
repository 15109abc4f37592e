#include "controller/domain/oauth/connections.h"

#include <algorithm>
#include <vector>

#include "controller/base/error.h"
#include "controller/db/enum_column.h"
#include "controller/domain/kernel/read_page.h"
#include "controller/domain/ledger/ledger.h"
#include "controller/domain/oauth/logouts.h"
#include "controller/domain/oauth/token_rows.h"

namespace berth::connections {
namespace {

const std::string of_user = R"(
    FROM grants g
    JOIN apps a ON a.id = g.app_id
    WHERE g.user_id = $1 AND g.revoked_at IS NULL AND g.scopes <> '' AND a.deleted_at IS NULL
    )";
const std::string select_connections = R"(
    SELECT g.spent_day, g.id, g.app_id, a.app_name, a.app_description, a.logo_url, g.scopes,
           g.connected_at, g.last_used_at, g.daily_spend_limit, g.spent_on_day, g.session_access,
           a.session_tokens)" + of_user;

Connection connection_of(const db::Query& row, Instant now) {
  const bool spent_today = row.integer_or_null("spent_day") == utc_day(now);
  return {.grant_id = row.text("id"),
          .app_id = row.text("app_id"),
          .app_name = row.text("app_name"),
          .app_description = row.text("app_description"),
          .logo_url = row.text_or_null("logo_url"),
          .scopes = stored_scopes(row.text("scopes")),
          .connected_at = row.instant("connected_at"),
          .last_used = row.instant_or_null("last_used_at"),
          .daily_spend_limit = row.integer_or_null("daily_spend_limit"),
          .spent_today = spent_today ? row.integer("spent_on_day") : 0,
          .session_access = db::enum_of<play::SessionAccess>(row, "session_access"),
          .takes_session_tokens = row.flag("session_tokens")};
}

}  // namespace

Page<Connection> list(db::Tx& tx, const std::string& user_id, const PageRequest& page) {
  static const ListSql sql = {
      .count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one)" +
               of_user + R"(
            LIMIT $2) counted)",
      .rows = select_connections + R"(
        AND (g.connected_at, g.id) < ($2, $3)
      ORDER BY g.connected_at DESC, g.id DESC
      LIMIT $4 OFFSET $5)",
      .sorted_by = {{SortColumn::Type::integer, "connected_at"}, {SortColumn::Type::text, "id"}}};
  const auto read = [&](const db::Query& row) { return connection_of(row, tx.now()); };
  return read_page(tx, sql, page, read, user_id);
}

Connection get(db::Tx& tx, const std::string& user_id, const std::string& app_id) {
  static const std::string sql = select_connections + R"(AND g.app_id = $2)";
  auto rows = tx.query(sql, user_id, app_id);
  if (!rows.next()) throw Error(Code::app_not_found, "you haven't connected this app");
  return connection_of(rows, tx.now());
}

Connection set_daily_spend_limit(db::Tx& tx, const std::string& user_id, const std::string& app_id,
                                 const std::optional<std::int64_t>& limit) {
  tx.execute(R"(
      UPDATE grants
      SET daily_spend_limit = $2
      WHERE id = $1 AND revoked_at IS NULL)",
             get(tx, user_id, app_id).grant_id, limit);
  return get(tx, user_id, app_id);
}

Connection set_session_access(db::Tx& tx, const std::string& user_id, const std::string& app_id,
                              play::SessionAccess access) {
  tx.execute(R"(
      UPDATE grants
      SET session_access = $2, session_offered = 1
      WHERE id = $1 AND revoked_at IS NULL)",
             get(tx, user_id, app_id).grant_id, to_string(access));
  return get(tx, user_id, app_id);
}

std::optional<play::SessionAccess> session_access(db::Tx& tx, const std::string& user_id,
                                                  const std::string& app_id) {
  auto rows = tx.query(R"(
      SELECT session_access
      FROM grants
      WHERE user_id = $1 AND app_id = $2 AND revoked_at IS NULL AND session_offered = 1)",
                       user_id, app_id);
  if (!rows.next()) return std::nullopt;
  return db::enum_of<play::SessionAccess>(rows, "session_access");
}

void end_grant(db::Tx& tx, const std::string& grant_id) {
  tx.require_serializable();
  logouts::note_disconnected(tx, grant_id);
  oauth::revoke_contents(tx, grant_id);
  std::string app_id;
  {
    auto rows = tx.query(R"(SELECT app_id FROM grants WHERE id = $1 AND scopes <> '')", grant_id);
    if (rows.next()) app_id = rows.text("app_id");
  }
  if (!app_id.empty()) oauth::count_app_users(tx, app_id, -1);
  tx.execute(R"(
      UPDATE grants
      SET revoked_at = $2, scopes = '', daily_spend_limit = NULL, session_access = 'full',
          session_offered = 0
      WHERE id = $1)",
             grant_id, tx.now());
}

void disconnect(db::Tx& tx, const std::string& user_id, const std::string& app_id) {
  end_grant(tx, get(tx, user_id, app_id).grant_id);
}

void disconnect_all(db::Tx& tx, const std::string& user_id) {
  std::vector<std::string> grants;
  auto rows = tx.query(R"(
      SELECT id
      FROM grants
      WHERE user_id = $1 AND revoked_at IS NULL)",
                       user_id);
  while (rows.next()) grants.push_back(rows.text("id"));
  for (const std::string& grant : grants) end_grant(tx, grant);
}

void forget_count(db::Tx& tx, const std::string& user_id) {
  tx.execute(R"(DELETE FROM user_apps WHERE user_id = $1)", user_id);
}

std::vector<std::string> app_ids(db::Tx& tx, const std::string& user_id) {
  std::vector<std::string> ids;
  auto rows = tx.query(R"(SELECT app_id FROM grants WHERE user_id = $1)", user_id);
  while (rows.next()) ids.push_back(rows.text("app_id"));
  return ids;
}

db::Query spending_count(db::Tx& tx, const std::string& grant_id, std::int64_t amount) {
  return tx.query_later(R"(
      UPDATE grants
      SET spent_day = $2,
          spent_on_day = CASE WHEN spent_day = $2 AND spent_on_day + $3 < $4 THEN spent_on_day + $3
                              WHEN spent_day = $2 THEN $4
                              ELSE $3 END
      WHERE id = $1
        AND (daily_spend_limit IS NULL
             OR CASE WHEN spent_day = $2 THEN spent_on_day ELSE 0 END + $3 <= daily_spend_limit))",
                        grant_id, utc_day(tx.now()), amount, ledger::max_points);
}

void require_counted(db::Query& count) {
  if (count.run() == 0)
    throw Error(
        Code::spend_limit_reached,
        "the app has reached the user's spending limit for today; the day ends at midnight UTC");
}

void count_spending(db::Tx& tx, const std::string& grant_id, std::int64_t amount) {
  auto count = spending_count(tx, grant_id, amount);
  require_counted(count);
}

}  // namespace berth::connections
