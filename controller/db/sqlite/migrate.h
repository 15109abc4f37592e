#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <string>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/embedded.h"
#include "controller/db/migrations.h"

namespace berth::db::sqlite {

namespace migrations {
const std::vector<EmbeddedFile>& files();  // migrations/*.sql, by name
}

// Brings the schema to the newest version: runs each of `files` that hasn't run yet, in the order
// of their names, each in a transaction of its own. There is no way back. Throws
// SQLite::Exception if a migration fails, and what check_applied() throws.
void migrate(SQLite::Database& database, Instant now,
             const std::vector<EmbeddedFile>& files = migrations::files());

// What migrate() would do to a database that exists.
struct Pending {
  std::string newest;              // the last migration that has run; empty if none has
  std::vector<std::string> names;  // those that would run, in their order
};
// Throws what check_applied() throws. Changes nothing.
Pending pending_migrations(SQLite::Database& database,
                           const std::vector<EmbeddedFile>& files = migrations::files());

// Throws what check_applied() throws. Changes nothing.
void check_migrations(SQLite::Database& database,
                      const std::vector<EmbeddedFile>& files = migrations::files());

}  // namespace berth::db::sqlite
