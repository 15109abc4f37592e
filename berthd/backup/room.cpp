#include "berthd/backup/room.h"

namespace berth::backup {
namespace {

constexpr std::uintmax_t room_to_keep = 64 << 20;

std::uintmax_t size_of(const std::filesystem::path& file) {
  std::error_code missing;
  const auto size = std::filesystem::file_size(file, missing);
  return missing ? 0 : size;
}

}  // namespace

std::uintmax_t bytes_of(const std::filesystem::path& database) {
  return size_of(database) + size_of(database.string() + "-wal");
}

bool has_room(const std::filesystem::path& directory, std::uintmax_t bytes) {
  return std::filesystem::space(directory).available >= bytes + room_to_keep;
}

}  // namespace berth::backup
