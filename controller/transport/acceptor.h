#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "controller/transport/socket.h"

namespace berth::api {

// Accepts connections on one thread, which never blocks on a single connection.
class Acceptor {
 public:
  // Takes the connection over and returns true; or leaves `connection` as it is and returns false,
  // whereupon the acceptor sends the refusal and closes it.
  using Take = std::function<bool(Descriptor& connection)>;

  // `refusal` is a complete HTTP response. Throws std::runtime_error as listen_on() does.
  Acceptor(const std::string& host, int port, std::string refusal, Take take);

  int socket() const { return listener_.socket.get(); }
  int port() const { return listener_.port; }
  std::uint64_t refused() const { return refused_count_; }

  // Accepts connections until stop() is called, even if that was before. Closes the listening
  // socket at the end.
  void run();
  void stop();

 private:
  struct Refused {
    Descriptor connection;
    Deadline close_at;
  };

  bool accept_one();
  void refuse(Descriptor connection);
  void close_refused();
  int poll_timeout() const;
  void pause(int reason);

  Listener listener_;
  Descriptor wake_;  // an eventfd that stop() writes to
  const std::string refusal_;
  const Take take_;
  std::atomic<std::uint64_t> refused_count_ = 0;
  // Refused connections that still have unread input. Closing them at once would make the kernel
  // send a reset, which destroys the answer.
  std::deque<Refused> refused_;
  Deadline next_complaint_{};
};

}  // namespace berth::api
