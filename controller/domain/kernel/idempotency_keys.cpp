#include "controller/domain/kernel/idempotency_keys.h"

#include <stdexcept>
#include <utility>

#include "controller/base/crypto.h"

namespace berth::idempotency_keys {
namespace {

// Stores nothing, and so changes no row, if a row is there that is younger than $9.
constexpr std::string_view store = R"(
      INSERT INTO idempotency_keys (principal, method, path, key, request_hash, status, body,
                                    created_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
      ON CONFLICT (principal, method, path, key) DO UPDATE
        SET request_hash = excluded.request_hash,
            status = excluded.status,
            body = excluded.body,
            created_at = excluded.created_at
        WHERE idempotency_keys.created_at <= $9)";

// Returns false if there is an answer that isn't too old. The reserved row has the status 0, which
// no answer has.
bool reserve(db::Tx& tx, const Slot& slot) {
  return tx.execute(store, slot.principal, slot.method, slot.path, slot.key, slot.request_hash, 0,
                    "", tx.now(), tx.now() - kept_for) == 1;
}

// The prefix of the hash that a row has instead of a body that is stored once for all keys. Bodies
// are JSON objects, so none begins like this.
constexpr std::string_view in_other_table = "sha256:";

std::string body_for(db::Tx& tx, const std::string& principal, std::string body) {
  if (!body.starts_with(in_other_table)) return body;
  auto rows = tx.query(
      R"(
      SELECT body
      FROM idempotency_bodies
      WHERE principal = $1 AND body_hash = $2)",
      principal, body);
  if (!rows.next()) throw std::logic_error("an answer that was kept is gone");
  return rows.text("body");
}

// Returns what stands in the key's row for this body.
std::string kept_body(db::Tx& tx, const std::string& principal, const std::string& body) {
  // Answers to admins stay in the rows, where forget_internal() searches them for ids.
  if (body.size() <= longest_in_row || principal == internal_principal) return body;
  std::string name = std::string(in_other_table) + hex(sha256(body));
  const int known = tx.execute(R"(
      UPDATE idempotency_bodies
      SET used_at = $3
      WHERE principal = $1 AND body_hash = $2)",
                               principal, name, tx.now());
  if (known == 0)
    tx.execute(R"(
        INSERT INTO idempotency_bodies (principal, body_hash, body, used_at)
        VALUES ($1, $2, $3, $4)
        ON CONFLICT (principal, body_hash) DO UPDATE SET used_at = excluded.used_at)",
               principal, name, body, tx.now());
  return name;
}

int forget_bodies(db::Tx& tx, const std::string& principal, int limit) {
  return tx.execute(
      R"(
      DELETE FROM idempotency_bodies
      WHERE (principal, body_hash) IN (SELECT principal, body_hash
                                       FROM idempotency_bodies
                                       WHERE principal = $1
                                       LIMIT $2))",
      principal, limit);
}

// A body is used by no key that is younger than itself.
int remove_old_bodies(db::Tx& tx, int limit) {
  return tx.execute(
      R"(
      DELETE FROM idempotency_bodies
      WHERE (principal, body_hash) IN (SELECT principal, body_hash
                                       FROM idempotency_bodies
                                       WHERE used_at <= $1
                                       LIMIT $2))",
      tx.now() - kept_for, limit);
}

}  // namespace

std::string user_principal(const std::string& user_id) { return "user:" + user_id; }

std::string app_principal(const std::string& app_id, const std::string& user_id) {
  return "app:" + app_id + ":user:" + user_id;
}

std::optional<Answer> find(db::Tx& tx, const Slot& slot) {
  auto rows = tx.query(
      R"(
      SELECT request_hash, status, body
      FROM idempotency_keys
      WHERE principal = $1 AND method = $2 AND path = $3 AND key = $4 AND created_at > $5)",
      slot.principal, slot.method, slot.path, slot.key, tx.now() - kept_for);
  if (!rows.next()) return std::nullopt;
  Answer answer = {.request_hash = rows.text("request_hash"),
                   .status = int(rows.integer("status")),
                   .body = rows.text("body")};
  answer.body = body_for(tx, slot.principal, std::move(answer.body));
  return answer;
}

std::optional<Answer> find_or_reserve(db::Tx& tx, const Slot& slot) {
  // Whoever looks for a key that isn't there collides with all who insert one beside it. Where
  // nobody can, one statement less does.
  if (tx.writers() == db::Writers::many && reserve(tx, slot)) return std::nullopt;
  return find(tx, slot);
}

void keep(db::Tx& tx, const Slot& slot, int status, const std::string& body) {
  // It replaces the row that this write has reserved, too.
  tx.execute_later(store, slot.principal, slot.method, slot.path, slot.key, slot.request_hash,
                   status, kept_body(tx, slot.principal, body), tx.now(), Instant::max());
}

bool is_any_old(db::Tx& tx) {
  const Instant end = tx.now() - kept_for;
  return tx.number(R"(SELECT 1 FROM idempotency_keys WHERE created_at <= $1 LIMIT 1)", end) > 0 ||
         tx.number(R"(SELECT 1 FROM idempotency_bodies WHERE used_at <= $1 LIMIT 1)", end) > 0;
}

int remove_old(db::Tx& tx, int limit) {
  const int removed = tx.execute(
      R"(
      DELETE FROM idempotency_keys
      WHERE (principal, method, path, key) IN (SELECT principal, method, path, key
                                               FROM idempotency_keys
                                               WHERE created_at <= $1
                                               LIMIT $2))",
      tx.now() - kept_for, limit);
  return removed < limit ? removed + remove_old_bodies(tx, limit - removed) : removed;
}

int forget(db::Tx& tx, const std::string& principal, int limit) {
  const int removed = tx.execute(
      R"(
      DELETE FROM idempotency_keys
      WHERE (principal, method, path, key) IN (SELECT principal, method, path, key
                                               FROM idempotency_keys
                                               WHERE principal = $1
                                               LIMIT $2))",
      principal, limit);
  return removed < limit ? removed + forget_bodies(tx, principal, limit - removed) : removed;
}

int forget_internal(db::Tx& tx, const std::string& id, int limit) {
  return tx.execute(
      R"(
      DELETE FROM idempotency_keys
      WHERE (principal, method, path, key) IN (SELECT principal, method, path, key
                                               FROM idempotency_keys
                                               WHERE principal = $1
                                                 AND (path LIKE '%' || $2 || '%'
                                                      OR body LIKE '%' || $2 || '%')
                                               LIMIT $3))",
      internal_principal, id, limit);
}

}  // namespace berth::idempotency_keys
