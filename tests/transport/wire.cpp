#include "tests/transport/wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>

namespace berth::api::test {

Wire::Wire(int port, const char* from) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, from, &address.sin_addr);
  if (bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    close(socket_);
    throw std::runtime_error("can't bind");
  }
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    close(socket_);
    throw std::runtime_error("can't connect");
  }
}

Wire::Wire(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    close(socket_);
    throw std::runtime_error("can't connect");
  }
}

Wire::~Wire() { close(socket_); }

bool Wire::send(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t sent = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void Wire::stop_sending() const { shutdown(socket_, SHUT_WR); }

bool Wire::receive() {
  pollfd waited{.fd = socket_, .events = POLLIN, .revents = 0};
  if (poll(&waited, 1, static_cast<int>(std::chrono::milliseconds(patience).count())) <= 0) {
    return false;
  }
  std::array<char, 16 * 1024> piece;
  const ssize_t got = recv(socket_, piece.data(), piece.size(), 0);
  if (got <= 0) return false;
  input_.append(piece.data(), static_cast<std::size_t>(got));
  return true;
}

bool Wire::has(std::size_t bytes) {
  while (input_.size() < bytes) {
    if (!receive()) return false;
  }
  return true;
}

bool Wire::wait_for(std::string_view text) {
  while (input_.find(text) == std::string::npos) {
    if (!receive()) return false;
  }
  return true;
}

bool Wire::is_closed() {
  if (!input_.empty()) return false;
  pollfd waited{.fd = socket_, .events = POLLIN, .revents = 0};
  if (poll(&waited, 1, static_cast<int>(std::chrono::milliseconds(patience).count())) <= 0) {
    return false;
  }
  char byte = 0;
  return recv(socket_, &byte, 1, 0) <= 0;
}

std::string Wire::read_chunks() {
  constexpr int hexadecimal = 16;
  std::string body;
  while (wait_for("\r\n")) {
    const std::size_t line = input_.find("\r\n");
    const std::size_t size = std::stoul(input_.substr(0, line), nullptr, hexadecimal);
    if (!has(line + 2 + size + 2)) break;
    body += input_.substr(line + 2, size);
    input_.erase(0, line + 2 + size + 2);
    if (size == 0) return body;
  }
  return body + " (cut off)";
}

std::string Wire::read_body(const Answer& answer) {
  if (answer.headers.contains("transfer-encoding")) return read_chunks();
  const auto length = answer.headers.find("content-length");
  if (length == answer.headers.end()) {
    if (answer.status != 204 && answer.status != 304) {
      while (receive()) {
      }
    }
    return std::exchange(input_, {});
  }
  const std::size_t size = std::stoul(length->second);
  has(size);
  std::string body = input_.substr(0, size);
  input_.erase(0, size);
  return body;
}

Answer Wire::read(Expect expect) {
  Answer answer;
  if (!wait_for("\r\n\r\n")) return answer;
  std::string head = input_.substr(0, input_.find("\r\n\r\n") + 2);
  input_.erase(0, head.size() + 2);
  answer.status = std::stoi(head.substr(head.find(' ') + 1));
  head.erase(0, head.find("\r\n") + 2);
  while (!head.empty()) {
    const std::string line = head.substr(0, head.find("\r\n"));
    head.erase(0, line.size() + 2);
    std::string name = line.substr(0, line.find(':'));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    answer.headers[name] = line.substr(line.find(": ") + 2);
  }
  if (expect == Expect::body) answer.body = read_body(answer);
  return answer;
}

ServerOptions Running::with_renderer(ServerOptions options) {
  options.render_refusal = [](int status, std::string_view detail) {
    Response response;
    response.status = status;
    response.content_type = "application/json";
    response.body = "{\"errors\":{\"detail\":\"" + std::string(detail) + "\"}}";
    return response;
  };
  return options;
}

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

void echo(const Request& request, Response& response) {
  response.content_type = "text/plain";
  response.body = std::string(request.method) + " " + std::string(request.path);
  for (const auto& [name, value] : request.query) response.body += " " + name + "=" + value;
  if (!request.body.empty()) response.body += " " + request.body;
  if (const auto value = request.headers.find("x-echo")) {
    response.add_header("X-Echo", std::string(*value));
  }
}

}  // namespace berth::api::test
