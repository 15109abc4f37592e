#pragma once

#include <vector>

#include "berthd/data_dir.h"
#include "controller/db/sqlite/migrate.h"

// A newer berthd may bring a newer schema. The only way back is a copy of the database from before.
namespace berth::backup {

// The directory of the copies, in the data directory. A copy is called `before-` and the first
// migration that it lacks, so that a start that is tried again replaces its own copy.
inline constexpr const char* upgrades_name = "upgrades";
// How many copies are kept. Older ones are removed, but no other file of the directory.
inline constexpr size_t copies_kept = 3;

enum class CopyFirst { yes, no };

// Checks whether opening the data directory's database will upgrade its schema, by running some of
// `files`. If so, logs that, and copies the database first if that is wanted. Does nothing before
// the very first start. Throws StartError if the disk has no room for the copy, UnusableSchema if
// this berthd can't use the database, SQLite::Exception and std::system_error if the copy fails;
// then nothing has changed.
void prepare_upgrade(const DataDir& data, CopyFirst copy_first,
                     const std::vector<EmbeddedFile>& files = db::sqlite::migrations::files());

}  // namespace berth::backup
