#include "cli/loopback.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "cli/config.h"
#include "cli/failure.h"
#include "cli/http.h"

namespace berth::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t most_of_request = 16 * 1024;
constexpr std::chrono::seconds longest_request{5};  // a browser sends its request at once
constexpr int waiting_connections = 8;

constexpr const char* page_head =
    "<!doctype html><html lang=en><meta charset=utf-8><title>berth</title>"
    "<style>body{font:1.1rem system-ui;margin:4rem auto;max-width:32rem}</style><p>";

int left_ms(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return int(std::max<std::chrono::milliseconds::rep>(left.count(), 0));
}

class Connection {
 public:
  explicit Connection(int fd) : fd_(fd) {}
  ~Connection() { ::close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // The target of a GET request; nothing if it is another request, too long or too slow.
  std::optional<std::string> target() const {
    const auto end = Clock::now() + longest_request;
    std::string head;
    while (head.find("\r\n\r\n") == std::string::npos && head.size() < most_of_request) {
      pollfd ready = {.fd = fd_, .events = POLLIN, .revents = 0};
      char piece[4096];
      if (::poll(&ready, 1, left_ms(end)) <= 0) return std::nullopt;
      const ssize_t got = ::recv(fd_, piece, sizeof piece, 0);
      if (got <= 0) return std::nullopt;
      head.append(piece, size_t(got));
    }
    const size_t blank = head.find(' ', 4);
    if (!head.starts_with("GET ") || blank == std::string::npos) return std::nullopt;
    return head.substr(4, blank - 4);
  }

  void answer(const char* status, const std::string& sentence) const {
    const std::string page = page_head + sentence;
    const std::string text = std::string("HTTP/1.1 ") + status +
                             "\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: " +
                             std::to_string(page.size()) +
                             "\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
                             "Connection: close\r\n\r\n" +
                             page;
    if (::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) < 0) return;
    ::shutdown(fd_, SHUT_WR);
  }

 private:
  int fd_;
};

}  // namespace

Loopback::Loopback() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  // The sockets API expects the type for all address families.
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (fd_ < 0 || ::bind(fd_, any, length) != 0 || ::listen(fd_, waiting_connections) != 0 ||
      ::getsockname(fd_, any, &length) != 0) {
    if (fd_ >= 0) ::close(fd_);
    throw Failure(Exit::failed, "no port of 127.0.0.1 can be listened on",
                  "Log in with `berth login --email YOU@EXAMPLE.ORG` instead.");
  }
  port_ = ntohs(address.sin_port);
}

Loopback::~Loopback() { ::close(fd_); }

std::string Loopback::redirect_uri() const {
  return "http://127.0.0.1:" + std::to_string(port_) + "/callback";
}

std::map<std::string, std::string> Loopback::wait(const std::string& state,
                                                  std::chrono::seconds time) {
  const auto end = Clock::now() + time;
  while (true) {
    pollfd ready = {.fd = fd_, .events = POLLIN, .revents = 0};
    const int found = ::poll(&ready, 1, left_ms(end));
    if (found == 0) throw Failure(Exit::timed_out, "nobody came back from the browser");
    if (found < 0) continue;  // interrupted by a signal; accept4() below would wait without a limit
    const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    const Connection connection(fd);
    const auto target = connection.target();
    if (!target || !target->starts_with("/callback?")) {
      connection.answer("404 Not Found", "There is nothing here.");
      continue;
    }
    auto parameters = decoded(target->substr(target->find('?') + 1));
    if (parameters["state"] != state) {
      connection.answer("400 Bad Request", "This isn’t the login that berth waits for.");
      continue;
    }
    connection.answer("200 OK", parameters.contains("code")
                                    ? "You are logged in. You can close this window."
                                    : "berth got no access. You can close this window.");
    return parameters;
  }
}

bool open_in_browser(const std::string& url) {
  const std::string program = variable("BROWSER").value_or("xdg-open");
  int outcome[2];
  if (::pipe2(outcome, O_CLOEXEC) != 0) return false;
  const pid_t child = ::fork();
  if (child == 0) {
    // A grandchild, so that nobody has to wait for the browser to end.
    if (::fork() != 0) ::_exit(0);
    ::setsid();
    const int nothing = ::open("/dev/null", O_RDWR);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, fd);
    ::execlp(program.c_str(), program.c_str(), url.c_str(), static_cast<char*>(nullptr));
    const char failed = 1;
    if (::write(outcome[1], &failed, 1) < 0) ::_exit(126);
    ::_exit(127);
  }
  ::close(outcome[1]);
  if (child > 0) ::waitpid(child, nullptr, 0);
  char failed = 0;
  const bool started = child > 0 && ::read(outcome[0], &failed, 1) == 0;
  ::close(outcome[0]);
  return started;
}

}  // namespace berth::cli
