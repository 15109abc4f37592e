#include "controller/domain/kernel/outbox.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "controller/base/crypto.h"
#include "controller/base/id.h"
#include "controller/base/text.h"

namespace berth::outbox {
namespace {

constexpr size_t kept_of_a_reason = 300;

std::optional<nlohmann::json> opened(const std::string& data_key, const std::string& sealed,
                                     const std::string& id) {
  const auto bytes = parse_base64(sealed);
  const auto plain = bytes ? open_sealed(data_key, *bytes, id) : std::nullopt;
  return plain ? std::optional(nlohmann::json::parse(*plain)) : std::nullopt;
}

}  // namespace

int attempts(db::Tx& tx, const std::string& id) {
  return int(tx.number(R"(SELECT attempts FROM outbox WHERE id = $1)", id));
}

std::string put(db::Tx& tx, const std::string& data_key, const Letter& letter) {
  const std::string id = new_uuid(tx.now());
  const nlohmann::json content = {{"token", letter.token}, {"body", letter.body}};
  tx.execute(R"(
      INSERT INTO outbox (id, to_address, subject, sealed, created_at)
      VALUES ($1, $2, $3, $4, $5))",
             id, letter.to, letter.subject, base64(seal(data_key, content.dump(), id)), tx.now());
  return id;
}

std::vector<std::string> due(db::Tx& tx, int most) {
  std::vector<std::string> ids;
  auto rows = tx.query(R"(
      SELECT id
      FROM outbox
      WHERE sent_at IS NULL AND failed_at IS NULL AND next_attempt_at <= $1
      ORDER BY next_attempt_at, created_at
      LIMIT $2)",
                       tx.now(), most);
  while (rows.next()) ids.push_back(rows.text("id"));
  return ids;
}

std::optional<Attempt> begin_attempt(db::Tx& tx, const std::string& data_key, const std::string& id,
                                     Instant retry_at) {
  const int counted = tx.execute(R"(
      UPDATE outbox
      SET attempts = attempts + 1, next_attempt_at = $2
      WHERE id = $1 AND sent_at IS NULL AND failed_at IS NULL AND next_attempt_at <= $3)",
                                 id, retry_at, tx.now());
  if (counted != 1) return std::nullopt;
  auto rows = tx.query(R"(
      SELECT to_address, subject, sealed, created_at, attempts
      FROM outbox
      WHERE id = $1)",
                       id);
  rows.next();
  const auto content = opened(data_key, rows.text("sealed"), id);
  if (!content) {
    failed(tx, id, "the mail can't be decrypted with this data key");
    return std::nullopt;
  }
  return Attempt{.id = id,
                 .letter = {.to = rows.text("to_address"),
                            .subject = rows.text("subject"),
                            .body = content->at("body"),
                            .token = content->at("token")},
                 .created_at = rows.instant("created_at"),
                 .number = int(rows.integer("attempts"))};
}

void sent(db::Tx& tx, const std::string& id) {
  tx.execute(R"(
      UPDATE outbox
      SET sent_at = $2, last_error = NULL
      WHERE id = $1 AND sent_at IS NULL)",
             id, tx.now());
}

void failed(db::Tx& tx, const std::string& id, const std::string& reason) {
  tx.execute(R"(
      UPDATE outbox
      SET failed_at = $2, last_error = $3
      WHERE id = $1 AND sent_at IS NULL AND failed_at IS NULL)",
             id, tx.now(), cut(reason, kept_of_a_reason));
}

void postponed(db::Tx& tx, const std::string& id, const std::string& reason, Instant retry_at) {
  tx.execute(R"(
      UPDATE outbox
      SET last_error = $2, next_attempt_at = $3
      WHERE id = $1 AND sent_at IS NULL AND failed_at IS NULL)",
             id, cut(reason, kept_of_a_reason), retry_at);
}

int remove_done(db::Tx& tx, Instant sent_before, Instant failed_before, int most) {
  return tx.execute(R"(
      DELETE FROM outbox
      WHERE id IN (
        SELECT id
        FROM outbox
        WHERE sent_at < $1
        UNION ALL
        SELECT id
        FROM outbox
        WHERE failed_at < $2
        LIMIT $3))",
                    sent_before, failed_before, most);
}

std::int64_t waiting(db::Tx& tx) {
  return tx.number(R"(
      SELECT count(*)
      FROM outbox
      WHERE sent_at IS NULL AND failed_at IS NULL)");
}

std::vector<Mail> list(db::Tx& tx, const std::string& data_key) {
  std::vector<Mail> mails;
  auto rows = tx.query(R"(
      SELECT id, to_address, subject, sealed, created_at, sent_at, attempts, failed_at, last_error
      FROM outbox
      ORDER BY created_at DESC, id DESC
      LIMIT $1)",
                       max_listed);
  while (rows.next()) {
    const auto content = opened(data_key, rows.text("sealed"), rows.text("id"));
    if (!content) throw std::runtime_error("a mail can't be decrypted with this data key");
    mails.push_back({{.to = rows.text("to_address"),
                      .subject = rows.text("subject"),
                      .body = content->at("body"),
                      .token = content->at("token")},
                     rows.instant("created_at"),
                     rows.instant_or_null("sent_at"),
                     int(rows.integer("attempts")),
                     rows.instant_or_null("failed_at"),
                     rows.text_or_null("last_error")});
  }
  return mails;
}

bool is_any_done(db::Tx& tx, Instant sent_before, Instant failed_before) {
  return tx.number(R"(SELECT 1 FROM outbox WHERE sent_at < $1 LIMIT 1)", sent_before) > 0 ||
         tx.number(R"(SELECT 1 FROM outbox WHERE failed_at < $1 LIMIT 1)", failed_before) > 0;
}

bool is_any_unsent(db::Tx& tx) {
  return tx.number(
             R"(
      SELECT 1
      FROM outbox
      WHERE sent_at IS NULL AND failed_at IS NULL AND next_attempt_at = 0 AND created_at <= $1
      LIMIT 1)",
             tx.now() - unsent_kept_for) > 0;
}

int remove_unsent(db::Tx& tx, int limit) {
  return tx.execute(
      R"(
      DELETE FROM outbox
      WHERE id IN (SELECT id
                   FROM outbox
                   WHERE sent_at IS NULL
                     AND failed_at IS NULL
                     AND next_attempt_at = 0
                     AND created_at <= $1
                   LIMIT $2))",
      tx.now() - unsent_kept_for, limit);
}

void remove(db::Tx& tx, const std::string& id) {
  tx.execute(R"(DELETE FROM outbox WHERE id = $1)", id);
}

void forget(db::Tx& tx, const std::string& address) {
  tx.execute(R"(DELETE FROM outbox WHERE to_address = $1)", address);
}

}  // namespace berth::outbox
