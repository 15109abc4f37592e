#include "controller/domain/kernel/idempotency_keys.h"

namespace berth::idempotency_keys {
namespace {

// Stores nothing, and so changes no row, if a row is there that is younger than `replaced_until`.
db::Query storing(db::Tx& tx, const Slot& slot, int status, std::string_view body,
                  Instant replaced_until) {
  return tx.query(R"(
      INSERT INTO idempotency_keys (principal, method, path, key, request_hash, status, body,
                                    created_at)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
      ON CONFLICT (principal, method, path, key) DO UPDATE
        SET request_hash = excluded.request_hash,
            status = excluded.status,
            body = excluded.body,
            created_at = excluded.created_at
        WHERE idempotency_keys.created_at <= $9)",
                  slot.principal, slot.method, slot.path, slot.key, slot.request_hash, status, body,
                  tx.now(), replaced_until);
}

// Returns false if an answer is stored that isn't too old. The reserved row's status is that of no
// answer.
bool reserve(db::Tx& tx, const Slot& slot) {
  return storing(tx, slot, 0, "", tx.now() - kept_for).run() == 1;
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
  return Answer{.request_hash = rows.text("request_hash"),
                .status = int(rows.integer("status")),
                .body = rows.text("body")};
}

std::optional<Answer> find_or_reserve(db::Tx& tx, const Slot& slot) {
  if (tx.writers_collide() && reserve(tx, slot)) return std::nullopt;
  return find(tx, slot);
}

void keep(db::Tx& tx, const Slot& slot, int status, const std::string& body) {
  // It replaces the row that this write has reserved, too.
  storing(tx, slot, status, body, Instant::max()).run_later();
}

bool is_any_old(db::Tx& tx) {
  return tx.number(R"(SELECT 1 FROM idempotency_keys WHERE created_at <= $1 LIMIT 1)",
                   tx.now() - kept_for) > 0;
}

int remove_old(db::Tx& tx, int limit) {
  return tx.execute(
      R"(
      DELETE FROM idempotency_keys
      WHERE (principal, method, path, key) IN (SELECT principal, method, path, key
                                               FROM idempotency_keys
                                               WHERE created_at <= $1
                                               LIMIT $2))",
      tx.now() - kept_for, limit);
}

int forget(db::Tx& tx, const std::string& principal, int limit) {
  return tx.execute(
      R"(
      DELETE FROM idempotency_keys
      WHERE (principal, method, path, key) IN (SELECT principal, method, path, key
                                               FROM idempotency_keys
                                               WHERE principal = $1
                                               LIMIT $2))",
      principal, limit);
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
