#pragma once

#include <filesystem>
#include <string>

namespace berth::embedded::podman {

// Removes what a container that podman has removed may have left: its processes, its network
// namespace, its control groups and those of its conmon. A podman that was killed while it started
// a container knows nothing of these afterwards. The processes never become the container's
// program, but their network has the address that the pod's next container gets, and answers in its
// place; and each control group takes memory of the kernel until the machine restarts.
//
// Looks only where podman makes the groups itself (cgroup_manager "cgroupfs"); systemd removes
// those that it has made. Takes a second at most, while the processes end. Without root, it can't
// end those of the container's users. `groups` is where control groups are mounted, `networks`
// where podman keeps network namespaces. Never throws.
void remove_remains(const std::string& container_id,
                    const std::filesystem::path& groups = "/sys/fs/cgroup",
                    const std::filesystem::path& networks = "/run/netns");

}  // namespace berth::embedded::podman
