#include "controller/domain/social/chat.h"

#include <algorithm>
#include <stdexcept>

#include "controller/base/crypto.h"
#include "controller/base/error.h"
#include "controller/base/id.h"
#include "controller/base/text.h"
#include "controller/base/visible_text.h"
#include "controller/domain/kernel/audit.h"

namespace berth::chat {
namespace {

void check_body(const std::string& body) {
  if (is_blank(body)) throw invalid_field("body", "must not be empty");
  if (characters(body) > max_body_characters)
    throw invalid_field("body",
                        "must have at most " + std::to_string(max_body_characters) + " characters");
  if (const auto refusal = refusal_of_text(body, Lines::several))
    throw invalid_field("body", std::string(*refusal));
}

void check_rate(db::Tx& tx, const std::string& user_id) {
  const std::int64_t sent = tx.number(
      R"(
      SELECT count(*)
      FROM chat_entries
      WHERE sender_id = $1 AND sent_at > $2 AND kind <> 'deletion')",
      user_id, tx.now() - sender_window);
  if (sent < max_messages_in_window) return;
  Error refusal(
      Code::rate_limited,
      "you may send at most " + std::to_string(max_messages_in_window) + " messages in 10 s");
  refusal.retry_after = std::chrono::duration_cast<std::chrono::seconds>(sender_window);
  throw refusal;
}

std::string seal_body(const std::string& body, const std::string& message_id,
                      const std::string& data_key) {
  return base64(seal(data_key, body, message_id));
}

// The beginning of a statement about entries e of the channel $1. The LEFT JOIN, which finds a
// sender for every entry, has SQLite read the entries first, in their order.
const std::string select_entries = R"(
      SELECT e.seq, e.kind, e.message_id, e.channel_id, e.sender_id, u.username, e.filtered_body,
             e.sent_at, e.words_version, e.sealed_body
      FROM chat_entries e
      LEFT JOIN users u ON u.id = e.sender_id
      WHERE e.channel_id = $1)";

// Makes a message from a row of select_entries. If the stored filtered text was made with
// another version of the word list, the original is filtered again.
Message message_of(const db::Query& row, const Texts& texts) {
  Message message = {.id = row.text("message_id"),
                     .channel_id = row.text("channel_id"),
                     .sender_id = row.text("sender_id"),
                     .sender_username = row.text("username"),
                     .filtered_body = row.text("filtered_body"),
                     .sent_at = row.instant("sent_at")};
  if (row.integer("words_version") == texts.words.number) return message;
  const auto sealed = parse_base64(row.text("sealed_body"));
  const auto body = sealed ? open_sealed(texts.data_key, *sealed, message.id) : std::nullopt;
  if (!body) throw std::runtime_error("a message can't be decrypted with this data key");
  message.filtered_body = texts.words.filter.filter(*body);
  return message;
}

std::int64_t seq_of(db::Tx& tx, const std::string& channel_id, const std::string& message_id) {
  const std::int64_t seq = tx.number(
      R"(
      SELECT seq
      FROM chat_entries
      WHERE message_id = $1 AND channel_id = $2 AND kind <> 'deletion')",
      message_id, channel_id);
  if (seq == 0) throw invalid_field("before", "must be the id of a message of this channel");
  return seq;
}

}  // namespace

Message send(db::Tx& tx, const std::string& user_id, const std::string& channel_id,
             const std::string& body, const Texts& texts) {
  require_member(tx, user_id, channel_id);
  check_body(body);
  check_rate(tx, user_id);
  Message message = {.id = new_uuid(tx.now()),
                     .channel_id = channel_id,
                     .sender_id = user_id,
                     .sender_username = {},
                     .filtered_body = texts.words.filter.filter(body),
                     .sent_at = tx.now()};
  auto sender = tx.query(R"(SELECT username FROM users WHERE id = $1)", user_id);
  if (sender.next()) message.sender_username = sender.text("username");
  tx.execute(
      R"(
      INSERT INTO chat_entries (channel_id, kind, message_id, sender_id, sealed_body, filtered_body,
                                words_version, sent_at)
      VALUES ($1, 'message', $2, $3, $4, $5, $6, $7))",
      channel_id, message.id, user_id, seal_body(body, message.id, texts.data_key),
      message.filtered_body, texts.words.number, message.sent_at);
  tx.notify(db::Topic::chat, channel_id);
  return message;
}

History history(db::Tx& tx, const std::string& user_id, const std::string& channel_id,
                const HistoryRequest& request, const Texts& texts) {
  require_member(tx, user_id, channel_id);
  static const std::string sql = select_entries + R"(
        AND e.seq < $2
        AND e.kind = 'message'
        AND NOT EXISTS (SELECT 1 FROM blocks WHERE blocker_id = $3 AND blocked_id = e.sender_id)
        AND NOT EXISTS (SELECT 1 FROM blocks WHERE blocker_id = e.sender_id AND blocked_id = $3)
      ORDER BY e.seq DESC
      LIMIT $4)";
  const std::int64_t before = request.before ? seq_of(tx, channel_id, *request.before) : INT64_MAX;
  History result;
  auto rows = tx.query(sql, channel_id, before, user_id, request.limit + 1);
  while (rows.next()) {
    if (result.messages.size() == size_t(request.limit)) {
      result.has_more = true;
      break;
    }
    result.messages.push_back(message_of(rows, texts));
  }
  std::ranges::reverse(result.messages);
  return result;
}

std::int64_t newest_seq(db::Tx& tx, const std::string& channel_id) {
  return tx.number(R"(SELECT max(seq) FROM chat_entries WHERE channel_id = $1)", channel_id);
}

bool may_read(db::Tx& tx, const std::string& user_id, const std::string& sender_id) {
  return tx.number(
             R"(
      SELECT count(*)
      FROM users
      WHERE id = $2
        AND deleted_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM blocks WHERE blocker_id = $1 AND blocked_id = $2)
        AND NOT EXISTS (SELECT 1 FROM blocks WHERE blocker_id = $2 AND blocked_id = $1))",
             user_id, sender_id) != 0;
}

std::vector<Entry> entries_after(db::Tx& tx, const std::string& channel_id, std::int64_t after,
                                 int limit, const Texts& texts) {
  static const std::string sql = select_entries + R"(
        AND e.seq > $2
        AND e.kind IN ('message', 'deletion')
      ORDER BY e.seq
      LIMIT $3)";
  std::vector<Entry> entries;
  auto rows = tx.query(sql, channel_id, after, limit);
  while (rows.next()) {
    Entry entry = {.seq = rows.integer("seq"),
                   .sender_id = rows.text("sender_id"),
                   .message_id = rows.text("message_id"),
                   .message = {}};
    if (rows.text("kind") == "message") entry.message = message_of(rows, texts);
    entries.push_back(std::move(entry));
  }
  return entries;
}

void delete_message(db::Tx& tx, const std::string& message_id, const std::string& actor) {
  std::string channel_id;
  std::string sender_id;
  // The second condition on the kind lets SQLite use the partial index on message_id.
  {
    auto rows = tx.query(
        R"(
        SELECT channel_id, sender_id
        FROM chat_entries
        WHERE message_id = $1 AND kind = 'message' AND kind <> 'deletion')",
        message_id);
    if (!rows.next()) throw Error(Code::message_not_found, "there is no such message");
    channel_id = rows.text("channel_id");
    sender_id = rows.text("sender_id");
  }
  tx.execute(
      R"(
      UPDATE chat_entries
      SET kind = 'deleted', sealed_body = NULL, filtered_body = NULL, words_version = NULL
      WHERE message_id = $1 AND kind = 'message' AND kind <> 'deletion')",
      message_id);
  tx.execute(
      R"(
      INSERT INTO chat_entries (channel_id, kind, message_id, sender_id, sent_at)
      VALUES ($1, 'deletion', $2, $3, $4))",
      channel_id, message_id, sender_id, tx.now());
  audit::record(tx, actor, "chat.delete_message", message_id);
  tx.notify(db::Topic::chat, channel_id);
}

bool is_any_old(db::Tx& tx) {
  return tx.number(R"(SELECT 1 FROM chat_entries WHERE sent_at <= $1 LIMIT 1)",
                   tx.now() - kept_for) > 0;
}

int remove_old(db::Tx& tx, int limit) {
  return tx.execute(
      R"(
      DELETE FROM chat_entries
      WHERE seq IN (SELECT seq FROM chat_entries WHERE sent_at <= $1 LIMIT $2))",
      tx.now() - kept_for, limit);
}

int erase(db::Tx& tx, const std::string& user_id, int limit) {
  return tx.execute(
      R"(
      DELETE FROM chat_entries
      WHERE seq IN (SELECT seq FROM chat_entries WHERE sender_id = $1 LIMIT $2))",
      user_id, limit);
}

}  // namespace berth::chat
