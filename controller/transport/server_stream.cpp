#include "controller/transport/server_stream.h"

#include <algorithm>

#include "controller/transport/http.h"

namespace berth::api {
namespace {

constexpr std::string_view shown_get = "GET / HTTP/1.1\r\n\r\n";
constexpr std::string_view shown_head = "HEAD / HTTP/1.1\r\n\r\n";
// Up to this size, copying is cheaper than another system call. A larger body is sent without being
// copied.
constexpr std::size_t collect_bytes = 16 * 1024;

}  // namespace

void ServerStream::begin(AnswerTo kind) {
  shown_ = kind == AnswerTo::head ? shown_head : shown_get;
  mode_ = Mode::collecting;
  head_written_ = false;
  fields_.clear();
  collected_.clear();
}

void ServerStream::add_field(std::string_view name, std::string_view value) {
  fields_.append(name).append(": ").append(value).append(line_end);
}

bool ServerStream::flush() {
  if (!broken_ && !collected_.empty()) {
    broken_ = send_all(socket_, collected_, {}, after(write_timeout_)) != Io::ok;
  }
  collected_.clear();
  return !broken_;
}

bool ServerStream::stop_collecting() {
  mode_ = Mode::direct;
  return flush();
}

ssize_t ServerStream::read(char* to, std::size_t size) {
  const std::size_t taken = shown_.copy(to, size);
  shown_.remove_prefix(taken);
  return static_cast<ssize_t>(taken);
}

ssize_t ServerStream::write(const char* from, std::size_t size) {
  if (broken_) return -1;
  if (!head_written_) {
    // httplib writes the whole head at once. berth's fields are inserted after the status line.
    head_written_ = true;
    const std::string_view head(from, size);
    const std::size_t status_line = head.find(line_end) + line_end.size();
    collected_.append(head.substr(0, status_line)).append(fields_).append(head.substr(status_line));
    return static_cast<ssize_t>(size);
  }
  if (mode_ == Mode::collecting && collected_.size() + size <= collect_bytes) {
    collected_.append(from, size);
    return static_cast<ssize_t>(size);
  }
  broken_ = send_all(socket_, collected_, {from, size}, after(write_timeout_)) != Io::ok;
  collected_.clear();
  return broken_ ? -1 : static_cast<ssize_t>(size);
}

}  // namespace berth::api
