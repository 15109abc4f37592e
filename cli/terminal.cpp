#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <iostream>
#include <thread>

#include "cli/config.h"
#include "cli/failure.h"
#include "cli/output.h"

namespace berth::cli {
namespace {

// The terminal's settings outlive the process, so a signal that ends it has to restore them.
termios before_quiet = {};
constexpr std::array endings = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

extern "C" void end_loud(int signal) {
  ::tcsetattr(STDIN_FILENO, TCSANOW, &before_quiet);
  ::raise(signal);  // thanks to SA_RESETHAND this ends the process
}

// Turns the terminal's echo off for the lifetime of this object. Only one may exist at a time.
class Quiet {
 public:
  Quiet() {
    known_ = ::tcgetattr(STDIN_FILENO, &before_quiet) == 0;
    if (!known_) return;
    struct sigaction loud = {};
    loud.sa_handler = end_loud;
    loud.sa_flags = SA_RESETHAND;
    for (size_t i = 0; i < endings.size(); ++i) ::sigaction(endings[i], &loud, &actions_[i]);
    termios quiet = before_quiet;
    quiet.c_lflag &= ~tcflag_t(ECHO);
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
  }
  ~Quiet() {
    if (!known_) return;
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_quiet);
    for (size_t i = 0; i < endings.size(); ++i) ::sigaction(endings[i], &actions_[i], nullptr);
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  std::array<struct sigaction, endings.size()> actions_ = {};
  bool known_ = false;
};

// The actions of the endings before a RawTerminal.
std::array<struct sigaction, endings.size()> before_raw = {};

std::string line(const std::string& what) {
  std::string text;
  if (!std::getline(std::cin, text) || text.empty())
    throw Failure(Exit::usage, "there is no " + what + " on stdin");
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

void check_somebody_is_there(const std::string& question, const std::string& otherwise) {
  if (!is_interactive())
    throw Failure(Exit::usage, "nobody can be asked \"" + question + "\"", otherwise);
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

bool moves_cursor(int fd) {
  const auto terminal = variable("TERM");
  return ::isatty(fd) != 0 && terminal && *terminal != "dumb";
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
  check_somebody_is_there(question + " [y/N]", "Pass --yes.");
  std::string answer;  // just Enter means no
  std::getline(std::cin, answer);
  if (answer != "y" && answer != "Y" && answer != "yes")
    throw Failure(Exit::failed, "nothing was done");
}

void confirm_name(const std::string& what_happens, const std::string& name, bool yes) {
  if (yes) return;
  const std::string shown = printable(name);
  check_somebody_is_there(printable(what_happens) + " Type " + shown + " to confirm",
                          "Pass --yes.");
  std::string answer;
  std::getline(std::cin, answer);
  if (answer != name)
    throw Failure(Exit::failed, "nothing was done", "The answer has to be " + shown + ".");
}

namespace {
constexpr const char* line_start = "\r\x1b[K";  // moves to the start of the line and clears it
constexpr std::chrono::milliseconds between_drawings{500};
}  // namespace

LiveLine::LiveLine() : live_(moves_cursor(STDERR_FILENO) && says_text()) {}

LiveLine::~LiveLine() {
  if (live_ && !text_.empty()) std::cerr << line_start << std::flush;
}

void LiveLine::show(const std::string& text) {
  if (text == text_) return;
  text_ = text;
  since_ = std::chrono::steady_clock::now();
  if (live_)
    draw();
  else
    say(text);
}

void LiveLine::draw() const {
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - since_);
  std::cerr << line_start << printable(text_) << " (" << seconds.count() << " s)" << std::flush;
}

void LiveLine::wait(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (live_ && std::chrono::steady_clock::now() + between_drawings < end) {
    std::this_thread::sleep_for(between_drawings);
    draw();
  }
  std::this_thread::sleep_until(end);
}

RawTerminal::RawTerminal() {
  if (::tcgetattr(STDIN_FILENO, &before_quiet) != 0)
    throw Failure(Exit::usage, "stdin is no terminal");
  struct sigaction loud = {};
  loud.sa_handler = end_loud;
  loud.sa_flags = SA_RESETHAND;
  for (size_t i = 0; i < endings.size(); ++i) ::sigaction(endings[i], &loud, &before_raw[i]);
  termios raw = before_quiet;
  ::cfmakeraw(&raw);
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

RawTerminal::~RawTerminal() {
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_quiet);
  for (size_t i = 0; i < endings.size(); ++i) ::sigaction(endings[i], &before_raw[i], nullptr);
}

WindowSize window_size() {
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    return {.columns = 80, .rows = 24};
  return {.columns = size.ws_col, .rows = size.ws_row};
}

std::string secret_from_stdin(const std::string& what) { return line(what); }

}  // namespace berth::cli
