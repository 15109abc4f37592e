#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/process/berthd.h"

namespace berth::process {

// A connection on which a test sends single bytes.
class Raw {
 public:
  // `from` is the address that the connection comes from; all of 127.0.0.0/8 belongs to this
  // machine.
  explicit Raw(int port, const char* from = "127.0.0.1")
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, from, &address.sin_addr);
    if (::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
      throw std::runtime_error("can't bind");
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
      throw std::runtime_error("can't connect");
  }
  ~Raw() { ::close(socket_); }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;

  // Returns false if the other side is gone.
  bool send(std::string_view text) const {
    return ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) == ssize_t(text.size());
  }
  // Returns the first bytes that arrive; empty if the connection ends or the time is over.
  std::string receive(std::chrono::milliseconds time = patience) const {
    pollfd waiting = {.fd = socket_, .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, int(time.count())) <= 0) return {};
    std::string text(4'096, '\0');
    const ssize_t size = ::recv(socket_, text.data(), text.size(), 0);
    text.resize(size < 0 ? 0 : size_t(size));
    return text;
  }

  // Returns all bytes up to the end of the connection.
  std::string receive_all() const {
    std::string all;
    for (std::string piece = receive(); !piece.empty(); piece = receive()) all += piece;
    return all;
  }

 private:
  int socket_;
};

}  // namespace berth::process
