#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "controller/base/descriptor.h"

// Programs that berthd runs on its own machine.
namespace berth::embedded {

struct Command {
  std::vector<std::string> args;  // the first is the program, which is looked for in PATH
  // The whole environment: nothing of berthd's own is handed on, since that may have secrets.
  std::map<std::string, std::string> env{};
  std::string input{};
  std::chrono::milliseconds patience{10'000};  // it is killed afterwards
  // Where it runs; where the caller runs if empty. podman without root refuses a directory that its
  // user may not enter.
  std::filesystem::path directory{};
};

struct CommandResult {
  static constexpr int not_started = -1;
  static constexpr int timed_out = -2;
  int status = not_started;  // the exit code, or 128 and the signal
  std::string output;        // of stdout, the first 256 KiB
  std::string errors;        // of stderr, the first 256 KiB
  bool good() const { return status == 0; }
};

// Runs a program and waits for its end. Never throws.
CommandResult run(const Command& command);

// The environment that programs of the machine need: PATH, HOME, a language, and what says how the
// internet is reached (HTTPS_PROXY and its like).
std::map<std::string, std::string> plain_environment();

// A process that outlives berthd. Its id may belong to another process once it has ended, so it is
// known by the time of its start, too.
struct Daemon {
  pid_t pid = 0;
  std::uint64_t started = 0;  // in ticks since the boot (proc_pid_stat(5), starttime)
};

struct DaemonCommand {
  std::vector<std::string> args;
  std::map<std::string, std::string> env{};
  std::filesystem::path log;        // stdout and stderr are appended to it
  std::filesystem::path directory;  // where it runs
};

// Starts a program in a session of its own, so that signals to berthd's group don't reach it.
// Throws std::system_error.
Daemon start_daemon(const DaemonCommand& command);
// What the kernel says of a process, from its state on, the third field of proc_pid_stat(5): the
// name before it may contain anything. Empty if there is no such process.
std::istringstream stat_fields(pid_t pid);
// The process of this id, as it is now; nothing if there is none, or only its remains.
std::optional<Daemon> daemon_of(pid_t pid);
bool runs(const Daemon& daemon);
// A descriptor that becomes readable when the process ends (pidfd_open(2)); an invalid one if it
// has ended already.
Descriptor end_of(const Daemon& daemon);
// Sends SIGTERM, and SIGKILL after `patience`; returns when the process has ended.
void end(const Daemon& daemon, std::chrono::milliseconds patience);
// Takes the exit status of a process that is a child of this one.
void reap(pid_t pid);

}  // namespace berth::embedded
