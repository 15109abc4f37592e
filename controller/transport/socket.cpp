#include "controller/transport/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace berth::api {
namespace {

// How many connections the kernel queues until they are accepted: as many as are allowed in total.
constexpr int listen_backlog = 1024;

Io wait_for(int socket, short events, Deadline deadline) {
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd waited{.fd = socket, .events = events, .revents = 0};
    const int timeout = static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(
        left.count(), 0, std::chrono::milliseconds(std::chrono::hours(1)).count()));
    const int ready = poll(&waited, 1, timeout);
    if (ready > 0) return Io::ok;
    if (ready < 0 && errno != EINTR) return Io::closed;
    if (ready == 0 && std::chrono::steady_clock::now() >= deadline) return Io::timed_out;
  }
}

int local_port(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

Descriptor try_listen(const addrinfo& at) {
  Descriptor socket{
      ::socket(at.ai_family, at.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, at.ai_protocol)};
  if (!socket.valid()) return {};
  // Lets a restarted server use the same port while old connections are in TIME_WAIT.
  const int on = 1;
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(socket.get(), at.ai_addr, at.ai_addrlen) != 0) return {};
  if (listen(socket.get(), listen_backlog) != 0) return {};
  return socket;
}

Listener listen_on_path(const std::string& path) {
  const std::string where = "can't listen on " + path + ": ";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path))
    throw std::runtime_error(where + "the path of a Unix socket has 1 to " +
                             std::to_string(sizeof(address.sun_path) - 1) + " bytes");
  path.copy(address.sun_path, path.size());
  Descriptor socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  unlink(path.c_str());
  constexpr mode_t for_the_owner = S_IRUSR | S_IWUSR;
  // Nobody can connect before listen(), so that the mode is right in time.
  if (!socket.valid() ||
      bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      chmod(path.c_str(), for_the_owner) != 0 || listen(socket.get(), listen_backlog) != 0)
    throw std::runtime_error(where + std::generic_category().message(errno));
  return {std::move(socket), 0};
}

}  // namespace

Listener listen_on(const std::string& host, int port) {
  if (host.starts_with(unix_prefix)) return listen_on_path(host.substr(unix_prefix.size()));
  const std::string where = "can't listen on " + host + ":" + std::to_string(port) + ": ";
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* resolved = nullptr;
  const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &resolved);
  if (failed != 0) throw std::runtime_error(where + gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses{resolved, &freeaddrinfo};
  int reason = 0;
  for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
    Descriptor socket = try_listen(*at);
    if (socket.valid()) {
      const int bound = local_port(socket.get());
      return {std::move(socket), bound};
    }
    reason = errno;
  }
  throw std::runtime_error(where + std::generic_category().message(reason));
}

Received receive_now(int socket, char* to, std::size_t size) {
  while (true) {
    const ssize_t got = recv(socket, to, size, MSG_DONTWAIT);
    if (got > 0) return {Io::ok, static_cast<std::size_t>(got)};
    if (got < 0 && errno == EINTR) continue;
    return {got < 0 && errno == EAGAIN ? Io::timed_out : Io::closed};
  }
}

Received receive(int socket, char* to, std::size_t size, Deadline deadline) {
  while (true) {
    const Received received = receive_now(socket, to, size);
    if (received.io != Io::timed_out) return received;
    const Io ready = wait_for(socket, POLLIN, deadline);
    if (ready != Io::ok) return {ready};
  }
}

Received await_input(int socket, char* to, std::size_t size) {
  while (true) {
    const ssize_t got = recv(socket, to, size, 0);
    if (got > 0) return {Io::ok, static_cast<std::size_t>(got)};
    if (got < 0 && errno == EAGAIN) return {Io::timed_out};
    if (got == 0 || errno != EINTR) return {Io::closed};
  }
}

void set_patience(int socket, std::chrono::milliseconds patience) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
  const std::chrono::microseconds rest = patience - seconds;
  const timeval time{.tv_sec = seconds.count(), .tv_usec = rest.count()};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
}

Sent send_now(int socket, std::string_view first, std::string_view second) {
  Sent sent;
  while (!first.empty() || !second.empty()) {
    std::array<iovec, 2> pieces = {iovec{const_cast<char*>(first.data()), first.size()},
                                   iovec{const_cast<char*>(second.data()), second.size()}};
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    const ssize_t taken = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0) {
      sent.io = errno == EAGAIN ? Io::timed_out : Io::closed;
      break;
    }
    const auto bytes = static_cast<std::size_t>(taken);
    sent.bytes += bytes;
    const std::size_t of_first = std::min(bytes, first.size());
    first.remove_prefix(of_first);
    second.remove_prefix(bytes - of_first);
  }
  return sent;
}

bool is_peer_gone(int socket) {
  pollfd state{.fd = socket, .events = POLLRDHUP, .revents = 0};
  return poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

std::string peer_address(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  std::array<char, NI_MAXHOST> text{};
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  if (address.ss_family == AF_UNIX) return std::string(unix_peer);
  if (getnameinfo(reinterpret_cast<sockaddr*>(&address), size, text.data(), text.size(), nullptr, 0,
                  NI_NUMERICHOST) != 0) {
    return {};
  }
  const std::string_view mapped_prefix = "::ffff:";
  std::string numeric = text.data();
  const bool mapped = numeric.starts_with(mapped_prefix) && numeric.find('.') != std::string::npos;
  return mapped ? numeric.substr(mapped_prefix.size()) : numeric;
}

}  // namespace berth::api
