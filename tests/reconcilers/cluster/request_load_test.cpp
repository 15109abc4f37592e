// Requests in flight, from what an ingress controller has counted.
#include "reconcilers/cluster/request_load.h"

#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <limits>
#include <thread>

using namespace berth::reconcilers;
using namespace std::chrono_literals;

namespace {

const std::string shop = traefik_service("ns", "shop", "http");
const std::set<std::string> services = {shop};

// An ingress controller that a test lets answer requests, and one look each two seconds.
struct Counted {
  CountsOfProcesses counts{.counts = {{"10.0.0.1 1", {}}}};
  bool answers = true;
  LoadTime now{};
  CountedLoad load{[this] { return answers ? std::optional(counts) : std::nullopt; }};

  void answer(int requests, double each, const std::string& process = "10.0.0.1 1") {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    Traffic& traffic = counts.counts[process][shop];
    for (const double bound : {0.1, 0.3, 1.2, 5.0, infinite}) {
      std::int64_t& within = traffic.within[bound];
      if (each <= bound) within += requests;
    }
    traffic.by_class[0] += requests;
    traffic.seconds += requests * each;
  }
  double look(std::chrono::milliseconds after = 2s) {
    now += after;
    const auto seen = load.look(services, now);
    REQUIRE(seen);
    const auto found = seen->in_flight.find(shop);
    return found == seen->in_flight.end() ? 0 : found->second;
  }
  // The load after a time in which so many requests ended each second.
  double steady(int a_second, double each, std::chrono::seconds time) {
    double seen = 0;
    for (auto passed = 0s; passed < time; passed += 2s) {
      answer(a_second * 2, each);
      seen = look();
    }
    return seen;
  }
};

}  // namespace

TEST_CASE("a steady load is its rate times its duration") {
  Counted counted;
  CHECK(counted.look() == 0);
  // 200 a second that take 50 ms each: 10 in flight.
  CHECK(counted.steady(200, 0.05, 10s) == Approx(10));
  CHECK(counted.steady(200, 0.05, 90s) == Approx(10));
}

TEST_CASE("a spike is seen within the short mean, and not as more than it is") {
  Counted counted;
  counted.look();
  counted.steady(20, 0.05, 90s);
  std::vector<double> seen;
  for (int i = 0; i < 4; ++i) seen.push_back(counted.steady(1'000, 0.1, 2s));
  CHECK(seen[0] > 30);
  CHECK(seen[2] == Approx(100));
  CHECK(*std::ranges::max_element(seen) == Approx(100));
}

TEST_CASE("what an ingress controller counted before the first look is no load") {
  Counted counted;
  counted.answer(1'000'000, 1);
  CHECK(counted.look() == 0);
  CHECK(counted.look() == 0);
}

TEST_CASE("a restarted ingress controller is no spike") {
  Counted counted;
  counted.answer(1'000'000, 1);
  counted.look();
  SECTION("with another start") {
    counted.counts.counts.clear();
    counted.answer(5'000'000, 1, "10.0.0.1 2");
  }
  SECTION("with the same name, and lower counters") {
    counted.counts.counts.clear();
    counted.answer(500, 1);
  }
  CHECK(counted.look() == 0);
  CHECK(counted.steady(10, 1, 90s) == Approx(10));
}

TEST_CASE("a connection that was open for an hour is no spike when it ends") {
  Counted counted;
  counted.look();
  counted.answer(1, 3'600);
  CHECK(counted.look() <= 1);
  counted.steady(100, 0.01, 90s);
  counted.answer(1, 3'600);
  CHECK(counted.look() <= 1 + 100 * 0.1);
}

TEST_CASE("requests that take half a minute are counted right after a minute") {
  Counted counted;
  counted.look();
  CHECK(counted.steady(2, 30, 120s) == Approx(60));
}

TEST_CASE("requests that go on count while they do, if the ingress controller says so") {
  Counted counted;
  counted.counts.long_requests[shop] = 30;
  counted.counts.long_requests["another"] = 1;
  CHECK(counted.look() == Approx(30));
  CHECK(counted.steady(200, 0.05, 10s) == Approx(40));
  // Two a second that take 30 seconds each: 60 in flight, of which 50 have gone on for long.
  Counted long_ones;
  long_ones.look();
  long_ones.counts.long_requests[shop] = 50;
  CHECK(long_ones.steady(2, 30, 120s) == Approx(60));
  long_ones.counts.long_requests.clear();
  long_ones.steady(0, 30, 70s);
  CHECK(long_ones.look() == 0);
}

TEST_CASE("several processes are added up, and one that doesn't answer is said") {
  Counted counted;
  counted.answer(0, 0.05, "10.0.0.2 1");
  counted.look();
  double seen = 0;
  for (int i = 0; i < 5; ++i) {
    counted.answer(400, 0.05);
    counted.answer(800, 0.05, "10.0.0.2 1");
    seen = counted.look();
  }
  CHECK(seen == Approx(30));
  counted.counts.counts.erase("10.0.0.2 1");
  counted.counts.is_complete = false;
  counted.now += 2s;
  CHECK_FALSE(counted.load.look(services, counted.now)->is_complete);
}

TEST_CASE("a time without an answer is no load, and no spike at its end") {
  Counted counted;
  counted.look();
  counted.steady(200, 0.05, 10s);
  counted.answers = false;
  for (int i = 0; i < 60; ++i) {
    counted.now += 2s;
    CHECK_FALSE(counted.load.look(services, counted.now));
    counted.answer(400, 0.05);
  }
  counted.answers = true;
  CHECK(counted.look() == 0);
  CHECK(counted.steady(200, 0.05, 10s) == Approx(10));
}

TEST_CASE("without counters there is no load to look at") {
  CHECK_FALSE(counted_load({}));
  CHECK(counted_load({.traefik_url = "http://127.0.0.1:1/metrics"}));
  // Nothing listens there.
  CHECK_FALSE(counted_load({.traefik_url = "http://127.0.0.1:1/metrics"})(services, LoadTime{}));
  const auto own = counted_load({.own = [] { return TrafficOfServices{{shop, {}}}; }});
  CHECK(own(services, LoadTime{}));
}

TEST_CASE("Traefik is asked by the name of its host, and a restart is known by its start") {
  httplib::Server server;
  std::atomic<int> requests = 0;
  std::atomic<int> start = 1;
  std::atomic<bool> answers = true;
  server.Get("/metrics", [&](const httplib::Request&, httplib::Response& response) {
    if (!answers) {
      response.status = 503;
      return;
    }
    const std::string count = std::to_string(requests) + "\n";
    const auto line = [&](const char* family, const char* more) {
      return "traefik_service_request" + std::string(family) + R"({code="200",service=")" + shop +
             "\"" + more + "} " + count;
    };
    response.set_content(line("_duration_seconds_bucket", R"(,le="1.2")") +
                             line("_duration_seconds_bucket", R"(,le="+Inf")") +
                             line("_duration_seconds_sum", "") + line("s_total", "") +
                             "# TYPE process_start_time_seconds gauge\n"
                             "process_start_time_seconds " +
                             std::to_string(start) + "\n",
                         "text/plain");
  });
  const int port = server.bind_to_any_port("127.0.0.1");
  std::jthread thread([&] { server.listen_after_bind(); });
  while (!server.is_running()) std::this_thread::yield();
  const auto load =
      counted_load({.traefik_url = "http://localhost:" + std::to_string(port) + "/metrics"});
  LoadTime now{};
  const auto look = [&] {
    now += 5s;
    const auto seen = load(services, now);
    return seen && seen->in_flight.contains(shop) ? seen->in_flight.at(shop) : -1;
  };
  requests = 1'000;
  CHECK(look() == -1);
  requests += 50;  // of a second each, in five seconds
  CHECK(look() == Approx(10));
  start = 2;
  requests = 100'000;
  CHECK(look() < 10);  // what began elsewhere is no load
  requests += 100;
  CHECK(look() == Approx(20));
  answers = false;
  CHECK_FALSE(load(services, now + 5s));
  server.stop();
}

TEST_CASE("the time that all answers took is read from Traefik's page") {
  const TrafficOfServices read = traefik_traffic(
      "traefik_service_request_duration_seconds_sum{code=\"200\",method=\"GET\",protocol=\"http\","
      "service=\"" +
      shop +
      "\"} 9.5\n"
      "traefik_service_request_duration_seconds_sum{code=\"404\",method=\"GET\",protocol=\"http\","
      "service=\"" +
      shop + "\"} 1.25e+01\n");
  CHECK(read.at(shop).seconds == Approx(22));
}
