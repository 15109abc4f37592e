#include "controller/berthd/backup/room.h"

namespace berth::backup {
namespace {

constexpr std::uintmax_t room_to_keep = 64 << 20;

std::uintmax_t size_of(const std::filesystem::path& file) {
  std::error_code missing;
  const auto size = std::filesystem::file_size(file, missing);
  return missing ? 0 : size;
}

}  // namespace

bool has_room_for_copy(const std::filesystem::path& database) {
  const auto needed = size_of(database) + size_of(database.string() + "-wal") + room_to_keep;
  return std::filesystem::space(database.parent_path()).available >= needed;
}

}  // namespace berth::backup
