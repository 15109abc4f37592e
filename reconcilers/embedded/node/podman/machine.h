#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "reconcilers/embedded/node/finding.h"

// What the machine has for containers: podman and what it needs, control groups, ranges of users,
// a packet filter, room.
namespace berth::embedded::podman {

enum class Cgroups { v1, v2 };

struct Machine {
  bool root = false;
  std::string podman;    // its version, such as `4.3.1`
  std::string runtime;   // runc or crun
  bool systemd = false;  // whether systemd manages the control groups, and podman asks it for them
  Cgroups cgroups = Cgroups::v2;
  // Which limits of a container hold.
  bool limits_memory = false;
  bool limits_cpu = false;
  bool limits_pids = false;
  bool has_nft = false;
  // How many containers may have users of their own at the same time; 0: no limit that matters.
  std::uint64_t containers_with_users = 0;
  // How many users each container gets; 0: as many as its image needs. podman looks that up with
  // its locks in another order than elsewhere, in 4.3 at least, so that creating a container and
  // starting another one may wait for each other for ever.
  std::uint64_t users_of_a_container = 0;
  std::uint64_t most_processes = 0;  // RLIMIT_NPROC and RLIMIT_NOFILE of berthd itself, which it
  std::uint64_t most_files = 0;      // may hand on
  std::string storage_driver;        // overlay or vfs
  std::string mount_program;         // of overlay; empty: the kernel's own
  std::string architecture;          // as images name it, such as `amd64`
  std::string calls;                 // of the kernel, that containers may use (confinement.h)
  std::vector<Finding> findings;     // what holds less than it should
};

// Looks at the machine; takes up to a second. Containers are stored below `directory`, which
// exists. Throws Unusable if containers can't run here at all.
Machine look_at_machine(const std::filesystem::path& directory);

// Parts of it, for tests. -------------------------------------------------------------------------

// A machine's files and programs, as look_at_machine() finds them.
struct MachineFacts {
  bool root = false;
  std::string user;            // whose name /etc/subuid has
  std::string podman_version;  // what `podman --version` prints; empty: podman isn't installed
  std::vector<std::string> runtimes;  // of runc and crun, those that are installed
  bool has_netavark = false;
  bool has_aardvark = false;
  bool has_iptables = false;
  bool has_nft = false;
  bool has_conmon = false;
  bool has_newuidmap = false;
  bool has_slirp4netns = false;
  bool may_open_tun = false;  // /dev/net/tun
  bool has_fuse_overlayfs = false;
  std::string subuid;  // the texts of /etc/subuid and /etc/subgid
  std::string subgid;
  std::string filesystem;    // of /sys/fs/cgroup: cgroup2fs, tmpfs
  std::string controllers;   // v2: cgroup.controllers where berthd may delegate; v1: /proc/cgroups
  bool has_systemd = false;  // /run/systemd/system
  bool can_overlay = false;  // the kernel lets this user mount an overlay in the directory
  std::uint64_t free_bytes = 0;  // in the directory
  std::string selinux;           // of /sys/fs/selinux/enforce: 1, 0; empty without SELinux
  bool apparmor = false;         // /sys/module/apparmor/parameters/enabled
  bool has_apparmor_parser = false;
  // /proc/sys/kernel/apparmor_restrict_unprivileged_userns: 1, 0; empty: not there
  std::string apparmor_userns;
  bool has_apparmor_podman = false;  // a profile that lets podman make user namespaces
  std::string nft_trouble;           // what `nft list tables` says if it fails
  std::string iptables_trouble;      // and `iptables --list-rules`
  std::string userns_max;            // /proc/sys/user/max_user_namespaces
  std::string userns_clone;          // /proc/sys/kernel/unprivileged_userns_clone; empty: not there
  std::uint64_t most_processes = 0;
  std::uint64_t most_files = 0;
  std::string calls;  // podman's list of system calls
};

// Decides what follows from the facts. Throws Unusable.
Machine judge(const MachineFacts& facts);

}  // namespace berth::embedded::podman
