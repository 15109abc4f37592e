#pragma once

#include <filesystem>
#include <stdexcept>

namespace berth {

// The data directory is in use or damaged: berthd ends with exit code 3.
struct DataDirError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// One process at a time works in a data directory: a lock (flock) on its file `lock` for as long as
// this object lives.
class DirLock {
 public:
  // Makes the directory, of mode 0700, where it is missing. Throws DataDirError.
  explicit DirLock(const std::filesystem::path& directory);
  ~DirLock();
  DirLock(const DirLock&) = delete;
  DirLock& operator=(const DirLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace berth
