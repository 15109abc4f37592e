#include "cli/terminal.h"

#include <termios.h>
#include <unistd.h>

#include <iostream>

#include "cli/config.h"
#include "cli/failure.h"

namespace berth::cli {
namespace {

// No echo as long as it lives.
class Quiet {
 public:
  Quiet() {
    known_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
    termios quiet = before_;
    quiet.c_lflag &= ~tcflag_t(ECHO);
    if (known_) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
  }
  ~Quiet() {
    if (known_) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  termios before_ = {};
  bool known_ = false;
};

std::string line(const std::string& what) {
  std::string text;
  if (!std::getline(std::cin, text) || text.empty())
    throw Failure(Exit::usage, "there is no " + what + " on stdin");
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

void check_somebody_is_there(const std::string& question, const std::string& otherwise) {
  if (!is_interactive())
    throw Failure(Exit::usage, "nobody is there to answer \"" + question + "\"", otherwise);
  std::cerr << question << ": " << std::flush;
}

}  // namespace

bool is_interactive() { return ::isatty(STDIN_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0; }

bool takes_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const auto value = variable(name))
      return value->find("UTF-8") != std::string::npos || value->find("utf8") != std::string::npos;
  return false;
}

std::string ask(const std::string& question, const std::string& otherwise) {
  check_somebody_is_there(question, otherwise);
  return line("answer");
}

std::string ask_secret(const std::string& question, const std::string& otherwise) {
  check_somebody_is_there(question, otherwise);
  const Quiet quiet;
  std::string secret = line("answer");
  std::cerr << "\n";
  return secret;
}

void confirm(const std::string& question, bool yes) {
  if (yes) return;
  const std::string answer = ask(question + " [y/N]", "Pass --yes.");
  if (answer != "y" && answer != "Y" && answer != "yes")
    throw Failure(Exit::failed, "nothing was done");
}

std::string secret_from_stdin(const std::string& what) { return line(what); }

}  // namespace berth::cli
