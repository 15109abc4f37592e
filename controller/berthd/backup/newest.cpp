#include "controller/berthd/backup/newest.h"

#include <algorithm>

namespace berth::backup {

void note_made(db::Tx& tx) {
  tx.execute(R"(
      INSERT INTO meta (key, value) VALUES ('newest_backup', $1)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value)",
             std::to_string(to_millis(tx.now())));
}

Duration age_of_newest(db::Tx& tx) {
  const std::int64_t since = tx.number(R"(
      SELECT coalesce((SELECT CAST(value AS BIGINT) FROM meta WHERE key = 'newest_backup'),
                      (SELECT min(applied_at) FROM schema_migrations))
      AS since)");
  return std::max(Duration(0), tx.now() - from_millis(since));
}

}  // namespace berth::backup
