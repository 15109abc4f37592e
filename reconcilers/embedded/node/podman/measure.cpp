#include "reconcilers/embedded/node/podman/measure.h"

#include <fts.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>
#include <utility>

#include "controller/base/text.h"
#include "reconcilers/embedded/node/file_text.h"

namespace berth::embedded::podman {
namespace {

namespace fs = std::filesystem;

// The number behind a name in a file such as memory.stat.
std::optional<std::uint64_t> number_in(const fs::path& file, const std::string& name) {
  std::ifstream in(file);
  std::string word;
  std::uint64_t value = 0;
  while (in >> word >> value)
    if (word == name) return value;
  return std::nullopt;
}

std::optional<std::uint64_t> number_of(const fs::path& file) {
  return parse_number<std::uint64_t>(trimmed_file_text(file));
}

// The directory of a controller of version 1, which may be mounted together with another one.
fs::path root_of(const std::string& controllers) {
  const fs::path all = "/sys/fs/cgroup";
  return all / controllers;
}

}  // namespace

CgroupPaths cgroups_of(pid_t pid) {
  CgroupPaths paths;
  std::ifstream file("/proc/" + std::to_string(pid) + "/cgroup");
  std::string line;
  fs::path unified;
  while (std::getline(file, line)) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 2);  // without the slash at its beginning
    if (controllers.empty()) unified = fs::path("/sys/fs/cgroup") / path;
    if (controllers == "memory") paths.memory = root_of(controllers) / path;
    if (controllers == "cpuacct" || controllers == "cpu,cpuacct")
      paths.cpu = root_of(controllers) / path;
  }
  if (paths.memory.empty() && fs::exists(unified / "memory.current")) {
    paths.memory = unified;
    paths.cpu = std::move(unified);
    paths.v2 = true;
  }
  return paths;
}

bool belongs_to(pid_t pid, const std::string& container_id) {
  const fs::path process = fs::path("/proc") / std::to_string(pid);
  if (trimmed_file_text(process / "cgroup").find(container_id) != std::string::npos) return true;
  // Without root, and with control groups of version 1, it has none of its own; but conmon, its
  // parent, names it.
  std::istringstream fields(trimmed_file_text(process / "stat"));
  std::string before_name, field;
  std::getline(fields, before_name, ')');
  pid_t parent = 0;
  fields >> field >> parent;
  return parent > 1 && trimmed_file_text(fs::path("/proc") / std::to_string(parent) / "cmdline")
                               .find(container_id) != std::string::npos;
}

CgroupPaths own_cgroups_of(pid_t pid) {
  const CgroupPaths paths = cgroups_of(pid);
  return paths.memory == cgroups_of(::getpid()).memory ? CgroupPaths() : paths;
}

std::optional<std::uint64_t> cpu_time(const CgroupPaths& paths) {
  if (paths.cpu.empty()) return std::nullopt;
  if (!paths.v2) return number_of(paths.cpu / "cpuacct.usage");
  const auto microseconds = number_in(paths.cpu / "cpu.stat", "usage_usec");
  if (!microseconds) return std::nullopt;
  return *microseconds * 1000;
}

std::optional<std::uint64_t> working_set(const CgroupPaths& paths) {
  if (paths.memory.empty()) return std::nullopt;
  const auto all =
      number_of(paths.memory / (paths.v2 ? "memory.current" : "memory.usage_in_bytes"));
  if (!all) return std::nullopt;
  const std::uint64_t inactive =
      number_in(paths.memory / "memory.stat", paths.v2 ? "inactive_file" : "total_inactive_file")
          .value_or(0);
  return *all > inactive ? *all - inactive : 0;
}

std::uint64_t out_of_memory_kills(const CgroupPaths& paths) {
  if (paths.memory.empty()) return 0;
  return number_in(paths.memory / (paths.v2 ? "memory.events" : "memory.oom_control"), "oom_kill")
      .value_or(0);
}

std::uint64_t disk_usage(const fs::path& directory, std::size_t most_entries) {
  std::string path = directory;
  std::array<char*, 2> roots{path.data(), nullptr};
  FTS* walk = ::fts_open(roots.data(), FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, nullptr);
  if (walk == nullptr) return 0;
  constexpr std::uint64_t block = 512;  // stat(2), st_blocks
  std::uint64_t bytes = 0;
  std::size_t entries = 0;
  while (const FTSENT* entry = ::fts_read(walk)) {
    if (entry->fts_info == FTS_DP) continue;
    if (entry->fts_info == FTS_NS || entry->fts_info == FTS_ERR || entry->fts_info == FTS_DNR)
      continue;
    bytes += std::uint64_t(entry->fts_statp->st_blocks) * block;
    if (++entries >= most_entries) break;
  }
  ::fts_close(walk);
  return bytes;
}

}  // namespace berth::embedded::podman
