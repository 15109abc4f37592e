#pragma once

#include <vector>

#include "controller/base/clock.h"
#include "controller/base/embedded.h"
#include "controller/db/migrations.h"
#include "controller/db/postgres/connection.h"

namespace berth::db::postgres {

namespace migrations {
const std::vector<EmbeddedFile>& files();  // migrations/*.sql, by name
}

// Brings the schema to the newest version, in one transaction: runs each of `files` that hasn't run
// yet, in the order of their names. If several berthd processes do so at once, one does it and the
// others wait. Throws std::runtime_error, with a sentence for the operator, if the server is too
// old, a standby or doesn't store UTF-8, or if the database isn't berth's, and what check_applied()
// throws.
void migrate(Connection& connection, Instant now,
             const std::vector<EmbeddedFile>& files = migrations::files());

// Makes the newest schema in the connection's open transaction. Throws as migrate() does, and if
// the database has any table.
void create_schema(Connection& connection, Instant now);

// Lets only one connection at a time change the schema or begin to use the database: migrate()
// waits while another one holds this lock. Waits for it, and holds it until the connection ends.
void lock_schema(Connection& connection);

// Whether the database has berth's list of migrations.
bool has_schema(Connection& connection);

// The database lacks migrations, which migrate() would run.
struct LacksMigrations : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Returns how many migrations the database has. Throws LacksMigrations, what check_applied()
// throws, or std::runtime_error if the database isn't berth's, each with a sentence for the
// operator. Changes nothing; a transaction must be open.
size_t check_migrations(Connection& connection, Instant now);

}  // namespace berth::db::postgres
