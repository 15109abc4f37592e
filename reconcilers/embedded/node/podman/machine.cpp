#include "reconcilers/embedded/node/podman/machine.h"

#include <pwd.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

#include "controller/base/text.h"
#include "reconcilers/embedded/node/file_text.h"
#include "reconcilers/embedded/node/podman/confinement.h"
#include "reconcilers/embedded/node/process.h"

namespace berth::embedded::podman {
namespace {

// The first version whose REST API and netavark do all that berth asks for.
constexpr int least_major = 4;
constexpr int least_minor = 3;
constexpr const char* least_version = "4.3";

// A container has at least as many users of its own (storage.conf(5), auto-userns-min-size).
constexpr std::uint64_t least_users = 1'024;
// What all images can do with but those with very large ids (auto-userns-max-size).
constexpr std::uint64_t all_users = 65'536;
// With fewer containers than this, a machine of a usual size is limited by its users.
constexpr std::uint64_t few_containers = 500;

constexpr std::uint64_t little_room = std::uint64_t{2} << 30;
constexpr std::uint64_t no_room = std::uint64_t{200} << 20;

constexpr long cgroup2_magic = 0x63677270;

bool has_program(const char* name) {
  const std::string path = plain_environment().at("PATH");
  std::istringstream folders(path);
  std::string folder;
  while (std::getline(folders, folder, ':'))
    if (::access((folder + "/" + name).c_str(), X_OK) == 0) return true;
  // podman finds these beside its own, outside of PATH.
  for (const char* own : {"/usr/lib/podman/", "/usr/libexec/podman/", "/usr/local/lib/podman/",
                          "/usr/local/libexec/podman/", "/usr/sbin/", "/sbin/"})
    if (::access((std::string(own) + name).c_str(), X_OK) == 0) return true;
  return false;
}

std::string user_name() {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || !found)
    return std::to_string(::geteuid());
  return found->pw_name;
}

std::string architecture() {
  utsname name{};
  ::uname(&name);
  const std::string machine = name.machine;
  if (machine == "x86_64") return "amd64";
  if (machine == "aarch64") return "arm64";
  if (machine.starts_with("armv")) return "arm";
  if (machine == "i686" || machine == "i386") return "386";
  return machine;  // ppc64le, s390x, riscv64, …
}

bool can_mount_overlay(const std::filesystem::path& directory) {
  const auto base = directory / "overlay-try";
  std::error_code ignored;
  for (const char* part : {"lower", "upper", "work", "merged"})
    std::filesystem::create_directories(base / part, ignored);
  const std::string options = "lowerdir=" + (base / "lower").string() +
                              ",upperdir=" + (base / "upper").string() +
                              ",workdir=" + (base / "work").string();
  const std::string merged = base / "merged";
  const bool works = ::mount("overlay", merged.c_str(), "overlay", 0, options.c_str()) == 0;
  if (works) ::umount2(merged.c_str(), MNT_DETACH);
  std::filesystem::remove_all(base, ignored);
  return works;
}

// The controllers that a process of this user can use for its containers.
std::string controllers(bool v2, bool root) {
  if (!v2) {
    std::string names;
    for (const char* name : {"memory", "cpu", "cpuacct", "pids"})
      if (std::filesystem::is_directory(std::string("/sys/fs/cgroup/") + name) ||
          (std::string(name) == "cpuacct" &&
           std::filesystem::is_directory("/sys/fs/cgroup/cpu,cpuacct")))
        names += std::string(name) + " ";
    return names;
  }
  if (root) return trimmed_file_text("/sys/fs/cgroup/cgroup.controllers");
  const std::string id = std::to_string(::geteuid());
  return trimmed_file_text("/sys/fs/cgroup/user.slice/user-" + id + ".slice/user@" + id +
                           ".service/cgroup.controllers");
}

struct Version {
  int major = 0;
  int minor = 0;
  std::string text;
};

// `podman version 4.3.1`
std::optional<Version> version_of(const std::string& printed) {
  const size_t digit = printed.find_first_of("0123456789");
  if (digit == std::string::npos) return std::nullopt;
  const std::string text = printed.substr(digit, printed.find_first_of(" \n", digit) - digit);
  const size_t dot = text.find('.');
  if (dot == std::string::npos) return std::nullopt;
  const auto major = parse_number<int>(text.substr(0, dot));
  const size_t next = text.find_first_not_of("0123456789", dot + 1);
  const auto minor = parse_number<int>(text.substr(dot + 1, next - dot - 1));
  if (!major || !minor) return std::nullopt;
  return Version{*major, *minor, text};
}

// How many ids a user may use for containers, by /etc/subuid or /etc/subgid (subuid(5)).
std::uint64_t ids_of(const std::string& text, const std::string& user) {
  std::istringstream lines(text);
  std::string line;
  std::uint64_t all = 0;
  while (std::getline(lines, line)) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first == std::string::npos ? first : first + 1);
    if (second == std::string::npos || line.substr(0, first) != user) continue;
    all += parse_number<std::uint64_t>(line.substr(second + 1)).value_or(0);
  }
  return all;
}

bool has_word(const std::string& words, const std::string& word) {
  std::istringstream in(words);
  std::string one;
  while (in >> one)
    if (one == word) return true;
  return false;
}

class Judge {
 public:
  explicit Judge(const MachineFacts& facts) : facts_(facts) {}

  Machine judge() {
    machine_.root = facts_.root;
    machine_.has_nft = facts_.has_nft;
    machine_.most_processes = facts_.most_processes;
    machine_.most_files = facts_.most_files;
    machine_.architecture = architecture();
    look_at_podman();
    look_at_cgroups();
    look_at_users();
    look_at_network();
    look_at_storage();
    look_at_selinux();
    look_at_apparmor();
    look_at_calls();
    return machine_;
  }

 private:
  [[noreturn]] static void refuse(const std::string& what, const std::string& help) {
    throw Unusable({what, help});
  }
  void note(const std::string& what, const std::string& help = "") {
    machine_.findings.push_back({what, help});
  }

  void look_at_podman() {
    if (facts_.podman_version.empty())
      refuse("podman isn't installed.",
             "apt-get install podman runc netavark aardvark-dns iptables nftables uidmap");
    const auto version = version_of(facts_.podman_version);
    if (!version || version->major < least_major ||
        (version->major == least_major && version->minor < least_minor))
      refuse("podman " + (version ? version->text : "of an unknown version") +
                 " is too old; berth needs " + least_version + " or newer.",
             "Debian 12 and Ubuntu 24.04 have a newer one: apt-get install podman");
    machine_.podman = version->text;
    if (facts_.runtimes.empty())
      refuse("Neither runc nor crun, which start containers for podman, is installed.",
             "apt-get install runc");
    if (!facts_.has_conmon)
      refuse("conmon, which watches containers for podman, isn't installed.",
             "apt-get install conmon");
    if (!facts_.has_netavark)
      refuse("netavark, which makes networks for podman, isn't installed.",
             "apt-get install netavark aardvark-dns");
    if (!facts_.has_aardvark)
      note("aardvark-dns isn't installed, so containers can't look up any name.",
           "apt-get install aardvark-dns");
  }

  void look_at_cgroups() {
    const bool v2 = facts_.filesystem == "cgroup2fs";
    machine_.cgroups = v2 ? Cgroups::v2 : Cgroups::v1;
    // crun refuses a machine on which both versions are mounted.
    const bool has_runc =
        std::find(facts_.runtimes.begin(), facts_.runtimes.end(), "runc") != facts_.runtimes.end();
    if (v2)
      machine_.runtime = facts_.runtimes.front();
    else if (has_runc)
      machine_.runtime = "runc";
    else
      refuse("This machine has control groups of version 1, with which crun doesn't work.",
             "apt-get install runc");
    machine_.systemd = v2 && facts_.has_systemd;
    if (!facts_.root && !v2) {
      note(
          "This machine has control groups of version 1, so without root no limit of a "
          "container's memory, processor or processes holds.",
          "Boot with systemd.unified_cgroup_hierarchy=1 on the kernel's command line, or run "
          "berthd as root.");
      return;
    }
    machine_.limits_memory = has_word(facts_.controllers, "memory");
    machine_.limits_cpu = has_word(facts_.controllers, "cpu");
    machine_.limits_pids = has_word(facts_.controllers, "pids");
    std::vector<std::string> missing;
    if (!machine_.limits_memory) missing.emplace_back("memory");
    if (!machine_.limits_cpu) missing.emplace_back("cpu");
    if (!machine_.limits_pids) missing.emplace_back("pids");
    if (!missing.empty())
      note("The control groups of this user don't limit: " + joined(missing, ", ") + ".",
           facts_.root ? "Enable the controllers on the kernel's command line, such as "
                         "cgroup_enable=memory."
                       : "systemctl set-property user-" + std::to_string(::geteuid()) +
                             ".slice Delegate=\"cpu memory pids\"");
  }

  void look_at_users() {
    const std::string user = facts_.root ? "containers" : facts_.user;
    const std::string range = facts_.root ? "2147483647:2147483648" : "100000:65536";
    const std::uint64_t ids = std::min(ids_of(facts_.subuid, user), ids_of(facts_.subgid, user));
    const std::string help = "echo " + user + ":" + range + " | tee -a /etc/subuid /etc/subgid";
    if (ids < least_users)
      refuse("/etc/subuid and /etc/subgid have no range of ids for the user `" + user +
                 "`, which containers get for their users.",
             help);
    if (!facts_.root && !facts_.has_newuidmap)
      refuse("newuidmap, which gives a container its users, isn't installed.",
             "apt-get install uidmap");
    if (!facts_.root && (facts_.userns_clone == "0" || facts_.userns_max == "0"))
      refuse("The kernel doesn't let users without privileges make user namespaces.",
             "sysctl -w kernel.unprivileged_userns_clone=1 user.max_user_namespaces=65536");
    if (facts_.userns_max == "0")
      refuse("The kernel makes no user namespaces.", "sysctl -w user.max_user_namespaces=65536");
    if (ids / all_users >= few_containers) machine_.users_of_a_container = all_users;
    machine_.containers_with_users = ids / std::max(machine_.users_of_a_container, least_users);
    if (machine_.containers_with_users < few_containers)
      note("The range of ids of `" + user + "` in /etc/subuid and /etc/subgid suffices for " +
               std::to_string(machine_.containers_with_users) + " containers.",
           "Enlarge the range, such as to " + range + ".");
  }

  void look_at_network() {
    if (!facts_.root) {
      if (!facts_.has_slirp4netns)
        refuse("slirp4netns, which connects containers without root, isn't installed.",
               "apt-get install slirp4netns");
      if (!facts_.may_open_tun)
        refuse("This user can't open /dev/net/tun, by which slirp4netns connects containers.",
               "modprobe tun && chmod 666 /dev/net/tun");
      note(
          "Without root, containers reach the private networks that this machine reaches, and "
          "berth can't forbid it.",
          "Run berthd as root, or keep other machines' services closed to this one.");
      return;
    }
    if (!facts_.has_iptables)
      refuse("iptables, by which netavark connects containers, isn't installed.",
             "apt-get install iptables");
    if (!facts_.has_nft)
      refuse(
          "nft, by which berth keeps containers from this machine and from private networks, "
          "isn't installed.",
          "apt-get install nftables");
    // Such as within a container, or a kernel without their modules.
    if (!facts_.iptables_trouble.empty())
      refuse("iptables, by which netavark connects containers, doesn't work here: " +
                 facts_.iptables_trouble,
             "modprobe ip_tables iptable_nat nf_tables; where this machine is a container itself, "
             "it needs the capability NET_ADMIN.");
    if (!facts_.nft_trouble.empty())
      refuse(
          "nft, by which berth keeps containers apart, doesn't work here: " + facts_.nft_trouble,
          "modprobe nf_tables; where this machine is a container itself, it needs the capability "
          "NET_ADMIN.");
  }

  void look_at_storage() {
    machine_.storage_driver = "overlay";
    if (!facts_.can_overlay) {
      if (facts_.has_fuse_overlayfs) {
        machine_.mount_program = "fuse-overlayfs";
      } else {
        machine_.storage_driver = "vfs";
        note(
            "The file system of the data directory takes no overlay, so each container gets a "
            "whole copy of its image.",
            "apt-get install fuse-overlayfs");
      }
    }
    if (facts_.free_bytes < no_room)
      refuse("The data directory's file system has only " +
                 std::to_string(facts_.free_bytes >> 20) + " MiB left.",
             "Make room, or move the data directory.");
    if (facts_.free_bytes < little_room)
      note("The data directory's file system has only " + std::to_string(facts_.free_bytes >> 20) +
               " MiB left for images and containers.",
           "Make room, or move the data directory.");
  }

  void look_at_selinux() {
    if (facts_.selinux == "1")
      note("SELinux is enforcing; berth hasn't been tested with it.",
           "If containers fail to start, look for denials: ausearch -m avc -ts recent");
  }

  void look_at_apparmor() {
    // podman loads a profile of its own for containers, and refuses to start one if it can't.
    if (facts_.root && facts_.apparmor && !facts_.has_apparmor_parser)
      refuse(
          "AppArmor is on, and apparmor_parser, by which podman loads its profile, isn't "
          "installed.",
          "apt-get install apparmor");
    if (!facts_.root && facts_.apparmor_userns == "1" && !facts_.has_apparmor_podman)
      refuse("AppArmor doesn't let podman make user namespaces without root.",
             "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0");
  }

  void look_at_calls() {
    machine_.calls = confined_calls(facts_.calls);
    if (machine_.calls.empty())
      note(std::string(podmans_calls) +
               ", podman's list of system calls, isn't there, so containers may make namespaces "
               "and use more of the kernel than they need.",
           "apt-get install golang-github-containers-common");
  }

  const MachineFacts& facts_;
  Machine machine_;
};

// The first line of what a program says if it fails, as a sentence; empty if it works.
std::string trouble_of(const std::vector<std::string>& command) {
  const CommandResult result = run({.args = command, .env = plain_environment()});
  if (result.good()) return "";
  std::string words = result.errors.substr(0, result.errors.find('\n'));
  constexpr std::size_t longest = 200;
  words = cut(words, longest);
  if (words.empty()) words = "it ended with " + std::to_string(result.status);
  return words.ends_with('.') ? words : words + ".";
}

MachineFacts facts_of(const std::filesystem::path& directory) {
  MachineFacts facts;
  facts.root = ::geteuid() == 0;
  facts.user = user_name();
  const CommandResult podman = run({.args = {"podman", "--version"}, .env = plain_environment()});
  if (podman.good()) facts.podman_version = podman.output;
  const bool v2 = [] {
    struct statfs system {};
    return ::statfs("/sys/fs/cgroup", &system) == 0 && system.f_type == cgroup2_magic;
  }();
  facts.filesystem = v2 ? "cgroup2fs" : "tmpfs";
  for (const char* runtime : {"crun", "runc"})
    if (has_program(runtime)) facts.runtimes.emplace_back(runtime);
  facts.has_netavark = has_program("netavark");
  facts.has_aardvark = has_program("aardvark-dns");
  facts.has_iptables = has_program("iptables");
  facts.has_nft = has_program("nft");
  facts.has_conmon = has_program("conmon");
  facts.has_newuidmap = has_program("newuidmap") && has_program("newgidmap");
  facts.has_slirp4netns = has_program("slirp4netns");
  facts.may_open_tun = ::access("/dev/net/tun", R_OK | W_OK) == 0;
  facts.has_fuse_overlayfs = has_program("fuse-overlayfs");
  facts.subuid = trimmed_file_text("/etc/subuid");
  facts.subgid = trimmed_file_text("/etc/subgid");
  facts.controllers = controllers(v2, facts.root);
  facts.has_systemd = std::filesystem::is_directory("/run/systemd/system");
  // Without root the kernel allows overlays within user namespaces only, where podman mounts them
  // since Linux 5.13.
  facts.can_overlay = facts.root ? can_mount_overlay(directory) : true;
  struct statvfs room {};
  if (::statvfs(directory.c_str(), &room) == 0)
    facts.free_bytes = std::uint64_t{room.f_bavail} * room.f_frsize;
  facts.selinux = trimmed_file_text("/sys/fs/selinux/enforce");
  const std::string apparmor = trimmed_file_text("/sys/module/apparmor/parameters/enabled");
  facts.apparmor = apparmor == "Y";
  facts.has_apparmor_parser = has_program("apparmor_parser");
  facts.apparmor_userns =
      trimmed_file_text("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
  facts.has_apparmor_podman = std::filesystem::exists("/etc/apparmor.d/podman");
  if (facts.root && facts.has_iptables)
    facts.iptables_trouble = trouble_of({"iptables", "--list-rules", "INPUT"});
  if (facts.root && facts.has_nft) facts.nft_trouble = trouble_of({"nft", "list", "tables"});
  facts.userns_max = trimmed_file_text("/proc/sys/user/max_user_namespaces");
  facts.userns_clone = trimmed_file_text("/proc/sys/kernel/unprivileged_userns_clone");
  rlimit limit{};
  ::getrlimit(RLIMIT_NPROC, &limit);
  facts.most_processes = limit.rlim_max;
  ::getrlimit(RLIMIT_NOFILE, &limit);
  facts.most_files = limit.rlim_max;
  facts.calls = trimmed_file_text(podmans_calls);
  return facts;
}

}  // namespace

Machine judge(const MachineFacts& facts) { return Judge(facts).judge(); }

Machine look_at_machine(const std::filesystem::path& directory) {
  return judge(facts_of(directory));
}

}  // namespace berth::embedded::podman
