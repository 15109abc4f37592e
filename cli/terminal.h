#pragma once

#include <chrono>
#include <string>

// Talks to the person at the terminal, if there is one.
namespace berth::cli {

bool is_interactive();      // stdin and stderr are terminals
bool takes_utf8();          // according to LC_ALL, LC_CTYPE and LANG
bool moves_cursor(int fd);  // whether it is a terminal on which a line can be written again

// Asks a question on stderr. If nobody can be asked, throws Failure `usage` with `otherwise` as
// advice.
std::string ask(const std::string& question, const std::string& otherwise);
std::string ask_secret(const std::string& question, const std::string& otherwise);  // without echo
// Asks whether to continue, unless `yes` answers in advance. Throws Failure if the answer is no,
// and Failure `usage` if nobody can be asked.
void confirm(const std::string& question, bool yes);
// The same for what can't be undone: the answer has to be `name`, the name of what is deleted, so
// that nobody confirms the deletion of another thing than they think of. `what_happens` is one or
// more whole sentences.
void confirm_name(const std::string& what_happens, const std::string& name, bool yes);

// One line on stderr about what is under way. On a terminal it is written anew each time, with the
// seconds since its text changed, and is gone at the end; elsewhere each new text is a line.
class LiveLine {
 public:
  LiveLine();
  ~LiveLine();
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  void show(const std::string& text);
  void wait(std::chrono::milliseconds time);  // waits, and shows how many seconds have passed

 private:
  void draw() const;

  bool live_;
  std::string text_;
  std::chrono::steady_clock::time_point since_;
};

// Passes each key of the terminal on as it is typed, Ctrl-C included, for the lifetime of this
// object; then the terminal is as it was, also if a signal ends the process. Only one may exist at
// a time.
class RawTerminal {
 public:
  // Throws Failure if stdin is no terminal.
  RawTerminal();
  ~RawTerminal();
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;
};

struct WindowSize {
  int columns = 0;
  int rows = 0;
  bool operator==(const WindowSize&) const = default;
};
// The size of the terminal at stdout; 80 to 24 if it isn't known.
WindowSize window_size();

// The first line of stdin. Throws Failure `usage` if there is none; `what` names it in the message.
std::string secret_from_stdin(const std::string& what);

}  // namespace berth::cli
