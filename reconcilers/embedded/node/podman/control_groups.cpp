#include "reconcilers/embedded/node/podman/control_groups.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <ranges>
#include <set>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "controller/base/descriptor.h"
#include "reconcilers/embedded/node/file_text.h"
#include "reconcilers/embedded/node/podman/measure.h"

namespace berth::embedded::podman {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// With cgroupfs, podman's parent of all groups.
constexpr const char* podmans_parent = "libpod_parent";
// How podman names network namespaces.
constexpr std::string_view podmans_network = "netns-";
constexpr auto processes_end_within = 1s;
constexpr auto between_looks = 10ms;

using FileId = std::pair<dev_t, ino_t>;
std::optional<FileId> id_of(const fs::path& file) {
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) return std::nullopt;
  return FileId(found.st_dev, found.st_ino);
}

// Podman's parents of groups that exist.
std::vector<fs::path> parents_of_groups(const fs::path& root) {
  std::error_code ignored;
  std::vector<fs::path> parents{root / podmans_parent};
  // With version 1, each controller has a hierarchy of its own.
  for (auto at = fs::directory_iterator(root, ignored); at != fs::directory_iterator();
       at.increment(ignored))
    if (fs::is_directory(at->path() / podmans_parent, ignored))
      parents.push_back(at->path() / podmans_parent);
  return parents;
}

// The groups of this name that exist.
std::vector<fs::path> groups_in(const std::vector<fs::path>& parents, const std::string& name) {
  std::error_code ignored;
  std::vector<fs::path> groups;
  for (const fs::path& parent : parents)
    if (fs::is_directory(parent / name, ignored)) groups.push_back(parent / name);
  return groups;
}

// The group and those below it, each before those that it has.
std::vector<fs::path> with_inner(const fs::path& group) {
  std::error_code ignored;
  std::vector<fs::path> directories{group};
  for (auto at = fs::recursive_directory_iterator(group, ignored);
       at != fs::recursive_directory_iterator(); at.increment(ignored))
    if (at->is_directory(ignored)) directories.push_back(at->path());
  return directories;
}

std::set<pid_t> processes_of(const std::vector<fs::path>& groups) {
  std::set<pid_t> found;
  for (const fs::path& group : groups)
    for (const fs::path& directory : with_inner(group)) {
      std::istringstream lines(file_text(directory / "cgroup.procs"));
      for (pid_t pid = 0; lines >> pid;)
        if (pid > 0) found.insert(pid);
    }
  return found;
}

// Kills the process if it is the container's, and not another one that has got its number. Returns
// its network namespace.
std::optional<FileId> kill_process(pid_t pid, const std::string& container_id) {
  const Descriptor process(int(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process.valid() || !belongs_to(pid, container_id)) return std::nullopt;
  const auto network = id_of("/proc/" + std::to_string(pid) + "/ns/net");
  ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
  return network;
}

// A namespace stays as long as it is mounted, and keeps its interfaces.
void remove_networks(const std::set<FileId>& networks, const fs::path& directory) {
  std::error_code ignored;
  for (auto at = fs::directory_iterator(directory, ignored); at != fs::directory_iterator();
       at.increment(ignored)) {
    const auto id = id_of(at->path());
    if (!at->path().filename().string().starts_with(podmans_network) || !id ||
        !networks.contains(*id))
      continue;
    if (::umount2(at->path().c_str(), MNT_DETACH) == 0) fs::remove(at->path(), ignored);
  }
}

// The files of a control group can't be removed; its directory can, as if it were empty, once it
// has neither processes nor groups of its own.
void remove_group(const fs::path& group) {
  std::error_code ignored;
  for (const fs::path& directory : with_inner(group) | std::views::reverse)
    fs::remove(directory, ignored);
}

}  // namespace

void remove_remains(const std::string& container_id, const fs::path& groups,
                    const fs::path& networks) {
  if (container_id.empty()) return;
  const std::vector<fs::path> parents = parents_of_groups(groups);
  const std::vector<fs::path> own = groups_in(parents, "libpod-" + container_id);
  const std::vector<fs::path> of_conmon = groups_in(parents, "libpod-conmon-" + container_id);
  std::set<FileId> isolated;
  bool has_killed = false;
  const auto until = std::chrono::steady_clock::now() + processes_end_within;
  // conmon ends by itself once the container's processes have ended.
  while (std::chrono::steady_clock::now() < until) {
    const auto processes = processes_of(own);
    has_killed = has_killed || !processes.empty();
    if (processes.empty() && (!has_killed || processes_of(of_conmon).empty())) break;
    for (const pid_t pid : processes)
      if (const auto network = kill_process(pid, container_id)) isolated.insert(*network);
    std::this_thread::sleep_for(between_looks);
  }
  if (const auto machine = id_of("/proc/self/ns/net")) isolated.erase(*machine);
  if (!isolated.empty()) remove_networks(isolated, networks);
  for (const fs::path& group : own) remove_group(group);
  for (const fs::path& group : of_conmon) remove_group(group);
}

}  // namespace berth::embedded::podman
