#include "berthd/backup/newest.h"

#include <algorithm>

#include "controller/domain/kernel/meta.h"

namespace berth::backup {
namespace {

constexpr std::string_view key = "newest_backup";

}  // namespace

void note_made(db::Tx& tx) { meta::put(tx, key, std::to_string(to_millis(tx.now()))); }

std::optional<Duration> since_newest(db::Tx& tx) {
  const auto made = meta::find(tx, key);
  if (!made) return std::nullopt;
  return std::max(Duration(0), tx.now() - from_millis(std::stoll(*made)));
}

Duration age_of_newest(db::Tx& tx) {
  if (const auto age = since_newest(tx)) return *age;
  const std::int64_t created =
      tx.number(R"(SELECT min(applied_at) AS since FROM schema_migrations)");
  return std::max(Duration(0), tx.now() - from_millis(created));
}

}  // namespace berth::backup
