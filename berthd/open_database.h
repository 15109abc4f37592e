#pragma once

#include <memory>

#include "berthd/config.h"
#include "berthd/data_dir.h"
#include "controller/base/clock.h"
#include "controller/db/database.h"
#include "controller/db/postgres/database.h"

namespace berth {

// The database of the configuration.
struct OpenedDatabase {
  std::unique_ptr<db::Database> database;
  // The same object if it is on PostgreSQL, otherwise null.
  db::postgres::Database* postgres = nullptr;
};

// Opens the database and brings its schema to the newest version. Throws StartError with a sentence
// that says why it can't be used, and SQLite::Exception, which may be the fault of the disk.
OpenedDatabase open_database(const Config& config, const DataDir& data, const Clock& clock);

// Throws StartError if the database was written with another data key: it belongs to another
// instance, or keys.json to another database. Remembers the key in a new database.
void require_own_keys(db::Tx& tx, const Config& config, const DataDir& data, const Keys& keys);

}  // namespace berth
