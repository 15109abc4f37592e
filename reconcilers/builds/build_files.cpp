#include "reconcilers/builds/build_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace berth::reconcilers {
namespace {

namespace fs = std::filesystem;

constexpr const char* uploads_name = "uploads";
constexpr mode_t of_owner = 0600;
constexpr std::string_view too_long = "… what follows is left out: a log has at most 1 MiB\n";

void make_private(const fs::path& directory) {
  fs::create_directories(directory);
  fs::permissions(directory, fs::perms::owner_all);
}

// Sees to it that a file, or a directory with its new entries, is on the disk.
void sync(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw std::runtime_error(path.string() + ": " + std::strerror(errno));
  const int result = ::fsync(fd);
  const int reason = errno;
  ::close(fd);
  if (result != 0) throw std::runtime_error(path.string() + ": " + std::strerror(reason));
}

}  // namespace

BuildFiles::BuildFiles(fs::path directory) : directory_(std::move(directory)) {
  make_private(directory_);
  fs::remove_all(uploads());
  make_private(uploads());
}

void BuildFiles::keep(const std::string& id, const fs::path& source_file) const {
  make_private(of(id));
  fs::rename(source_file, source(id));
  sync(source(id));
  sync(of(id));
  sync(directory_);
}

void BuildFiles::forget_source(const std::string& id) const {
  std::error_code ignored;
  fs::remove(source(id), ignored);
  fs::remove(source(id).string() + ".tar", ignored);  // as a builder writes it anew
}

void BuildFiles::forget(const std::string& id) const {
  std::error_code ignored;
  fs::remove_all(of(id), ignored);
}

std::vector<std::string> BuildFiles::ids() const {
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(directory_))
    if (entry.path().filename() != uploads_name) all.push_back(entry.path().filename().string());
  return all;
}

std::string BuildFiles::log(const std::string& id, std::uint64_t from, std::size_t most) const {
  const int fd = ::open((of(id) / "log").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  std::string piece(most, '\0');
  const ssize_t count = ::pread(fd, piece.data(), most, static_cast<off_t>(from));
  ::close(fd);
  piece.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return piece;
}

BuildFiles::Log::Log(const fs::path& file)
    : fd_(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, of_owner)) {}

BuildFiles::Log::~Log() {
  if (fd_ >= 0) ::close(fd_);
}

void BuildFiles::Log::append(std::string_view piece) {
  while (fd_ >= 0 && !piece.empty()) {
    const ssize_t written = ::write(fd_, piece.data(), piece.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes_ += static_cast<std::uint64_t>(written);
    ends_line_ = piece[static_cast<std::size_t>(written) - 1] == '\n';
    piece.remove_prefix(static_cast<std::size_t>(written));
  }
}

void BuildFiles::Log::write(std::string_view piece) {
  if (is_full_) return;
  const std::uint64_t room = max_log_bytes - too_long.size() - 1 -
                             std::min<std::uint64_t>(bytes_, max_log_bytes - too_long.size() - 1);
  append(piece.substr(0, room));
  if (piece.size() <= room) return;
  is_full_ = true;
  if (!ends_line_) append("\n");
  append(too_long);
}

std::unique_ptr<BuildFiles::Log> BuildFiles::open_log(const std::string& id) const {
  return std::make_unique<Log>(of(id) / "log");
}

}  // namespace berth::reconcilers
