#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "tests/process/berthd.h"
#include "tests/process/client.h"
#include "tests/programs.h"

// A person who types `berth …`: the real client as a child process, with a home directory of its
// own.
namespace berth::cli {

using process::json;

struct Ran {
  int code = -1;
  std::string out;
  std::string err;
  json body() const { return json::parse(out); }
};

using Words = std::vector<std::string>;

// A client that is running.
class Running {
 public:
  Running(const Words& words, const std::string& input, const process::Variables& variables,
          const std::string& program = berth::test::berth_program);
  ~Running();
  Running(Running&&) = delete;

  std::string out() const { return dir_.read("out"); }
  std::string err() const { return dir_.read("err"); }
  void interrupt() const;  // sends SIGTERM
  // Waits for its end. Throws if that takes too long.
  Ran wait();

 private:
  process::TempDir dir_;
  pid_t pid_ = -1;
  bool ended_ = false;
};

class Person {
 public:
  explicit Person(const process::Berthd& berthd) : berthd_(berthd) {}

  Ran berth(const Words& words, const std::string& input = "",
            const process::Variables& variables = {}) const;
  std::unique_ptr<Running> start(const Words& words, const std::string& input = "",
                                 const process::Variables& variables = {}) const;
  // Does the same, and throws unless the exit code is 0.
  Ran must(const Words& words, const std::string& input = "",
           const process::Variables& variables = {}) const;

  // The same at a terminal of its own (script(1)), where `input` is typed and both outputs are
  // shown together in `out`, with \r before each line's end.
  Ran at_terminal(const Words& words, const std::string& input = "",
                  const process::Variables& variables = {}) const;
  // With the platform's secret; throws unless it ends with 0.
  Ran admin(const Words& words) const;

  std::filesystem::path home() const { return home_.path(); }
  std::filesystem::path credentials_file() const {
    return home() / ".local/state/berth/credentials.json";
  }
  json credentials() const;  // those of the server
  void change_credentials(const std::function<void(json&)>& change) const;
  json tokens() const;  // those of the current app

  // Registers the user, verifies their address, and creates an app whose scopes are approved.
  void settle_in(const std::string& username, const std::string& scopes = "deploy:manage") const;
  static std::string password() { return "correct horse battery"; }

 private:
  process::Variables variables_with(const process::Variables& more) const;

  const process::Berthd& berthd_;
  process::TempDir home_;
};

}  // namespace berth::cli
