#pragma once

#include <filesystem>
#include <optional>
#include <string>

// Reads and writes files as a whole.
namespace berth::cli {

// Who may read the file that is written. With owner_alone only its owner may (mode 0600, in a
// directory with mode 0700). With everybody, an existing file keeps its mode, and the umask decides
// about a new one.
enum class Access { owner_alone, everybody };

// Returns nothing if the file doesn't exist. Throws Failure `failed` if it can't be read.
std::optional<std::string> read_file(const std::filesystem::path& file);

// Writes a temporary file beside it, syncs it and renames it, so that the file is never incomplete.
// Creates the directory. A symbolic link stays, and the file that it leads to is written. Throws
// Failure `failed`.
void write_file(const std::filesystem::path& file, const std::string& text, Access access);

// A lock that one process at a time holds until it destroys this object. The constructor waits for
// `most_seconds` at most and then throws Failure `unavailable`.
class FileLock {
 public:
  // Creates the file if it is missing.
  explicit FileLock(const std::filesystem::path& file, int most_seconds = 120);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace berth::cli
