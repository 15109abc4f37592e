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

// Return the exit code: 0, or 1 if something isn't sound. Throw ConfigError if an argument is
// missing or wrong, DataDirError, and std::runtime_error if the command fails.
int run_backup(const Arguments& arguments, const Config& config);
int run_restore(const Arguments& arguments, const Config& config);
int run_verify(const Arguments& arguments, const Config& config);

}  // namespace berth::backup
