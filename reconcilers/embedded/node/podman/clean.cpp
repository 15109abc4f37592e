#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "controller/base/text.h"
#include "controller/base/url.h"
#include "reconcilers/embedded/node/podman/builder.h"
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
                                  "podman.log",   "overlay-try"};

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
  Workers workers(removers, std::size_t{1} << 20);
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

// Ends the processes that watch over containers and over what was executed in them: those of the
// latter may be left when their container is gone.
void end_conmons(const fs::path& directory) {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator("/proc", failed)) {
    const auto pid = parse_number<pid_t>(entry.path().filename().string());
    if (!pid) continue;
    std::ifstream file(entry.path() / "cmdline");
    const std::string command{std::istreambuf_iterator<char>(file), {}};
    const std::string program = command.substr(0, command.find('\0'));
    if (fs::path(program).filename() == "conmon" &&
        command.find(directory.string() + "/") != std::string::npos)
      ::kill(*pid, SIGKILL);
  }
}

}  // namespace

void clean(const RuntimeOptions& options) {
  std::error_code failed;
  if (!fs::exists(options.directory)) return;
  const fs::path directory = fs::canonical(options.directory);
  const Machine machine = look_at_machine(directory);
  Service service(directory, machine);
  const bool root = machine.root;
  if (fs::exists(directory / "storage")) {
    service.ensure();
    remove_containers(service);
    remove_networks(service);
  }
  service.stop();
  end_conmons(directory);
  for (const std::string& mount : mounts_below(directory)) ::umount2(mount.c_str(), MNT_DETACH);
  Firewall firewall({}, service.environment());
  if (root) firewall.remove(table_of(instance_of(directory)));
  if (root) firewall.remove(table_of_builds);
  // Files of containers belong to users that only podman's user namespace may act for.
  if (!root)
    (void)run({.args = {"podman", "unshare", "rm", "-rf", (directory / "storage").string(),
                        (directory / "pods").string()},
               .env = service.environment()});
  std::vector<std::string> left;
  for (const char* name : own_files) {
    fs::remove_all(directory / name, failed);
    if (failed) left.push_back((directory / name).string() + ": " + failed.message());
  }
  if (!left.empty()) throw std::runtime_error("Not removed: " + joined(left, "; ") + ".");
  fs::remove(directory, failed);  // fails, and may, if others have files there
}

}  // namespace berth::embedded::podman
