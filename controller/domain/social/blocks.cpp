#include "controller/domain/social/blocks.h"

#include "controller/base/error.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/kernel/read_page.h"
#include "controller/domain/social/friends.h"

namespace berth::blocks {
namespace {

// $1 is the user who blocks.
const std::string select_blocks = R"(
      SELECT b.blocked_id, u.username, b.created_at
      FROM blocks b
      JOIN users u ON u.id = b.blocked_id
      WHERE b.blocker_id = $1)";

Block block_of(const db::Query& row) {
  return {.user_id = row.text("blocked_id"),
          .username = row.text("username"),
          .blocked_at = row.instant("created_at")};
}

Block get(db::Tx& tx, const std::string& user_id, const std::string& blocked_id) {
  static const std::string sql = select_blocks + R"(
        AND b.blocked_id = $2)";
  auto rows = tx.query(sql, user_id, blocked_id);
  if (!rows.next()) throw Error(Code::user_not_found, "you haven't blocked this user");
  return block_of(rows);
}

bool is_blocked_by(db::Tx& tx, const std::string& user_id, const std::string& blocked_id) {
  return tx.number(
             R"(
      SELECT count(*)
      FROM blocks
      WHERE blocker_id = $1 AND blocked_id = $2)",
             user_id, blocked_id) == 1;
}

}  // namespace

Block add(db::Tx& tx, const std::string& user_id, const std::string& blocked_id) {
  if (user_id == blocked_id) throw invalid_field("user_id", "must be the id of another user");
  if (!accounts::find(tx, blocked_id)) throw Error(Code::user_not_found, "there is no such user");
  const int added = tx.execute(
      R"(
      INSERT INTO blocks (blocker_id, blocked_id, created_at)
      SELECT $1, $2, CAST($3 AS bigint)
      WHERE (SELECT count(*) FROM blocks WHERE blocker_id = $1) < $4
      ON CONFLICT DO NOTHING)",
      user_id, blocked_id, tx.now(), max_blocks_per_user);
  if (added == 0 && !is_blocked_by(tx, user_id, blocked_id))
    throw invalid_field("user_id", "can't be blocked: you may block at most " +
                                       std::to_string(max_blocks_per_user) + " users");
  friends::end_between(tx, user_id, blocked_id);
  return get(tx, user_id, blocked_id);
}

void remove(db::Tx& tx, const std::string& user_id, const std::string& blocked_id) {
  if (tx.execute(R"(DELETE FROM blocks WHERE blocker_id = $1 AND blocked_id = $2)", user_id,
                 blocked_id) == 0)
    throw Error(Code::user_not_found, "you haven't blocked this user");
}

Page<Block> list(db::Tx& tx, const std::string& user_id, const PageRequest& page) {
  static const ListSql sql = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM blocks WHERE blocker_id = $1 LIMIT $2) counted)",
                              .rows = select_blocks + R"(
        AND (b.created_at, b.blocked_id) < ($2, $3)
      ORDER BY b.created_at DESC, b.blocked_id DESC
      LIMIT $4 OFFSET $5)",
                              .sorted_by = {{SortColumn::Type::integer, "created_at"},
                                            {SortColumn::Type::text, "blocked_id"}}};
  return read_page(tx, sql, page, block_of, user_id);
}

bool between(db::Tx& tx, const std::string& one, const std::string& other) {
  return is_blocked_by(tx, one, other) || is_blocked_by(tx, other, one);
}

std::unordered_set<std::string> around(db::Tx& tx, const std::string& user_id) {
  std::unordered_set<std::string> all;
  auto rows = tx.query(
      R"(
      SELECT blocked_id AS other_id
      FROM blocks
      WHERE blocker_id = $1
      UNION ALL
      SELECT blocker_id
      FROM blocks
      WHERE blocked_id = $1)",
      user_id);
  while (rows.next()) all.insert(rows.text("other_id"));
  return all;
}

void require_visible(db::Tx& tx, const std::string& user_id, const std::string& other_id) {
  if (!accounts::find(tx, other_id) || between(tx, user_id, other_id))
    throw Error(Code::user_not_found, "there is no such user");
}

}  // namespace berth::blocks
