// Connections that do nothing, or very little, keep nobody waiting.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/process/client.h"

using namespace berth::process;

namespace {

constexpr size_t idle_connections = 300;
constexpr size_t dribbling_connections = 50;
constexpr const char* request = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";

// A connection that is written to byte by byte.
class Raw {
 public:
  explicit Raw(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
      throw std::runtime_error("can't connect");
  }
  ~Raw() { ::close(socket_); }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;

  void send(std::string_view text) const {
    if (::send(socket_, text.data(), text.size(), MSG_NOSIGNAL) < 0) return;  // seen on receiving
  }
  // The first bytes that come; empty at the end of the connection or of the time.
  std::string receive(std::chrono::milliseconds time = patience) const {
    pollfd waiting = {.fd = socket_, .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, int(time.count())) <= 0) return {};
    std::string text(4'096, '\0');
    const ssize_t size = ::recv(socket_, text.data(), text.size(), 0);
    text.resize(size < 0 ? 0 : size_t(size));
    return text;
  }

 private:
  int socket_;
};

using Connections = std::vector<std::unique_ptr<Raw>>;

Connections connect(const Berthd& berthd, size_t count) {
  Connections all;
  for (size_t i = 0; i < count; ++i) all.push_back(std::make_unique<Raw>(berthd.port()));
  return all;
}

}  // namespace

TEST_CASE("idle and dribbling connections keep nobody waiting") {
  using namespace std::chrono;
  const Berthd berthd({"--request-timeout", "3s", "--rate-limits", "off"});
  Operator ada = operator_with_token(berthd, "ada");

  const Connections idle = connect(berthd, idle_connections);
  for (const auto& connection : idle) connection->send(request);
  for (const auto& connection : idle) REQUIRE(connection->receive().starts_with("HTTP/1.1 200"));
  const Connections dribbling = connect(berthd, dribbling_connections);
  for (const auto& connection : dribbling)
    connection->send("GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
  std::atomic<bool> enough = false;
  std::thread dribbler([&] {
    while (!enough) {
      for (const auto& connection : dribbling) connection->send("x");
      std::this_thread::sleep_for(50ms);
    }
  });

  milliseconds slowest{0};
  for (int i = 0; i < 300; ++i) {
    const auto start = steady_clock::now();
    const Answer answer = ada.api.get("/api/deploy/apps");
    slowest = std::max(slowest, duration_cast<milliseconds>(steady_clock::now() - start));
    if (answer.status != 200) FAIL_CHECK(answer.text);
  }
  // Far below the time-out of the dribbling ones, however slow the machine is.
  CHECK(slowest < 2s);

  // A request has one deadline for all of it, however steadily its bytes come.
  for (const auto& connection : dribbling) CHECK(connection->receive().starts_with("HTTP/1.1 408"));
  enough = true;
  dribbler.join();
  for (const auto& connection : idle) {
    connection->send(request);
    CHECK(connection->receive().starts_with("HTTP/1.1 200"));
  }
}

TEST_CASE("one connection too many is told so, and the others are served") {
  const Berthd berthd({"--max-connections", "20"});
  Connections taken = connect(berthd, 20);
  for (const auto& connection : taken) connection->send(request);
  for (const auto& connection : taken) REQUIRE(connection->receive().starts_with("HTTP/1.1 200"));
  const Raw refused(berthd.port());
  CHECK(refused.receive().starts_with("HTTP/1.1 503"));
  taken.back()->send(request);
  CHECK(taken.back()->receive().starts_with("HTTP/1.1 200"));
  taken.clear();
  CHECK(eventually([&] {
    const Raw next(berthd.port());
    next.send(request);
    return next.receive().starts_with("HTTP/1.1 200");
  }));
}
