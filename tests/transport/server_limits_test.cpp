// What a careless or hostile client sees, and what others notice of it.
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <list>
#include <string>
#include <vector>

#include "controller/transport/server.h"
#include "tests/transport/wire.h"

using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;

namespace {

using Clock = std::chrono::steady_clock;

void check_refused(int port, const std::string& text, int status) {
  INFO(text.substr(0, 120));
  Wire wire(port);
  const Answer answer = wire.ask(text);
  REQUIRE(answer.status == status);
  CHECK(answer.body.starts_with("{\"errors\":{\"detail\":\""));
  CHECK(answer.headers.at("content-type") == "application/json");
  CHECK(answer.headers.at("connection") == "close");
  CHECK(wire.is_closed());
}

// Sends a byte from time to time until the other side answers or closes.
Answer dribble(Wire& wire, std::string_view start, std::string_view repeated) {
  wire.send(start);
  std::atomic<bool> over = false;
  std::thread sender([&] {
    while (!over && wire.send(repeated)) std::this_thread::sleep_for(20ms);
  });
  Answer answer = wire.read();
  over = true;
  sender.join();
  return answer;
}

}  // namespace

TEST_CASE("ambiguous requests are refused") {
  Running running({}, echo);
  const std::string line = "POST / HTTP/1.1\r\nHost: test\r\n";
  for (const std::string fields :
       {"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
        "Content-Length: 3\r\nContent-Length: 4\r\n", "Content-Length: 3\r\nContent-Length: 3\r\n",
        "Content-Length: 3, 3\r\n", "Content-Length: +3\r\n", "Content-Length: -1\r\n",
        "Content-Length: 0x3\r\n", "Content-Length:\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "Host: again\r\n",
        "Content-Length : 3\r\n", " folded: 1\r\n", "X: a\r\n b\r\n", "no colon\r\n",
        ": no name\r\n", "X: a\nY: b\r\n", "X: a\rb\r\n", "Bad name: 1\r\n"}) {
    check_refused(running.port, line + fields + "\r\nabc", 400);
  }
  check_refused(running.port, line + std::string("X: a\0b\r\n\r\n", 10), 400);
  for (const std::string coding : {"gzip, chunked", "chunked, gzip", "identity", "xchunked"}) {
    check_refused(running.port, line + "Transfer-Encoding: " + coding + "\r\n\r\n0\r\n\r\n", 501);
  }
  check_refused(running.port, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                400);
  CHECK(running.server.counters().refused_requests == 24);
}

TEST_CASE("the number of large bodies in memory is limited, and small ones don't wait for them") {
  std::atomic<bool> held = true;
  Running running({.max_large_bodies = 1, .request_timeout = 300ms},
                  [&](const Request& request, Response& response) {
                    if (request.path == "/hold") eventually([&] { return !held; });
                    response.status = 204;
                  });
  const std::string large(100 * 1024, 'x');
  Wire holder(running.port);
  holder.send(post("/hold", large));
  REQUIRE(eventually([&] { return running.server.counters().running_handlers == 1; }));
  check_refused(running.port, post("/", large), 503);
  Wire small(running.port);
  CHECK(small.ask(post("/", "x"), Expect::no_body).status == 204);
  held = false;
  CHECK(holder.read(Expect::no_body).status == 204);
  CHECK(holder.ask(post("/", large), Expect::no_body).status == 204);
}

TEST_CASE("malformed request lines are refused") {
  Running running({}, echo);
  for (const std::string line :
       {"GET /", "GET / HTTP/1.1 x", "GET  / HTTP/1.1", "GET / x HTTP/1.1", "GET nowhere HTTP/1.1",
        "GET * HTTP/1.1", "CONNECT host:80 HTTP/1.1", "GET /#f HTTP/1.1", "GET /?a=%zz HTTP/1.1",
        "G@T / HTTP/1.1", "GET / FTP/1.1", "GET http:///x HTTP/1.1", "\x16\x03\x01 / HTTP/1.1"}) {
    check_refused(running.port, line + "\r\nHost: test\r\n\r\n", 400);
  }
  check_refused(running.port, "GET / HTTP/1.1\r\n\r\n", 400);
  check_refused(running.port, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400);
  check_refused(running.port, "GET / HTTP/1.1\nHost: test\n\n", 400);
  check_refused(running.port, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505);
}

TEST_CASE("malformed chunks are refused") {
  Running running({}, echo);
  const std::string head = "POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string body :
       {"x\r\n", "-1\r\nabc", "+1\r\na\r\n", "0x1\r\na\r\n", " 1\r\na\r\n", "1 \r\na\r\n", "\r\n",
        "1\r\nabc\r\n", "1\na\r\n", "3\r\nabc0\r\n\r\n"}) {
    check_refused(running.port, head + body, 400);
  }
  check_refused(running.port, head + "1;" + std::string(1000, 'x'), 400);
  check_refused(running.port, head + "FFFFFFFFFFFFFFFFFFFFFFF\r\n", 413);
}

TEST_CASE("bodies above the limit are refused, and those at the limit aren't") {
  Running running({.max_body_bytes = 1000}, echo);
  const std::string chunked =
      "POST /b HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string half = "1f4\r\n" + std::string(500, 'x') + "\r\n";
  const std::string limit(1000, 'x');
  CHECK(Wire(running.port).ask(post("/b", limit)).body == "POST /b " + limit);
  CHECK(Wire(running.port).ask(chunked + half + half + "0\r\n\r\n").body == "POST /b " + limit);
  check_refused(running.port, chunked + half + half + "1\r\n", 413);
  check_refused(running.port, chunked + "3e9\r\n", 413);
  // The refusal is sent before any of the body arrives, and also while it is being sent.
  check_refused(running.port, "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 1001\r\n\r\n", 413);
  check_refused(running.port, post("/", std::string(1'000'000, 'x')), 413);
  check_refused(running.port,
                "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 99999999999999999999999\r\n\r\n",
                413);
}

TEST_CASE("compression doesn't evade the limit") {
  Running running({}, echo);
  check_refused(running.port, post("/", "abc", "Content-Encoding: gzip\r\n"), 415);
  check_refused(running.port, post("/", "abc", "Content-Encoding: br\r\n"), 415);
  CHECK(Wire(running.port).ask(post("/", "abc", "Content-Encoding: identity\r\n")).status == 200);
}

TEST_CASE("heads over the limits are refused") {
  Running running({}, echo);
  const std::string line = "GET / HTTP/1.1\r\nHost: test\r\n";
  CHECK(Wire(running.port).ask(line + "X: " + std::string(60'000, 'x') + "\r\n\r\n").status == 200);
  check_refused(running.port, line + "X: " + std::string(70'000, 'x') + "\r\n\r\n", 431);
  check_refused(running.port, line + "X: " + std::string(70'000, 'x'), 431);
  std::string many = line;
  for (int i = 0; i < 200; ++i) many += "X: y\r\n";
  check_refused(running.port, many + "\r\n", 431);
  check_refused(running.port, "GET /" + std::string(9'000, 'x') + " HTTP/1.1\r\nHost: t\r\n\r\n",
                414);
  check_refused(running.port, "GET /" + std::string(60'000, 'x'), 414);
  std::string trailers = "POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
  for (int i = 0; i < 20; ++i) trailers += "X: " + std::string(5'000, 'y') + "\r\n";
  check_refused(running.port, trailers, 431);
}

TEST_CASE("a request has one deadline for all of it") {
  Running running({.request_timeout = 400ms}, echo);
  const auto start = Clock::now();
  const std::string post_head = "POST / HTTP/1.1\r\nHost: test\r\n";
  const std::vector<std::pair<std::string, std::string>> dribbles = {
      {"G", "E"},
      {"GET / HTTP/1.1\r\nHost: test\r\n", "X: y\r\n"},
      {post_head + "Content-Length: 1000\r\n\r\n", "x"},
      {post_head + "Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"},
      {post_head + "Transfer-Encoding: chunked\r\n\r\n0\r\n", "X: y\r\n"},
  };
  for (const auto& [first, repeated] : dribbles) {
    Wire wire(running.port);
    CHECK(dribble(wire, first, repeated).status == 408);
  }
  CHECK(Clock::now() - start >= 400ms * dribbles.size());
  // Nothing was requested, so nothing is answered.
  CHECK(Wire(running.port).is_closed());
}

TEST_CASE("an idle connection is closed in time, without an answer") {
  Running running({.keep_alive_timeout = 100ms}, echo);
  Wire wire(running.port);
  CHECK(wire.ask(get("/")).status == 200);
  CHECK(wire.is_closed());
}

TEST_CASE("a caller who disconnects in the middle causes no trouble") {
  Running running({}, echo);
  for (const std::string text :
       {"GE", "GET / HTTP/1.1\r\n", "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\nx"}) {
    Wire wire(running.port);
    wire.send(text);
  }
  Wire half(running.port);
  half.send(get("/half"));
  half.stop_sending();
  CHECK(half.read().body == "GET /half");
  CHECK(eventually([&] { return running.server.counters().open_connections == 0; }));
}

TEST_CASE("a caller who doesn't read is cut off") {
  Running running({.write_timeout = 200ms}, [](const Request&, Response& response) {
    response.body.assign(50'000'000, 'x');
  });
  Wire wire(running.port);
  wire.send(get("/"));
  CHECK(eventually([&] { return running.server.counters().open_connections == 1; }));
  CHECK(eventually([&] { return running.server.counters().open_connections == 0; }));
}

TEST_CASE("idle and slow connections don't hold up the others") {
  Running running({.http_threads = 4}, echo);
  std::list<Wire> idle;
  for (int i = 0; i < 300; ++i) idle.emplace_back(running.port);
  std::list<Wire> dribbling;
  for (int i = 0; i < 50; ++i) {
    dribbling.emplace_back(running.port)
        .send(i % 2 == 0 ? "GET / HT" : "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\nx");
  }
  REQUIRE(eventually([&] { return running.server.counters().open_connections == 350; }));
  const auto start = Clock::now();
  for (int i = 0; i < 100; ++i) REQUIRE(Wire(running.port).ask(get("/")).status == 200);
  // This is well below the request timeout of the slow clients, which are all still connected.
  CHECK(Clock::now() - start < 10s);
  CHECK(running.server.counters().open_connections >= 350);
  for (Wire& wire : idle) REQUIRE(wire.ask(get("/")).status == 200);
}

TEST_CASE("a connection beyond the limit is answered with 503, and the next one isn't") {
  Running running({.connections = {.total = 3}}, echo);
  {
    std::list<Wire> open;
    for (int i = 0; i < 3; ++i)
      REQUIRE(open.emplace_back(running.port).ask(get("/")).status == 200);
    for (int i = 0; i < 100; ++i) {
      Wire wire(running.port);
      const Answer answer = wire.ask(get("/"));
      REQUIRE(answer.status == 503);
      REQUIRE(answer.body.starts_with("{\"errors\":{\"detail\":\""));
      REQUIRE(wire.is_closed());
    }
    CHECK(running.server.counters().refused_connections == 100);
    CHECK(open.front().ask(get("/")).status == 200);
  }
  REQUIRE(eventually([&] { return running.server.counters().open_connections == 0; }));
  CHECK(Wire(running.port).ask(get("/")).status == 200);
}

TEST_CASE("handlers don't exceed their slots, and waiting for a slot has a limit") {
  std::atomic<bool> go = false;
  std::atomic<int> inside = 0;
  Running running({.http_threads = 2, .request_timeout = 300ms}, [&](const Request&, Response&) {
    ++inside;
    eventually([&] { return go.load(); });
  });
  std::list<Wire> wires;
  for (int i = 0; i < 2; ++i) wires.emplace_back(running.port).send(get("/"));
  REQUIRE(eventually([&] { return inside == 2; }));
  CHECK(running.server.counters().running_handlers == 2);
  check_refused(running.port, get("/"), 503);
  CHECK(inside == 2);
  go = true;
  for (Wire& wire : wires) CHECK(wire.read().status == 200);
}

TEST_CASE("the server recovers from running out of descriptors") {
  std::atomic<bool> go = false;
  const auto waker = std::make_shared<Waker>();
  Running running({}, [&](const Request& request, Response& response) {
    if (request.path != "/stream") return echo(request, response);
    response.stream = Stream(
        [&](const Sink& sink) {
          sink(go ? "news" : "begin");
          return go ? Next(Next::end) : Next::on_news(Clock::now() + 1h);
        },
        waker);
  });
  Wire follower(running.port);
  follower.send(get("/stream"));
  REQUIRE(follower.wait_for("begin"));
  Wire before(running.port);
  REQUIRE(before.ask(get("/")).status == 200);
  Wire waiting(running.port);
  REQUIRE(waiting.ask(get("/")).status == 200);

  // All descriptors are used up, except for the one of the client's own socket.
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlimit old = limit;
  const int next = dup(0);
  close(next);
  limit.rlim_cur = static_cast<rlim_t>(next) + 1;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  Wire starved(running.port);
  starved.send(get("/"));
  for (int i = 0; i < 20; ++i) CHECK(before.ask(get("/")).status == 200);
  CHECK(running.server.counters().open_connections == 3);
  go = true;
  waker->wake();
  CHECK(follower.read().body == "beginnews");
  REQUIRE(setrlimit(RLIMIT_NOFILE, &old) == 0);
  CHECK(starved.read().body == "GET /");
}
