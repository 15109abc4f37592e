#include "reconcilers/embedded/node/session.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

namespace berth::embedded {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t max_failure_bytes = 4096;
constexpr char terminal_end_of_text =
    4;  // Control-D, the end of the input on a terminal (termios(3), VEOF)
constexpr int exit_not_executable = 126;
constexpr int exit_no_such_program = 127;

}  // namespace

RunSession::RunSession(Parts parts) : parts_(std::move(parts)) {
  const int flags = ::fcntl(parts_.socket.get(), F_GETFL);
  ::fcntl(parts_.socket.get(), F_SETFL, flags | O_NONBLOCK);
}

std::unique_ptr<RunSession> RunSession::ended(SessionEnd end) {
  int both[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) != 0)
    throw std::runtime_error("the process has too many open files");
  const Descriptor other(both[1]);
  Parts parts;
  parts.socket = Descriptor(both[0]);
  parts.how_it_ended = [end = std::move(end)] { return end; };
  return std::make_unique<RunSession>(std::move(parts));
}

RunSession::~RunSession() {
  if (!ended_ && parts_.hang_up) parts_.hang_up();
}

bool RunSession::wait_for(short what, steady_clock::time_point until) const {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now());
    pollfd waiting{.fd = parts_.socket.get(), .events = what, .revents = 0};
    const int ready = ::poll(&waiting, 1, int(std::max<std::int64_t>(left.count(), 0)));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return true;  // the next call says what is wrong
  }
}

void RunSession::send(std::string_view bytes, milliseconds patience) {
  const auto until = steady_clock::now() + patience;
  while (!bytes.empty() && !ended_) {
    if (cancelled_) throw std::runtime_error("the session was ended");
    const ssize_t sent =
        ::send(parts_.socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(std::size_t(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for(POLLOUT, until))
        throw std::runtime_error("the container took nothing for " +
                                 std::to_string(patience.count()) + " ms");
    } else if (errno != EINTR) {
      // It has ended; receive() says how.
      if (cancelled_) throw std::runtime_error("the session was ended");
      return;
    }
  }
}

void RunSession::close_input(milliseconds patience) {
  if (parts_.has_terminal)
    send({&terminal_end_of_text, 1}, patience);
  else
    ::shutdown(parts_.socket.get(), SHUT_WR);
}

void RunSession::resize(int columns, int rows) {
  if (parts_.resize && !ended_ && !cancelled_) parts_.resize(columns, rows);
}

void RunSession::cancel() {
  cancelled_ = true;
  ::shutdown(parts_.socket.get(), SHUT_RDWR);
}

RunSession::Read RunSession::read_some(char* to, std::size_t most, std::size_t& got) {
  for (;;) {
    const ssize_t size = ::recv(parts_.socket.get(), to, most, MSG_DONTWAIT);
    if (size > 0) {
      got = std::size_t(size);
      return Read::some;
    }
    if (size < 0 && errno == EINTR) continue;
    return size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? Read::nothing_yet : Read::end;
  }
}

// Reads one event, or a part of a header.
std::optional<SessionEvent> RunSession::read_event(Read& how) {
  SessionEvent event;
  std::size_t got = 0;
  std::size_t most = max_event_bytes;
  if (parts_.is_framed) {
    if (left_ == 0) {
      how = read_some(reinterpret_cast<char*>(header_.data()) + header_size_,
                      header_.size() - header_size_, got);
      if (how != Read::some) return std::nullopt;
      header_size_ += got;
      if (header_size_ < header_.size()) return std::nullopt;
      header_size_ = 0;
      left_ = std::size_t{header_[4]} << 24 | std::size_t{header_[5]} << 16 |
              std::size_t{header_[6]} << 8 | std::size_t{header_[7]};
      if (left_ == 0) return std::nullopt;
    }
    if (header_[0] == 2) event.kind = SessionEvent::Kind::error_output;
    most = std::min(most, left_);
  }
  event.bytes.resize(most);
  how = read_some(event.bytes.data(), most, got);
  if (how != Read::some) return std::nullopt;
  event.bytes.resize(got);
  if (parts_.is_framed) left_ -= got;
  return event;
}

// Keeps output back that may be the runtime's words.
std::optional<SessionEvent> RunSession::pass(SessionEvent event) {
  if (failure_ && failure_->size() + event.bytes.size() <= max_failure_bytes) {
    *failure_ += event.bytes;
    return std::nullopt;
  }
  if (failure_) {  // the runtime says less than that
    event.bytes.insert(0, *std::exchange(failure_, std::nullopt));
    return event;
  }
  if (!std::exchange(has_first_, true) && parts_.is_failure && parts_.is_failure(event.bytes)) {
    failure_ = std::move(event.bytes);
    failure_kind_ = event.kind;
    return std::nullopt;
  }
  return event;
}

SessionEvent RunSession::finish() {
  SessionEnd end;
  if (cancelled_)
    end.failure = "the session was ended";
  else
    end = parts_.how_it_ended();
  ended_ = !cancelled_;
  const bool failed = end.exit_code == exit_not_executable || end.exit_code == exit_no_such_program;
  if (failure_ && failed) end.failure = *std::exchange(failure_, std::nullopt);
  end_ = std::move(end);
  // A program may write what looks like the runtime's words.
  if (failure_)
    return {.kind = failure_kind_, .bytes = *std::exchange(failure_, std::nullopt), .end = {}};
  return {.kind = SessionEvent::Kind::end, .bytes = {}, .end = *end_};
}

std::optional<SessionEvent> RunSession::receive(milliseconds patience) {
  const auto until = steady_clock::now() + patience;
  for (;;) {
    if (end_) return SessionEvent{.kind = SessionEvent::Kind::end, .bytes = {}, .end = *end_};
    Read how = Read::some;
    if (auto event = read_event(how)) {
      if (auto passed = pass(std::move(*event))) return passed;
      continue;
    }
    if (how == Read::end) return finish();
    if (how == Read::nothing_yet && !wait_for(POLLIN, until)) return std::nullopt;
  }
}

}  // namespace berth::embedded
