#include "reconcilers/kube/program.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <stdexcept>
#include <system_error>

namespace berth::kube {
namespace {

using std::chrono::steady_clock;

// How late the end of the program, or a stop, may be noticed while it keeps stdout open without
// writing.
constexpr int poll_milliseconds = 20;

void check(int error, const char* what) {
  if (error != 0) throw std::system_error(error, std::generic_category(), what);
}

class Pipe {
 public:
  Pipe() { check(::pipe2(ends_.data(), O_CLOEXEC) == 0 ? 0 : errno, "pipe"); }
  ~Pipe() {
    ::close(ends_[0]);
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void close_writer() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

class SpawnActions {
 public:
  explicit SpawnActions(int stdout_end) {
    check(posix_spawn_file_actions_init(&actions_), "posix_spawn_file_actions_init");
    check(posix_spawn_file_actions_addopen(&actions_, 0, "/dev/null", O_RDONLY, 0), "stdin");
    check(posix_spawn_file_actions_adddup2(&actions_, stdout_end, 1), "stdout");
    check(posix_spawn_file_actions_addopen(&actions_, 2, "/dev/null", O_WRONLY, 0), "stderr");
    // The program must not inherit our listening sockets and database files.
    check(posix_spawn_file_actions_addclosefrom_np(&actions_, 3), "closefrom");
  }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

class SpawnAttributes {
 public:
  SpawnAttributes() {
    check(posix_spawnattr_init(&attributes_), "posix_spawnattr_init");
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    check(posix_spawnattr_setflags(
              &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF),
          "posix_spawnattr_setflags");
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

// Our environment, in which the program's own entries replace those of the same name.
std::vector<std::string> environment_of(const Program& program) {
  std::vector<std::string> all;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(program.env.begin(), program.env.end(),
                                      [&](const auto& own) { return own.first == name; });
    if (!replaced) all.emplace_back(text);
  }
  for (const auto& [name, value] : program.env) all.push_back(name + "=" + value);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// A started program. Its whole group is killed, and it is waited for, however this object's life
// ends.
class Child {
 public:
  Child(const Program& program, int stdout_end) {
    std::vector<std::string> args = program.args;
    args.insert(args.begin(), program.command);
    std::vector<std::string> env = environment_of(program);
    const SpawnActions actions(stdout_end);
    const SpawnAttributes attributes;
    check(posix_spawnp(&pid_, program.command.c_str(), actions.get(), attributes.get(),
                       pointers(args).data(), pointers(env).data()),
          program.command.c_str());
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool has_ended() const {
    siginfo_t info{};
    return ::waitid(P_PID, id_t(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid_;
  }
  // Returns the wait status. The group is killed before the wait, because until then no other
  // process can get its id.
  int end() {
    if (pid_ > 0) {
      ::kill(-pid_, SIGKILL);
      while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
      }
      pid_ = -1;
    }
    return status_;
  }

 private:
  pid_t pid_ = -1;
  int status_ = 0;
};

enum class More { maybe, no };

// Appends what can be read within `wait_milliseconds`.
More read_some(int from, std::string& output, size_t limit, int wait_milliseconds) {
  pollfd entry{from, POLLIN, 0};
  if (::poll(&entry, 1, wait_milliseconds) <= 0) return More::maybe;
  std::array<char, 16384> buffer{};
  const ssize_t count = ::read(from, buffer.data(), buffer.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN ? More::maybe : More::no;
  output.append(buffer.data(), size_t(count));
  if (output.size() > limit)
    throw std::runtime_error("wrote more than " + std::to_string(limit) + " bytes");
  return count == 0 ? More::no : More::maybe;
}

// Reads what is left in the pipe of a program that has ended. Its end may never come, because a
// child process may still hold the other end of the pipe.
void read_rest(int from, std::string& output, size_t limit) {
  for (size_t before = output.size() + 1; output.size() != before;) {
    before = output.size();
    read_some(from, output, limit, 0);
  }
}

void expect_success(int status) {
  if (WIFSIGNALED(status))
    throw std::runtime_error("was ended by signal " + std::to_string(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0)
    throw std::runtime_error("ended with exit code " + std::to_string(WEXITSTATUS(status)));
}

}  // namespace

std::string run_program(const Program& program, const std::stop_token& stop) {
  const auto deadline = steady_clock::now() + program.timeout;
  Pipe pipe;
  Child child(program, pipe.writer());
  pipe.close_writer();
  std::string output;
  More more = More::maybe;
  while (!child.has_ended()) {
    if (stop.stop_requested()) throw std::runtime_error("was stopped");
    if (steady_clock::now() >= deadline)
      throw std::runtime_error("took longer than " + std::to_string(program.timeout.count()) +
                               " ms");
    if (more == More::maybe)
      more = read_some(pipe.reader(), output, program.max_output_bytes, poll_milliseconds);
    else
      ::poll(nullptr, 0, poll_milliseconds);
  }
  read_rest(pipe.reader(), output, program.max_output_bytes);
  expect_success(child.end());
  return output;
}

}  // namespace berth::kube
