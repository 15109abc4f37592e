// Connections that are upgraded to WebSockets.
#include <poll.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <string>

#include "controller/transport/server.h"
#include "controller/transport/websocket_connection.h"
#include "tests/transport/wire.h"

using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;
using namespace std::string_literals;

namespace {

namespace websocket = berth::api::websocket;
using websocket::Kind;

constexpr std::size_t most_bytes = 1000;

const std::string handshake =
    "GET /socket HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

std::string frame(unsigned first, std::string data) {
  const std::string mask = "abcd";
  std::string text(1, char(first));
  if (data.size() < 126) {
    text += char(0x80 | data.size());
  } else {
    text += char(0x80 | 126);
    text += char(data.size() >> 8);
    text += char(data.size() & 0xff);
  }
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = char(data[i] ^ mask[i % 4]);
  return text + mask + data;
}

// What its destruction is counted by.
struct Counted {
  explicit Counted(std::atomic<int>& counter) : destroyed(counter) {}
  ~Counted() { ++destroyed; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  std::atomic<int>& destroyed;
};

// Sends messages back until the client closes or the server shuts down.
void send_back(const Upgraded& upgraded) {
  websocket::Connection connection(upgraded, {.message_bytes = most_bytes});
  try {
    while (true) {
      pollfd ending{.fd = upgraded.ending, .events = POLLIN, .revents = 0};
      if (poll(&ending, 1, 0) > 0) return connection.close(websocket::going_away, "shutdown");
      const auto received = connection.receive(20ms, [&](const websocket::Message& message) {
        connection.send(message.kind, message.data);
      });
      if (received == websocket::Connection::Received::closed ||
          received == websocket::Connection::Received::gone)
        return;
    }
  } catch (const websocket::Violation& violation) {
    connection.close(violation.code, violation.what());
  }
}

struct Sockets {
  std::atomic<int> destroyed = 0;
  Takeover takeover = send_back;
  Running running{{}, [this](const Request& request, Response& response) {
                    if (request.path != "/socket") return echo(request, response);
                    response.status = switching_protocols;
                    response.headers = {{"Upgrade", "websocket"},
                                        {"Sec-WebSocket-Accept", websocket::accept(request)}};
                    response.takeover = [this, counted = std::make_shared<Counted>(destroyed)](
                                            const Upgraded& upgraded) { takeover(upgraded); };
                  }};
};

}  // namespace

TEST_CASE("an upgraded connection speaks its protocol, and what came behind the request counts") {
  Sockets sockets;
  Wire wire(sockets.running.port);
  wire.send(handshake + frame(0x82, "early"));
  const Answer answer = wire.read(Expect::no_body);
  CHECK(answer.status == 101);
  CHECK(answer.headers.at("connection") == "Upgrade");
  CHECK(answer.headers.at("upgrade") == "websocket");
  CHECK(answer.headers.at("sec-websocket-accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  CHECK_FALSE(answer.headers.contains("content-length"));
  CHECK_FALSE(answer.headers.contains("transfer-encoding"));
  CHECK(wire.wait_for(websocket::encode(Kind::binary, "early")));
  CHECK(sockets.running.server.counters().upgraded_connections == 1);
  wire.send(frame(0x02, "in ") + frame(0x89, "are you there?") + frame(0x80, "pieces"));
  CHECK(wire.wait_for(websocket::encode(Kind::pong, "are you there?") +
                      websocket::encode(Kind::binary, "in pieces")));
  CHECK(sockets.destroyed == 0);
  wire.send(frame(0x88,
                  "\x0b\xb8"
                  "bye"));
  CHECK(wire.wait_for(websocket::encode_close(3000, "")));
  CHECK(eventually([&] { return sockets.destroyed == 1; }));
  CHECK(eventually([&] { return sockets.running.server.counters().upgraded_connections == 0; }));
  CHECK(Wire(sockets.running.port).ask(get("/")).status == 200);
}

TEST_CASE("a client that breaks a rule is told so, and its connection is closed") {
  const auto code_of = [](const std::string& bytes, std::uint16_t code) {
    Sockets sockets;
    Wire wire(sockets.running.port);
    wire.send(handshake);
    REQUIRE(wire.read(Expect::no_body).status == 101);
    wire.send(bytes);
    const std::string number = {char(code >> 8), char(code & 0xff)};
    CHECK(wire.wait_for(number));
    CHECK(eventually([&] { return sockets.destroyed == 1; }));
  };
  code_of("\x82\x02hi", websocket::protocol_error);
  code_of(frame(0x83, "hi"), websocket::protocol_error);
  code_of(frame(0x82, std::string(most_bytes + 1, 'x')), websocket::too_big);
  code_of(frame(0x81, "\xff"), websocket::invalid_data);
}

TEST_CASE("a shutdown tells upgraded connections, and waits for them") {
  Sockets sockets;
  Wire wire(sockets.running.port);
  wire.send(handshake);
  REQUIRE(wire.read(Expect::no_body).status == 101);
  auto stopped = std::async(std::launch::async, [&] { return sockets.running.stop(20s); });
  CHECK(wire.wait_for(websocket::encode_close(websocket::going_away, "shutdown")));
  CHECK(stopped.get() == Drained::all);
  CHECK(sockets.destroyed == 1);
}

TEST_CASE("only requests with HTTP/1.1 are upgraded") {
  Sockets sockets;
  std::string old = handshake;
  old.replace(old.find("HTTP/1.1"), 8, "HTTP/1.0");
  const Answer answer = Wire(sockets.running.port).ask(old);
  CHECK(answer.status == 400);
  CHECK(eventually([&] { return sockets.destroyed == 1; }));
}

TEST_CASE("a takeover that fails, or whose client is gone, is destroyed") {
  Sockets sockets;
  sockets.takeover = [](const Upgraded&) { throw std::runtime_error("a fault"); };
  {
    Wire wire(sockets.running.port);
    wire.send(handshake);
    CHECK(wire.read(Expect::no_body).status == 101);
    CHECK(wire.is_closed());
  }
  CHECK(eventually([&] { return sockets.destroyed == 1; }));
  sockets.takeover = send_back;
  {
    Wire wire(sockets.running.port);
    wire.send(handshake);
    CHECK(wire.read(Expect::no_body).status == 101);
  }
  CHECK(eventually([&] { return sockets.destroyed == 2; }));
}

TEST_CASE("a client that takes nothing is given up, and nobody waits longer for it") {
  Sockets sockets;
  std::atomic<int> sent = 0;
  std::atomic<bool> gave_up = false;
  sockets.takeover = [&](const Upgraded& upgraded) {
    websocket::Connection connection(
        upgraded, {.message_bytes = most_bytes, .write_time = 200ms, .write_step = 20ms});
    const std::string much(64 * 1024, 'x');
    while (connection.send(Kind::binary, much)) ++sent;
    gave_up = !connection.send(Kind::binary, "more");
  };
  Wire wire(sockets.running.port);
  wire.send(handshake);
  REQUIRE(eventually([&] { return gave_up.load(); }));
  CHECK(sent > 0);

  // Whoever wants to close doesn't wait for the one who sends.
  std::atomic<bool> closed = false;
  sockets.takeover = [&](const Upgraded& upgraded) {
    websocket::Connection connection(
        upgraded, {.message_bytes = most_bytes, .write_time = 20s, .write_step = 20ms});
    std::thread sender([&] {
      while (connection.send(Kind::binary, std::string(64 * 1024, 'x'))) {
      }
    });
    std::this_thread::sleep_for(100ms);
    const auto since = std::chrono::steady_clock::now();
    connection.close(websocket::going_away, "");
    sender.join();
    closed = std::chrono::steady_clock::now() - since < 10s;
  };
  Wire slow(sockets.running.port);
  slow.send(handshake);
  CHECK(eventually([&] { return closed.load(); }));
}

TEST_CASE("a status of 101 without a takeover is no answer") {
  Running running({}, [](const Request&, Response& response) { response.status = 101; });
  CHECK(Wire(running.port).ask(get("/")).status == 500);
}
