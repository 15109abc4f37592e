#pragma once

#include <filesystem>
#include <string>

namespace berth::embedded::podman {

// Removes the control groups of a container that podman has removed, and those of its conmon. A
// podman that was killed while it started or removed the container leaves them behind, and each
// takes memory of the kernel until the machine restarts. A group that still has processes stays.
// Looks only where podman makes the groups itself (cgroup_manager "cgroupfs"); systemd removes
// those that it has made. `root` is where control groups are mounted. Never throws.
void remove_control_groups(const std::string& container_id,
                           const std::filesystem::path& root = "/sys/fs/cgroup");

}  // namespace berth::embedded::podman
