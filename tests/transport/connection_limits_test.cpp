// Which connections are accepted if there are too many. 127.0.0.1, 127.0.0.2 and so on are
// different networks.
#include <atomic>
#include <catch2/catch.hpp>
#include <list>
#include <string>

#include "controller/base/shares.h"
#include "controller/transport/server.h"
#include "tests/transport/wire.h"

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* crowd = "127.0.0.1";
constexpr const char* stranger = "127.0.0.2";
constexpr const char* other_network = "127.0.5.1";  // another /24

// Limits under which no connection is displaced by another one of the same network.
ConnectionLimits limits(std::size_t total, std::size_t of_network = 0) {
  return {.total = total,
          .of_network = of_network,
          .shared_addresses = {},
          .patience = 1h,
          .silent_patience = 1h};
}

bool is_served(int port, const char* from) { return Wire(port, from).ask(get("/")).status == 200; }

// Returns connections of one network, each of which has sent a request.
std::list<Wire> connect(const Running& running, std::size_t count, const char* from = crowd) {
  std::list<Wire> open;
  while (open.size() < count)
    REQUIRE(open.emplace_back(running.port, from).ask(get("/")).status == 200);
  return open;
}

// Opens connections of one network that send nothing, so that they have waited since they were
// opened.
void connect_silently(std::list<Wire>& open, const Running& running, std::size_t count,
                      const char* from = crowd) {
  const std::size_t before = running.server.counters().open_connections;
  for (std::size_t i = 0; i < count; ++i) open.emplace_back(running.port, from);
  REQUIRE(eventually([&] { return running.server.counters().open_connections == before + count; }));
}

// Holds requests for /held until it is released.
struct Holder {
  Handler handler() {
    return [this](const Request& request, Response& response) {
      if (request.path == "/held") {
        ++inside;
        eventually([this] { return open.load(); });
      }
      response.caller_is_known = request.path == "/known";
      if (request.path == "/large") response.body.assign(50'000'000, 'x');
    };
  }
  ~Holder() { open = true; }
  std::atomic<int> inside = 0;
  std::atomic<bool> open = false;
};

}  // namespace

TEST_CASE("a network that takes all it can leaves room for the others") {
  Running running({.connections = limits(20, 8)}, echo);
  std::list<Wire> taken;
  for (int i = 0; i < 30; ++i) taken.emplace_back(running.port, crowd);
  // The network gets half of its places, because nobody there has sent a valid token.
  REQUIRE(eventually([&] { return running.server.counters().refused_connections == 26; }));
  CHECK(running.server.counters().open_connections == 4);
  for (const char* other : {stranger, "127.0.0.3", "127.0.0.4"})
    CHECK(is_served(running.port, other));
}

TEST_CASE("a network where somebody has a valid token may have twice as many connections") {
  Holder holder;
  Running running({.connections = limits(20, 8)}, holder.handler());
  std::list<Wire> open = connect(running, 4);
  CHECK_FALSE(is_served(running.port, crowd));
  CHECK(open.front().ask(get("/known")).status == 200);
  for (int i = 0; i < 4; ++i)
    REQUIRE(open.emplace_back(running.port, crowd).ask(get("/")).status == 200);
  CHECK_FALSE(is_served(running.port, crowd));
  // A connection counts as long as it is open.
  open.pop_front();
  REQUIRE(eventually([&] { return running.server.counters().open_connections == 7; }));
  CHECK_FALSE(is_served(running.port, crowd));
}

TEST_CASE("an address that stands for many callers is limited by the total only") {
  ConnectionLimits shared = limits(20, 8);
  shared.shared_addresses = {parse_address_range("127.0.0.0/31").value()};
  Running running({.connections = shared}, echo);
  const std::list<Wire> open = connect(running, 20);
  CHECK_FALSE(is_served(running.port, crowd));
  CHECK(is_served(running.port, stranger));
}

TEST_CASE("a new connection displaces the oldest idle one of the network with the most") {
  Running running({.connections = limits(6)}, echo);
  std::list<Wire> few;
  connect_silently(few, running, 2, "127.0.0.3");
  std::list<Wire> many;
  connect_silently(many, running, 4);
  many.front().ask(get("/again"));  // makes the second connection the oldest
  Wire newcomer(running.port, stranger);
  CHECK(newcomer.ask(get("/")).status == 200);
  CHECK(std::next(many.begin())->is_closed());
  many.erase(std::next(many.begin()));
  for (Wire& wire : few) CHECK(wire.ask(get("/")).status == 200);
  for (Wire& wire : many) CHECK(wire.ask(get("/")).status == 200);
  CHECK(newcomer.ask(get("/")).status == 200);
  CHECK(running.server.counters().displaced_connections == 1);
  CHECK(running.server.counters().refused_connections == 0);
}

TEST_CASE("connections that never sent a valid token are displaced first") {
  Holder holder;
  Running running({.connections = limits(3)}, holder.handler());
  std::list<Wire> open;
  CHECK(open.emplace_back(running.port, crowd).ask(get("/known")).status == 200);
  connect_silently(open, running, 2);
  CHECK(is_served(running.port, stranger));
  CHECK(std::next(open.begin())->is_closed());
  CHECK(open.front().ask(get("/")).status == 200);
}

TEST_CASE("connections with unfinished requests are displaced if none is idle") {
  Running running({.connections = limits(5)}, echo);
  std::list<Wire> unfinished;
  for (int i = 0; i < 4; ++i)
    REQUIRE(unfinished.emplace_back(running.port, crowd)
                .ask("POST / HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\n"
                     "Content-Length: 4\r\n\r\n",
                     Expect::no_body)
                .status == 100);
  Wire idle(running.port, crowd);
  REQUIRE(eventually([&] { return running.server.counters().open_connections == 5; }));
  const std::list<Wire> newcomers = connect(running, 2, stranger);
  CHECK(idle.is_closed());
  REQUIRE(eventually([&] { return running.server.counters().open_connections == 5; }));
  int finished = 0;
  for (Wire& wire : unfinished) finished += wire.ask("body").body == "POST / body" ? 1 : 0;
  CHECK(finished == 3);
}

TEST_CASE("a connection that waits for a place for its large body leaves when it is displaced") {
  Holder holder;
  Running running({.connections = limits(2),
                   .max_large_bodies = 1,
                   .request_timeout = std::chrono::minutes(10)},
                  holder.handler());
  const std::string large(100 * 1024, 'x');
  const auto head = [&](const std::string& path) {
    return "POST " + path + " HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\nContent-Length: " +
           std::to_string(large.size()) + "\r\n\r\n";
  };
  Wire holding(running.port, other_network), waiting(running.port, crowd);
  REQUIRE(holding.ask(head("/held"), Expect::no_body).status == 100);
  holding.send(large);
  REQUIRE(eventually([&] { return running.server.counters().running_handlers == 1; }));
  REQUIRE(waiting.ask(head("/"), Expect::no_body).status == 100);
  waiting.send(large.substr(0, 90 * 1024));
  Wire newcomer(running.port, stranger);
  CHECK(newcomer.ask(get("/")).status == 200);
  CHECK(eventually([&] { return running.server.counters().open_connections == 2; }));
  holder.open = true;
  CHECK(holding.read().status == 200);
}

TEST_CASE("connections whose clients don't read their answers can be displaced") {
  Holder holder;
  Running running({.connections = limits(3)}, holder.handler());
  std::list<Wire> slow;
  for (int i = 0; i < 3; ++i) {
    slow.emplace_back(running.port, crowd).send(get("/large"));
    REQUIRE(slow.back().wait_for("xxxx"));
  }
  CHECK(is_served(running.port, stranger));
}

TEST_CASE(
    "running handlers and streams are never displaced, and a few places are reserved for other "
    "networks") {
  Holder holder;
  Running running({.connections = limits(2)}, [&](const Request& request, Response& response) {
    if (request.path == "/stream")
      response.stream = [](const Sink& sink) {
        std::this_thread::sleep_for(5ms);
        sink("tick ");
        return Next::more;
      };
    else
      holder.handler()(request, response);
  });
  Wire held(running.port, crowd);
  held.send(get("/held"));
  REQUIRE(eventually([&] { return holder.inside == 1; }));
  Wire stream(running.port, crowd);
  stream.send(get("/stream"));
  REQUIRE(stream.wait_for("tick "));

  const std::list<Wire> kept = connect(running, 1, stranger);
  CHECK_FALSE(is_served(running.port, stranger));
  CHECK_FALSE(is_served(running.port, crowd));
  CHECK(is_served(running.port, "127.0.0.3"));
  CHECK(running.server.counters().open_streams == 1);
  holder.open = true;
  CHECK(held.read().status == 200);
}

TEST_CASE("a network at its limit displaces its own connections that have waited long") {
  ConnectionLimits impatient = limits(20, 8);
  impatient.silent_patience = 0ms;
  Running running({.connections = impatient}, echo);
  std::list<Wire> spoken = connect(running, 2);
  std::list<Wire> silent;
  for (int i = 0; i < 20; ++i) silent.emplace_back(running.port, crowd);
  REQUIRE(eventually([&] { return running.server.counters().displaced_connections == 18; }));
  CHECK(is_served(running.port, crowd));
  for (Wire& wire : spoken) CHECK(wire.ask(get("/")).status == 200);

  impatient.patience = 0ms;
  Running open({.connections = impatient}, echo);
  std::list<Wire> all;
  for (int i = 0; i < 20; ++i) {
    all.emplace_back(open.port, crowd).send("GET / HT");
    CHECK(is_served(open.port, crowd));
  }
}

TEST_CASE("a flood of connections leaves nothing behind") {
  Running running({.connections = limits(10, 4)}, echo);
  for (int round = 0; round < 20; ++round) {
    std::list<Wire> wires;
    for (int i = 0; i < 15; ++i)
      wires.emplace_back(running.port, ("127.0.0." + std::to_string(1 + i % 7)).c_str()).send("G");
  }
  CHECK(eventually([&] { return running.server.counters().open_connections == 0; }));
  // Some of the connections may not have been accepted yet.
  for (int network = 1; network <= 7; ++network) {
    const std::string from = "127.0.0." + std::to_string(network);
    CHECK(eventually([&] { return is_served(running.port, from.c_str()); }));
  }
}

TEST_CASE("one network's requests don't take all handlers", "[pool:handlers]") {
  Holder holder;
  Running running({.http_threads = 16, .connections = limits(200, 200)}, holder.handler());
  std::list<Wire> held;
  for (int i = 0; i < 20; ++i) held.emplace_back(running.port, crowd).send(get("/held"));
  // The others of the crowd wait for the places that it may have.
  REQUIRE(eventually([&] { return holder.inside == 12; }));
  CHECK(is_served(running.port, other_network));
  CHECK(is_served(running.port, other_network));
  CHECK(running.server.counters().running_handlers == 12);
  holder.open = true;
  for (Wire& wire : held) CHECK(wire.read().status == 200);
}

TEST_CASE("one network's large bodies don't take all the memory for them", "[pool:large_bodies]") {
  Holder holder;
  Running running({.connections = limits(200, 200), .max_large_bodies = 16}, holder.handler());
  const std::string large(100 * 1024, 'x');
  const std::string head =
      "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: " + std::to_string(large.size()) +
      "\r\n\r\n";
  std::list<Wire> held;
  for (int i = 0; i < 20; ++i)
    held.emplace_back(running.port, crowd).send(head + large.substr(0, 90 * 1024));
  REQUIRE(eventually([&] { return figures_of(Pool::large_bodies).used == 12; }));
  CHECK(Wire(running.port, other_network).ask(head + large).status == 200);
  for (Wire& wire : held) wire.send(large.substr(90 * 1024));
  for (Wire& wire : held) CHECK(wire.read().status == 200);
}
