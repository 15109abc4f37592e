#pragma once

#include <filesystem>

namespace berth::db::sqlite {

// Creates the SQLite file `file` with mode 0600 if it is missing; otherwise removes all other
// users' rights to it and to its -wal and -shm files, which SQLite creates with the mode of the
// file. Call this before SQLite opens the file: closing any descriptor of an open database drops
// its locks (sqlite.org/howtocorrupt.html, section 2.2). Throws std::system_error.
void make_private(const std::filesystem::path& file);

}  // namespace berth::db::sqlite
