#include "controller/db/sqlite/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace berth::db::sqlite {

void make_private(const std::filesystem::path& file) {
  constexpr mode_t owner_alone = 0600;
  const int made = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, owner_alone);
  if (made >= 0) {
    ::close(made);
    return;
  }
  if (errno != EEXIST) throw std::system_error(errno, std::generic_category(), file.string());
  for (const char* suffix : {"", "-wal", "-shm"}) {
    const std::string name = file.string() + suffix;
    if (::chmod(name.c_str(), owner_alone) != 0 && errno != ENOENT)
      throw std::system_error(errno, std::generic_category(), name);
  }
}

}  // namespace berth::db::sqlite
