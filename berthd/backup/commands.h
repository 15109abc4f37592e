#pragma once

#include <string>

#include "berthd/backup/restore.h"
#include "berthd/config.h"

// The commands `berthd backup`, `berthd restore` and `berthd verify`.
namespace berth::backup {

// What these commands take in addition to the configuration.
struct Arguments {
  std::string file;  // for backup, may be a directory; the archive's name then contains the time
  // For backup: URL of the running berthd; if empty, the one that uses the data directory.
  std::string url;
  std::string passphrase_file;
  int keep = 0;  // for backup into a directory: how many archives to keep there; 0 keeps all
  bool replace = false;  // for backup: whether the archive may take the place of a file that exists
};

// The least length of a passphrase for a new archive.
inline constexpr size_t min_passphrase_bytes = 12;

// Reads --passphrase-file. Throws ConfigError.
std::string passphrase_of(const Arguments& arguments);
// Shows how much of a command is done from time to time on standard error, for people and for the
// log of a job.
Progress progress_line(const char* command);

// Return the exit code: 0, or 1 if something isn't sound. Throw ConfigError if an argument is
// missing or wrong, DataDirError, and std::runtime_error if the command fails.
int run_backup(const Arguments& arguments, const Config& config);
// Makes a data directory with a SQLite database, whatever the key `database` says.
int run_restore(const Arguments& arguments, const Config& config);
int run_verify(const Arguments& arguments, const Config& config);

}  // namespace berth::backup
