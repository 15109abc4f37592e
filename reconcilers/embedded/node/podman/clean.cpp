#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "controller/base/text.h"
#include "controller/base/url.h"
#include "reconcilers/embedded/node/file_text.h"
#include "reconcilers/embedded/node/podman/build_network.h"
#include "reconcilers/embedded/node/podman/confinement.h"
#include "reconcilers/embedded/node/podman/podman_runtime.h"
#include "reconcilers/embedded/node/podman/words.h"

namespace berth::embedded::podman {
namespace {

namespace fs = std::filesystem;

// All that the runtime and podman keep in the directory; others have files of their own there.
constexpr std::array own_files = {"run",          "tmp",
                                  "home",         "networks",
                                  "storage",      "logs",
                                  "pods",         "containers.conf",
                                  "storage.conf", "registries.conf",
                                  "auth.json",    "boot",
                                  "podman.pid",   "podman.sock",
                                  "podman.log",   "overlay-try",
                                  calls_file,     "program.tar"};

constexpr int removers = 4;
constexpr int most_clean_attempts = 50;
constexpr std::chrono::milliseconds clean_pause{100};

UnixAnswer ask(const Service& service, const std::string& method, const std::string& target) {
  using namespace std::chrono_literals;
  UnixCall call;
  call.method = method;
  call.target = libpod_api + target;
  call.silence = 120s;
  return service.http().call(call);
}

void remove_containers(const Service& service) {
  const UnixAnswer listed = ask(service, "GET", "/containers/json?all=true");
  if (!listed.good()) throw std::runtime_error(words_of(listed.body));
  Workers workers(removers, removers, std::size_t{1} << 20);
  std::mutex mutex;
  std::condition_variable done;
  std::size_t left = 0;
  std::string failure;
  int number = 0;
  for (const Json& one : Json::parse(listed.body, nullptr, false)) {
    const std::string id = text_at(one, "Id");
    {
      const std::lock_guard lock(mutex);
      ++left;
    }
    // A group of its own for each, since a group doesn't get all threads.
    workers.submit(std::to_string(++number), [&, id] {
      std::string words;
      try {
        // podman can't remove a container while it cleans up after its end.
        for (int attempt = 0; attempt < most_clean_attempts; ++attempt) {
          const UnixAnswer answer =
              ask(service, "DELETE", "/containers/" + id + "?force=true&timeout=0&v=true");
          words = answer.good() || answer.status == 404 ? "" : words_of(answer.body);
          if (words.empty()) break;
          std::this_thread::sleep_for(clean_pause);
        }
      } catch (const UnixHttpError& error) {
        words = error.what();
      }
      const std::lock_guard lock(mutex);
      if (!words.empty()) failure = words;
      --left;
      done.notify_one();
    });
  }
  std::unique_lock lock(mutex);
  done.wait(lock, [&] { return left == 0; });
  if (!failure.empty()) throw std::runtime_error("A container can't be removed: " + failure);
}

void remove_networks(const Service& service) {
  const UnixAnswer listed = ask(service, "GET", "/networks/json");
  if (!listed.good()) throw std::runtime_error(words_of(listed.body));
  for (const Json& one : Json::parse(listed.body, nullptr, false)) {
    const std::string name = text_at(one, "name");
    if (name != "podman") ask(service, "DELETE", "/networks/" + name + "?force=true");
  }
}

// What is mounted below the directory, the innermost first (proc(5), mountinfo).
std::vector<std::string> mounts_below(const fs::path& directory) {
  std::vector<std::string> found;
  std::ifstream file("/proc/self/mountinfo");
  std::string line;
  const std::string prefix = directory.string() + "/";
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    std::string field;
    constexpr int mount_point = 5;
    for (int i = 0; i < mount_point; ++i) fields >> field;
    if (field.starts_with(prefix)) found.push_back(field);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

// The programs that work for a directory and name it on their command lines.
constexpr std::array own_programs = std::to_array<std::string_view>(
    {"podman", "conmon", "caddy", "slirp4netns", "fuse-overlayfs", "rootlessport"});

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string program;
  bool names_directory = false;
};

std::vector<Process> processes(const fs::path& directory) {
  std::vector<Process> all;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator("/proc", failed)) {
    const auto pid = parse_number<pid_t>(entry.path().filename().string());
    if (!pid || *pid == ::getpid()) continue;
    const std::string command = file_text(entry.path() / "cmdline");
    std::istringstream fields = stat_fields(*pid);
    std::string state;
    Process process{.pid = *pid,
                    .program = fs::path(command.substr(0, command.find('\0'))).filename(),
                    .names_directory = command.find(directory.string() + "/") != std::string::npos};
    fields >> state >> process.parent;
    all.push_back(process);
  }
  return all;
}

// Ends what still runs for the directory although podman doesn't know it any more: its files may be
// gone, and the processes that watch over what was executed in a container outlive it.
void end_processes(const fs::path& directory) {
  const auto all = processes(directory);
  std::set<pid_t> watchers;
  for (const Process& one : all)
    if (one.names_directory && one.program == "conmon") watchers.insert(one.pid);
  for (const Process& one : all) {
    const bool is_own =
        one.names_directory && std::ranges::find(own_programs, one.program) != own_programs.end();
    if (is_own || watchers.contains(one.parent)) ::kill(one.pid, SIGKILL);
  }
}

// What the program said last, which is the reason of its failure.
std::string last_words(const CommandResult& result) {
  if (result.status == CommandResult::timed_out) return "it took too long";
  const std::size_t end = result.errors.find_last_not_of('\n');
  if (end == std::string::npos) return "exit code " + std::to_string(result.status);
  const std::size_t line = result.errors.rfind('\n', end);
  const std::size_t begin = line == std::string::npos ? 0 : line + 1;
  return result.errors.substr(begin, end + 1 - begin);
}

// Files of containers belong to users that only podman's user namespace may act for. A process that
// was just killed may still hold some of them. Returns podman's words if it couldn't remove all.
std::string remove_files_of_containers(const fs::path& directory, const Service& service) {
  constexpr int attempts = 30;
  constexpr std::chrono::milliseconds pause{100};
  Command removal{.args = {"podman", "unshare", "rm", "-rf"},
                  .env = service.environment(),
                  .directory = directory};
  for (const char* name : {"storage", "pods", "home", "tmp"})
    removal.args.push_back(directory / name);
  CommandResult last;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(pause);
    last = run(removal);
    if (last.good()) return {};
  }
  return last_words(last);
}

}  // namespace

void clean(const RuntimeOptions& options) {
  std::error_code failed;
  const fs::path directory = fs::weakly_canonical(fs::absolute(options.directory));
  if (!fs::exists(directory)) return end_processes(directory);
  const Machine machine = look_at_machine(directory);
  Service service(directory, machine);
  const bool root = machine.root;
  if (fs::exists(directory / "storage")) {
    service.stop();  // it may be stuck
    service.ensure();
    remove_containers(service);
    remove_networks(service);
  }
  service.stop();
  end_processes(directory);
  for (const std::string& mount : mounts_below(directory)) ::umount2(mount.c_str(), MNT_DETACH);
  Firewall firewall({}, service.environment());
  if (root) firewall.remove(table_of(instance_of(directory)));
  if (root) remove_rules_of_builds();
  const std::string why = root ? "" : remove_files_of_containers(directory, service);
  std::vector<std::string> left;
  for (const char* name : own_files) {
    fs::remove_all(directory / name, failed);
    if (failed) left.push_back((directory / name).string() + ": " + failed.message());
  }
  if (!left.empty())
    throw std::runtime_error("Not removed: " + joined(left, "; ") + "." +
                             (why.empty() ? "" : " podman unshare rm says: " + shown(why)));
  fs::remove(directory, failed);  // fails, and may, if others have files there
}

}  // namespace berth::embedded::podman
