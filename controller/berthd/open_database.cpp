#include "controller/berthd/open_database.h"

#include <SQLiteCpp/Exception.h>

#include "controller/base/crypto.h"
#include "controller/base/log.h"
#include "controller/berthd/backup/before_upgrade.h"
#include "controller/berthd/exit_codes.h"
#include "controller/db/sqlite/database.h"
#include "controller/domain/kernel/meta.h"

namespace berth {
namespace {

OpenedDatabase open_sqlite(const Config& config, const DataDir& data, const Clock& clock) {
  try {
    backup::prepare_upgrade(
        data, config.backup_before_upgrade ? backup::CopyFirst::yes : backup::CopyFirst::no);
    return {.database = std::make_unique<db::sqlite::Database>(data.database_file(), clock)};
  } catch (const StartError&) {
    throw;
  } catch (const SQLite::Exception&) {
    throw;
  } catch (const std::runtime_error& failure) {
    throw StartError(exit_data_dir, data.database_file().string() + ": " + failure.what());
  }
}

OpenedDatabase open_postgres(const Config& config, const DataDir& data, const Clock& clock) {
  if (std::filesystem::exists(data.database_file()))
    log::warning("the key database is set, so the SQLite database in the data directory isn't used",
                 {{"file", data.database_file().string()}});
  try {
    auto opened = std::make_unique<db::postgres::Database>(*config.database, clock);
    db::postgres::Database* const postgres = opened.get();
    return {.database = std::move(opened), .postgres = postgres};
  } catch (const std::runtime_error& failure) {
    throw StartError(exit_database, std::string("database: ") + failure.what());
  }
}

}  // namespace

OpenedDatabase open_database(const Config& config, const DataDir& data, const Clock& clock) {
  return config.database ? open_postgres(config, data, clock) : open_sqlite(config, data, clock);
}

void require_own_keys(db::Tx& tx, const Config& config, const DataDir& data, const Keys& keys) {
  constexpr std::string_view place = "data_key_fingerprint";
  const std::string ours = hex(hmac_sha256(keys.data, place));
  const auto known = meta::find(tx, place);
  if (!known) return meta::put(tx, place, ours);
  if (*known == ours) return;
  throw StartError(config.database ? exit_database : exit_data_dir,
                   "the database was written with other keys than those in " +
                       (data.path() / keys_name).string() +
                       ": it belongs to another instance, or the file to another database");
}

}  // namespace berth
