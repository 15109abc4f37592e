#include "controller/domain/kernel/meta.h"

namespace berth::meta {

std::optional<std::string> find(db::Tx& tx, std::string_view key) {
  auto rows = tx.query(R"(SELECT value FROM meta WHERE key = $1)", key);
  return rows.next() ? std::optional(rows.text("value")) : std::nullopt;
}

void put(db::Tx& tx, std::string_view key, const std::string& value) {
  tx.execute(R"(
      INSERT INTO meta (key, value) VALUES ($1, $2)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value)",
             key, value);
}

}  // namespace berth::meta
