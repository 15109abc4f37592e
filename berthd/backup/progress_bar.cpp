#include "berthd/backup/progress_bar.h"

#include <ostream>
#include <utility>

namespace berth::backup {
namespace {

constexpr int width = 40;            // of the bar, in characters
constexpr int percent_of_line = 10;  // between two lines
// Back to the start of the line, and delete it (ECMA-48, EL).
constexpr const char* clear_line = "\r\x1b[K";

}  // namespace

ProgressBar::ProgressBar(std::string command, std::ostream& out, bool is_terminal)
    : command_(std::move(command)), out_(out), is_terminal_(is_terminal) {
  if (is_terminal_) draw(0);
}

ProgressBar::~ProgressBar() {
  if (is_terminal_) clear();
}

void ProgressBar::clear() { out_ << clear_line << std::flush; }

void ProgressBar::show(std::uint64_t done, std::uint64_t of) {
  const int percent = of == 0 ? 100 : static_cast<int>(double(done) / double(of) * 100);
  const int step = is_terminal_ ? 1 : percent_of_line;
  if (percent / step <= shown_ / step) return;
  shown_ = percent;
  if (is_terminal_)
    percent < 100 ? draw(percent) : clear();
  else
    out_ << command_ << ": " << percent / step * step << " %" << std::endl;
}

void ProgressBar::draw(int percent) {
  const auto filled = static_cast<size_t>(width * percent / 100);
  out_ << clear_line << command_ << " [" << std::string(filled, '#')
       << std::string(width - filled, '.') << "] " << percent << " %" << std::flush;
}

}  // namespace berth::backup
