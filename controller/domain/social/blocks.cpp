#include "controller/domain/social/blocks.h"

#include "controller/base/error.h"
#include "controller/domain/accounts/accounts.h"
#include "controller/domain/social/friends.h"

namespace berth::blocks {
namespace {

Block get(db::Tx& tx, const std::string& user_id, const std::string& blocked_id) {
  auto rows = tx.query(
      "SELECT b.blocked_id, u.username, b.created_at FROM blocks b JOIN users u "
      "ON u.id = b.blocked_id WHERE b.blocker_id = $1 AND b.blocked_id = $2",
      user_id, blocked_id);
  if (!rows.next()) throw Error(Code::user_not_found, "you haven't blocked this user");
  return {.user_id = rows.text(0), .username = rows.text(1), .blocked_at = rows.instant(2)};
}

}  // namespace

Block add(db::Tx& tx, const std::string& user_id, const std::string& blocked_id) {
  if (user_id == blocked_id) throw invalid_field("user_id", "must be the id of another user");
  if (!accounts::find(tx, blocked_id)) throw Error(Code::user_not_found, "there is no such user");
  const int added = tx.execute(
      "INSERT INTO blocks (blocker_id, blocked_id, created_at) SELECT $1, $2, $3 "
      "WHERE (SELECT count(*) FROM blocks WHERE blocker_id = $1) < $4 ON CONFLICT DO NOTHING",
      user_id, blocked_id, tx.now(), max_blocks_per_user);
  const bool is_there = added == 1 || tx.number(
                                          "SELECT count(*) FROM blocks WHERE blocker_id = $1 AND "
                                          "blocked_id = $2",
                                          user_id, blocked_id) == 1;
  if (!is_there)
    throw invalid_field("user_id", "can't be blocked: you may block at most " +
                                       std::to_string(max_blocks_per_user) + " users");
  friends::end_between(tx, user_id, blocked_id);
  return get(tx, user_id, blocked_id);
}

void remove(db::Tx& tx, const std::string& user_id, const std::string& blocked_id) {
  if (tx.execute("DELETE FROM blocks WHERE blocker_id = $1 AND blocked_id = $2", user_id,
                 blocked_id) == 0)
    throw Error(Code::user_not_found, "you haven't blocked this user");
}

Page<Block> list(db::Tx& tx, const std::string& user_id, const PageRequest& page) {
  Page<Block> result = {
      .items = {},
      .page = page.page,
      .page_size = page.page_size,
      .total = tx.number("SELECT count(*) FROM blocks WHERE blocker_id = $1", user_id)};
  auto rows = tx.query(
      "SELECT b.blocked_id, u.username, b.created_at FROM blocks b JOIN users u "
      "ON u.id = b.blocked_id WHERE b.blocker_id = $1 "
      "ORDER BY b.created_at DESC, b.blocked_id DESC LIMIT $2 OFFSET $3",
      user_id, page.page_size, page.offset());
  while (rows.next())
    result.items.push_back(
        {.user_id = rows.text(0), .username = rows.text(1), .blocked_at = rows.instant(2)});
  return result;
}

bool between(db::Tx& tx, const std::string& one, const std::string& other) {
  return tx.number(
             "SELECT EXISTS (SELECT 1 FROM blocks WHERE blocker_id = $1 AND blocked_id = $2) "
             "OR EXISTS (SELECT 1 FROM blocks WHERE blocker_id = $2 AND blocked_id = $1)",
             one, other) != 0;
}

std::unordered_set<std::string> around(db::Tx& tx, const std::string& user_id) {
  std::unordered_set<std::string> all;
  auto rows = tx.query(
      "SELECT blocked_id FROM blocks WHERE blocker_id = $1 "
      "UNION ALL SELECT blocker_id FROM blocks WHERE blocked_id = $1",
      user_id);
  while (rows.next()) all.insert(rows.text(0));
  return all;
}

void require_visible(db::Tx& tx, const std::string& user_id, const std::string& other_id) {
  if (!accounts::find(tx, other_id) || between(tx, user_id, other_id))
    throw Error(Code::user_not_found, "there is no such user");
}

}  // namespace berth::blocks
