#pragma once

#include <cstdint>
#include <filesystem>

namespace berth::backup {

// The size of a SQLite database with its WAL; 0 if there is none.
std::uintmax_t bytes_of(const std::filesystem::path& database);
// Whether the disk of the directory has room for `bytes`, with 64 MiB left for whatever else is
// written there.
bool has_room(const std::filesystem::path& directory, std::uintmax_t bytes);

}  // namespace berth::backup
