#include "controller/domain/accounts/login_failures.h"

namespace berth::accounts::login_failures {

std::optional<Duration> wait(db::Tx& tx, std::span<const Counter> counters) {
  for (const Counter& counter : counters) {
    auto rows = tx.query(R"(
        SELECT count(*) AS failures, min(failed_at) AS oldest
        FROM login_failures
        WHERE key_hash = $1 AND failed_at > $2)",
                         counter.key_hash, tx.now() - counter.window);
    if (rows.next() && rows.integer("failures") >= counter.limit)
      return rows.instant("oldest") + counter.window - tx.now();
  }
  return std::nullopt;
}

void count(db::Tx& tx, std::span<const Counter> counters) {
  for (const Counter& counter : counters)
    tx.execute(R"(INSERT INTO login_failures (key_hash, failed_at) VALUES ($1, $2))",
               counter.key_hash, tx.now());
}

void take_back(db::Tx& tx, std::span<const Counter> counters) {
  for (const Counter& counter : counters)
    tx.execute(R"(
        DELETE FROM login_failures
        WHERE id = (
          SELECT id
          FROM login_failures
          WHERE key_hash = $1
          ORDER BY failed_at DESC
          LIMIT 1))",
               counter.key_hash);
}

void forget(db::Tx& tx, const std::string& key_hash) {
  tx.execute(R"(DELETE FROM login_failures WHERE key_hash = $1)", key_hash);
}

}  // namespace berth::accounts::login_failures
