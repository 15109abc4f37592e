// Connections that do nothing, or very little, don't make others wait.
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/process/client.h"
#include "tests/process/raw.h"

using namespace berth::process;

namespace {

constexpr size_t idle_connections = 300;
constexpr size_t dribbling_connections = 50;
constexpr const char* request = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";

// With the loops, the simulated cluster and its informers.
constexpr int most_threads = 44;

int threads_of(const Berthd& berthd) {
  const std::string text = ask_metrics(berthd, "/metrics").text;
  const std::string name = "\nprocess_threads ";
  return std::stoi(text.substr(text.find(name) + name.size()));
}

using Connections = std::vector<std::unique_ptr<Raw>>;

Connections connect(const Berthd& berthd, size_t count) {
  Connections all;
  for (size_t i = 0; i < count; ++i) all.push_back(std::make_unique<Raw>(berthd.port()));
  return all;
}

}  // namespace

TEST_CASE("idle and slow connections don't make others wait") {
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
  // This is far below the time limit of the slow clients, however slow the machine is.
  CHECK(slowest < 2s);

  // A request has one deadline for all of it, however steadily its bytes arrive.
  for (const auto& connection : dribbling) CHECK(connection->receive().starts_with("HTTP/1.1 408"));
  enough = true;
  dribbler.join();
  for (const auto& connection : idle) {
    connection->send(request);
    CHECK(connection->receive().starts_with("HTTP/1.1 200"));
  }
}

TEST_CASE("one connection too many is refused, and the others are served") {
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

TEST_CASE("many streams need few threads, and SIGTERM ends each after a whole event") {
  constexpr size_t users = 4, streams_of_one = 32;
  Berthd berthd({"--rate-limits", "off", "--max-connections", "1000"});
  std::vector<Person> people;
  for (size_t i = 0; i < users; ++i) people.push_back(person(berthd, "p" + std::to_string(i)));
  const std::string channels = "/api/social/chat/channels";
  const std::string channel =
      channels + "/" +
      expect(201, people[0].api.post(channels, {{"type", "lobby"}, {"ref_id", "many"}}))
          .body.at("channel")
          .at("id")
          .get<std::string>();
  Connections followers;
  for (Person& one : people) {
    expect(200, one.api.post(channel + "/members/me"));
    for (size_t i = 0; i < streams_of_one; ++i) {
      followers.push_back(std::make_unique<Raw>(berthd.port()));
      followers.back()->send("GET " + channel +
                             "/events HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer " +
                             one.user.jwt + "\r\n\r\n");
    }
  }
  std::vector<std::string> texts(followers.size());
  for (size_t i = 0; i < followers.size(); ++i)
    while (texts[i].find("retry: ") == std::string::npos) {
      const std::string more = followers[i]->receive();
      REQUIRE(!more.empty());
      texts[i] += more;
    }
  // Those that the burst has left behind end after a while.
  CHECK(eventually([&] { return threads_of(berthd) <= most_threads; }));
  expect(201, people[0].api.post(channel + "/messages", {{"body", "last words"}}));
  CHECK(berthd.terminate() == 0);
  size_t whole = 0;
  for (size_t i = 0; i < followers.size(); ++i) {
    texts[i] += followers[i]->receive_all();
    whole += texts[i].ends_with("\n\n\r\n0\r\n\r\n");
  }
  CHECK(whole == followers.size());
}

TEST_CASE("a client that takes every connection doesn't keep others out") {
  const Berthd berthd({"--max-connections", "50"});
  const Connections flood = connect(berthd, 80);
  for (int i = 0; i < 10; ++i) {
    const Raw other(berthd.port(), "127.0.0.2");
    other.send(request);
    CHECK(other.receive().starts_with("HTTP/1.1 200"));
  }
  for (const auto& connection : flood) connection->send("GET /health HTTP/1.1\r\nX-Slow: ");
  for (int i = 0; i < 10; ++i) {
    const Raw other(berthd.port(), "127.0.0.3");
    other.send(request);
    CHECK(other.receive().starts_with("HTTP/1.1 200"));
  }
}

TEST_CASE("a network has its own limit of connections, where one is set") {
  const Berthd berthd({"--max-connections-per-network", "10"});
  const Connections taken = connect(berthd, 5);  // half of its places, because it has no token
  for (const auto& connection : taken) connection->send(request);
  for (const auto& connection : taken) REQUIRE(connection->receive().starts_with("HTTP/1.1 200"));
  CHECK(Raw(berthd.port()).receive().starts_with("HTTP/1.1 503"));
  const Raw other(berthd.port(), "127.0.0.2");
  other.send(request);
  CHECK(other.receive().starts_with("HTTP/1.1 200"));

  const Berthd behind_proxy(
      {"--max-connections-per-network", "10", "--trusted-proxies", "127.0.0.0/8"});
  const Connections proxied = connect(behind_proxy, 100);
  for (const auto& connection : proxied) connection->send(request);
  for (const auto& connection : proxied) CHECK(connection->receive().starts_with("HTTP/1.1 200"));
}
