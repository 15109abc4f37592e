#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <vector>

#include "controller/base/clock.h"
#include "controller/base/embedded.h"

namespace berth::db {

namespace migrations {
const std::vector<EmbeddedFile>& files();  // migrations/*.sql by name
}

// Brings the schema to the newest version: runs each of `files` that did not run yet, in the order
// of their names, each in one transaction. Forward only. Throws std::runtime_error where one fails,
// where the file knows a migration that we don't (a newer berthd wrote it), or where one that ran
// has another text now.
void migrate(SQLite::Database& database, Instant now,
             const std::vector<EmbeddedFile>& files = migrations::files());

// Throws std::runtime_error where migrate() would refuse the file: it was written by a newer
// berthd, or one of its migrations has another text now. Changes nothing.
void check_migrations(SQLite::Database& database,
                      const std::vector<EmbeddedFile>& files = migrations::files());

}  // namespace berth::db
