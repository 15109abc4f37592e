#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

namespace berth::backup {

// Shows how much of a command's work is done: as a bar that is drawn again and again if `out` is a
// terminal, until everything is done, and otherwise as a line for each 10 %. Only one thread may
// use it at a time.
class ProgressBar {
 public:
  ProgressBar(std::string command, std::ostream& out, bool is_terminal);
  ~ProgressBar();  // removes the bar
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // `done` is at most `of`, in any unit.
  void show(std::uint64_t done, std::uint64_t of);

 private:
  void draw(int percent);
  void clear();

  const std::string command_;
  std::ostream& out_;
  const bool is_terminal_;
  int shown_ = 0;  // percent
};

}  // namespace berth::backup
