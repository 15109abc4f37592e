#pragma once

#include <filesystem>
#include <optional>
#include <string>

// Files that are whole or not there.
namespace berth::cli {

enum class Access { owner_alone, everybody };  // 0600 in a directory 0700, or by the umask

// Nothing where there is no such file; throws Failure failed where it can't be read.
std::optional<std::string> read_file(const std::filesystem::path& file);

// Written beside it, synced and renamed over it. Makes its directory. Throws Failure failed.
void write_file(const std::filesystem::path& file, const std::string& text, Access access);

// Held by one process of this user at a time, until it is destroyed. Waits for `most_seconds` at
// most, then throws Failure unavailable.
class FileLock {
 public:
  explicit FileLock(const std::filesystem::path& file, int most_seconds = 120);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace berth::cli
