#include "reconcilers/embedded/node/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <system_error>

#include "controller/base/text.h"
#include "reconcilers/embedded/node/file_text.h"

namespace berth::embedded {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t most_output = std::size_t{256} << 10;

void check(int error, const char* what) {
  if (error != 0) throw std::system_error(error, std::generic_category(), what);
}

struct PipeEnds {
  Descriptor reader;
  Descriptor writer;
};

PipeEnds make_pipe() {
  std::array<int, 2> ends{-1, -1};
  check(::pipe2(ends.data(), O_CLOEXEC) == 0 ? 0 : errno, "pipe");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

class FileActions {
 public:
  FileActions() { check(posix_spawn_file_actions_init(&actions_), "posix_spawn"); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  void put(int from, int to) {
    check(posix_spawn_file_actions_adddup2(&actions_, from, to), "posix_spawn");
  }
  void open(int to, const char* path, int flags) {
    check(posix_spawn_file_actions_addopen(&actions_, to, path, flags, 0600), "posix_spawn");
  }
  void change_directory(const char* path) {
    check(posix_spawn_file_actions_addchdir_np(&actions_, path), "posix_spawn");
  }
  // The program must not inherit listening sockets and database files.
  void close_others() {
    check(posix_spawn_file_actions_addclosefrom_np(&actions_, 3), "posix_spawn");
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

class Attributes {
 public:
  explicit Attributes(int more_flags) {
    check(posix_spawnattr_init(&attributes_), "posix_spawn");
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_,
                             short(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | more_flags));
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

pid_t spawn(std::vector<std::string> args, const std::map<std::string, std::string>& env,
            const FileActions& actions, const Attributes& attributes) {
  std::vector<std::string> entries;
  entries.reserve(env.size());
  for (const auto& [name, value] : env) entries.push_back(name + "=" + value);
  std::vector<char*> argv;
  argv.reserve(args.size() + 1);
  std::vector<char*> envp;
  envp.reserve(entries.size() + 1);
  for (std::string& arg : args) argv.push_back(arg.data());
  for (std::string& entry : entries) envp.push_back(entry.data());
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  pid_t pid = 0;
  check(posix_spawnp(&pid, argv.front(), actions.get(), attributes.get(), argv.data(), envp.data()),
        argv.front());
  return pid;
}

// Reads what is there. Returns false at the end.
bool take(int from, std::string& to) {
  std::array<char, 16384> part{};
  const ssize_t size = ::read(from, part.data(), part.size());
  if (size < 0) return errno == EINTR || errno == EAGAIN;
  if (size > 0 && to.size() < most_output)
    to.append(part.data(), std::min(size_t(size), most_output - to.size()));
  return size > 0;
}

// A file in memory, so that nobody has to write while the program runs.
Descriptor input_of(const std::string& text) {
  Descriptor file(::memfd_create("input", MFD_CLOEXEC));
  if (!file.valid()) throw std::system_error(errno, std::generic_category(), "memfd_create");
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t size = ::write(file.get(), text.data() + written, text.size() - written);
    check(size < 0 ? errno : 0, "write");
    written += size_t(size);
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

CommandResult run_it(const Command& command) {
  CommandResult result;
  const Descriptor in = input_of(command.input);
  PipeEnds out = make_pipe();
  PipeEnds err = make_pipe();
  FileActions actions;
  actions.put(in.get(), 0);
  actions.put(out.writer.get(), 1);
  actions.put(err.writer.get(), 2);
  if (!command.directory.empty()) actions.change_directory(command.directory.c_str());
  actions.close_others();
  const pid_t pid = spawn(command.args, command.env, actions, Attributes(POSIX_SPAWN_SETSID));
  out.writer = Descriptor();
  err.writer = Descriptor();
  const auto until = steady_clock::now() + command.patience;
  bool out_open = true;
  bool err_open = true;
  bool late = false;
  while ((out_open || err_open) && !late) {
    std::array<pollfd, 2> waiting{
        pollfd{.fd = out_open ? out.reader.get() : -1, .events = POLLIN, .revents = 0},
        pollfd{.fd = err_open ? err.reader.get() : -1, .events = POLLIN, .revents = 0}};
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now()).count();
    const int events = ::poll(waiting.data(), waiting.size(), int(std::max<long>(left, 0)));
    late = events == 0 && left <= 0;
    if (events <= 0) continue;
    if (waiting[0].revents) out_open = take(out.reader.get(), result.output);
    if (waiting[1].revents) err_open = take(err.reader.get(), result.errors);
  }
  const Descriptor ended(int(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd end{.fd = ended.get(), .events = POLLIN, .revents = 0};
  if (!late) {
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now()).count();
    late = ::poll(&end, 1, int(std::max<long>(left, 0))) == 0;
  }
  if (late) ::kill(-pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  result.status = late ? CommandResult::timed_out : code_of(status);
  return result;
}

}  // namespace

CommandResult run(const Command& command) {
  try {
    return run_it(command);
  } catch (const std::exception& error) {
    CommandResult failed;
    failed.errors = error.what();
    return failed;
  }
}

std::map<std::string, std::string> plain_environment() {
  std::map<std::string, std::string> env = {
      {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
      {"LANG", "C.UTF-8"}};
  for (const char* name : {"PATH", "HOME", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy",
                           "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"})
    // NOLINTNEXTLINE(concurrency-mt-unsafe): berthd never changes its environment
    if (const char* value = std::getenv(name); value != nullptr) env[name] = value;
  return env;
}

Daemon start_daemon(const DaemonCommand& command) {
  FileActions actions;
  const std::string log = command.log;
  const std::string directory = command.directory;
  actions.open(0, "/dev/null", O_RDONLY);
  actions.open(1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND);
  actions.put(1, 2);
  actions.close_others();
  if (!directory.empty()) actions.change_directory(directory.c_str());
  const pid_t pid = spawn(command.args, command.env, actions, Attributes(POSIX_SPAWN_SETSID));
  return daemon_of(pid).value_or(Daemon{.pid = pid, .started = 0});
}

std::istringstream stat_fields(pid_t pid) {
  const std::string text = file_text("/proc/" + std::to_string(pid) + "/stat");
  return std::istringstream(text.substr(std::min(text.size(), text.rfind(')') + 1)));
}

std::optional<Daemon> daemon_of(pid_t pid) {
  std::istringstream fields = stat_fields(pid);
  std::string field;
  constexpr int fields_to_start = 20;  // from the state, which is the third of all
  for (int i = 0; i < fields_to_start; ++i) {
    fields >> field;
    if (i == 0 && (field == "Z" || field == "X")) return std::nullopt;
  }
  const auto started = parse_number<std::uint64_t>(field);
  if (!started) return std::nullopt;
  return Daemon{.pid = pid, .started = *started};
}

bool runs(const Daemon& daemon) {
  if (daemon.pid <= 0) return false;
  const auto now = daemon_of(daemon.pid);
  return now && now->started == daemon.started;
}

Descriptor end_of(const Daemon& daemon) {
  Descriptor end(int(::syscall(SYS_pidfd_open, daemon.pid, 0)));
  // Whoever has the id now is the one whom the descriptor means.
  return runs(daemon) ? std::move(end) : Descriptor();
}

void end(const Daemon& daemon, milliseconds patience) {
  const Descriptor process = end_of(daemon);
  if (process.valid()) {
    pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
    ::syscall(SYS_pidfd_send_signal, process.get(), SIGTERM, nullptr, 0);
    if (::poll(&ended, 1, int(patience.count())) == 0) {
      ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
      ::poll(&ended, 1, -1);
    }
  }
  reap(daemon.pid);
}

void reap(pid_t pid) {
  if (pid > 0)
    while (::waitpid(pid, nullptr, WNOHANG) < 0 && errno == EINTR) {
    }
}

}  // namespace berth::embedded
