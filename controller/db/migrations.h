#pragma once

#include <map>
#include <string>
#include <vector>

#include "controller/base/embedded.h"

namespace berth::db {

// The migrations that a database has: the SHA-256 of each text in hex, by name.
using Applied = std::map<std::string, std::string>;

// Throws std::runtime_error if the database has a migration that isn't among `files` (a newer
// berthd wrote it), or if the text of one that has run has changed since.
void check_applied(Applied applied, const std::vector<EmbeddedFile>& files);

// The files that haven't run yet, in the order of `files`. Throws as check_applied() does.
std::vector<EmbeddedFile> missing(const Applied& applied, const std::vector<EmbeddedFile>& files);

// Says in the log that a migration begins, unless the database is new.
void log_migration(const Applied& applied, const EmbeddedFile& file);

}  // namespace berth::db
