#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

// What containers get less of the kernel than podman gives them.
namespace berth::embedded::podman {

// podman's list of system calls. containers.conf(5) has its place.
inline constexpr const char* podmans_calls = "/usr/share/containers/seccomp.json";
// The file below the data directory's `local` that has what is made of it.
inline constexpr const char* calls_file = "seccomp.json";

// Returns podman's list without what a tenant's program has no business with: namespaces of its
// own, mounts, and the kernel's keyrings. This is what containerd leaves out, too, on clusters: a
// user namespace of its own would give a program capabilities there, and with them parts of the
// kernel in which most of its flaws were found. Returns an empty text if it can't read the list.
std::string confined_calls(const std::string& podmans);

// Limits what the users of a container have of the kernel. It counts some things for each user, and
// those of a user namespace for the one who made it as well: without limits one container could
// use up what the machine's root may have. Needs root; a container that has ended is left alone.
// As the container runs already, it may have taken more in its first moment.
void limit_kernel_use(pid_t container, int inotify_instances);

// Lets root have as many instances of inotify as many containers may take altogether, which stays
// so until the machine is booted. Returns how many a container may have: fewer, if root isn't
// allowed to change that. Needs root.
int make_room_for_containers();

}  // namespace berth::embedded::podman
