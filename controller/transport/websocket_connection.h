#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>

#include "controller/transport/http.h"
#include "controller/transport/websocket.h"

namespace berth::api::websocket {

// A WebSocket after its handshake, from the server's side. One thread receives, while others send.
class Connection {
 public:
  struct Limits {
    std::size_t message_bytes = 64 * 1024;  // of a client's message
    // How long the client may take to receive one frame.
    std::chrono::milliseconds write_time = std::chrono::seconds(30);
    // How often give_up is asked while a frame is being sent, and how long a close may take.
    std::chrono::milliseconds write_step = std::chrono::milliseconds(500);
  };
  using Clock = std::chrono::steady_clock;

  // `upgraded` has to outlive this object.
  Connection(const Upgraded& upgraded, Limits limits);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  enum class Received {
    something,  // on_message may have been called
    nothing,    // within the time
    closed,     // the client has sent a close, was answered, and says nothing more
    gone,       // the connection is lost, or hang_up() was called
  };
  // Waits for input for at most `patience`, answers pings, and calls `on_message` for each message,
  // which may take its time: meanwhile nothing is received, so that the client has to wait. Throws
  // Violation, and what on_message throws.
  Received receive(std::chrono::milliseconds patience,
                   const std::function<void(const Message&)>& on_message);

  // Sends a frame, and waits while the client takes nothing. Returns whether it was sent: not after
  // a close, and not if the client is gone or takes longer than write_time, or `give_up` returns
  // true; in these cases the connection is of no use any more. While another thread sends, it waits
  // for that one, and asks give_up as well.
  bool send(Kind kind, std::string_view data, const std::function<bool()>& give_up = {});
  // Sends a close, unless one was sent; the reason is cut to what fits. Nothing is sent after it.
  void close(std::uint16_t code, std::string_view reason);
  // Ends both directions at once, so that threads in the other functions return.
  void hang_up();

  // When the client was last known to be there: something was received, or it made room for more
  // of what is sent.
  Clock::time_point heard() const { return heard_; }
  bool is_closed() const { return closed_; }  // whether a close was sent, or can't be any more

 private:
  class Turn;
  void handle(const Message& message, const std::function<void(const Message&)>& on_message);
  bool send_in_turn(std::string_view frame, const std::function<bool()>& give_up);

  const Upgraded& upgraded_;
  const Limits limits_;
  // These belong to the thread that receives.
  Reader reader_;
  bool has_first_input_ = true;
  bool is_over_ = false;  // the client has sent a close

  std::atomic<Clock::time_point> heard_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable sent_;
  bool is_sending_ = false;           // whether a thread has its turn to send
  std::atomic<bool> closed_ = false;  // changed by the thread that has its turn
  std::atomic<bool> closing_ = false;
};

}  // namespace berth::api::websocket
