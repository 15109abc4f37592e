// Channels and their members.
#include <stdexcept>

#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/db/enum_column.h"
#include "controller/domain/kernel/read_page.h"
#include "controller/domain/social/chat.h"

namespace berth::chat {
namespace {

Channel channel_of(const db::Query& row) {
  return {.id = row.text("id"),
          .type = db::enum_of<ChannelType>(row, "type"),
          .ref_id = row.text_or_null("ref_id"),
          .joined = row.flag("joined")};
}

// The lists of channels. $1 is the user's id.
const std::string select_channels = R"(
      SELECT c.id, c.type, c.ref_id,
             CASE WHEN m.user_id IS NULL THEN 0 ELSE 1 END AS joined
      FROM chat_channels c
      LEFT JOIN chat_members m ON m.channel_id = c.id AND m.user_id = $1)";
const std::vector<SortColumn> by_id = {{SortColumn::Type::text, "id"}};

const ListSql all_channels = {
    // $1 has no effect here. It is used because both statements are given the same values.
    .count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM chat_channels WHERE $1 <> '' LIMIT $2) counted)",
    .rows = select_channels + R"(
      WHERE c.id < $2
      ORDER BY c.id DESC
      LIMIT $3 OFFSET $4)",
    .sorted_by = by_id};

const ListSql channels_of_type = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one FROM chat_channels WHERE type = $2 AND $1 <> '' LIMIT $3) counted)",
                                  .rows = select_channels + R"(
      WHERE c.type = $2 AND c.id < $3
      ORDER BY c.id DESC
      LIMIT $4 OFFSET $5)",
                                  .sorted_by = by_id};

// At most max_channels_of_user of them. $2 = NULL lets both types pass.
const ListSql joined_channels = {.count = R"(
      SELECT count(*)
      FROM (SELECT 1 AS one
            FROM chat_members m
            JOIN chat_channels c ON c.id = m.channel_id
            WHERE m.user_id = $1 AND (CAST($2 AS text) IS NULL OR c.type = $2)
            LIMIT $3) counted)",
                                 .rows = R"(
      SELECT c.id, c.type, c.ref_id, 1 AS joined
      FROM chat_members m
      JOIN chat_channels c ON c.id = m.channel_id
      WHERE m.user_id = $1
        AND (CAST($2 AS text) IS NULL OR c.type = $2)
        AND m.channel_id < $3
      ORDER BY m.channel_id DESC
      LIMIT $4 OFFSET $5)",
                                 .sorted_by = by_id};

bool is_member(db::Tx& tx, const std::string& user_id, const std::string& channel_id) {
  return tx.number(R"(SELECT count(*) FROM chat_members WHERE channel_id = $1 AND user_id = $2)",
                   channel_id, user_id) == 1;
}

void require_room(db::Tx& tx, const std::string& user_id, const std::string& channel_id) {
  if (tx.number(R"(SELECT count(*) FROM chat_members WHERE user_id = $1)", user_id) >=
      max_channels_of_user)
    throw Error(Code::invalid_state, "you have joined " + std::to_string(max_channels_of_user) +
                                         " channels, which is the limit; leave one first");
  if (tx.number(R"(SELECT count(*) FROM chat_members WHERE channel_id = $1)", channel_id) >=
      max_members)
    throw Error(Code::invalid_state, "the channel is full");
}

// To be called before the user leaves the channel, or all of their channels if none is given. Notes
// the time for each in which they are the last member.
void note_abandoned(db::Tx& tx, const std::string& user_id,
                    const std::optional<std::string>& channel_id) {
  tx.execute(
      R"(
      UPDATE chat_channels
      SET abandoned_at = $3
      WHERE id IN (
          SELECT channel_id
          FROM chat_members
          WHERE user_id = $1 AND (CAST($2 AS text) IS NULL OR channel_id = $2)
        )
        AND NOT EXISTS (
          SELECT 1
          FROM chat_members others
          WHERE others.channel_id = chat_channels.id AND others.user_id <> $1
        ))",
      user_id, channel_id, tx.now());
}

}  // namespace

Channel open(db::Tx& tx, const std::string& user_id, ChannelType type,
             const std::optional<std::string>& ref_id) {
  tx.require_serializable();
  if (ref_id && (ref_id->empty() || ref_id->size() > max_ref_id_bytes))
    throw invalid_field("ref_id", "must have 1 to " + std::to_string(max_ref_id_bytes) + " bytes");
  if (type == ChannelType::table && !ref_id) throw invalid_field("ref_id", "must name the table");
  const std::string id = new_uuid(tx.now());
  if (tx.execute(
          R"(
      INSERT INTO chat_channels (id, type, ref_id, created_at)
      VALUES ($1, $2, $3, $4)
      ON CONFLICT DO NOTHING)",
          id, to_string(type), ref_id, tx.now()) == 1)
    return join(tx, user_id, id);
  auto rows = tx.query(
      R"(
      SELECT id
      FROM chat_channels
      WHERE type = $1 AND coalesce(ref_id, '') = $2)",
      to_string(type), ref_id.value_or(""));
  if (!rows.next()) throw std::logic_error("a channel exists and yet can't be found");
  return get(tx, user_id, rows.text("id"));
}

Channel get(db::Tx& tx, const std::string& user_id, const std::string& channel_id) {
  auto rows = tx.query(
      R"(
      SELECT c.id, c.type, c.ref_id,
             (SELECT count(*)
              FROM chat_members m
              WHERE m.channel_id = c.id AND m.user_id = $2) AS joined
      FROM chat_channels c
      WHERE c.id = $1)",
      channel_id, user_id);
  if (!rows.next()) throw Error(Code::channel_not_found, "there is no such channel");
  return channel_of(rows);
}

Page<Channel> list(db::Tx& tx, const std::string& user_id, const ChannelQuery& query,
                   const PageRequest& page) {
  if (query.only_joined) {
    return read_page(tx, joined_channels, page, channel_of, user_id, to_string(query.type));
  }
  if (query.type)
    return read_page(tx, channels_of_type, page, channel_of, user_id, to_string(*query.type));
  return read_page(tx, all_channels, page, channel_of, user_id);
}

Channel join(db::Tx& tx, const std::string& user_id, const std::string& channel_id) {
  tx.require_serializable();
  Channel channel = get(tx, user_id, channel_id);
  if (channel.joined) return channel;
  require_room(tx, user_id, channel_id);
  tx.execute(
      R"(
      INSERT INTO chat_members (channel_id, user_id, joined_at)
      VALUES ($1, $2, $3))",
      channel_id, user_id, tx.now());
  tx.execute(R"(UPDATE chat_channels SET abandoned_at = NULL WHERE id = $1)", channel_id);
  channel.joined = true;
  return channel;
}

Channel leave(db::Tx& tx, const std::string& user_id, const std::string& channel_id) {
  tx.require_serializable();
  Channel channel = get(tx, user_id, channel_id);
  if (!channel.joined) return channel;
  note_abandoned(tx, user_id, channel_id);
  tx.execute(R"(DELETE FROM chat_members WHERE channel_id = $1 AND user_id = $2)", channel_id,
             user_id);
  // Wakes the user's streams, which notice that the user may no longer follow the channel.
  tx.notify(db::Topic::chat, channel_id);
  channel.joined = false;
  return channel;
}

void forget(db::Tx& tx, const std::string& user_id) {
  note_abandoned(tx, user_id, {});
  tx.execute(R"(DELETE FROM chat_members WHERE user_id = $1)", user_id);
}

bool is_any_abandoned(db::Tx& tx) {
  return tx.number(
             R"(
      SELECT 1 AS one
      FROM chat_channels c
      WHERE c.abandoned_at <= $1
        AND NOT EXISTS (SELECT 1 FROM chat_entries e WHERE e.channel_id = c.id)
      LIMIT 1)",
             tx.now() - kept_for) > 0;
}

int remove_abandoned(db::Tx& tx, int limit) {
  return tx.execute(
      R"(
      DELETE FROM chat_channels
      WHERE id IN (
        SELECT c.id
        FROM chat_channels c
        WHERE c.abandoned_at <= $1
          AND NOT EXISTS (SELECT 1 FROM chat_entries e WHERE e.channel_id = c.id)
        LIMIT $2))",
      tx.now() - kept_for, limit);
}

void require_member(db::Tx& tx, const std::string& user_id, const std::string& channel_id) {
  if (is_member(tx, user_id, channel_id)) return;
  get(tx, user_id, channel_id);
  throw Error(Code::forbidden, "join the channel first");
}

}  // namespace berth::chat
