// The parts of the ingress controller that need no Caddy.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>

#include "reconcilers/embedded/node/finding.h"
#include "tests/local/ingress_world.h"

using namespace berth;
using namespace berth::embedded;
using namespace berth::embedded::tests;

namespace {

Routes routes_in(Objects& objects) {
  const Lock lock(objects.store.mutex());
  return routes_of(objects.store, objects.name_space, objects.address_of());
}

std::string line_of(const std::string& secret, const std::string& host, int status,
                    double seconds) {
  return R"({"level":"info","logger":"http.log.access",")" + secret +
         R"(":"handled request","request":{"host":")" + host + R"("},"duration":)" +
         std::to_string(seconds) + R"(,"size":5,"status":)" + std::to_string(status) + "}\n";
}

void send_to(int port, const std::string& line) {
  const Descriptor socket{::socket(AF_INET, SOCK_DGRAM, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(std::uint16_t(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sendto(socket.get(), line.data(), line.size(), 0, reinterpret_cast<sockaddr*>(&address),
         sizeof address);
}

std::int64_t answers(const AccessLog& log, const std::string& host) {
  const auto counted = log.of(host);
  std::int64_t sum = 0;
  if (counted)
    for (const std::int64_t number : counted->by_class) sum += number;
  return counted ? sum : -1;
}

CaddySettings some_settings() {
  return {.directory = "/data/local/caddy",
          .http = {"", 80},
          .https = IngressAddress{"", 443},
          .console_hosts = {"berth.example.org"},
          .console_url = "https://berth.example.org",
          .acme_directory = "https://acme.example.org/directory",
          .acme_ca_file = "",
          .log_port = 4711,
          .secret = "a-secret"};
}

}  // namespace

TEST_CASE("a route leads from the host by Ingress and Service to the ready pods") {
  Objects objects;
  objects.deploy("web", "web.apps.localhost");
  CHECK(routes_in(objects).at("web.apps.localhost").upstreams.empty());
  objects.run("old", "web", "10.0.0.2:8080");
  CHECK(routes_in(objects).at("web.apps.localhost") ==
        Route{{"10.0.0.2:8080"}, false, "app-1", "web", "http"});
  const auto upstreams = [&] { return routes_in(objects).at("web.apps.localhost").upstreams; };
  objects.run("new", "web", "10.0.0.3:8080", false, "2026-01-01T00:00:09Z");
  CHECK(upstreams() == std::vector<std::string>{"10.0.0.2:8080"});
  objects.run("new", "web", "10.0.0.3:8080", true, "2026-01-01T00:00:09Z");
  CHECK(upstreams() == std::vector<std::string>{"10.0.0.3:8080", "10.0.0.2:8080"});
  objects.run("of-another", "other", "10.0.0.4:8080", true, "2026-01-01T00:00:19Z");
  CHECK(upstreams().size() == 2);
  // A pod that ends leaves at once, although it is still ready.
  objects.put(
      Kind::pods, "new",
      {{"metadata", {{"labels", {{"app", "web"}}}, {"deletionTimestamp", "2026-01-01T00:00:20Z"}}},
       {"status", {{"conditions", Json::array({{{"type", "Ready"}, {"status", "True"}}})}}}});
  CHECK(upstreams() == std::vector<std::string>{"10.0.0.2:8080"});
  // A container that the node doesn't know yet.
  objects.run("old", "web", "");
  CHECK(routes_in(objects).at("web.apps.localhost").is_unsettled);
  objects.remove(Kind::services, "web");
  CHECK(routes_in(objects).at("web.apps.localhost").upstreams.empty());
  objects.remove(Kind::ingresses, "web");
  CHECK(routes_in(objects).empty());
}

TEST_CASE("hosts that aren't names are no routes") {
  Objects objects;
  for (const char* host : {"", "..", "*", "*.apps.localhost", "a/b", "a b", "UPPER.localhost",
                           "[::1]", "127.0.0.1", "a\\b"}) {
    INFO(host);
    objects.deploy("web", host);
    CHECK(routes_in(objects).empty());
  }
}

TEST_CASE("route files are one per host, and change without a gap") {
  const test::TempDir dir;
  RouteFiles files(dir / "caddy");
  files.set("web.apps.localhost", {});
  CHECK(files.hosts() == std::set<std::string>{"web.apps.localhost"});
  files.set("web.apps.localhost", {"127.0.0.1:1"});
  files.set("web.apps.localhost", {"127.0.0.1:2"});
  std::vector<std::string> found;
  for (const auto& entry :
       std::filesystem::directory_iterator(files.upstreams() / "web.apps.localhost"))
    found.push_back(entry.path().filename());
  CHECK(found == std::vector<std::string>{"127.0.0.1:2"});
  files.set_secure("web.apps.localhost", true);
  CHECK(std::filesystem::exists(files.secured() / "web.apps.localhost"));
  files.remove("web.apps.localhost");
  CHECK(files.hosts().empty());
  CHECK_FALSE(std::filesystem::exists(files.secured() / "web.apps.localhost"));
  CHECK((std::filesystem::status(dir / "caddy").permissions() &
         std::filesystem::perms::others_all) == std::filesystem::perms::none);
}

TEST_CASE("several containers are spread evenly over the places of a host") {
  const test::TempDir dir;
  RouteFiles files(dir / "caddy");
  const std::filesystem::path places = files.spread() / "web.apps.localhost";
  const auto file_in = [](const std::filesystem::path& directory) {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory))
      found.push_back(entry.path().filename());
    REQUIRE(found.size() == 1);
    return found.front();
  };
  const auto check = [&](const std::vector<std::string>& addresses) {
    std::map<std::string, size_t> uses;
    size_t count = 0;
    for (const auto& place : std::filesystem::directory_iterator(places)) {
      const std::string first = file_in(place.path() / "first");
      const std::string second = file_in(place.path() / "second");
      CHECK(first != second);
      ++uses[first];
      ++uses[second];
      ++count;
    }
    CHECK(count == 16);
    CHECK(uses.size() == addresses.size());
    for (const std::string& address : addresses)
      CHECK(std::abs(int(uses[address]) - int(32 / addresses.size())) <= 2);
  };
  for (const std::vector<std::string>& addresses :
       {std::vector<std::string>{"127.0.0.1:1", "127.0.0.1:2"},
        std::vector<std::string>{"127.0.0.1:3", "127.0.0.1:2", "127.0.0.1:1"},
        std::vector<std::string>{"127.0.0.1:3", "127.0.0.1:1"}}) {
    files.set("web.apps.localhost", addresses);
    check(addresses);
    CHECK(file_in(files.upstreams() / "web.apps.localhost") == addresses.front());
  }
  files.set("web.apps.localhost", {"127.0.0.1:1"});
  CHECK_FALSE(std::filesystem::exists(places));
  files.set("web.apps.localhost", {"127.0.0.1:1", "127.0.0.1:2"});
  files.remove("web.apps.localhost");
  CHECK_FALSE(std::filesystem::exists(places));
}

TEST_CASE("the configuration has no host of an app in it, and stays the same") {
  const Json config = caddy_config(some_settings());
  CHECK(config == caddy_config(some_settings()));
  CHECK(at_path(config, "/admin/enforce_origin") == true);
  CHECK(at_path(config, "/apps/http/servers/http/listen") == Json::array({":80"}));
  CHECK(at_path(config, "/apps/http/servers/https/listen") == Json::array({":443"}));
  for (const char* server : {"http", "https"}) {
    const Json& made = config["apps"]["http"]["servers"][server];
    CHECK(made["read_header_timeout"] == "15s");
    CHECK(made["max_header_bytes"] == 65'536);
    CHECK(made["protocols"] == Json({"h1", "h2"}));
  }
  CHECK(at_path(config, "/apps/tls/automation/on_demand/ask") ==
        "http://127.0.0.1:80/a-secret/ask");
  CaddySettings plain = some_settings();
  plain.https.reset();
  CHECK(at_path(caddy_config(plain), "/apps/tls").is_null());
  CHECK(caddy_config(plain).dump().find("a-secret/ask") == std::string::npos);
}

TEST_CASE("addresses are written as Caddy and this machine need them") {
  CHECK(IngressAddress{"", 80}.text() == ":80");
  CHECK(IngressAddress{"", 80}.local() == "127.0.0.1:80");
  CHECK(IngressAddress{"0.0.0.0", 80}.local() == "127.0.0.1:80");
  CHECK(IngressAddress{"::", 80}.text() == "[::]:80");
  CHECK(IngressAddress{"::", 80}.local() == "[::1]:80");
  CHECK(IngressAddress{"192.0.2.1", 8000}.local() == "192.0.2.1:8000");
}

TEST_CASE("requests are counted by host, class and time") {
  AccessLog log(0, "secret", nullptr);
  log.add("web.apps.localhost");
  log.take(line_of("secret", "web.apps.localhost", 200, 0.003));
  log.take(line_of("secret", "web.apps.localhost:8000", 404, 0.06));
  log.take(line_of("secret", "web.apps.localhost", 502, 99));
  log.take(line_of("secret", "web.apps.localhost", 101, 99));
  log.take(line_of("secret", "web.apps.localhost", 0, 99));
  const HostTraffic seen = log.of("web.apps.localhost").value();
  CHECK(seen.by_class == std::array<std::int64_t, 4>{1, 0, 1, 1});
  CHECK(seen.within.front() == 1);
  CHECK(seen.within.at(4) == 1);
  CHECK(seen.within.back() == 1);
  CHECK(seen.seconds == Approx(99.063));
  log.remove("web.apps.localhost");
  CHECK_FALSE(log.of("web.apps.localhost"));
}

TEST_CASE("lines that Caddy didn't write, and hosts that don't exist, aren't counted") {
  AccessLog log(0, "secret", nullptr);
  log.add("web.apps.localhost");
  log.take(line_of("guess", "web.apps.localhost", 200, 0.003));
  log.take("");
  log.take("\"secret\":\"");
  log.take("{\"secret\":\"handled request\",\"logger\":\"http.log.access\",\"status\":200");
  for (int i = 0; i < 1'000; ++i)
    log.take(line_of("secret", "host-" + std::to_string(i) + ".example", 200, 0.1));
  log.take(line_of("secret", R"(web.apps.localhost\"},\"x)", 200, 0.1));
  CHECK(answers(log, "web.apps.localhost") == 0);
  CHECK(log.all().size() == 1);
}

TEST_CASE("why a certificate couldn't be issued is read from Caddy's log") {
  std::string host;
  std::string why;
  AccessLog log(0, "secret", [&](const std::string& h, const std::string& w) {
    host = h;
    why = w;
  });
  log.take(
      R"({"level":"error","logger":"tls.obtain","secret":"could not get certificate from issuer","identifier":"a.example","issuer":"x","error":"HTTP 403: no"})");
  CHECK(host == "a.example");
  CHECK(why == "HTTP 403: no");
  host.clear();
  log.take(
      R"({"level":"error","logger":"http.log.error","secret":"x","identifier":"b.example","error":"no"})");
  log.take(
      R"({"level":"error","logger":"tls.obtain","forged":"x","identifier":"b.example","error":"no"})");
  CHECK(host.empty());
  // The authority's own words are the reason, if it has said any about a challenge.
  log.take(
      R"({"level":"error","logger":"tls.issuance.acme.acme_client","secret":"challenge failed","identifier":"c.example","challenge_type":"http-01","problem":{"type":"x","detail":"192.0.2.1: Connection refused"}})");
  CHECK(host.empty());
  log.take(
      R"({"level":"error","logger":"tls.obtain","secret":"could not get certificate from issuer","identifier":"c.example","error":"no solvers available"})");
  CHECK(host == "c.example");
  CHECK(why == "192.0.2.1: Connection refused");
  log.take(
      R"({"level":"error","logger":"http.acme_client","secret":"challenge failed","identifier":"d.example","challenge_type":"http-01","error":"192.0.2.2: Connection refused"})");
  log.take(
      R"({"level":"error","logger":"tls.obtain","secret":"could not get certificate from issuer","identifier":"d.example","error":"no solvers available"})");
  CHECK(why == "192.0.2.2: Connection refused");
}

TEST_CASE("twenty thousand lines a second are all counted") {
  constexpr int lines = 40'000;
  constexpr int at_once = 20;  // each millisecond
  AccessLog log(0, "secret", nullptr);
  log.add("web.apps.localhost");
  const std::string line = line_of("secret", "web.apps.localhost", 200, 0.003);
  const Descriptor socket{::socket(AF_INET, SOCK_DGRAM, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(std::uint16_t(log.port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  auto next = std::chrono::steady_clock::now();
  for (int sent = 0; sent < lines; sent += at_once) {
    for (int i = 0; i < at_once; ++i) send(socket.get(), line.data(), line.size(), 0);
    std::this_thread::sleep_until(next += 1ms);
  }
  CHECK(eventually(
      [&] { return answers(log, "web.apps.localhost") + std::int64_t(log.lost()) == lines; }));
  CHECK(log.lost() == 0);
}

TEST_CASE("what takes no datagrams is told by the port, and another process may have it") {
  AccessLog first(0, "secret", nullptr);
  AccessLog second(first.port(), "secret", nullptr);
  CHECK(first.port() != second.port());
  second.add("a");
  send_to(second.port(), line_of("secret", "a", 200, 0.1));
  CHECK(eventually([&] { return answers(second, "a") == 1; }));
}

TEST_CASE("a port that is taken is said with the command that shows by whom") {
  App other("other");
  const int port = other.listening->port();
  try {
    check_ingress_address({"127.0.0.1", port}, "ingress-http");
    FAIL("it isn't taken");
  } catch (const Unusable& failure) {
    CHECK(failure.what() ==
          "another program listens on 127.0.0.1:" + std::to_string(port) + " (ingress-http).");
    CHECK(failure.finding().help.find("ss -ltnp") == 0);
  }
  const test::TempDir dir;
  CHECK_THROWS_AS(
      Ingress({.directory = dir / "caddy", .http = {"127.0.0.1", port}, .acme_directory = ""}),
      Unusable);
  CHECK_THROWS_WITH(
      Ingress({.directory = dir / "cad[dy", .http = {"127.0.0.1", 0}, .acme_directory = ""}),
      Catch::Contains("which Caddy takes for patterns"));
  CHECK_NOTHROW(check_ingress_address({"127.0.0.1", 0}, "ingress-http"));
}

TEST_CASE("a certificate is ordered once, and again only for another order") {
  std::mutex mutex;
  std::vector<std::string> asked;
  ServedCertificate outcome{.stage = ServedCertificate::Stage::failed, .reason = "no"};
  ServedCertificates certificates(
      [&](const std::string& host, const std::stop_token&) {
        const std::lock_guard lock(mutex);
        asked.push_back(host);
        return outcome;
      },
      1ms);
  const auto asked_for = [&] {
    const std::lock_guard lock(mutex);
    return asked.size();
  };
  using Stage = ServedCertificate::Stage;
  CHECK_FALSE(certificates.may_have("a.example"));
  CHECK(certificates.of("a.example", "1").stage == Stage::pending);
  CHECK(eventually([&] { return certificates.of("a.example", "1").stage == Stage::failed; }));
  // A server that refuses without a reason is asked three times more.
  CHECK(asked_for() == 4);
  CHECK_FALSE(certificates.may_have("a.example"));
  {
    const std::lock_guard lock(mutex);
    outcome = {.stage = Stage::served, .from = Instant(1s), .until = Instant(2s)};
  }
  CHECK(certificates.of("a.example", "2").stage == Stage::pending);
  CHECK(certificates.may_have("a.example"));
  CHECK(eventually([&] { return certificates.of("a.example", "2").stage == Stage::served; }));
  CHECK(asked_for() == 5);
  // While it is served, neither another order nor a renewal that fails change anything.
  certificates.failed("a.example", "rate limited");
  CHECK(certificates.of("a.example", "3").until == Instant(2s));
  CHECK(asked_for() == 5);
  certificates.forget("a.example");
  CHECK_FALSE(certificates.may_have("a.example"));
  certificates.always({"berth.example"});
  CHECK(certificates.may_have("berth.example"));
}

TEST_CASE("Caddy's own words about a failure count more than the handshake's") {
  std::atomic<bool> go_on = false;
  std::atomic<int> handshakes = 0;
  ServedCertificates certificates(
      [&](const std::string&, const std::stop_token& stop) {
        ++handshakes;
        while (!go_on && !stop.stop_requested()) std::this_thread::sleep_for(1ms);
        return ServedCertificate{.stage = ServedCertificate::Stage::failed, .reason = "handshake"};
      },
      1ms);
  certificates.of("a.example", "1");
  certificates.failed("a.example", "HTTP 403");
  certificates.failed("never.asked.example", "HTTP 403");
  CHECK(certificates.of("a.example", "1").reason == "HTTP 403");
  go_on = true;
  std::this_thread::sleep_for(20ms);
  CHECK(certificates.of("a.example", "1").reason == "HTTP 403");
  CHECK(handshakes == 1);
}
