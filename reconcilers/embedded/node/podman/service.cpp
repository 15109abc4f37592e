#include "reconcilers/embedded/node/podman/service.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "controller/base/crypto.h"
#include "controller/base/log.h"
#include "controller/base/text.h"
#include "reconcilers/embedded/node/file_text.h"
#include "reconcilers/embedded/node/podman/confinement.h"

namespace berth::embedded::podman {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr auto longest_start = 30s;
constexpr auto start_pause = 10ms;
constexpr auto longest_end = 5s;
constexpr auto longest_ping = 5s;
// The service's own log is emptied at its start if it is larger.
constexpr std::uintmax_t most_log = std::uintmax_t{4} << 20;

// The kubelet's default for a container's log is 10 MiB (containerLogMaxSize).
constexpr long log_size = 10L << 20;

constexpr const char* registries_conf =
    "unqualified-search-registries = []\nshort-name-mode = \"enforcing\"\n";

void write(const fs::path& file, const std::string& text) {
  if (file_text(file) == text) return;
  const fs::path next = file.string() + ".new";
  {
    std::ofstream out(next, std::ios::binary | std::ios::trunc);
    out << text;
    if (!out.flush())
      throw Unusable({"The file " + file.string() + " can't be written.",
                      "Look at the room and the owner of the data directory."});
  }
  fs::rename(next, file);
}

std::string quoted(const fs::path& path) {
  std::string text = "\"";
  for (const char c : path.string()) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

UnixHttp http_at(const fs::path& directory) {
  try {
    return UnixHttp(directory / "podman.sock", "podman");
  } catch (const std::invalid_argument&) {
    throw Unusable({"The data directory's path is too long: " + directory.string() +
                        "/podman.sock has more than " + std::to_string(UnixHttp::longest_path) +
                        " bytes.",
                    "Move the data directory to a shorter path."});
  }
}

}  // namespace

std::string containers_conf(const fs::path& directory, const Machine& machine) {
  const std::uint64_t files = std::min<std::uint64_t>(machine.most_files, 65'536);
  const std::uint64_t processes = std::min<std::uint64_t>(machine.most_processes, 32'768);
  const auto ulimit = [](const std::string& name, std::uint64_t most) {
    const std::string number = std::to_string(most);
    return "\"" + name + "=" + number + ":" + number + "\"";
  };
  return "[containers]\n"
         "log_driver = \"k8s-file\"\n"
         "log_size_max = " +
         std::to_string(log_size) +
         "\n"
         "base_hosts_file = \"none\"\n"
         "host_containers_internal_ip = \"none\"\n"
         "http_proxy = false\n" +
         (machine.calls.empty() ? ""
                                : "seccomp_profile = " + quoted(directory / calls_file) + "\n") +
         "default_ulimits = [" + ulimit("nofile", files) + ", " + ulimit("nproc", processes) +
         "]\n"
         "[engine]\n"
         "runtime = \"" +
         machine.runtime +
         "\"\n"
         "cgroup_manager = \"" +
         (machine.systemd ? "systemd" : "cgroupfs") +
         "\"\n"
         // berthd learns of the end of a container by its process, so nobody reads events.
         "events_logger = \"none\"\n"
         // podman's locks in shared memory are those of all of a user's podman together.
         "lock_type = \"file\"\n"
         "tmp_dir = " +
         quoted(directory / "run" / "libpod") +
         "\n"
         "static_dir = " +
         quoted(directory / "storage" / "libpod") +
         "\n"
         "volume_path = " +
         quoted(directory / "storage" / "volumes") +
         "\n"
         "image_copy_tmp_dir = " +
         quoted(directory / "tmp") +
         "\n"
         "[network]\n"
         "network_backend = \"netavark\"\n"
         "network_config_dir = " +
         quoted(directory / "networks") + "\n";
}

std::string storage_conf(const fs::path& directory, const Machine& machine) {
  std::string text = "[storage]\ndriver = \"" + machine.storage_driver +
                     "\"\nrunroot = " + quoted(directory / "run" / "storage") +
                     "\ngraphroot = " + quoted(directory / "storage") +
                     // Without root podman reads this key instead (storage.conf(5)).
                     "\nrootless_storage_path = " + quoted(directory / "storage") +
                     "\n[storage.options]\n"
                     "auto-userns-min-size = 1024\nauto-userns-max-size = 65536\n";
  if (machine.storage_driver == "overlay") {
    text += "[storage.options.overlay]\nmountopt = \"nodev\"\n";
    if (!machine.mount_program.empty())
      text += "mount_program = \"/usr/bin/" + machine.mount_program + "\"\n";
  }
  return text;
}

Service::Service(fs::path directory, Machine machine)
    : directory_(std::move(directory)), machine_(std::move(machine)), http_(http_at(directory_)) {}

std::map<std::string, std::string> Service::environment() const {
  auto env = plain_environment();
  env["CONTAINERS_CONF"] = directory_ / "containers.conf";
  env["CONTAINERS_STORAGE_CONF"] = directory_ / "storage.conf";
  env["CONTAINERS_REGISTRIES_CONF"] = directory_ / "registries.conf";
  env["REGISTRY_AUTH_FILE"] = directory_ / "auth.json";
  env["TMPDIR"] = directory_ / "tmp";
  env["HOME"] = directory_ / "home";
  if (!machine_.root) {
    // Without XDG_RUNTIME_DIR, podman uses a directory that others could have made.
    env["XDG_RUNTIME_DIR"] = directory_ / "run" / "user";
    const std::string own = "/run/user/" + std::to_string(::geteuid());
    if (machine_.systemd) {
      env["XDG_RUNTIME_DIR"] = own;
      env["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=" + own + "/bus";
    }
  }
  return env;
}

Daemon Service::daemon() const {
  const std::lock_guard lock(mutex_);
  return daemon_;
}

// What podman keeps below `run` says what runs, and is wrong after the machine was booted. podman
// itself expects it in memory (containers.conf(5), tmp_dir).
void Service::forget_before_boot() {
  const fs::path file = directory_ / "boot";
  const std::string boot = file_text("/proc/sys/kernel/random/boot_id");
  if (file_text(file) == boot) return;
  std::error_code failed;
  fs::remove_all(directory_ / "run", failed);
  if (failed)
    throw Unusable({(directory_ / "run").string() + " can't be removed: " + failed.message() + ".",
                    "Remove it by hand; it is only about what ran before the boot."});
  write(file, boot);
}

void Service::write_configuration() {
  for (const char* part : {"run", "tmp", "home", "networks", "storage", "logs", "pods"})
    fs::create_directories(directory_ / part);
  // A container's users have to get through this directory to their root file system. podman allows
  // that itself whenever it starts a container, so taking it away here would break a start that is
  // under way.
  fs::permissions(directory_,
                  fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
  forget_before_boot();
  for (const char* part : {"run", "run/libpod"}) fs::create_directories(directory_ / part);
  if (!machine_.root) fs::create_directories(directory_ / "run" / "user");
  // A container that is started gets the list as it is then, so a new one needs no other service.
  if (!machine_.calls.empty()) write(directory_ / calls_file, machine_.calls);
  write(directory_ / "containers.conf", containers_conf(directory_, machine_));
  write(directory_ / "storage.conf", storage_conf(directory_, machine_));
  write(directory_ / "registries.conf", registries_conf);
  write(directory_ / "auth.json", "{}\n");
}

bool Service::answers() const {
  try {
    UnixCall ping;
    ping.target = "/libpod/_ping";
    ping.silence = longest_ping;
    return http_.call(ping).good();
  } catch (const UnixHttpError&) {
    return false;
  }
}

std::string Service::hash_of_configuration() const {
  return hex(sha256(containers_conf(directory_, machine_) + storage_conf(directory_, machine_) +
                    machine_.podman));
}

// A service that an earlier berthd has started goes on, unless its configuration differs.
bool Service::adopt() {
  const std::string text = file_text(directory_ / "podman.pid");
  const size_t blank = text.find(' ');
  const size_t next = text.find(' ', blank == std::string::npos ? blank : blank + 1);
  if (next == std::string::npos) return false;
  const auto pid = parse_number<pid_t>(text.substr(0, blank));
  const auto started = parse_number<std::uint64_t>(text.substr(blank + 1, next - blank - 1));
  if (!pid || !started) return false;
  const Daemon known{.pid = *pid, .started = *started};
  if (!runs(known)) return false;
  if (text.substr(next + 1) == hash_of_configuration() && answers()) {
    daemon_ = known;
    return true;
  }
  end(known, longest_end);
  return false;
}

void Service::ensure() {
  const std::lock_guard lock(mutex_);
  write_configuration();
  if (runs(daemon_) && answers()) return;
  if (adopt()) return;
  if (runs(daemon_)) end(daemon_, longest_end);
  reap(daemon_.pid);
  std::error_code ignored;
  fs::remove(directory_ / "podman.sock", ignored);
  const fs::path log = directory_ / "podman.log";
  if (fs::exists(log) && fs::file_size(log) > most_log) fs::resize_file(log, 0);
  try {
    daemon_ =
        start_daemon({.args = {"podman", "system", "service", "--time=0", "unix://" + http_.path()},
                      .env = environment(),
                      .log = log,
                      .directory = directory_});
  } catch (const std::system_error& error) {
    throw Unusable(
        {"podman can't be started: " + std::string(error.what()) + ".", "apt-get install podman"});
  }
  write(directory_ / "podman.pid", std::to_string(daemon_.pid) + " " +
                                       std::to_string(daemon_.started) + " " +
                                       hash_of_configuration());
  const auto until = std::chrono::steady_clock::now() + longest_start;
  while (std::chrono::steady_clock::now() < until) {
    if (!runs(daemon_)) break;
    if (fs::exists(http_.path()) && answers()) return;
    std::this_thread::sleep_for(start_pause);
  }
  std::string words = file_text(log);
  while (!words.empty() && words.back() == '\n') words.pop_back();
  const size_t line = words.rfind('\n');
  if (line != std::string::npos) words.erase(0, line + 1);
  end(daemon_, longest_end);
  throw Unusable({"podman's service doesn't start: " + shown(words) + ".",
                  "Its log has more: " + log.string()});
}

void Service::give_up(const Daemon& hanging) {
  const std::lock_guard lock(mutex_);
  if (daemon_.pid == hanging.pid && daemon_.started == hanging.started && runs(daemon_))
    end(daemon_, longest_end);
}

void Service::stop() {
  const std::lock_guard lock(mutex_);
  if (!runs(daemon_) && !adopt()) return;
  end(daemon_, longest_end);
  std::error_code ignored;
  fs::remove(directory_ / "podman.pid", ignored);
  fs::remove(directory_ / "podman.sock", ignored);
}

}  // namespace berth::embedded::podman
