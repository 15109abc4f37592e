#include "reconcilers/kube/web_socket.h"

#include <poll.h>

#include <catch2/catch.hpp>
#include <thread>

#include "reconcilers/kube/client.h"
#include "tests/kube_client/certificates.h"
#include "tests/kube_client/web_socket_server.h"

using namespace berth::kube;
using namespace berth::test;
using namespace std::chrono_literals;

namespace {

const WebSocketRequest some_request{
    .path = "/api/v1/namespaces/a/pods/b/exec?command=sh&stdin=true",
    .protocols = {"v5.channel.k8s.io", "v4.channel.k8s.io"}};

const Access with_token{.authorization = "Bearer secret", .certificate = {}, .key = {}, .ca = {}};

// Returns the next message; fails if the connection ends or nothing comes.
std::string next(WebSocket& socket) {
  const auto received = socket.receive(20s);
  REQUIRE(received);
  REQUIRE_FALSE(received->ended);
  return received->message;
}

bool is_readable(const WebSocket& socket, std::chrono::milliseconds patience = 0ms) {
  pollfd waiting{.fd = socket.descriptor(), .events = POLLIN, .revents = 0};
  return ::poll(&waiting, 1, int(patience.count())) == 1;
}

ApiError failure_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const ApiError& error) {
    return error;
  }
  return {-1, "", "no error"};
}

}  // namespace

TEST_CASE("messages go both ways, whole and in order") {
  const std::string large(100'000, 'x');  // one frame each, or the server would take it for several
  WebSocketServer server({.serve = [&](ServedSocket& socket) {
    while (const auto message = socket.receive()) socket.send("got " + *message);
  }});
  WebSockets sockets(server.config());
  const auto socket = sockets.open(some_request, with_token, 10s);
  CHECK(socket->protocol() == "v5.channel.k8s.io");
  CHECK_FALSE(is_readable(*socket));
  CHECK_FALSE(socket->receive(0ms));
  for (const std::string& message : {std::string("one"), std::string(1, '\0'), large}) {
    socket->send(message);
    CHECK(is_readable(*socket, 20s));
    CHECK(next(*socket) == "got " + message);
  }
  CHECK_FALSE(is_readable(*socket));
  const auto seen = server.seen();
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].target() == some_request.path);
  CHECK(seen[0]["Authorization"] == "Bearer secret");
  CHECK(seen[0]["Sec-WebSocket-Protocol"] == "v5.channel.k8s.io, v4.channel.k8s.io");
}

TEST_CASE("the server's end of a connection comes after its last message, again and again") {
  WebSocketServer server({.serve = [](ServedSocket& socket) {
    socket.send("last");
    socket.ping();
  }});
  WebSockets sockets(server.config());
  const auto socket = sockets.open(some_request, with_token, 10s);
  CHECK(next(*socket) == "last");
  for (int i = 0; i < 2; ++i) {
    const auto end = socket->receive(20s);
    REQUIRE(end);
    CHECK(end->ended);
    CHECK(end->failure.empty());
    CHECK(is_readable(*socket));
  }
  CHECK(failure_of([&] { socket->send("late"); }).status == 0);
}

TEST_CASE("a refusal of the API server has its status and its words") {
  WebSocketServer server({.refuses = [](const HttpRequest&) {
    return WebSocketServer::Answer{
        403, R"({"kind": "Status", "message": "pods \"b\" is forbidden", "reason": "Forbidden"})"};
  }});
  WebSockets sockets(server.config());
  const ApiError error = failure_of([&] { sockets.open(some_request, with_token, 10s); });
  CHECK(error.status == 403);
  CHECK(error.reason == "Forbidden");
  CHECK(error.what() == std::string("pods \"b\" is forbidden"));
}

TEST_CASE("an API server that hangs, or isn't there, is given up in time") {
  WebSocketServer silent({.accepts = false});
  WebSockets to_silent(silent.config());
  const auto before = std::chrono::steady_clock::now();
  CHECK(failure_of([&] { to_silent.open(some_request, with_token, 300ms); }).unreachable());
  CHECK(std::chrono::steady_clock::now() - before < 5s);
  Kubeconfig nobody;
  nobody.server = "http://127.0.0.1:1";
  WebSockets to_nobody(nobody);
  CHECK(failure_of([&] { to_nobody.open(some_request, with_token, 10s); }).unreachable());
  nobody.proxy_url = "http://127.0.0.1:2";
  WebSockets by_proxy(nobody);
  CHECK(std::string(failure_of([&] { by_proxy.open(some_request, with_token, 10s); }).what())
            .find("proxy-url") != std::string::npos);
}

TEST_CASE("a reader that is slow lets the server wait, and loses nothing") {
  constexpr int messages = 400;
  const std::string piece(64 * 1024, 'y');  // 25 MB in all
  std::atomic<int> sent = 0;
  WebSocketServer server({.serve = [&](ServedSocket& socket) {
    for (int i = 0; i < messages; ++i)
      if (socket.send(std::to_string(i) + piece)) ++sent;
  }});
  WebSockets sockets(server.config());
  const auto socket = sockets.open(some_request, with_token, 10s);
  // The kernel's buffers are a few megabytes, and the queue has max_queued_bytes.
  int before = -1;
  while (std::exchange(before, sent.load()) != sent) std::this_thread::sleep_for(200ms);
  CHECK(sent < messages / 2);
  for (int i = 0; i < messages; ++i) REQUIRE(next(*socket) == std::to_string(i) + piece);
  CHECK(socket->receive(20s)->ended);
}

TEST_CASE("a message that is too large ends the connection, whatever the server does then") {
  const bool in_one_frame = GENERATE(true, false);
  WebSocketServer server({.serve = [&](ServedSocket& socket) {
    socket.send(std::string(WebSocket::max_message_bytes, 'y'), in_one_frame);
    socket.send(std::string(WebSocket::max_message_bytes + 1, 'z'), in_one_frame);
    socket.hang();
  }});
  WebSockets sockets(server.config());
  const auto socket = sockets.open(some_request, with_token, 10s);
  CHECK((next(*socket) == std::string(WebSocket::max_message_bytes, 'y')));
  const auto end = socket->receive(20s);
  REQUIRE(end);
  CHECK(end->ended);
  CHECK(end->failure == "the API server sent a message of more than 1048576 bytes");
}

TEST_CASE("closing wakes those who wait to send and to receive") {
  WebSocketServer server({.serve = [](ServedSocket& socket) { socket.hang(); }});
  WebSockets sockets(server.config());
  const auto socket = sockets.open(some_request, with_token, 10s);
  const auto before = std::chrono::steady_clock::now();
  std::thread closer([&] {
    std::this_thread::sleep_for(300ms);
    socket->close();
  });
  std::optional<WebSocket::Received> end;
  std::thread receiver([&] { end = socket->receive(60s); });
  // Nobody reads, so that the kernel's buffers fill up.
  CHECK(failure_of([&] {
          for (;;) socket->send(std::string(256 * 1024, 'w'));
        }).status == 0);
  closer.join();
  receiver.join();
  CHECK((end && end->ended));
  CHECK(std::chrono::steady_clock::now() - before < 10s);
}

TEST_CASE("the server's certificate is checked as for other requests") {
  const Authority authority("the cluster's");
  const Authority another("another");
  const Identity own = authority.sign("api", "IP:127.0.0.1,DNS:api.internal");
  WebSocketServer server({.serve = [](ServedSocket& socket) { socket.send("hello"); },
                          .certificate = own.certificate,
                          .key = own.key});
  std::string ca = authority.identity().certificate;
  Kubeconfig config = server.config();
  const auto hello = [&] {
    WebSockets sockets(config);
    Access access = with_token;
    access.ca = ca;
    return next(*sockets.open(some_request, access, 10s));
  };
  CHECK(hello() == "hello");
  config.tls_server_name = "api.internal";
  CHECK(hello() == "hello");
  config.tls_server_name = "other.internal";
  CHECK(failure_of(hello).unreachable());
  config.tls_server_name.clear();
  ca = another.identity().certificate;
  CHECK(failure_of(hello).unreachable());
  ca.clear();
  CHECK(failure_of(hello).unreachable());
  config.insecure_skip_tls_verify = true;
  CHECK(hello() == "hello");
}

TEST_CASE("a hundred connections have one thread, and end with their owner") {
  WebSocketServer server({.serve = [](ServedSocket& socket) {
    while (const auto message = socket.receive()) socket.send(*message);
  }});
  WebSockets sockets(server.config());
  std::vector<std::unique_ptr<WebSocket>> all;
  for (int i = 0; i < 100; ++i) all.push_back(sockets.open(some_request, with_token, 10s));
  for (std::size_t i = 0; i < all.size(); ++i) all[i]->send(std::to_string(i));
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(next(*all[i]) == std::to_string(i));
}
