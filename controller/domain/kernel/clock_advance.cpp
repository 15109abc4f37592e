#include "controller/domain/kernel/clock_advance.h"

namespace berth::clock_advance {

void store(db::Tx& tx, Duration by) {
  tx.execute(R"(
      INSERT INTO meta (key, value) VALUES ('clock_ahead_ms', $1)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value)",
             std::to_string((stored(tx) + by).count()));
}

Duration stored(db::Tx& tx) {
  return Duration(tx.number(R"(
      SELECT CAST(value AS BIGINT) AS ahead
      FROM meta
      WHERE key = 'clock_ahead_ms')"));
}

}  // namespace berth::clock_advance
