#include "berthd/backup/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace berth::backup {
namespace {

constexpr size_t max_secret_bytes = 64 * 1024;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

int open_private(const std::filesystem::path& path, int flags) {
  constexpr mode_t owner_alone = 0600;
  const int file = ::open(path.c_str(), flags | O_CLOEXEC, owner_alone);
  if (file < 0) fail(path.string());
  return file;
}

void write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("can't be written");
    bytes.remove_prefix(size_t(written));
  }
}

std::string read_some(int file, size_t most) {
  std::string bytes(most, '\0');
  for (;;) {
    const ssize_t got = ::read(file, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("can't be read");
    bytes.resize(size_t(got));
    return bytes;
  }
}

void sync(int file) {
  if (::fsync(file) != 0) fail("can't be written durably");
}

void sync_directory(const std::filesystem::path& directory) {
  const OpenFile opened(directory, O_RDONLY | O_DIRECTORY);
  sync(opened.get());
}

void rename_lasting(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) fail(to.string());
  sync_directory(to.has_parent_path() ? to.parent_path() : ".");
}

OpenFile::~OpenFile() { ::close(file_); }

std::string read_secret(const std::filesystem::path& path) {
  const OpenFile file(path, O_RDONLY);
  std::string text = read_some(file.get(), max_secret_bytes);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

}  // namespace berth::backup
