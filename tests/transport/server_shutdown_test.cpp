#include <atomic>
#include <catch2/catch.hpp>
#include <future>
#include <string>

#include "controller/transport/server.h"
#include "tests/transport/wire.h"

using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;

namespace {

// A handler that holds /slow until it is released.
struct Gate {
  Handler handler() {
    return [this](const Request& request, Response& response) {
      if (request.path == "/slow") {
        entered = true;
        eventually([this] { return open.load(); });
      }
      echo(request, response);
    };
  }
  std::atomic<bool> entered = false;
  std::atomic<bool> open = false;
};

}  // namespace

TEST_CASE("draining closes idle connections at once and lets a running request finish") {
  Gate gate;
  Running running({}, gate.handler());
  Wire idle(running.port);
  REQUIRE(idle.ask(get("/")).status == 200);
  Wire silent(running.port);
  Wire busy(running.port);
  busy.send(get("/slow"));
  REQUIRE(eventually([&] { return gate.entered.load(); }));

  auto stopped = std::async(std::launch::async, [&] { return running.stop(30s); });
  CHECK(idle.is_closed());
  CHECK(silent.is_closed());
  CHECK(eventually([&] {
    try {
      Wire late(running.port);
      return false;
    } catch (const std::runtime_error&) {
      return true;
    }
  }));
  CHECK(stopped.wait_for(0s) == std::future_status::timeout);
  gate.open = true;
  const Answer answer = busy.read();
  CHECK(answer.body == "GET /slow");
  CHECK(answer.headers.at("connection") == "close");
  CHECK(busy.is_closed());
  CHECK(stopped.get() == Drained::all);
}

TEST_CASE("requests that still run after the grace are cut off") {
  Gate gate;
  Running running({}, gate.handler());
  Wire busy(running.port);
  busy.send(get("/slow"));
  REQUIRE(eventually([&] { return gate.entered.load(); }));
  const auto start = std::chrono::steady_clock::now();
  CHECK(running.stop(0s) == Drained::some_cut_off);
  CHECK(std::chrono::steady_clock::now() - start < 5s);
  CHECK(busy.is_closed());
  gate.open = true;
}

TEST_CASE("draining ends streams properly") {
  Running running({}, [](const Request&, Response& response) {
    response.stream = [](const Sink& sink) {
      std::this_thread::sleep_for(5ms);
      sink("tick ");
      return Next::more;
    };
  });
  Wire wire(running.port);
  wire.send(get("/"));
  REQUIRE(wire.wait_for("tick "));
  auto stopped = std::async(std::launch::async, [&] { return running.stop(30s); });
  CHECK(wire.read().body.ends_with("tick "));
  CHECK(wire.is_closed());
  CHECK(stopped.get() == Drained::all);
}

TEST_CASE("a server can be shut down before it runs, and twice") {
  Server never({}, echo);
  CHECK(never.shutdown(0s) == Drained::all);

  Server bound({}, echo);
  bound.bind();
  CHECK(bound.shutdown(0s) == Drained::all);
  bound.run();
  CHECK(bound.shutdown(0s) == Drained::all);
}
