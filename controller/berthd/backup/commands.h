#pragma once

#include <string>

#include "controller/berthd/config.h"

// `berthd backup`, `berthd restore` and `berthd verify`.
namespace berth::backup {

// What these commands take besides the configuration.
struct Arguments {
  std::string file;  // backup: may be a directory, then the name has the time in it
  std::string url;   // backup: of the running berthd; that of the data directory if empty
  std::string passphrase_file;
  int keep = 0;  // backup into a directory: how many archives stay there; 0: all
};

// A passphrase of fewer bytes isn't taken for a new archive.
inline constexpr size_t min_passphrase_bytes = 12;

// Each returns the exit code: 0, or 1 where something isn't sound. Throw ConfigError where an
// argument is missing or wrong, DataDirError, and std::runtime_error where the work fails.
int run_backup(const Arguments& arguments, const Config& config);
int run_restore(const Arguments& arguments, const Config& config);
int run_verify(const Arguments& arguments, const Config& config);

}  // namespace berth::backup
