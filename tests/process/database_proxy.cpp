#include "tests/process/database_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <stdexcept>

#include "tests/store.h"

namespace berth::process {
namespace {

constexpr int between_looks_ms = 10;  // at the mode

int connect_to_server() {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const std::string path = test::socket_of_server();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(static_cast<char*>(address.sun_path), sizeof(address.sun_path) - 1);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0)
    return socket;
  ::close(socket);
  return -1;
}

}  // namespace

DatabaseProxy::DatabaseProxy() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, generic, size) != 0 || ::listen(listener_, SOMAXCONN) != 0 ||
      ::getsockname(listener_, generic, &size) != 0)
    throw std::runtime_error("the proxy can't listen");
  port_ = ntohs(address.sin_port);
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

DatabaseProxy::~DatabaseProxy() {
  thread_.request_stop();
  thread_.join();
  close_all();
  ::close(listener_);
}

void DatabaseProxy::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const Mode mode = mode_;
    if (mode == Mode::refuses) close_all();
    std::vector<pollfd> waiting = {{.fd = listener_, .events = POLLIN, .revents = 0}};
    if (mode == Mode::passes)
      for (const auto& [client, server] : connections_) {
        waiting.push_back({.fd = client, .events = POLLIN, .revents = 0});
        waiting.push_back({.fd = server, .events = POLLIN, .revents = 0});
      }
    if (::poll(waiting.data(), waiting.size(), between_looks_ms) <= 0) continue;
    std::vector<std::pair<int, int>> left;
    for (size_t i = 0; i < connections_.size(); ++i) {
      const auto [client, server] = connections_[i];
      const bool is_open =
          mode != Mode::passes || ((waiting[2 * i + 1].revents == 0 || pass_on(client, server)) &&
                                   (waiting[2 * i + 2].revents == 0 || pass_on(server, client)));
      if (is_open) {
        left.emplace_back(client, server);
      } else {
        ::close(client);
        ::close(server);
      }
    }
    connections_ = std::move(left);
    if (waiting[0].revents != 0) accept_one();
  }
}

void DatabaseProxy::accept_one() {
  const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  const int server = mode_ == Mode::refuses ? -1 : connect_to_server();
  if (server >= 0)
    connections_.emplace_back(client, server);
  else
    ::close(client);
}

// Returns false if one of both sides is gone.
bool DatabaseProxy::pass_on(int from, int to) const {
  std::array<char, 65'536> bytes{};
  const ssize_t size = ::recv(from, bytes.data(), bytes.size(), 0);
  return size > 0 && ::send(to, bytes.data(), size_t(size), MSG_NOSIGNAL) == size;
}

void DatabaseProxy::close_all() {
  for (const auto& [client, server] : connections_) {
    ::close(client);
    ::close(server);
  }
  connections_.clear();
}

}  // namespace berth::process
