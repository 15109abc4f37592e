#pragma once

#include <filesystem>

namespace berth::backup {

// Whether the disk has room for a copy of the database beside it, with 64 MiB left for the database
// itself to go on.
bool has_room_for_copy(const std::filesystem::path& database);

}  // namespace berth::backup
