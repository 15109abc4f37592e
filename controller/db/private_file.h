#pragma once

#include <filesystem>

namespace berth::db {

// Makes the SQLite file `file` with mode 0600 where it is missing, and takes everybody else's
// rights away where it and its -wal and -shm are there. SQLite gives those two the mode of the
// file. Before SQLite opens it: whoever closes a descriptor of an open database drops its locks
// (sqlite.org/howtocorrupt.html, section 2.2). Throws std::system_error.
void make_private(const std::filesystem::path& file);

}  // namespace berth::db
