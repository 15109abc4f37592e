#include "controller/domain/social/friends.h"

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/db/enum_column.h"
#include "controller/domain/accounts/guests.h"
#include "controller/domain/kernel/read_page.h"
#include "controller/domain/social/blocks.h"

namespace berth::friends {
namespace {

// The two users in the order in which they are stored in a row.
struct Pair {
  Pair(const std::string& one, const std::string& other)
      : low(std::min(one, other)), high(std::max(one, other)) {}
  std::string low;
  std::string high;
};

struct Row {
  std::string id;
  std::string low_id;
  std::string high_id;
  std::string requester_id;
  Status status = Status::pending;
};

const std::string select_rows = R"(
      SELECT id, low_id, high_id, requester_id, status
      FROM friendships)";

std::optional<Row> row_of(db::Query& rows) {
  if (!rows.next()) return std::nullopt;
  return Row{.id = rows.text("id"),
             .low_id = rows.text("low_id"),
             .high_id = rows.text("high_id"),
             .requester_id = rows.text("requester_id"),
             .status = db::enum_of<Status>(rows, "status")};
}

std::optional<Row> find(db::Tx& tx, const Pair& pair) {
  static const std::string sql = select_rows + R"(
      WHERE low_id = $1 AND high_id = $2)";
  auto rows = tx.query(sql, pair.low, pair.high);
  return row_of(rows);
}

// Returns the friendship if the user is one of the two; for anybody else it doesn't exist.
Row get(db::Tx& tx, const std::string& user_id, const std::string& friendship_id) {
  static const std::string sql = select_rows + R"(
      WHERE id = $1)";
  auto rows = tx.query(sql, friendship_id);
  auto row = row_of(rows);
  if (!row || (row->low_id != user_id && row->high_id != user_id))
    throw Error(Code::friendship_not_found, "there is no such friendship");
  return std::move(*row);
}

bool change(db::Tx& tx, const std::string& id, Status from, Status to) {
  return tx.execute(
             R"(
      UPDATE friendships
      SET status = $3, changed_at = $4
      WHERE id = $1 AND status = $2)",
             id, to_string(from), to_string(to), tx.now()) == 1;
}

enum class By { requester, addressee };

Friendship decide(db::Tx& tx, const std::string& user_id, const std::string& friendship_id, By by,
                  Status to) {
  const Row row = get(tx, user_id, friendship_id);
  if ((by == By::requester) != (row.requester_id == user_id))
    throw Error(Code::forbidden,
                by == By::requester ? "only the user who sent the request can withdraw it"
                                    : "only the user who received the request can decide about it");
  if (!change(tx, row.id, Status::pending, to))
    throw Error(Code::invalid_state, "the request was " + std::string(to_string(row.status)));
  return {.id = row.id, .status = to};
}

std::int64_t count_friends(db::Tx& tx, const std::string& user_id) {
  return tx.number(
      R"(
      SELECT (SELECT count(*) FROM friendships WHERE low_id = $1 AND status = 'accepted')
           + (SELECT count(*) FROM friendships WHERE high_id = $1 AND status = 'accepted'))",
      user_id);
}

std::int64_t count_requests(db::Tx& tx, const std::string& user_id, Direction direction) {
  static constexpr std::string_view outgoing = R"(
      SELECT (SELECT count(*)
              FROM friendships
              WHERE low_id = $1 AND status = 'pending' AND requester_id = $1)
           + (SELECT count(*)
              FROM friendships
              WHERE high_id = $1 AND status = 'pending' AND requester_id = $1))";
  static constexpr std::string_view incoming = R"(
      SELECT (SELECT count(*)
              FROM friendships
              WHERE low_id = $1 AND status = 'pending' AND requester_id <> $1)
           + (SELECT count(*)
              FROM friendships
              WHERE high_id = $1 AND status = 'pending' AND requester_id <> $1))";
  return tx.number(direction == Direction::outgoing ? outgoing : incoming, user_id);
}

void require_room_for_friend(db::Tx& tx, const std::string& user_id) {
  if (count_friends(tx, user_id) >= max_friends)
    throw Error(Code::invalid_state, "you or the other user has " + std::to_string(max_friends) +
                                         " friends, which is the limit");
}

Friendship make_friends(db::Tx& tx, const Row& row) {
  tx.require_serializable();
  require_room_for_friend(tx, row.low_id);
  require_room_for_friend(tx, row.high_id);
  if (!change(tx, row.id, Status::pending, Status::accepted))
    throw Error(Code::invalid_state, "the request was " + std::string(to_string(row.status)));
  return {.id = row.id, .status = Status::accepted};
}

Friendship open(db::Tx& tx, const std::string& user_id, const Pair& pair) {
  tx.require_serializable();
  const bool is_guest = guests::app_of(tx, user_id).has_value();
  const int most = is_guest ? guests::max_open_requests : max_open_requests;
  if (count_requests(tx, user_id, Direction::outgoing) >= most)
    throw Error(Code::invalid_state,
                "you have " + std::to_string(most) + " unanswered requests, which is the limit");
  const std::string& other_id = pair.low == user_id ? pair.high : pair.low;
  if (is_guest && count_requests(tx, other_id, Direction::incoming) >= guests::max_requests_to_one)
    throw Error(Code::invalid_state,
                "this user has so many unanswered requests that guests can't ask them at present");
  const std::string id = new_uuid(tx.now());
  tx.execute(
      R"(
      INSERT INTO friendships (id, low_id, high_id, requester_id, status, asked_at, changed_at)
      VALUES ($1, $2, $3, $4, 'pending', $5, $5)
      ON CONFLICT (low_id, high_id) DO UPDATE
        SET id = excluded.id,
            requester_id = excluded.requester_id,
            status = 'pending',
            asked_at = excluded.asked_at,
            changed_at = excluded.changed_at
        WHERE friendships.status IN ('rejected', 'removed'))",
      id, pair.low, pair.high, user_id, tx.now());
  return {.id = id, .status = Status::pending};
}

}  // namespace

Friendship ask(db::Tx& tx, const std::string& user_id, const std::string& other_id) {
  if (user_id == other_id) throw invalid_field("user_id", "must be the id of another user");
  blocks::require_visible(tx, user_id, other_id);
  const Pair pair(user_id, other_id);
  const auto row = find(tx, pair);
  if (!row || row->status == Status::rejected || row->status == Status::removed)
    return open(tx, user_id, pair);
  if (row->status == Status::accepted) throw Error(Code::invalid_state, "you are already friends");
  if (row->requester_id == user_id)
    throw Error(Code::invalid_state,
                "you have already sent a request, which the other user has to answer");
  return make_friends(tx, *row);
}

Friendship accept(db::Tx& tx, const std::string& user_id, const std::string& friendship_id) {
  const Row row = get(tx, user_id, friendship_id);
  if (row.requester_id == user_id)
    throw Error(Code::forbidden, "only the user who received the request can decide about it");
  return make_friends(tx, row);
}

Friendship reject(db::Tx& tx, const std::string& user_id, const std::string& friendship_id) {
  return decide(tx, user_id, friendship_id, By::addressee, Status::rejected);
}

Friendship withdraw(db::Tx& tx, const std::string& user_id, const std::string& friendship_id) {
  return decide(tx, user_id, friendship_id, By::requester, Status::removed);
}

Friendship end(db::Tx& tx, const std::string& user_id, const std::string& other_id) {
  const auto row = find(tx, Pair(user_id, other_id));
  if (!row || !change(tx, row->id, Status::accepted, Status::removed))
    throw Error(Code::friendship_not_found, "you and this user aren't friends");
  return {.id = row->id, .status = Status::removed};
}

void end_between(db::Tx& tx, const std::string& one, const std::string& other) {
  const Pair pair(one, other);
  tx.execute(
      R"(
      UPDATE friendships
      SET status = 'removed', changed_at = $3
      WHERE low_id = $1 AND high_id = $2 AND status IN ('pending', 'accepted'))",
      pair.low, pair.high, tx.now());
}

std::optional<Friendship> between(db::Tx& tx, const std::string& one, const std::string& other) {
  const auto row = find(tx, Pair(one, other));
  return row ? std::optional(Friendship{.id = row->id, .status = row->status}) : std::nullopt;
}

Page<Friend> list(db::Tx& tx, const std::string& user_id, const PageRequest& page) {
  static const ListSql sql = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one
            FROM friendships
            WHERE low_id = $1 AND status = 'accepted'
            UNION ALL
            SELECT 1
            FROM friendships
            WHERE high_id = $1 AND status = 'accepted'
            LIMIT $2) counted)",
                              .rows = R"(
      SELECT u.id, u.username, u.username_key, u.email
      FROM users u
      WHERE u.id IN (SELECT high_id
                     FROM friendships
                     WHERE low_id = $1 AND status = 'accepted'
                     UNION ALL
                     SELECT low_id
                     FROM friendships
                     WHERE high_id = $1 AND status = 'accepted')
        AND u.username_key > $2
      ORDER BY u.username_key
      LIMIT $3 OFFSET $4)",
                              .sorted_by = {{SortColumn::Type::text, "username_key"}},
                              .order = ListSql::Order::ascending};
  const auto read = [](const db::Query& row) {
    return Friend{
        .user_id = row.text("id"), .username = row.text("username"), .email = row.text("email")};
  };
  return read_page(tx, sql, page, read, user_id);
}

Page<Request> list_requests(db::Tx& tx, const std::string& user_id, Direction direction,
                            const PageRequest& page) {
  // This serves both directions: $2 is 1 if the user has to be the requester, and else 0.
  static const std::string pending = R"(
      FROM (SELECT id, high_id AS other_id, asked_at
            FROM friendships
            WHERE low_id = $1
              AND status = 'pending'
              AND CASE WHEN requester_id = $1 THEN 1 ELSE 0 END = $2
            UNION ALL
            SELECT id, low_id, asked_at
            FROM friendships
            WHERE high_id = $1
              AND status = 'pending'
              AND CASE WHEN requester_id = $1 THEN 1 ELSE 0 END = $2) f)";
  static const ListSql sql = {
      .count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one)" +
               pending + R"(
            LIMIT $3) counted)",
      .rows = R"(
      SELECT f.id, f.other_id, u.username, f.asked_at)" +
              pending + R"(
      JOIN users u ON u.id = f.other_id
      WHERE (f.asked_at, f.id) < ($3, $4)
      ORDER BY f.asked_at DESC, f.id DESC
      LIMIT $5 OFFSET $6)",
      .sorted_by = {{SortColumn::Type::integer, "asked_at"}, {SortColumn::Type::text, "id"}}};
  const auto read = [](const db::Query& row) {
    return Request{.friendship_id = row.text("id"),
                   .user_id = row.text("other_id"),
                   .username = row.text("username"),
                   .sent_at = row.instant("asked_at")};
  };
  return read_page(tx, sql, page, read, user_id, direction == Direction::outgoing);
}

}  // namespace berth::friends
