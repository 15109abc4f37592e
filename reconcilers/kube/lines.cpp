#include "reconcilers/kube/lines.h"

namespace berth::kube {

void LineReader::deliver(std::string_view line,
                         const std::function<void(std::string_view)>& on_line) const {
  if (line.size() > max_line_bytes_) throw LineTooLong(max_line_bytes_);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.find_first_not_of(" \t") != std::string_view::npos) on_line(line);
}

void LineReader::feed(std::string_view piece,
                      const std::function<void(std::string_view)>& on_line) {
  for (size_t end = piece.find('\n'); end != std::string_view::npos; end = piece.find('\n')) {
    const std::string_view tail = piece.substr(0, end);
    piece.remove_prefix(end + 1);
    if (unfinished_.empty()) {
      deliver(tail, on_line);
    } else {
      unfinished_ += tail;
      deliver(unfinished_, on_line);
      unfinished_.clear();
    }
  }
  if (unfinished_.size() + piece.size() > max_line_bytes_) throw LineTooLong(max_line_bytes_);
  unfinished_ += piece;
}

void LineReader::finish(const std::function<void(std::string_view)>& on_line) {
  deliver(unfinished_, on_line);
  unfinished_.clear();
}

}  // namespace berth::kube
