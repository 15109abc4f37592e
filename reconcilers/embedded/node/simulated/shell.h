#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "controller/base/descriptor.h"
#include "reconcilers/embedded/node/session.h"

namespace berth::embedded {

// What a session in a simulated container knows of it.
struct ShellWorld {
  std::string container;
  std::string image;
  std::string port;       // on which it listens; empty if it doesn't
  std::string variables;  // the names of its environment variables, a line each
  std::map<std::string, std::string> files = {};  // what is in them, by their paths
};

// One session in a simulated container, on a thread of its own. The image seems to have these
// programs:
//   sh, bash, ash   a shell: `sh -c TEXT`, or it reads commands from its input
//   cat             writes its input back
//   cat FILES       writes what is in the files, of which there are those of the pod's tokens
//   echo WORDS      writes the words; to the standard error output if the last one is >&2
//   env             writes the names of the container's variables, whose values it doesn't know
//   sleep SECONDS   waits; Control-C ends it on a terminal
//   stty size       writes the rows and columns of the terminal
//   yes             writes y for ever
//   true, false     end with 0 and 1
// A shell also has `exit N`, ends with the code of its last command, and takes several commands
// with ; between them; nothing is quoted or expanded. Another command ends with 127, by itself as
// well as in a shell. At most 16 shells run within each other. A terminal echoes what is typed. The
// container's port answers one HTTP request on each connection; all other ports refuse connections.
class Shell {
 public:
  // Throws std::runtime_error if the process has too many open files.
  Shell(ShellWorld world, SessionRequest request);
  // Ends the session.
  ~Shell();
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  // The container has ended: the session ends, with 137. May be called by any thread.
  void kill();

 private:
  friend std::unique_ptr<RunSession> session_of(const std::shared_ptr<Shell>& shell);

  enum class To { output, errors };
  // How a command ends that is interrupted by Control-C.
  static constexpr int interrupted = 130;

  void run();
  void serve_port();
  int program(const std::vector<std::string>& words);
  std::optional<int> known_program(const std::vector<std::string>& words);
  int shell(const std::vector<std::string>& words);
  int script(const std::string& text);
  int interactive();
  int cat();
  int cat(const std::vector<std::string>& files);
  int sleep(double seconds);
  // One line of the input with its end; nothing at its end. On a terminal also nothing, and
  // `was_interrupted_`, if it is interrupted.
  std::optional<std::string> read_line();
  std::optional<std::string> read_piped_line();
  std::optional<std::string> read_typed_line();
  bool fill();  // reads more input; false at its end
  bool put(std::string_view text, To to = To::output);
  bool send_all(std::string_view bytes);
  SessionEnd end();

  const ShellWorld world_;
  const SessionRequest request_;
  Descriptor own_;     // blocking
  Descriptor others_;  // the session's, until session_of() takes it
  std::atomic<bool> killed_ = false;
  std::atomic<int> columns_ = 80;
  std::atomic<int> rows_ = 24;
  std::mutex mutex_;
  SessionEnd end_;
  // Of the thread.
  std::string input_;  // that was read and not used
  bool was_interrupted_ = false;
  std::optional<int> exit_;  // what `exit` said
  int shells_ = 0;           // that run within each other
  std::thread thread_;
};

// The other side of a shell. To be called once.
std::unique_ptr<RunSession> session_of(const std::shared_ptr<Shell>& shell);

}  // namespace berth::embedded
