#include "controller/transport/websocket_connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "controller/base/visible_text.h"
#include "controller/transport/socket.h"

namespace berth::api::websocket {
namespace {

constexpr std::size_t max_reason_bytes = 123;  // section 5.5

// Returns the beginning of the text that has at most this many bytes, and is valid UTF-8.
std::string_view cut_reason(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;
  return text.substr(0, most);
}

// Waits until the socket is ready for `events`. Returns false if it isn't within the time.
bool is_ready_within(int socket, short events, std::chrono::milliseconds time) {
  pollfd wanted{.fd = socket, .events = events, .revents = 0};
  const int ready = ::poll(&wanted, 1, static_cast<int>(std::max<std::int64_t>(time.count(), 0)));
  return ready > 0 || (ready < 0 && errno == EINTR);
}

}  // namespace

// The turn of one thread to send, which lasts as long as this object.
class Connection::Turn {
 public:
  // Waits for the turn, and asks `give_up` every write_step. Once that returns true, has no turn.
  Turn(Connection& connection, const std::function<bool()>& give_up) : connection_(connection) {
    while (!taken_within(connection.limits_.write_step))
      if (give_up && give_up()) return;
    is_taken_ = true;
  }
  ~Turn() {
    if (!is_taken_) return;
    {
      const std::lock_guard lock(connection_.mutex_);
      connection_.is_sending_ = false;
    }
    connection_.sent_.notify_one();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  bool is_taken() const { return is_taken_; }

 private:
  bool taken_within(std::chrono::milliseconds time) {
    std::unique_lock lock(connection_.mutex_);
    if (!connection_.sent_.wait_for(lock, time, [&] { return !connection_.is_sending_; }))
      return false;
    connection_.is_sending_ = true;
    return true;
  }

  Connection& connection_;
  bool is_taken_ = false;
};

Connection::Connection(const Upgraded& upgraded, Limits limits)
    : upgraded_(upgraded), limits_(limits), reader_(limits.message_bytes) {}

Connection::Received Connection::receive(std::chrono::milliseconds patience,
                                         const std::function<void(const Message&)>& on_message) {
  const auto read = [&](std::string_view input) {
    heard_ = Clock::now();
    reader_.read(input, [&](const Message& message) { handle(message, on_message); });
    return is_over_ ? Received::closed : Received::something;
  };
  if (is_over_) return Received::closed;
  if (has_first_input_) {
    has_first_input_ = false;
    if (!upgraded_.input.empty()) return read(upgraded_.input);
  }
  if (!is_ready_within(upgraded_.socket, POLLIN, patience)) return Received::nothing;
  std::array<char, 16 * 1024> input;
  const api::Received received = receive_now(upgraded_.socket, input.data(), input.size());
  if (received.io == Io::closed) return Received::gone;
  if (received.io == Io::timed_out) return Received::nothing;
  return read({input.data(), received.bytes});
}

void Connection::handle(const Message& message,
                        const std::function<void(const Message&)>& on_message) {
  switch (message.kind) {
    case Kind::text:
    case Kind::binary:
      return on_message(message);
    case Kind::ping:
      send(Kind::pong, message.data);
      return;
    case Kind::pong:
      return;
    case Kind::close:
      is_over_ = true;
      // The answer repeats the code (section 5.5.1).
      return close(message.code == 0 ? normal : message.code, "");
  }
}

bool Connection::send(Kind kind, std::string_view data, const std::function<bool()>& give_up) {
  const Turn turn(*this, give_up);
  return turn.is_taken() && !closed_ && send_in_turn(encode(kind, data), give_up);
}

void Connection::close(std::uint16_t code, std::string_view reason) {
  closing_ = true;  // whoever sends to a client that takes nothing gives up
  const Turn turn(*this, {});
  if (closed_) return;
  // A client that takes nothing isn't waited for.
  const auto deadline = Clock::now() + limits_.write_step;
  send_in_turn(encode_close(code, cut_reason(reason, max_reason_bytes)),
               [&] { return Clock::now() >= deadline; });
  closed_ = true;
}

// The caller has its turn. If the frame can't be sent whole, no other may follow it.
bool Connection::send_in_turn(std::string_view frame, const std::function<bool()>& give_up) {
  const auto deadline = Clock::now() + limits_.write_time;
  auto asks_at = Clock::now() + limits_.write_step;
  bool had_no_room = false;
  while (true) {
    const Sent sent = send_now(upgraded_.socket, frame, {});
    // What waits to be received may hold up the client's pongs for long.
    if (had_no_room && sent.bytes > 0) heard_ = Clock::now();
    frame.remove_prefix(sent.bytes);
    if (sent.io == Io::ok) return true;
    if (sent.io == Io::closed || Clock::now() >= deadline) break;
    had_no_room = true;
    is_ready_within(upgraded_.socket, POLLOUT, limits_.write_step);
    if (Clock::now() < asks_at) continue;
    if (give_up ? give_up() : closing_.load()) break;
    asks_at = Clock::now() + limits_.write_step;
  }
  closed_ = true;
  hang_up();
  return false;
}

void Connection::hang_up() { ::shutdown(upgraded_.socket, SHUT_RDWR); }

}  // namespace berth::api::websocket
