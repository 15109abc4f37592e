#pragma once

#include <filesystem>
#include <stdexcept>

namespace berth {

// The data directory is in use or damaged. berthd ends with exit code 3.
struct DataDirError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Lets only one process at a time work in a data directory: holds a lock (flock) on its file `lock`
// as long as this object lives.
class DirLock {
 public:
  // Creates the directory, with mode 0700, if it doesn't exist. Throws DataDirError.
  explicit DirLock(const std::filesystem::path& directory);
  ~DirLock();
  DirLock(const DirLock&) = delete;
  DirLock& operator=(const DirLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace berth
