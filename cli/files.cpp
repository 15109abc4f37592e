#include "cli/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "cli/failure.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

constexpr int most_links = 40;  // as many as Linux follows
constexpr mode_t mode_bits = 0777;
constexpr mode_t readable_by_all = 0666;

Failure trouble(const std::string& what, const fs::path& file) {
  return Failure(Exit::failed, "can't " + what + " " + file.string() + ": " + std::strerror(errno));
}

void make_directory(const fs::path& dir, Access access) {
  std::error_code error;
  const bool made = fs::create_directories(dir, error);
  if (error) throw Failure(Exit::failed, "can't create " + dir.string() + ": " + error.message());
  if (made && access == Access::owner_alone)
    fs::permissions(dir, fs::perms::owner_all, fs::perm_options::replace, error);
}

bool write_all(int fd, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::write(fd, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) done += size_t(written);
  }
  return ::fsync(fd) == 0;
}

}  // namespace

std::optional<std::string> read_file(const fs::path& file) {
  std::error_code none;
  // A directory can be opened, but there is nothing to read.
  if (fs::is_directory(file, none)) {
    errno = EISDIR;
    throw trouble("read", file);
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw trouble("read", file);
  }
  std::ostringstream content;
  content << in.rdbuf();
  return content.str();
}

namespace {

// Where a chain of symbolic links leads to, even if nothing is there; the path itself if it is
// none.
fs::path behind_links(fs::path file) {
  std::error_code error;
  for (int links = 0; links < most_links && fs::is_symlink(file, error); ++links)
    file = file.parent_path() / fs::read_symlink(file, error);
  return file;
}

mode_t mode_for_everybody(const fs::path& file) {
  struct stat there = {};
  if (::stat(file.c_str(), &there) == 0) return there.st_mode & mode_bits;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return readable_by_all & ~mask;
}

}  // namespace

void write_file(const fs::path& named, const std::string& text, Access access) {
  const fs::path file = behind_links(named);
  make_directory(file.parent_path(), access);
  std::string temporary = file.string() + ".XXXXXX";
  const int fd = ::mkostemp(temporary.data(), O_CLOEXEC);  // with mode 0600
  if (fd < 0) throw trouble("write", file);
  bool written = write_all(fd, text);
  if (access == Access::everybody) written = written && ::fchmod(fd, mode_for_everybody(file)) == 0;
  written = ::close(fd) == 0 && written;
  if (written && ::rename(temporary.c_str(), file.c_str()) == 0) return;
  const Failure failure = trouble("write", file);
  ::unlink(temporary.c_str());
  throw failure;
}

FileLock::FileLock(const fs::path& file, int most_seconds) {
  constexpr std::chrono::milliseconds between_tries{20};
  make_directory(file.parent_path(), Access::owner_alone);
  fd_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd_ < 0) throw trouble("open", file);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(most_seconds);
  while (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    const bool waits = errno == EWOULDBLOCK || errno == EINTR;
    if (waits && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(between_tries);
      continue;
    }
    const Failure failure = waits ? Failure(Exit::unavailable, "another berth has locked " +
                                                                   file.string() + " for too long")
                                  : trouble("lock", file);
    ::close(fd_);
    throw failure;
  }
}

FileLock::~FileLock() { ::close(fd_); }

}  // namespace berth::cli
