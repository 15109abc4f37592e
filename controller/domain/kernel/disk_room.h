#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

namespace berth {

// How much room is left on the disk of the data directory. At `low` strangers can't store anything
// any more, at `very_low` operators can't either; payments, logins and admins are served until the
// disk is full.
enum class DiskStage { ample, low, very_low };

struct DiskSpace {
  std::int64_t total = 0;  // bytes
  std::int64_t free = 0;
};

// A stage begins when less than this share of the disk is free, or less than this number of bytes
// if that is fewer.
inline constexpr int low_percent = 10;
inline constexpr int very_low_percent = 5;
inline constexpr std::int64_t low_bytes = std::int64_t(1) << 30;
inline constexpr std::int64_t very_low_bytes = low_bytes / 2;
DiskStage stage_of(const DiskSpace& space);

// Looks at the disk from time to time. Thread-safe.
class DiskRoom {
 public:
  // How long an observation counts.
  static constexpr std::chrono::seconds looked_at_every{1};
  using Look = std::function<std::optional<DiskSpace>()>;

  // `look` is empty if the database isn't on a disk of this machine: then there is always room, as
  // there is while it returns nothing.
  explicit DiskRoom(Look look = {}) : look_(std::move(look)) {}

  DiskStage stage(std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now());

 private:
  const Look look_;
  std::mutex mutex_;
  std::optional<std::chrono::steady_clock::time_point> looked_at_;
  DiskStage stage_ = DiskStage::ample;
};

}  // namespace berth
