#include "reconcilers/embedded/node/podman/control_groups.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <fstream>

#include "reconcilers/embedded/node/file_text.h"
#include "tests/temp_dir.h"

using namespace berth;
namespace fs = std::filesystem;

TEST_CASE("the control groups of a container that is gone are removed, in each hierarchy") {
  const test::TempDir dir;
  for (const char* group :
       {"unified/libpod_parent/libpod-gone/container", "memory/libpod_parent/libpod-conmon-gone",
        "memory/libpod_parent/libpod-busy", "libpod_parent/libpod-gone",
        "memory/others/libpod-gone"})
    fs::create_directories(dir / group);
  dir.write("memory/libpod_parent/libpod-busy/stays", "as a group with processes does");

  embedded::podman::remove_remains("gone", dir.path());
  embedded::podman::remove_remains("busy", dir.path());
  embedded::podman::remove_remains("unknown", dir.path());
  embedded::podman::remove_remains("", dir.path());
  CHECK(fs::is_empty(dir / "unified/libpod_parent"));
  CHECK(fs::is_empty(dir / "libpod_parent"));
  CHECK(fs::exists(dir / "memory/libpod_parent/libpod-busy"));
  CHECK_FALSE(fs::exists(dir / "memory/libpod_parent/libpod-conmon-gone"));
  CHECK(fs::exists(dir / "memory/others/libpod-gone"));
}

namespace {

// A process that waits for its end in a network namespace of its own.
pid_t isolated_process() {
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t pid = fork();
  if (pid == 0) {
    const bool is_isolated = unshare(CLONE_NEWNET) == 0;
    (void)!write(ready[1], "r", is_isolated ? 1 : 0);
    close(ready[1]);
    if (is_isolated) pause();
    _exit(1);
  }
  close(ready[1]);
  char byte = 0;
  const bool is_ready = read(ready[0], &byte, 1) == 1;
  close(ready[0]);
  if (is_ready) return pid;
  waitpid(pid, nullptr, 0);
  return 0;
}

// A place where this process may make control groups; empty if there is none.
fs::path place_of_groups(const std::string& name) {
  for (const char* hierarchy :
       {"/sys/fs/cgroup/pids", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"}) {
    std::error_code failed;
    fs::create_directories(fs::path(hierarchy) / "libpod_parent" / name, failed);
    if (!failed && fs::exists(fs::path(hierarchy) / "libpod_parent" / name / "cgroup.procs"))
      return fs::path(hierarchy) / "libpod_parent" / name;
  }
  return {};
}

}  // namespace

TEST_CASE("the processes and the network of a container that is gone are removed") {
  const std::string id = "berthtest" + std::to_string(getpid());
  const fs::path group = place_of_groups("libpod-" + id);
  const pid_t pid = group.empty() ? 0 : isolated_process();
  if (pid == 0) {
    WARN("skipped: this needs root, and control groups that may be made");
    return;
  }
  std::ofstream(group / "cgroup.procs") << pid << std::flush;
  REQUIRE(embedded::trimmed_file_text(group / "cgroup.procs") == std::to_string(pid));
  const test::TempDir networks;
  networks.write("netns-left", "");
  networks.write("netns-other", "");
  const std::string own = "/proc/" + std::to_string(pid) + "/ns/net";
  REQUIRE(mount(own.c_str(), (networks / "netns-left").c_str(), nullptr, MS_BIND, nullptr) == 0);

  embedded::podman::remove_remains(id, "/sys/fs/cgroup", networks.path());
  int status = 0;
  CHECK(waitpid(pid, &status, 0) == pid);
  CHECK(WTERMSIG(status) == SIGKILL);
  CHECK_FALSE(fs::exists(group));
  CHECK_FALSE(fs::exists(networks / "netns-left"));
  CHECK(fs::exists(networks / "netns-other"));
}
