#pragma once

#include <vector>

#include "controller/base/clock.h"
#include "controller/base/embedded.h"
#include "controller/db/postgres/connection.h"

namespace berth::db::postgres {

namespace migrations {
const std::vector<EmbeddedFile>& files();  // migrations/*.sql, by name
}

// Brings the schema to the newest version, in one transaction: runs each of `files` that hasn't run
// yet, in the order of their names. If several berthd do so at once, one does it and the others
// wait. Throws std::runtime_error, with a sentence for the operator, if the server is too old, a
// standby or doesn't store UTF-8, or if the database isn't berth's, or was written by a newer
// berthd.
void migrate(Connection& connection, Instant now,
             const std::vector<EmbeddedFile>& files = migrations::files());

// Returns how many migrations the database has. Throws std::runtime_error, with a sentence for the
// operator, if these aren't exactly those of this berthd. Changes nothing; a transaction must be
// open.
size_t check_migrations(Connection& connection, Instant now);

}  // namespace berth::db::postgres
