#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

// What a container uses, from the kernel: no call of podman, whose own figures cost it 20 ms for
// each container.
namespace berth::embedded::podman {

struct CgroupPaths {
  std::filesystem::path memory;  // directories; empty if there is no such controller
  std::filesystem::path cpu;
  bool v2 = false;
};
// The control groups of a process; nothing if it has none of its own.
CgroupPaths cgroups_of(pid_t pid);
// The same, but empty if the process shares them with berthd, as a container does whose limits
// don't hold: what they count isn't the container's.
CgroupPaths own_cgroups_of(pid_t pid);
// Whether the process belongs to this container, so that its id isn't another one's by now.
bool belongs_to(pid_t pid, const std::string& container_id);

// In nanoseconds since the container's start.
std::optional<std::uint64_t> cpu_time(const CgroupPaths& paths);
// What the kernel can't drop: all memory but the pages of files that weren't used lately, as
// kubelets report it (container_memory_working_set_bytes).
std::optional<std::uint64_t> working_set(const CgroupPaths& paths);
// How many processes were killed because the container's memory was exhausted.
std::uint64_t out_of_memory_kills(const CgroupPaths& paths);

// The room that a directory with all that is in it takes on the disk. Other file systems mounted
// there aren't counted. Stops after `most_entries` files.
std::uint64_t disk_usage(const std::filesystem::path& directory, std::size_t most_entries);

}  // namespace berth::embedded::podman
