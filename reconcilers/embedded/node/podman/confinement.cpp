#include "reconcilers/embedded/node/podman/confinement.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <set>

#include "controller/base/descriptor.h"
#include "controller/base/log.h"
#include "controller/base/text.h"
#include "reconcilers/embedded/apiserver/types.h"

namespace berth::embedded::podman {
namespace {

// They answer with EPERM, as with containerd.
const std::set<std::string> refused = {
    "add_key",     "fsconfig",      "fsmount",    "fsopen",    "fspick",     "keyctl",
    "mount",       "mount_setattr", "move_mount", "open_tree", "pivot_root", "reboot",
    "request_key", "setns",         "syslog",     "umount",    "umount2",    "unshare"};
// A list can't look into the memory that clone3 has its flags in. With ENOSYS, which is the default
// of podman's list, libraries use clone.
constexpr const char* unknown_call = "clone3";
constexpr const char* limited_call = "clone";
constexpr std::int64_t namespace_flags = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                         CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

// Below /proc/sys/user (namespaces(7)).
constexpr const char* instances_file = "/proc/sys/user/max_inotify_instances";
constexpr const char* watches_file = "/proc/sys/user/max_inotify_watches";
constexpr const char* namespaces_file = "/proc/sys/user/max_user_namespaces";
// A watch takes a kilobyte of the container's own memory.
constexpr int most_watches = 65'536;
// Distributions' limit of instances for a user is 128, too.
constexpr int usual_instances = 128;
constexpr int least_instances = 8;
// So many containers may use up what root may have.
constexpr int shares_of_root = 8;
constexpr int instances_of_root = 65'536;

bool write_setting(const char* file, const std::string& value) {
  const int out = ::open(file, O_WRONLY | O_CLOEXEC);  // NOLINT(*-vararg): open(2)
  if (out < 0) return false;
  const bool good = ::write(out, value.data(), value.size()) == ssize_t(value.size());
  ::close(out);
  return good;
}

}  // namespace

std::string confined_calls(const std::string& podmans) {
  Json profile = Json::parse(podmans, nullptr, false);
  if (!profile.is_object() || !at_path(profile, "/syscalls").is_array()) return "";
  bool has_clone = false;
  Json kept = Json::array();
  for (Json rule : profile["syscalls"]) {
    if (text_at(rule, "action") == "SCMP_ACT_ALLOW") {
      Json names = Json::array();
      for (const Json& name : at_path(rule, "/names")) {
        has_clone = has_clone || name == limited_call;
        if (name.is_string() && name != unknown_call && name != limited_call &&
            !refused.contains(name.get<std::string>()))
          names.push_back(name);
      }
      if (names.empty()) continue;
      rule["names"] = names;
    }
    kept.push_back(std::move(rule));
  }
  if (!has_clone) return "";
  // On s390 the flags are the second argument; berth isn't built for it.
  kept.push_back({{"names", {limited_call}},
                  {"action", "SCMP_ACT_ALLOW"},
                  {"args",
                   {{{"index", 0},
                     {"value", namespace_flags},
                     {"valueTwo", 0},
                     {"op", "SCMP_CMP_MASKED_EQ"}}}}});
  kept.push_back({{"names", refused}, {"action", "SCMP_ACT_ERRNO"}, {"errnoRet", EPERM}});
  profile["syscalls"] = std::move(kept);
  return profile.dump(1) + "\n";
}

void limit_kernel_use(pid_t container, int inotify_instances) {
  const std::string file = "/proc/" + std::to_string(container) + "/ns/user";
  const Descriptor users(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!users.valid()) return;
  const std::string instances = std::to_string(inotify_instances);
  const std::string watches = std::to_string(most_watches);
  const std::string none = "0";
  // The settings are those of the namespace of whoever opens the files, which a process with
  // several threads can't enter.
  const pid_t child = ::fork();
  if (child < 0) return;
  if (child == 0)
    ::_exit(::setns(users.get(), CLONE_NEWUSER) == 0 && write_setting(instances_file, instances) &&
                    write_setting(watches_file, watches) && write_setting(namespaces_file, none)
                ? 0
                : 1);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0)
    log::debug("a container's use of the kernel can't be limited", {{"pid", container}});
}

int make_room_for_containers() {
  int of_root = 0;
  std::ifstream(instances_file) >> of_root;
  if (of_root < instances_of_root &&
      write_setting(instances_file, std::to_string(instances_of_root))) {
    log::info("root may have more instances of inotify, since containers have some",
              {{"before", of_root}, {"now", instances_of_root}});
    of_root = instances_of_root;
  }
  return std::clamp(of_root / shares_of_root, least_instances, usual_instances);
}

}  // namespace berth::embedded::podman
