#include "berthd/notify_ready.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "controller/base/log.h"

namespace berth {
namespace {

constexpr std::string_view message = "READY=1";

bool send_to(std::string_view path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() < 2 || path.size() >= sizeof(address.sun_path)) {
    errno = EINVAL;
    return false;
  }
  std::ranges::copy(path, std::begin(address.sun_path));
  if (path.front() == '@') address.sun_path[0] = '\0';  // a name without a file
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  const auto length = socklen_t(offsetof(sockaddr_un, sun_path) + path.size());
  const ssize_t sent = ::sendto(socket, message.data(), message.size(), MSG_NOSIGNAL,
                                reinterpret_cast<const sockaddr*>(&address), length);
  const int reason = errno;
  ::close(socket);
  errno = reason;
  return sent == ssize_t(message.size());
}

}  // namespace

void notify_ready() {
  const char* path = std::getenv("NOTIFY_SOCKET");
  if (path == nullptr || *path == '\0') return;
  if (!send_to(path))
    log::warning("the service manager could not be told that berthd is ready",
                 {{"socket", path}, {"error", std::strerror(errno)}});
}

}  // namespace berth
