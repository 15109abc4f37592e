#include "controller/transport/acceptor.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "controller/base/log.h"

namespace berth::api {
namespace {

// How long a refused connection is kept open, so that its caller can read the refusal, and how many
// of them are kept.
constexpr std::chrono::milliseconds refused_kept_for{1000};
constexpr std::size_t max_refused = 64;
// If descriptors or memory run out, the connection stays in the backlog, and poll() would report it
// again at once.
constexpr std::chrono::milliseconds exhausted_pause{50};
constexpr std::chrono::seconds complaint_interval{60};

}  // namespace

Acceptor::Acceptor(const std::string& host, int port, std::string refusal, Take take)
    : listener_(listen_on(host, port)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      refusal_(std::move(refusal)),
      take_(std::move(take)) {
  if (!wake_.valid()) throw std::system_error(errno, std::generic_category(), "eventfd");
}

void Acceptor::stop() { eventfd_write(wake_.get(), 1); }

int Acceptor::poll_timeout() const {
  if (refused_.empty()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(refused_.front().close_at -
                                                                 std::chrono::steady_clock::now());
  return static_cast<int>(std::max<std::chrono::milliseconds::rep>(left.count(), 0));
}

void Acceptor::run() {
  while (true) {
    std::array<pollfd, 2> waited = {pollfd{.fd = wake_.get(), .events = POLLIN, .revents = 0},
                                    pollfd{.fd = socket(), .events = POLLIN, .revents = 0}};
    const int ready = poll(waited.data(), waited.size(), poll_timeout());
    if (ready > 0 && waited[0].revents != 0) break;
    close_refused();
    if (ready > 0 && !accept_one()) pause(errno);
  }
  refused_.clear();
  listener_.socket = Descriptor();
}

// Returns false if the system lacks a resource; errno says which.
bool Acceptor::accept_one() {
  Descriptor connection{accept4(socket(), nullptr, nullptr, SOCK_CLOEXEC)};
  if (!connection.valid()) {
    return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED || errno == EPROTO;
  }
  if (!take_(connection)) refuse(std::move(connection));
  return true;
}

void Acceptor::refuse(Descriptor connection) {
  ++refused_count_;
  send(connection.get(), refusal_.data(), refusal_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::shutdown(connection.get(), SHUT_WR);
  if (refused_.size() == max_refused) refused_.pop_front();
  refused_.push_back({std::move(connection), after(refused_kept_for)});
}

void Acceptor::close_refused() {
  const auto now = std::chrono::steady_clock::now();
  while (!refused_.empty() && refused_.front().close_at <= now) refused_.pop_front();
}

void Acceptor::pause(int reason) {
  // Connections that were refused already are the first to be given up.
  refused_.clear();
  const auto now = std::chrono::steady_clock::now();
  if (now >= next_complaint_) {
    log::warning("can't accept connections", {{"reason", std::generic_category().message(reason)}});
    next_complaint_ = now + complaint_interval;
  }
  pollfd stopped{.fd = wake_.get(), .events = POLLIN, .revents = 0};
  poll(&stopped, 1, static_cast<int>(exhausted_pause.count()));
}

}  // namespace berth::api
