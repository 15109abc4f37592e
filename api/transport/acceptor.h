#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "api/transport/socket.h"

namespace berth::api {

// Accepts connections on one thread and never blocks on a connection.
class Acceptor {
 public:
  // Takes the connection over, or leaves it as it is and returns false: then it is sent the refusal
  // and closed.
  using Take = std::function<bool(Descriptor& connection)>;

  // `refusal` is a complete answer. Throws std::runtime_error, see listen_on().
  Acceptor(const std::string& host, int port, std::string refusal, Take take);

  int socket() const { return listener_.socket.get(); }
  int port() const { return listener_.port; }
  std::uint64_t refused() const { return refused_count_; }

  // Until stop() is called, which may be before. Closes the listening socket at the end.
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
  Descriptor wake_;  // eventfd: stop() writes it
  const std::string refusal_;
  const Take take_;
  std::atomic<std::uint64_t> refused_count_ = 0;
  // Closing at once, with the request unread, would reset the connection and destroy the answer.
  std::deque<Refused> refused_;
  Deadline next_complaint_{};
};

}  // namespace berth::api
