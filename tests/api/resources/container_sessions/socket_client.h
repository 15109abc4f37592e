#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "controller/base/descriptor.h"
#include "controller/base/error.h"
#include "controller/domain/deployments/exec.h"
#include "controller/transport/http.h"

namespace berth::api::test {

// Far longer than anything takes. A test that waits this long fails.
inline constexpr std::chrono::seconds session_patience{20};

// A command in a container as a test wants it: the test gives its output and its end, and sees what
// was sent to it.
struct FakeContainer {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<exec::Event> events;
  std::optional<exec::End> end;
  std::string input;
  std::vector<exec::TerminalSize> sizes;
  bool input_closed = false;
  bool takes_input = true;  // if it doesn't, send() waits until the session is cancelled
  bool is_waiting = false;  // send() waits
  bool cancelled = false;
  bool destroyed = false;
  const Descriptor news{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};

  void say(exec::Event event) {
    const std::lock_guard lock(mutex);
    if (auto* last = std::get_if<exec::End>(&event)) end = *last;
    events.push_back(std::move(event));
    ::eventfd_write(news.get(), 1);
    changed.notify_all();
  }
  template <typename Condition>
  bool wait(Condition condition) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, session_patience, condition);
  }
};

class FakeSession : public exec::Session {
 public:
  explicit FakeSession(std::shared_ptr<FakeContainer> container) : c_(std::move(container)) {}
  ~FakeSession() override {
    const std::lock_guard lock(c_->mutex);
    c_->destroyed = true;
    c_->changed.notify_all();
  }
  const std::string& instance() const override { return instance_; }
  void send(std::string_view bytes) override {
    std::unique_lock lock(c_->mutex);
    c_->is_waiting = true;
    c_->changed.notify_all();
    c_->changed.wait(lock, [&] { return c_->takes_input || c_->cancelled; });
    if (c_->cancelled) throw Error(Code::unavailable, "the session was cancelled");
    c_->is_waiting = false;
    c_->input += bytes;
    c_->changed.notify_all();
  }
  void close_input() override {
    const std::lock_guard lock(c_->mutex);
    c_->input_closed = true;
    c_->changed.notify_all();
  }
  void resize(exec::TerminalSize size) override {
    const std::lock_guard lock(c_->mutex);
    c_->sizes.push_back(size);
    c_->changed.notify_all();
  }
  std::optional<exec::Event> receive(std::chrono::milliseconds patience) override {
    std::unique_lock lock(c_->mutex);
    c_->changed.wait_for(lock, patience, [&] { return !c_->events.empty() || c_->end; });
    if (c_->events.empty()) return c_->end ? std::optional<exec::Event>(*c_->end) : std::nullopt;
    exec::Event event = std::move(c_->events.front());
    c_->events.pop_front();
    eventfd_t ignored = 0;
    if (c_->events.empty()) ::eventfd_read(c_->news.get(), &ignored);
    return event;
  }
  int descriptor() const override { return c_->news.get(); }
  void cancel() override {
    const std::lock_guard lock(c_->mutex);
    c_->cancelled = true;
    c_->changed.notify_all();
  }

 private:
  const std::shared_ptr<FakeContainer> c_;
  const std::string instance_ = "berth-1-abc";
};

inline unsigned byte_at(const std::string& text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

// The client's side of an upgraded connection, without a server: the takeover runs on a thread.
class SocketClient {
 public:
  explicit SocketClient(Takeover takeover, std::string input = "")
      : ending_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    own_ = Descriptor(ends[0]);
    servers_ = Descriptor(ends[1]);
    thread_ = std::thread([this, takeover = std::move(takeover), input]() mutable {
      takeover({.socket = servers_.get(), .input = input, .ending = ending_.get()});
      takeover = {};
      ::shutdown(servers_.get(), SHUT_RDWR);
    });
  }
  ~SocketClient() {
    ::shutdown(own_.get(), SHUT_RDWR);
    thread_.join();
  }
  SocketClient(const SocketClient&) = delete;
  SocketClient& operator=(const SocketClient&) = delete;

  void shut_server_down() const { ::eventfd_write(ending_.get(), 1); }

  // Sends a masked frame. `first` is its first byte: 0x82 is a whole binary message.
  void send_frame(unsigned first, std::string data) const {
    const std::string mask = "m\x01\x7fk";
    std::string text(1, char(first));
    if (data.size() < 126) {
      text += char(0x80 | data.size());
    } else if (data.size() <= 0xffff) {
      text += char(0x80 | 126);
      text += char(data.size() >> 8);
      text += char(data.size() & 0xff);
    } else {
      text += char(0x80 | 127);
      for (int shift = 56; shift >= 0; shift -= 8) text += char(data.size() >> shift & 0xff);
    }
    text += mask;
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = char(data[i] ^ mask[i % 4]);
    text += data;
    for (std::size_t sent = 0; sent < text.size();) {
      const ssize_t now = ::send(own_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (now <= 0) return;  // the server has closed
      sent += std::size_t(now);
    }
  }
  void send(const std::string& message) const { send_frame(0x82, message); }

  struct Frame {
    unsigned opcode = 0;  // 0 if the connection ended, or nothing came for long
    std::string data;
    // Of a close.
    int code() const { return data.size() < 2 ? 0 : int(byte_at(data, 0) << 8 | byte_at(data, 1)); }
  };
  // Returns the next frame that isn't a ping. Pings are answered.
  Frame receive() {
    while (true) {
      Frame frame = next();
      if (frame.opcode != 9) return frame;
      send_frame(0x8a, frame.data);
    }
  }
  // Returns the code of the close that comes next, after other messages; 0 if none comes.
  int closed_with() {
    while (true) {
      const Frame frame = receive();
      if (frame.opcode == 0 || frame.opcode == 8) return frame.code();
    }
  }

 private:
  Frame next() {
    if (!has(2)) return {};
    const unsigned opcode = byte_at(input_, 0) & 0x0f;
    std::size_t head = 2, size = byte_at(input_, 1) & 0x7f;
    const std::size_t of_length = size == 126 ? 2 : size == 127 ? 8 : 0;
    if (!has(head + of_length)) return {};
    if (of_length > 0) size = 0;
    for (std::size_t i = 0; i < of_length; ++i) size = size << 8 | byte_at(input_, head + i);
    head += of_length;
    if (!has(head + size)) return {};
    Frame frame = {.opcode = opcode, .data = input_.substr(head, size)};
    input_.erase(0, head + size);
    return frame;
  }
  bool has(std::size_t bytes) {
    while (input_.size() < bytes) {
      pollfd state{.fd = own_.get(), .events = POLLIN, .revents = 0};
      if (::poll(&state, 1, int(std::chrono::milliseconds(session_patience).count())) <= 0)
        return false;
      char piece[16 * 1024];
      const ssize_t got = ::recv(own_.get(), piece, sizeof(piece), 0);
      if (got <= 0) return false;
      input_.append(piece, std::size_t(got));
    }
    return true;
  }

  const Descriptor ending_;
  Descriptor own_;
  Descriptor servers_;
  std::string input_;
  std::thread thread_;
};

}  // namespace berth::api::test
