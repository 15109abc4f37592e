#pragma once

#include <string>

#include "controller/berthd/config.h"

// The commands `berthd backup`, `berthd restore` and `berthd verify`.
namespace berth::backup {

// What these commands take in addition to the configuration.
struct Arguments {
  std::string file;  // for backup, may be a directory; the archive's name then contains the time
  // For backup: URL of the running berthd; if empty, the one that uses the data directory.
  std::string url;
  std::string passphrase_file;
  int keep = 0;  // for backup into a directory: how many archives to keep there; 0 keeps all
};

// The least length of a passphrase for a new archive.
inline constexpr size_t min_passphrase_bytes = 12;

// Where the database is on PostgreSQL, there are no archives. The end of a sentence that says what
// takes their place.
inline constexpr const char* instead_of_archives =
    "use pg_dump or the server's point-in-time recovery, and keep a copy of keys.json, without "
    "which what is stored encrypted can't be read";

// Return the exit code: 0, or 1 if something isn't sound. Throw ConfigError if an argument is
// missing or wrong, DataDirError, and std::runtime_error if the command fails.
int run_backup(const Arguments& arguments, const Config& config);
int run_restore(const Arguments& arguments, const Config& config);
int run_verify(const Arguments& arguments, const Config& config);

}  // namespace berth::backup
