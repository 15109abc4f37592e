// Caddy itself, with servers of the test in the place of containers. Without Caddy, the cases say
// so and pass.
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <iostream>

#include "reconcilers/embedded/node/finding.h"
#include "tests/local/ingress_world.h"
#include "tests/transport/wire.h"

using namespace berth;
using namespace berth::embedded;
using namespace berth::embedded::tests;
using berth::api::test::Wire;
using SteadyClock = std::chrono::steady_clock;

namespace {

bool can_run() {
  static const bool found = has_caddy();
  if (!found) WARN("Caddy isn't installed, so this isn't tested: apt-get install caddy");
  return found;
}

double milliseconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double, std::milli>(SteadyClock::now() - start).count();
}

// A container that upgrades connections and sends back whatever it gets, behind its name.
class Echo {
 public:
  explicit Echo(std::string name)
      : name_(std::move(name)),
        listener_(api::listen_on("127.0.0.1", 0)),
        thread_([this](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            const int connection = accept(listener_.socket.get(), nullptr, nullptr);
            if (connection < 0) {
              std::this_thread::sleep_for(1ms);
              continue;
            }
            connections_.emplace_back([this, connection] { serve(connection); });
          }
        }) {}
  ~Echo() {
    thread_.request_stop();
    thread_.join();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(listener_.port); }

 private:
  void serve(int connection) const {
    const Descriptor owned{connection};
    std::array<char, 4096> buffer;
    std::string head;
    while (head.find("\r\n\r\n") == std::string::npos) {
      const ssize_t got = recv(connection, buffer.data(), buffer.size(), 0);
      if (got <= 0) return;
      head.append(buffer.data(), size_t(got));
    }
    const std::string answer =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n" +
        name_ + "\n";
    send(connection, answer.data(), answer.size(), MSG_NOSIGNAL);
    for (ssize_t got = 0; (got = recv(connection, buffer.data(), buffer.size(), 0)) > 0;)
      send(connection, buffer.data(), size_t(got), MSG_NOSIGNAL);
  }

  const std::string name_;
  api::Listener listener_;
  std::vector<std::jthread> connections_;
  std::jthread thread_;
};

std::string get(const std::string& host, const std::string& fields = "") {
  return "GET / HTTP/1.1\r\nHost: " + host + "\r\n" + fields + "\r\n";
}

}  // namespace

TEST_CASE("each host is served by its container, and the others get a page of berth's", "[caddy]") {
  if (!can_run()) return;
  const test::TempDir dir;
  World world(dir / "caddy");
  App web("web");
  App shop("shop");
  Json seen;
  web.server.Get("/seen", [&](const httplib::Request& request, httplib::Response& response) {
    for (const auto& [name, value] : request.headers) seen[name].push_back(value);
    response.set_header("Server", "the app's");
    response.set_content("seen", "text/plain");
  });
  world.objects.deploy("web", "web.apps.localhost");
  world.objects.deploy("shop", "www.shop.example");
  world.objects.deploy("down", "down.apps.localhost");
  world.objects.run("web-1", "web", web.address());
  world.objects.run("shop-1", "shop", shop.address());
  world.start();
  REQUIRE(eventually([&] { return world.body("www.shop.example") == "shop"; }));
  const std::string port = ":" + std::to_string(world.port());
  CHECK(world.body("web.apps.localhost" + port) == "web");

  const auto down = world.get("down.apps.localhost" + port);
  CHECK(down->status == 503);
  CHECK(down->get_header_value("Retry-After") == "5");
  CHECK(down->get_header_value("Content-Type") == "text/html; charset=utf-8");
  CHECK(down->body.find("down.apps.localhost isn’t answering") != std::string::npos);
  CHECK(down->body.find("http://localhost:8000/console") != std::string::npos);

  for (const char* host :
       {"other.apps.localhost", "apps.localhost", "..", "*", "web.apps.localhost.", "[::2]", "a_b",
        "web%2eapps.localhost", "'", "-web.apps.localhost", "w*b.apps.localhost"}) {
    INFO(host);
    const auto unknown = world.get(host);
    REQUIRE(unknown);
    CHECK(unknown->status == 404);
    CHECK(unknown->body.find("There is nothing here") != std::string::npos);
  }
  CHECK(world.get("a/../web.apps.localhost")->status == 400);
  CHECK(world.status(std::string(5'000, 'a')) == 404);

  const auto spelled = world.get("Web.Apps.Localhost" + port, "/a?b=c");
  CHECK(spelled->status == 308);
  CHECK(spelled->get_header_value("Location") == "http://web.apps.localhost" + port + "/a?b=c");

  httplib::Client client("127.0.0.1", world.port());
  const auto answer = client.Get("/seen", {{"Host", "web.apps.localhost" + port},
                                           {"X-Forwarded-For", "192.0.2.1"},
                                           {"X-Forwarded-Proto", "https"},
                                           {"X-Forwarded-Host", "evil.example"},
                                           {"X-Forwarded-Prefix", "/evil"},
                                           {"X-Real-Ip", "192.0.2.1"},
                                           {"Forwarded", "for=192.0.2.1"},
                                           {"Keep-Alive", "1"},
                                           {"Connection", "X-Hop"},
                                           {"X-Hop", "by hop"},
                                           {"Proxy-Authorization", "Basic eDp5"},
                                           {"X-Own", "passed"}});
  REQUIRE(answer);
  CHECK(answer->get_header_value_count("Server") == 1);
  CHECK(answer->get_header_value("Server") == "the app's");
  CHECK(seen["Host"] == Json({"web.apps.localhost" + port}));
  CHECK(seen["X-Forwarded-For"] == Json({"127.0.0.1"}));
  CHECK(seen["X-Forwarded-Proto"] == Json({"http"}));
  CHECK(seen["X-Forwarded-Host"] == Json({"web.apps.localhost" + port}));
  CHECK(seen["X-Real-Ip"] == Json({"127.0.0.1"}));
  CHECK(seen["X-Own"] == Json({"passed"}));
  for (const char* dropped : {"Forwarded", "X-Forwarded-Prefix", "X-Hop", "Keep-Alive",
                              "Accept-Encoding", "Proxy-Authorization"}) {
    INFO(dropped);
    CHECK_FALSE(seen.contains(dropped));
  }

  // A container that doesn't listen any more, although nobody has noticed.
  world.objects.run("shop-1", "shop", "127.0.0.1:1");
  REQUIRE(eventually([&] { return world.status("www.shop.example") == 502; }));
  CHECK(world.body("www.shop.example").find("isn’t answering") != std::string::npos);
}

TEST_CASE("berthd's own address is served, and Caddy speaks for its clients", "[caddy]") {
  if (!can_run()) return;
  const test::TempDir dir;
  World world(dir / "caddy");
  world.start();
  CHECK(world.status("localhost") == 503);
  CHECK(world.body("localhost").find("berth is starting") != std::string::npos);
  api::test::Running console({.host = "unix:" + world.ingress->settings().console_socket()},
                             [](const api::Request& request, api::Response& response) {
                               response.body = std::string(request.remote_address) + " " +
                                               std::string(request.host) + " " +
                                               std::string(request.headers.get("X-Forwarded-For"));
                             });
  CHECK(world.body("localhost") == "unix localhost 127.0.0.1");
  CHECK(world.body("127.0.0.1:" + std::to_string(world.port())) ==
        "unix 127.0.0.1:" + std::to_string(world.port()) + " 127.0.0.1");
}

TEST_CASE("no request fails while containers are replaced", "[caddy]") {
  if (!can_run()) return;
  const test::TempDir dir;
  World world(dir / "caddy");
  App first("first");
  App second("second");
  world.objects.deploy("web", "web.apps.localhost");
  world.objects.run("pod", "web", first.address());
  world.start();
  REQUIRE(eventually([&] { return world.body("web.apps.localhost") == "first"; }));
  std::atomic<bool> over = false;
  std::atomic<int> good = 0;
  std::atomic<int> bad = 0;
  std::vector<std::jthread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      httplib::Client client("127.0.0.1", world.port());
      client.set_keep_alive(true);
      while (!over) {
        const auto answer =
            client.Post("/", {{"Host", "web.apps.localhost"}}, "text", "text/plain");
        ++(answer && answer->status == 200 ? good : bad);
      }
    });
  constexpr int rollouts = 200;
  double slowest = 0;
  for (int i = 0; i < rollouts; ++i) {
    const App& next = i % 2 == 0 ? second : first;
    const int before = next.requests;
    const auto start = SteadyClock::now();
    world.objects.run("pod", "web", next.address());
    REQUIRE(eventually([&] { return next.requests > before; }));
    slowest = std::max(slowest, milliseconds_since(start));
  }
  over = true;
  callers.clear();
  std::cout << "      " << rollouts << " changes of a container under load: " << good
            << " requests answered, " << bad << " failed; the slowest change took " << slowest
            << " ms to the first request\n";
  CHECK(bad == 0);
  CHECK(good > rollouts);
}

TEST_CASE("of three containers each gets requests, and one that dies loses none", "[caddy]") {
  if (!can_run()) return;
  const test::TempDir dir;
  World world(dir / "caddy");
  std::vector<std::unique_ptr<App>> apps;
  world.objects.deploy("web", "web.apps.localhost");
  for (const char* name : {"a", "b", "c"}) {
    apps.push_back(std::make_unique<App>(name));
    world.objects.run(name, "web", apps.back()->address());
  }
  world.start();
  const auto all_serve = [&] {
    world.body("web.apps.localhost");
    return std::ranges::all_of(apps, [](const auto& app) { return app->requests > 20; });
  };
  REQUIRE(eventually(all_serve));
  std::atomic<bool> over = false;
  std::atomic<int> good = 0;
  std::atomic<int> bad = 0;
  std::vector<std::jthread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      while (!over) ++(world.status("web.apps.localhost") == 200 ? good : bad);
    });
  // Nobody has noticed yet that it doesn't answer.
  apps.erase(apps.begin());
  const int before = good;
  REQUIRE(eventually([&] { return good > before + 200; }));
  // Each caller may have had a request that it had begun to answer: nobody can ask that again.
  const int begun = bad;
  CHECK(begun <= int(callers.size()));
  world.objects.remove(Kind::pods, "a");
  // A rollout: each of them is replaced by another one.
  for (int i = 0; i < 20; ++i) {
    const std::string name = "d" + std::to_string(i);
    apps.push_back(std::make_unique<App>(name));
    world.objects.run(name, "web", apps.back()->address(), true, "2026-01-02T00:00:00Z");
    REQUIRE(eventually([&] { return apps.back()->requests > 0; }));
    world.objects.remove(Kind::pods, i == 0 ? "b" : i == 1 ? "c" : "d" + std::to_string(i - 2));
  }
  over = true;
  callers.clear();
  std::cout << "      three containers: " << good << " requests answered, " << bad << " failed\n";
  CHECK(bad == begun);
}

TEST_CASE("upgraded connections and streams outlive changes of routes", "[caddy]") {
  if (!can_run()) return;
  const test::TempDir dir;
  World world(dir / "caddy");
  Echo before("before");
  App web("web");
  std::atomic<int> events = 0;
  std::atomic<bool> over = false;
  web.server.Get("/events", [&](const httplib::Request&, httplib::Response& response) {
    response.set_chunked_content_provider(
        "text/event-stream", [&](size_t, httplib::DataSink& sink) {
          if (over) {
            sink.done();
            return true;
          }
          const std::string event = "data: " + std::to_string(++events) + "\n\n";
          std::this_thread::sleep_for(5ms);
          return sink.write(event.data(), event.size());
        });
  });
  world.objects.deploy("socket", "socket.apps.localhost");
  world.objects.deploy("web", "web.apps.localhost");
  world.objects.run("socket-1", "socket", before.address());
  world.objects.run("web-1", "web", web.address());
  world.start();
  REQUIRE(eventually([&] { return world.body("web.apps.localhost") == "web"; }));

  Wire socket(world.port());
  socket.send(get("socket.apps.localhost", "Connection: Upgrade\r\nUpgrade: websocket\r\n"));
  REQUIRE(socket.wait_for("before\n"));
  std::atomic<int> received = 0;
  std::atomic<bool> ended = false;
  std::jthread reader([&] {
    httplib::Client client("127.0.0.1", world.port());
    client.Get("/events", {{"Host", "web.apps.localhost"}}, [&](const char* data, size_t size) {
      received += int(std::count(data, data + size, ':'));
      return true;
    });
    ended = true;
  });
  REQUIRE(eventually([&] { return received > 0; }));

  Echo after("after");
  App others("other");
  for (int i = 0; i < 50; ++i) {
    const std::string name = "other-" + std::to_string(i);
    world.objects.deploy(name, name + ".apps.localhost");
    world.objects.run(name, name, others.address());
  }
  world.objects.run("socket-1", "socket", after.address());
  world.objects.run("web-1", "web", others.address());
  REQUIRE(eventually([&] { return world.body("other-49.apps.localhost") == "other"; }));
  REQUIRE(eventually([&] { return world.body("web.apps.localhost") == "other"; }));
  CHECK(socket.send("still there?\n"));
  CHECK(socket.wait_for("still there?\n"));
  const int so_far = received;
  CHECK(eventually([&] { return received > so_far + 5; }));
  CHECK_FALSE(ended);
  Wire later(world.port());
  later.send(get("socket.apps.localhost", "Connection: Upgrade\r\nUpgrade: websocket\r\n"));
  CHECK(later.wait_for("after\n"));
  over = true;
}

TEST_CASE("large bodies pass, and a slow caller holds nobody up", "[caddy]") {
  if (!can_run()) return;
  constexpr size_t size = size_t(64) << 20;
  const test::TempDir dir;
  World world(dir / "caddy");
  App web("web");
  web.server.Get("/large", [&](const httplib::Request&, httplib::Response& response) {
    response.set_content_provider(size, "application/octet-stream",
                                  [](size_t, size_t length, httplib::DataSink& sink) {
                                    const std::string piece(std::min(length, size_t(1) << 16), 'x');
                                    return sink.write(piece.data(), piece.size());
                                  });
  });
  world.objects.deploy("web", "web.apps.localhost");
  world.objects.run("web-1", "web", web.address());
  world.start();
  REQUIRE(eventually([&] { return world.body("web.apps.localhost") == "web"; }));
  Wire slow(world.port());
  slow.send("POST / HTTP/1.1\r\nHost: web.apps.localhost\r\nContent-Length: 20\r\n\r\n");
  httplib::Client client("127.0.0.1", world.port());
  client.set_read_timeout(20s);
  const auto sent =
      client.Post("/", {{"Host", "web.apps.localhost"}}, std::string(size, 'x'), "text/plain");
  REQUIRE(sent);
  CHECK(sent->body == "web " + std::to_string(size));
  size_t received = 0;
  const auto large =
      client.Get("/large", {{"Host", "web.apps.localhost"}}, [&](const char*, size_t length) {
        received += length;
        return true;
      });
  REQUIRE(large);
  CHECK(received == size);
  for (int i = 0; i < 20; ++i) {
    slow.send("x");
    CHECK(world.status("web.apps.localhost") == 200);
  }
  CHECK(slow.read().body == "web 20");
}

TEST_CASE("a killed Caddy comes back by itself and serves as before", "[caddy]") {
  if (!can_run()) return;
  const test::TempDir dir;
  World world(dir / "caddy");
  App web("web");
  world.objects.deploy("web", "web.apps.localhost");
  world.objects.run("web-1", "web", web.address());
  world.start();
  REQUIRE(eventually([&] { return world.body("web.apps.localhost") == "web"; }));
  const auto first = Caddy::running(world.ingress->settings().admin_socket()).value();
  REQUIRE(kill(first, SIGKILL) == 0);
  const auto start = SteadyClock::now();
  CHECK(eventually([&] { return world.ingress->restarts() == 1; }));
  CHECK(eventually([&] { return world.body("web.apps.localhost") == "web"; }));
  std::cout << "      a killed Caddy served again after " << milliseconds_since(start) << " ms\n";
  CHECK(Caddy::running(world.ingress->settings().admin_socket()) != first);
}

TEST_CASE("Caddy serves on when its owner is killed, and the next owner finds it", "[caddy]") {
  if (!can_run()) return;
  const test::TempDir dir;
  const App web("web");
  const pid_t owner = fork();
  if (owner == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    World world(dir / "caddy");
    world.objects.deploy("web", "web.apps.localhost");
    world.objects.run("web-1", "web", web.address());
    world.start();
    while (world.body("web.apps.localhost") != "web") std::this_thread::sleep_for(5ms);
    std::ofstream(dir / "ready") << world.port();
    pause();
    _exit(0);
  }
  REQUIRE(eventually([&] { return !dir.read("ready").empty(); }));
  const int port = std::stoi(dir.read("ready"));
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  httplib::Client client("127.0.0.1", port);
  for (int i = 0; i < 20; ++i) {
    const auto answer = client.Get("/", {{"Host", "web.apps.localhost"}});
    REQUIRE(answer);
    CHECK(answer->body == "web");
  }
  // The next owner has other ideas of its routes only after it knows its containers.
  World next(dir / "caddy");
  CHECK(next.port() == port);
  const auto pid = Caddy::running(next.ingress->settings().admin_socket());
  REQUIRE(pid);
  Wire kept(port);
  CHECK(kept.ask(get("web.apps.localhost")).body == "web");
  next.objects.deploy("web", "web.apps.localhost");
  next.objects.run("web-1", "web", "");
  next.start();
  CHECK(next.body("web.apps.localhost") == "web");
  next.objects.run("web-1", "web", web.address());
  CHECK(next.body("web.apps.localhost") == "web");
  // The connection of before is still the same one: nothing was loaded again.
  CHECK(kept.ask(get("web.apps.localhost")).body == "web");
  CHECK(Caddy::running(next.ingress->settings().admin_socket()) == pid);
  const auto before = next.ingress->traffic();
  CHECK(eventually([&] {
    next.body("web.apps.localhost");
    return next.ingress->traffic()[{"app-1", "web", "http"}].by_class.front() > 3;
  }));
}

TEST_CASE("a thousand hosts cost no configuration, and each change some milliseconds", "[caddy]") {
  if (!can_run()) return;
  constexpr int hosts = 1'000;
  const test::TempDir dir;
  World world(dir / "caddy");
  App web("web");
  world.start();
  const auto start = SteadyClock::now();
  for (int i = 0; i < hosts; ++i) {
    world.objects.name_space = "app-" + std::to_string(i);
    const std::string name = "web-" + std::to_string(i);
    world.objects.deploy(name, name + ".apps.localhost");
    world.objects.run(name, name, web.address());
  }
  REQUIRE(eventually([&] { return world.body("web-999.apps.localhost") == "web"; }));
  const double all = milliseconds_since(start);
  CHECK(world.body("web-0.apps.localhost") == "web");
  CHECK(world.body("web-500.apps.localhost") == "web");
  const auto one = SteadyClock::now();
  world.objects.remove(Kind::pods, "web-999");
  REQUIRE(eventually([&] { return world.status("web-999.apps.localhost") == 503; }));
  std::cout << "      " << hosts << " hosts were served after " << all
            << " ms; a change among them after " << milliseconds_since(one) << " ms\n";
  world.objects.remove(Kind::ingresses, "web-999");
  CHECK(eventually([&] { return world.status("web-999.apps.localhost") == 404; }));
}

TEST_CASE("a host belongs to the namespace that had it first, then to the next one", "[caddy]") {
  if (!can_run()) return;
  const test::TempDir dir;
  World world(dir / "caddy");
  App first("first");
  App second("second");
  world.objects.name_space = "app-2";
  world.objects.deploy("first", "www.example.org");
  world.objects.run("first", "first", first.address());
  world.start();
  REQUIRE(eventually([&] { return world.body("www.example.org") == "first"; }));
  world.objects.name_space = "app-1";
  world.objects.deploy("second", "www.example.org");
  world.objects.run("second", "second", second.address());
  world.objects.deploy("last", "last.example.org");
  REQUIRE(eventually([&] { return world.status("last.example.org") == 503; }));
  CHECK(world.body("www.example.org") == "first");
  world.objects.name_space = "app-2";
  world.objects.remove(Kind::ingresses, "first");
  CHECK(eventually([&] { return world.body("www.example.org") == "second"; }));
}

TEST_CASE("requests are counted by what they reach, also those that fail", "[caddy]") {
  if (!can_run()) return;
  const test::TempDir dir;
  World world(dir / "caddy");
  App web("web");
  world.objects.deploy("web", "web.apps.localhost");
  world.objects.run("web-1", "web", web.address());
  world.start();
  REQUIRE(eventually([&] { return world.body("web.apps.localhost") == "web"; }));
  const auto counted = [&] { return world.ingress->traffic()[{"app-1", "web", "http"}].by_class; };
  REQUIRE(eventually([&] { return counted().front() == 1; }));
  // Until the container is known, the first page's requests are refused or unanswered.
  const std::int64_t refused = counted().at(2);
  const std::int64_t unanswered = counted().back();
  int answered = 0;
  for (int i = 0; i < 500; ++i) answered += world.status("web.apps.localhost") == 200 ? 1 : 0;
  CHECK(answered == 500);
  for (int i = 0; i < 10; ++i) world.get("web.apps.localhost", "/missing");
  for (int i = 0; i < 100; ++i) world.status("random-" + std::to_string(i) + ".example");
  const bool are_counted =
      eventually([&] { return counted().front() == 501 && counted().at(2) == refused + 10; });
  INFO("counted: " << counted().front() << " successes, " << counted().at(2) << " refusals, "
                   << counted().back() << " failures; lost: " << world.ingress->lost_requests());
  CHECK(are_counted);
  world.objects.remove(Kind::pods, "web-1");
  REQUIRE(eventually([&] { return world.status("web.apps.localhost") == 503; }));
  CHECK(eventually([&] { return counted().back() > unanswered; }));
  CHECK(world.ingress->traffic().size() == 1);
  CHECK(world.ingress->lost_requests() == 0);
}

TEST_CASE("Caddy's administration is for berthd alone", "[caddy]") {
  if (!can_run()) return;
  const test::TempDir dir;
  World world(dir / "caddy");
  world.start();
  const std::string socket = world.ingress->settings().admin_socket();
  for (const char* file : {"caddy.json", "state.json", "ask.sock"}) {
    INFO(file);
    const auto rights = std::filesystem::status(dir / "caddy" / file).permissions();
    CHECK((rights & (std::filesystem::perms::group_all | std::filesystem::perms::others_all)) ==
          std::filesystem::perms::none);
  }
  Wire browser(socket);
  CHECK(browser.ask("GET /config/ HTTP/1.1\r\nHost: localhost\r\n\r\n").status == 403);
  Wire other(socket);
  CHECK(other.ask("GET /config/ HTTP/1.1\r\nHost: berth\r\nOrigin: http://evil.example\r\n\r\n")
            .status == 403);
  CHECK_FALSE(Caddy::configuration(socket).is_null());
}

TEST_CASE("a start that fails is one sentence with its reason", "[caddy]") {
  const test::TempDir dir;
  const CaddySettings settings{.directory = dir / "caddy",
                               .http = {"127.0.0.1", 0},
                               .https = {},
                               .console_hosts = {"localhost"},
                               .console_url = "http://localhost",
                               .acme_directory = "",
                               .acme_ca_file = "",
                               .log_port = 1,
                               .secret = "secret"};
  std::filesystem::create_directory(dir / "caddy");
  try {
    const Caddy caddy({.program = "no-such-caddy", .settings = settings});
    FAIL("it started");
  } catch (const Unusable& failure) {
    CHECK(failure.what() == std::string("Caddy isn't installed."));
    CHECK(failure.finding().help == "apt-get install caddy");
  }
  const auto broken = dir.script("broken", "echo 'Error: no such option' >&2\nexit 3\n");
  CHECK_THROWS_WITH(Caddy({.program = broken, .settings = settings}),
                    "Caddy exited at once: Error: no such option");
}
