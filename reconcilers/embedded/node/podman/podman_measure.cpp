#include <sys/statvfs.h>

#include <algorithm>

#include "controller/base/log.h"
#include "reconcilers/embedded/node/podman/podman_runtime.h"

// What running containers use.
namespace berth::embedded::podman {
namespace {

using namespace std::chrono_literals;

// How often the processor and the memory are measured.
constexpr auto sample_pause = 5s;

// How often the disk of all containers is measured at most; looking takes at most a fiftieth of the
// time.
constexpr auto disk_pause = 10s;
constexpr int disk_share = 50;
// If the disk has lost so much room since the last look, the containers are looked at at once.
constexpr std::uint64_t sudden_loss = std::uint64_t{64} << 20;
constexpr auto room_pause = 1s;
constexpr std::size_t most_files = 200'000;
constexpr auto images_pause = 5min;
constexpr auto rules_pause = 30s;

std::uint64_t room_in(const std::filesystem::path& directory) {
  struct statvfs room {};
  if (::statvfs(directory.c_str(), &room) != 0) return 0;
  return std::uint64_t{room.f_bavail} * room.f_frsize;
}

}  // namespace

void PodmanRuntime::sample() {
  std::vector<std::pair<ContainerPtr, CgroupPaths>> running;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, container] : containers_)
      if (container->state.stage == RunState::Stage::running)
        running.emplace_back(container, container->cgroups);
  }
  for (const auto& [container, cgroups] : running) {
    const auto cpu = cpu_time(cgroups);
    const auto memory = working_set(cgroups);
    if (!cpu || !memory) continue;
    const Moment now = Moment::clock::now();
    const std::lock_guard lock(mutex_);
    if (container->state.stage != RunState::Stage::running) continue;
    if (!container->usage) container->usage.emplace();
    Usage& usage = *container->usage;
    usage.at = timestamp();
    usage.memory_bytes = *memory;
    if (container->last_cpu && *cpu >= container->last_cpu->second) {
      const auto passed =
          std::chrono::duration_cast<std::chrono::nanoseconds>(now - container->last_cpu->first);
      if (passed > 0ns)
        usage.cpu_nanocores = std::uint64_t(double(*cpu - container->last_cpu->second) * 1e9 /
                                            double(passed.count()));
    }
    container->last_cpu.emplace(now, *cpu);
  }
  // The first figures are there soon after a container's start.
  loop_.at(Moment::clock::now() + sample_pause, [this] { sample(); });
}

void PodmanRuntime::measure_disk(const ContainerPtr& container) {
  std::filesystem::path upper;
  PodFacts facts;
  {
    const std::lock_guard lock(mutex_);
    if (container->state.stage != RunState::Stage::running) return;
    upper = container->upper;
    facts = container->facts;
  }
  std::error_code ignored;
  std::uint64_t bytes = upper.empty() ? 0 : disk_usage(upper, most_files);
  const auto log = std::filesystem::file_size(container->log, ignored);
  if (!ignored) bytes += log;
  std::map<std::string, std::uint64_t> volumes;
  std::uint64_t all = bytes;
  bool exceeded = false;
  for (const auto& [name, limit] : facts.volume_limits) {
    const std::uint64_t size =
        disk_usage(options_.directory / "pods" / container->run.uid / name, most_files);
    volumes[name] = size;
    all += size;
    exceeded = exceeded || (limit > 0 && size > limit);
  }
  exceeded = exceeded || (facts.disk_limit > 0 && all > facts.disk_limit);
  {
    const std::lock_guard lock(mutex_);
    if (container->state.stage != RunState::Stage::running) return;
    if (!container->usage) {
      container->usage.emplace();
      container->usage->at = timestamp();
    }
    container->usage->disk_bytes = bytes;
    container->usage->volume_bytes = volumes;
  }
  if (exceeded) wake(container->run);
}

void PodmanRuntime::measure_disks() {
  Moment next = Moment::clock::now();
  Moment next_images = Moment::clock::now() + images_pause;
  Moment next_rules = Moment::clock::now() + rules_pause;
  std::uint64_t room_then = room_in(options_.directory);
  std::mutex unused;
  while (!ending_) {
    {
      std::unique_lock lock(unused);
      disks_changed_.wait_for(lock, room_pause, [this] { return ending_.load(); });
    }
    if (ending_) return;
    const Moment began = Moment::clock::now();
    const std::uint64_t room = room_in(options_.directory);
    if (began >= next_images || room < sudden_loss) {
      next_images = began + images_pause;
      calls_.submit("", [this] {
        try {
          collect_images();
        } catch (const UnixHttpError&) {
          // It is tried again later.
        }
      });
    }
    if (began >= next_rules) {
      next_rules = began + rules_pause;
      check_rules();
    }
    if (began < next && room + sudden_loss > room_then) continue;
    std::vector<ContainerPtr> all;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [key, container] : containers_)
        if (container->state.stage == RunState::Stage::running) all.push_back(container);
    }
    for (const ContainerPtr& container : all) {
      if (ending_) return;
      measure_disk(container);
    }
    const Moment ended = Moment::clock::now();
    room_then = room_in(options_.directory);
    next = ended + std::max<Moment::duration>(disk_pause, (ended - began) * disk_share);
  }
}

}  // namespace berth::embedded::podman
