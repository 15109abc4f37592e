#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "berthd/backup/archive.h"

namespace berth::backup {

// Called with the number of bytes that are done and their total.
using Progress = std::function<void(std::uint64_t done, std::uint64_t of)>;

// Decrypts the archive `file` and writes its contents into `directory`, which must exist without
// such files. Throws sealed_file::WrongPassphrase, sealed_file::Damaged or std::system_error.
Manifest unpack(const std::filesystem::path& file, std::string_view passphrase,
                const std::filesystem::path& directory, const Progress& progress);

// Makes a data directory from the archive `file`. `directory` must be missing or empty, except for
// the remains of a restore that was killed and the lost+found of a new disk. Everything is unpacked
// and checked in a directory below it, and then moved to its place, the database last: before that
// berthd refuses to start there, and afterwards the directory is complete. If the restore fails,
// nothing is left. Throws DataDirError if `directory` is in use or has contents, std::runtime_error
// if the database isn't sound or was written by a newer berthd, and what unpack() throws.
Manifest restore(const std::filesystem::path& file, std::string_view passphrase,
                 const std::filesystem::path& directory, const Progress& progress);

}  // namespace berth::backup
