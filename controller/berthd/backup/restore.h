#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "controller/berthd/backup/archive.h"

namespace berth::backup {

// Told how many bytes of how many are done.
using Progress = std::function<void(std::uint64_t done, std::uint64_t of)>;

// Opens the archive `file` and writes what it holds into `directory`, which exists and has no such
// files. Throws sealed_file::WrongPassphrase, sealed_file::Damaged, std::system_error.
Manifest unpack(const std::filesystem::path& file, std::string_view passphrase,
                const std::filesystem::path& directory, const Progress& progress);

// Makes a data directory of the archive `file`. `directory` is missing or empty, but for what a
// restore that was killed left behind (and the lost+found of a new disk). Everything is unpacked
// and checked below it first and then moved to its place, the database last: until then berthd
// refuses to start there, and afterwards it is whole. Nothing is left where it fails. Throws
// DataDirError where `directory` is in use or holds something, std::runtime_error where the
// database isn't sound or was written by a newer berthd, and what unpack() throws.
Manifest restore(const std::filesystem::path& file, std::string_view passphrase,
                 const std::filesystem::path& directory, const Progress& progress);

}  // namespace berth::backup
