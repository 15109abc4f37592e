#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "tests/store.h"
#include "tests/temp_dir.h"

// The real berthd as a child process, which the tests of this folder talk to.
namespace berth::process {

using nlohmann::json;

// The limit of waiting for anything that has to happen; a loaded machine is slow.
constexpr std::chrono::seconds patience{30};

using Flags = std::vector<std::string>;
using Variables = std::vector<std::pair<std::string, std::string>>;

using test::TempDir;

// A child process. It is killed when this object is destroyed, and by the kernel if the thread that
// started it ends earlier.
class Process {
 public:
  // The process's stdout and stderr are appended to `output`. Its environment is the test's without
  // BERTHD_* variables, plus `variables`.
  Process(const std::filesystem::path& program, const Flags& flags,
          const std::filesystem::path& output, const Variables& variables = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // May be called by any thread, as long as none has waited for the end.
  void send(int signal) const;
  pid_t pid() const { return pid_; }
  // Returns the exit code, or minus the number of the signal that ended the process; nothing if it
  // still runs when the time is over.
  std::optional<int> wait(std::chrono::milliseconds time);

 private:
  pid_t pid_ = -1;
  std::optional<int> ended_;
};

struct Ended {
  int code = 0;
  std::string output;
};
// Runs berthd until it ends by itself, in a data directory of its own unless the flags name one.
Ended run_to_end(const Flags& flags, const Variables& variables = {});

// A berthd that serves in development mode, with a simulated cluster that is ten times as fast as
// usual unless the flags say otherwise, on ports of its own, and if
// test::on_postgres(), on a PostgreSQL database of its own. Its database, data directory and log
// stay when it is restarted; its ports change. The functions throw
// std::runtime_error, with the end of its log in the message, if berthd doesn't do what was asked
// in time.
class Berthd {
 public:
  // Starts berthd with `flags` in addition to its usual ones, and waits until it is ready. If they
  // have --database, it uses that.
  explicit Berthd(Flags flags = {});
  // Starts a berthd on the database of another one, with the same keys and internal secret.
  Berthd(const Berthd& other, Flags flags);

  void start();
  // Uses another database when it is started next. Needs the flag --database.
  void use_database(const std::string& url);
  int terminate();  // sends SIGTERM; returns the exit code
  void kill();      // sends SIGKILL
  void send(int signal) const { process_->send(signal); }

  pid_t pid() const { return process_->pid(); }
  // Null if it wasn't made by this object.
  const test::TestDatabase* database() const { return database_ ? &*database_ : nullptr; }
  int port() const { return port_; }
  int metrics_port() const { return metrics_port_; }
  std::string base_url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::filesystem::path data_dir() const { return dir_.path() / "data"; }
  std::string internal_secret() const;

  std::string log_text() const { return dir_.read("log"); }
  std::string end_of_log() const;  // for messages
  // Returns the lines as JSON. Throws if one isn't an object.
  std::vector<json> log() const;

 private:
  [[noreturn]] void fail(const std::string& what) const;
  int read_port(const char* file) const;

  std::optional<test::TestDatabase> database_;  // outlives the process
  TempDir dir_;
  Flags flags_;
  std::unique_ptr<Process> process_;
  std::atomic<int> port_ = 0;  // read by clients while berthd starts again
  int metrics_port_ = 0;
};

// Returns a berthd that the cases of a file share as long as the program tests this file, one for
// each set of flags. It must not be restarted, and its clock must not be moved. Each case takes
// users of its own (fresh_name() in client.h), so that none depends on those before it.
const Berthd& shared_berthd(const Flags& flags = {},
                            const std::source_location& caller = std::source_location::current());

// Repeats the check until `holds()` is true. Returns false if that takes longer than `time`.
bool eventually(const std::function<bool()>& holds, std::chrono::milliseconds time = patience);

}  // namespace berth::process
