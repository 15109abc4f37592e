#include "controller/domain/kernel/disk_room.h"

#include <algorithm>

#include "controller/base/log.h"

namespace berth {
namespace {

bool is_below(const DiskSpace& space, int percent, std::int64_t bytes) {
  return space.free < std::min(bytes, space.total / 100 * percent);
}

const char* meaning_of(DiskStage stage) {
  switch (stage) {
    case DiskStage::low:
      return "the disk is nearly full: people and registrations can no longer store anything";
    case DiskStage::very_low:
      return "the disk is nearly full: only logins, payments and admins can store anything";
    case DiskStage::ample:
      break;
  }
  return "the disk has enough room again";
}

}  // namespace

DiskStage stage_of(const DiskSpace& space) {
  if (is_below(space, very_low_percent, very_low_bytes)) return DiskStage::very_low;
  if (is_below(space, low_percent, low_bytes)) return DiskStage::low;
  return DiskStage::ample;
}

DiskStage DiskRoom::stage(std::chrono::steady_clock::time_point now) {
  if (!look_) return DiskStage::ample;
  const std::lock_guard lock(mutex_);
  if (looked_at_ && now - *looked_at_ < looked_at_every) return stage_;
  looked_at_ = now;
  const auto space = look_();
  const DiskStage stage = space ? stage_of(*space) : DiskStage::ample;
  if (stage != stage_)
    log::write(stage == DiskStage::ample ? log::Level::info : log::Level::warning,
               meaning_of(stage), {{"free_bytes", space ? space->free : 0}});
  return stage_ = stage;
}

}  // namespace berth
