#include "berthd/dir_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace berth {

DirLock::DirLock(const std::filesystem::path& directory) {
  constexpr mode_t private_directory = 0700;
  constexpr mode_t private_file = 0600;
  std::error_code failure;
  if (std::filesystem::create_directories(directory, failure))
    ::chmod(directory.c_str(), private_directory);
  if (failure) throw DataDirError(directory.string() + ": can't be created: " + failure.message());
  const std::filesystem::path lock = directory / "lock";
  file_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, private_file);
  if (file_ < 0) throw DataDirError(lock.string() + ": " + std::strerror(errno));
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    ::close(file_);
    throw DataDirError(directory.string() + ": another berthd uses this data directory");
  }
}

DirLock::~DirLock() { ::close(file_); }

}  // namespace berth
