#include "cli/loopback.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <list>
#include <optional>
#include <vector>

#include "cli/config.h"
#include "cli/failure.h"
#include "cli/http.h"

namespace berth::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t most_of_request = 16 * 1024;
constexpr std::chrono::seconds longest_request{5};  // a browser sends it at once
// Everybody on this machine can connect. As many connections as this may be idle without keeping
// the browser out. If there is another one, the oldest is closed.
constexpr size_t most_connections = 64;
constexpr int waiting_connections = 64;

constexpr const char* page_head =
    "<!doctype html><html lang=en><meta charset=utf-8><title>berth</title>"
    "<style>body{font:1.1rem system-ui;margin:4rem auto;max-width:32rem}</style><p>";

int left_ms(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return int(std::max<std::chrono::milliseconds::rep>(left.count(), 0));
}

enum class Progress { unfinished, complete, broken };

class Connection {
 public:
  explicit Connection(int fd) : fd_(fd), end_(Clock::now() + longest_request) {}
  ~Connection() { ::close(fd_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  int fd() const { return fd_; }
  Clock::time_point end() const { return end_; }

  // Reads what has arrived, without waiting. Broken: the other side is gone, or sent too much.
  Progress read() {
    char piece[4096];
    const ssize_t got = ::recv(fd_, piece, sizeof piece, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Progress::unfinished;
    if (got <= 0) return Progress::broken;
    head_.append(piece, size_t(got));
    if (head_.find("\r\n\r\n") != std::string::npos) return Progress::complete;
    return head_.size() < most_of_request ? Progress::unfinished : Progress::broken;
  }

  // The target of a GET; nothing where it is something else.
  std::optional<std::string> target() const {
    const size_t blank = head_.find(' ', 4);
    if (!head_.starts_with("GET ") || blank == std::string::npos) return std::nullopt;
    return head_.substr(4, blank - 4);
  }

  void answer(const char* status, const std::string& sentence) const {
    const std::string page = page_head + sentence;
    const std::string text = std::string("HTTP/1.1 ") + status +
                             "\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: " +
                             std::to_string(page.size()) +
                             "\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
                             "Connection: close\r\n\r\n" +
                             page;
    // Far less than a socket takes without waiting.
    if (::send(fd_, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return;
    ::shutdown(fd_, SHUT_WR);
  }

 private:
  const int fd_;
  const Clock::time_point end_;
  std::string head_;
};

using Parameters = std::map<std::string, std::string>;

// Answers a complete request. Returns its parameters if it is the redirect that ends this login,
// and nothing otherwise.
std::optional<Parameters> take(const Connection& connection, const std::string& state) {
  const auto target = connection.target();
  if (!target || !target->starts_with("/callback?")) {
    connection.answer("404 Not Found", "There is nothing at this address.");
    return std::nullopt;
  }
  Parameters parameters = decoded(target->substr(target->find('?') + 1));
  if (parameters["state"] != state) {
    connection.answer("400 Bad Request", "This isn’t the login that berth is waiting for.");
    return std::nullopt;
  }
  connection.answer("200 OK", parameters.contains("code")
                                  ? "You are logged in. You can close this window."
                                  : "berth got no access. You can close this window.");
  return parameters;
}

// What is open, oldest first.
using Connections = std::list<Connection>;

// Waits until something arrives at the listener (the first entry of the outcome) or at a
// connection, in their order, or until the time of the oldest connection is over.
std::vector<pollfd> wait_for_input(int listener, const Connections& open, Clock::time_point end) {
  std::vector<pollfd> waited = {{.fd = listener, .events = POLLIN, .revents = 0}};
  for (const Connection& connection : open)
    waited.push_back({.fd = connection.fd(), .events = POLLIN, .revents = 0});
  if (!open.empty()) end = std::min(end, open.front().end());
  if (::poll(waited.data(), waited.size(), left_ms(end)) < 0)
    for (pollfd& one : waited) one.revents = 0;
  return waited;
}

void accept_one(int listener, Connections& open) {
  const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return;
  if (open.size() == most_connections) open.pop_front();
  open.emplace_back(fd);
}

}  // namespace

Loopback::Loopback() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  // The sockets API expects the type for all address families.
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (fd_ < 0 || ::bind(fd_, any, length) != 0 || ::listen(fd_, waiting_connections) != 0 ||
      ::getsockname(fd_, any, &length) != 0) {
    if (fd_ >= 0) ::close(fd_);
    throw Failure(Exit::failed, "berth can't listen on any port of 127.0.0.1",
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
  Connections open;
  while (Clock::now() < end) {
    const std::vector<pollfd> ready = wait_for_input(fd_, open, end);
    auto polled = std::next(ready.begin());
    for (auto connection = open.begin(); connection != open.end(); ++polled) {
      const Progress progress = polled->revents == 0 ? Progress::unfinished : connection->read();
      if (progress == Progress::complete)
        if (auto parameters = take(*connection, state)) return *std::move(parameters);
      const bool over = progress != Progress::unfinished || connection->end() <= Clock::now();
      connection = over ? open.erase(connection) : std::next(connection);
    }
    if (ready.front().revents != 0) accept_one(fd_, open);
  }
  throw Failure(Exit::timed_out, "the login in the browser wasn't completed in time");
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
    if (nothing < 0) ::_exit(126);
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
