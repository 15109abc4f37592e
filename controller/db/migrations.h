#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "controller/base/embedded.h"

namespace berth::db {

// The schema began anew with version 1.0.0 of it, migrations/0001_schema.sql of both engines. This
// is the last commit of berth that can read a database from before.
inline constexpr const char* last_commit_before_schema = "da9045e";

// The migrations that a database has: the SHA-256 of each text in hex, by name.
using Applied = std::map<std::string, std::string>;

// This berthd can't use the database. The text is a sentence that says why.
struct UnusableSchema : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The database was written before version 1.0.0 of the schema.
struct SchemaTooOld : UnusableSchema {
  SchemaTooOld();
};

// Throws SchemaTooOld if the database has migrations, but not the first of `files`, which every
// database begins with. Throws UnusableSchema if it has a migration that isn't among `files` (a
// newer berthd wrote it), or if the text of one that has run has changed since.
void check_applied(Applied applied, const std::vector<EmbeddedFile>& files);

// The files that haven't run yet, in the order of `files`. Throws as check_applied() does.
std::vector<EmbeddedFile> missing(const Applied& applied, const std::vector<EmbeddedFile>& files);

// Says in the log that a migration begins, unless the database is new.
void log_migration(const Applied& applied, const EmbeddedFile& file);

}  // namespace berth::db
