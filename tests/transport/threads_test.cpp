// Connections that are idle, slow or streaming have no thread, and what they wait for reaches them.
#include <malloc.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "controller/transport/server.h"
#include "tests/transport/wire.h"

using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t many = 200;
// What a server may have beside those: the acceptor, the poller, the threads that are kept, and
// those that are about to give a connection away.
constexpr std::size_t few = 40;

std::size_t threads() {
  return std::size_t(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

// A stream of numbers, which followers wait for.
class Numbers {
 public:
  // The handler of a stream, which sends every number from 1 to the newest.
  Handler handler() {
    return [this](const Request& request, Response& response) {
      if (request.path == "/plain") return echo(request, response);
      const auto waker = std::make_shared<Waker>();
      {
        const std::lock_guard lock(mutex_);
        wakers_.push_back(waker);
      }
      response.content_type = "text/event-stream";
      response.stream = Stream(
          [this, sent = 0](const Sink& sink) mutable {
            ++steps;
            std::string text;
            for (const int newest = newest_; sent < newest;)
              text += "<" + std::to_string(++sent) + ">";
            sink(text);
            return Next::on_news(std::chrono::steady_clock::now() + 1h);
          },
          waker);
    };
  }
  void make(int number) {
    newest_ = number;
    const std::lock_guard lock(mutex_);
    for (const auto& waker : wakers_) waker->wake();
  }
  std::atomic<int> steps = 0;

 private:
  std::atomic<int> newest_ = 0;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Waker>> wakers_;
};

// The most memory that a connection may hold while it waits, with the client of the test and all
// that a few threads keep.
constexpr std::size_t memory_of_one = 5 * 1024;
// How much a connection used while its request was handled.
constexpr std::size_t much = 60 * 1024;

// The memory that is allocated now.
std::size_t memory() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

ServerOptions roomy() { return {.http_threads = 4, .connections = {.total = 3 * many}}; }

}  // namespace

TEST_CASE("idle and slow connections have no thread") {
  const std::size_t before = threads();
  Running running(roomy(), echo);
  std::list<Wire> idle, silent, slow;
  for (std::size_t i = 0; i < many; ++i) {
    REQUIRE(idle.emplace_back(running.port).ask(get("/")).status == 200);
    silent.emplace_back(running.port);
    slow.emplace_back(running.port)
        .send(i % 2 == 0 ? "GET / HT" : "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\nx");
  }
  CHECK(eventually([&] { return running.server.counters().open_connections == 3 * many; }));
  CHECK(eventually([&] { return threads() <= before + few; }));
  for (Wire& wire : idle) REQUIRE(wire.ask(get("/again")).body == "GET /again");
  for (Wire& wire : silent) REQUIRE(wire.ask(get("/now")).body == "GET /now");
  std::size_t number = 0;
  for (Wire& wire : slow) {
    const bool is_head = number++ % 2 == 0;
    REQUIRE(wire.ask(is_head ? "TP/1.1\r\nHost: t\r\n\r\n" : "12345678").status == 200);
  }
}

TEST_CASE("an idle connection keeps no memory of its requests and answers") {
  Running running(roomy(), [](const Request& request, Response& response) {
    response.body = request.method == "HEAD" ? std::string(much, 'x') : "ok";
  });
  std::list<Wire> idle;
  const auto use = [](Wire& wire) {
    REQUIRE(
        wire.ask(post("/", std::string(much, 'x'), "X-Long: " + std::string(4000, 'x') + "\r\n"))
            .body == "ok");
    REQUIRE(wire.ask("HEAD /long HTTP/1.1\r\nHost: t\r\n\r\n", Expect::no_body).status == 200);
  };
  for (std::size_t i = 0; i < 10; ++i) use(idle.emplace_back(running.port));  // makes the threads
  const std::size_t before = memory();
  for (std::size_t i = 0; i < many; ++i) use(idle.emplace_back(running.port));
  CHECK(eventually([&] { return memory() <= before + many * memory_of_one; }));
  CHECK(running.server.counters().open_connections == many + 10);
}

TEST_CASE("requests that wait for a handler have no thread, and all are answered") {
  std::atomic<bool> open = false;
  const std::size_t before = threads();
  Running running({.http_threads = 1, .connections = {.total = 3 * many}},
                  [&](const Request& request, Response& response) {
                    if (request.path == "/held") eventually([&] { return open.load(); });
                    echo(request, response);
                  });
  Wire held(running.port);
  held.send(get("/held"));
  REQUIRE(eventually([&] { return running.server.counters().running_handlers == 1; }));
  std::list<Wire> waiting;
  for (std::size_t i = 0; i < many; ++i) waiting.emplace_back(running.port).send(get("/"));
  CHECK(eventually([&] { return running.server.counters().open_connections == many + 1; }));
  CHECK(eventually([&] { return threads() <= before + few; }));
  open = true;
  for (Wire& wire : waiting) CHECK(wire.read().body == "GET /");
  CHECK(held.read().body == "GET /held");
}

TEST_CASE("streams that wait have no thread, and news reaches each of them once and in order") {
  const std::size_t before = threads();
  Numbers numbers;
  Running running(roomy(), numbers.handler());
  std::list<Wire> followers;
  for (std::size_t i = 0; i < many; ++i) followers.emplace_back(running.port).send(get("/"));
  REQUIRE(eventually([&] { return running.server.counters().open_streams == many; }));
  CHECK(eventually([&] { return threads() <= before + few; }));
  const std::size_t waiting = memory();
  for (int i = 1; i <= 50; ++i) numbers.make(i);
  for (Wire& wire : followers) CHECK(wire.wait_for("<50>"));
  CHECK(eventually([&] { return memory() <= waiting + many * memory_of_one; }));
  CHECK(Wire(running.port).ask(get("/plain")).body == "GET /plain");
  // Nobody waits for a time here, so that each end is told as news.
  CHECK(running.stop(30s) == Drained::all);
  std::string all;
  for (int i = 1; i <= 50; ++i) all += "<" + std::to_string(i) + ">";
  for (Wire& wire : followers) CHECK(wire.read().body == all);
  for (Wire& wire : followers) CHECK(wire.is_closed());
}

TEST_CASE("a stream that waits keeps no memory of its request") {
  Numbers numbers;
  Running running(roomy(), numbers.handler());
  std::list<Wire> followers;
  const std::string request = "POST / HTTP/1.1\r\nHost: t\r\nX-Long: " + std::string(4000, 'x') +
                              "\r\nContent-Length: " + std::to_string(much) + "\r\n\r\n" +
                              std::string(much, 'x');
  const std::size_t before = memory();
  for (std::size_t i = 0; i < many; ++i) followers.emplace_back(running.port).send(request);
  REQUIRE(eventually([&] { return numbers.steps == int(many); }));
  CHECK(eventually([&] { return memory() <= before + many * memory_of_one; }));
  numbers.make(1);
  for (Wire& wire : followers) CHECK(wire.wait_for("<1>"));
}

TEST_CASE("a stream whose caller goes away while nothing happens ends") {
  Numbers numbers;
  Running running(roomy(), numbers.handler());
  std::list<Wire> followers;
  for (std::size_t i = 0; i < many; ++i) followers.emplace_back(running.port).send(get("/"));
  REQUIRE(eventually([&] { return running.server.counters().open_streams == many; }));
  REQUIRE(eventually([&] { return numbers.steps == int(many); }));  // each has made its first one
  followers.clear();
  CHECK(eventually([&] { return running.server.counters().open_connections == 0; }));
  numbers.make(1);
  CHECK(numbers.steps == int(many));
}

TEST_CASE("a follower who has half closed the connection is gone") {
  Numbers numbers;
  Running running(roomy(), numbers.handler());
  Wire half(running.port), whole(running.port);
  half.send(get("/"));
  whole.send(get("/"));
  REQUIRE(eventually([&] { return numbers.steps == 2; }));
  half.stop_sending();
  CHECK(eventually([&] { return running.server.counters().open_streams == 1; }));
  numbers.make(1);
  CHECK(whole.wait_for("<1>"));
}

TEST_CASE("a follower who doesn't read for long is cut off, and the others get all in time") {
  constexpr std::size_t stuck = 8;  // more than there are threads for streams
  constexpr int pieces = 200;
  std::atomic<int> newest = 0;
  std::mutex mutex;
  std::vector<std::shared_ptr<Waker>> wakers;
  ServerOptions options = roomy();
  options.write_timeout = 500ms;
  Running running(options, [&](const Request& request, Response& response) {
    // More than the buffers of the kernel take.
    const std::size_t size = request.path == "/silent" ? 8 * 1024 * 1024 : 0;
    const auto waker = std::make_shared<Waker>();
    const std::lock_guard lock(mutex);
    wakers.push_back(waker);
    response.stream = Stream(
        [&, size, sent = 0](const Sink& sink) mutable {
          if (sent < newest) sink("<" + std::to_string(++sent) + ">" + std::string(size, 'x'));
          return sent < newest ? Next(Next::more)
                               : Next::on_news(std::chrono::steady_clock::now() + 1h);
        },
        waker);
  });
  std::list<Wire> silent, readers;
  for (std::size_t i = 0; i < stuck; ++i) silent.emplace_back(running.port).send(get("/silent"));
  for (std::size_t i = 0; i < 4; ++i) readers.emplace_back(running.port).send(get("/"));
  REQUIRE(eventually([&] { return running.server.counters().open_streams == stuck + 4; }));
  for (int i = 1; i <= pieces; ++i) {
    newest = i;
    const std::lock_guard lock(mutex);
    for (const auto& waker : wakers) waker->wake();
  }
  for (Wire& reader : readers) CHECK(reader.wait_for("<" + std::to_string(pieces) + ">"));
  CHECK(eventually([&] { return running.server.counters().open_streams == 4; }));
  CHECK(eventually([&] { return running.server.counters().open_connections == 4; }));
}

TEST_CASE("a slow reader of a stream costs what one step writes, and is cut off") {
  std::atomic<int> steps = 0;
  Running running({.write_timeout = 300ms}, [&](const Request&, Response& response) {
    response.stream = [&](const Sink& sink) {
      ++steps;
      sink(std::string(8 * 1024 * 1024, 'x'));
      return Next::more;
    };
  });
  Wire slow(running.port);
  slow.send(get("/"));
  REQUIRE(slow.wait_for("xxxx"));
  CHECK(eventually([&] { return running.server.counters().open_streams == 0; }));
  CHECK(steps < 4);
}

TEST_CASE("a stream that is told of news during its step has another one") {
  std::atomic<int> steps = 0;
  Running running({}, [&](const Request&, Response& response) {
    const auto waker = std::make_shared<Waker>();
    response.stream = Stream(
        [&steps, waker](const Sink& sink) {
          sink(std::to_string(++steps) + " ");
          if (steps == 1000) return Next(Next::end);
          waker->wake();
          return Next::on_news(std::chrono::steady_clock::now() + 1h);
        },
        waker);
  });
  CHECK(Wire(running.port).ask(get("/")).body.ends_with(" 1000 "));
}

TEST_CASE("a stream that waits for a time is called then") {
  Running running({}, [&](const Request&, Response& response) {
    response.stream = [left = 3](const Sink& sink) mutable {
      sink("tick ");
      return --left == 0 ? Next(Next::end) : Next::on_news(std::chrono::steady_clock::now() + 10ms);
    };
  });
  CHECK(Wire(running.port).ask(get("/")).body == "tick tick tick ");
}

TEST_CASE("what was written before a stream breaks off is sent, and the rest is missing") {
  Running running({}, [&](const Request&, Response& response) {
    response.stream = [](const Sink& sink) {
      sink("some");
      return Next::break_off;
    };
  });
  CHECK(Wire(running.port).ask(get("/")).body == "some (cut off)");
}
