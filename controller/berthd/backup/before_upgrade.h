#pragma once

#include "controller/berthd/data_dir.h"

// A newer berthd may bring a newer schema, and there is no way back from it but a copy of the
// database as it was.
namespace berth::backup {

// The directory of the copies, in the data directory. A copy is called `before-` and the first
// migration that it lacks, so that a start that is tried again replaces its own copy.
inline constexpr const char* upgrades_name = "upgrades";
// How many copies are kept. Older ones are removed, but no other file of the directory.
inline constexpr size_t copies_kept = 3;

enum class CopyFirst { yes, no };

// Looks whether opening the data directory's database will upgrade its schema. If so, logs that,
// and copies the database first if that is wanted. Does nothing before the very first start. Throws
// StartError if the disk has no room for the copy, std::runtime_error if a newer berthd wrote the
// database, SQLite::Exception and std::system_error if the copy fails; then nothing has changed.
void prepare_upgrade(const DataDir& data, CopyFirst copy_first);

}  // namespace berth::backup
