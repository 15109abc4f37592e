#include "berthd/open_database.h"

#include <SQLiteCpp/Exception.h>

#include "berthd/backup/before_upgrade.h"
#include "berthd/exit_codes.h"
#include "berthd/move/marks.h"
#include "berthd/move/move.h"
#include "controller/base/crypto.h"
#include "controller/base/log.h"
#include "controller/db/postgres/migrate.h"
#include "controller/db/sqlite/connection.h"
#include "controller/db/sqlite/database.h"
#include "controller/domain/kernel/meta.h"

namespace berth {
namespace {

OpenedDatabase open_sqlite(const Config& config, const DataDir& data, const Clock& clock) {
  if (std::filesystem::exists(data.path() / move::partial_name) &&
      !std::filesystem::exists(data.database_file()))
    throw StartError(exit_moved, data.path().string() +
                                     ": a migration into it wasn't completed; run `berthd "
                                     "migrate` again");
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

// The SQLite file stays in the data directory after a move. Throws StartError if its rows aren't on
// this server, because the move was killed or the address is another server's.
void require_moved_here(const Config& config, const DataDir& data, const Clock& clock) {
  db::sqlite::Connection file(data.database_file(), SQLite::OPEN_READONLY, "");
  if (!file.raw().tableExists("meta")) return;
  db::Tx rows(file, clock.now());
  const auto mark = move::find_mark(rows);
  if (!mark) return;
  db::postgres::Connection server(*config.database);
  db::Tx tx(server, clock.now());
  if (db::postgres::has_schema(server) && move::moved_from(tx) == mark->id) return;
  throw StartError(exit_moved, "the database in the data directory was moved to " + mark->place +
                                   ", but isn't there or at this address; run `berthd migrate` "
                                   "again, or correct the address");
}

OpenedDatabase open_postgres(const Config& config, const DataDir& data, const Clock& clock) {
  try {
    if (std::filesystem::exists(data.database_file())) {
      require_moved_here(config, data, clock);
      log::warning(
          "the key database is set, so the SQLite database in the data directory isn't used",
          {{"file", data.database_file().string()}});
    }
    auto opened = std::make_unique<db::postgres::Database>(*config.database, clock);
    db::postgres::Database* const postgres = opened.get();
    return {.database = std::move(opened), .postgres = postgres};
  } catch (const StartError&) {
    throw;
  } catch (const std::runtime_error& failure) {
    throw StartError(exit_database, std::string("database: ") + failure.what());
  }
}

}  // namespace

OpenedDatabase open_database(const Config& config, const DataDir& data, const Clock& clock) {
  OpenedDatabase opened =
      config.database ? open_postgres(config, data, clock) : open_sqlite(config, data, clock);
  opened.database->read(move::require_not_moved);
  return opened;
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
