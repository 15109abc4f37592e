// Certificates by ACME, from Pebble, which checks each host as a public certificate authority does.
// The test cluster builds Pebble (tests/kube); without it, the cases say so and pass.
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>

#include "controller/base/curl.h"
#include "reconcilers/embedded/controllers/self_signed.h"
#include "tests/local/ingress_world.h"

extern char** environ;

using namespace berth;
using namespace berth::embedded;
using namespace berth::embedded::tests;
using Stage = ServedCertificate::Stage;

namespace {

// The newest program of this name that the test cluster has built; empty if there is none.
std::string built(const std::string& name) {
  const char* home = std::getenv("HOME");
  const std::filesystem::path folder =
      std::filesystem::path(home == nullptr ? "/root" : home) / ".cache/berth/kube/bin";
  std::vector<std::string> found;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
    const std::string file = entry.path().filename();
    if (file.starts_with(name + "-") && std::isdigit(file.at(name.size() + 1)) != 0)
      found.push_back(entry.path());
  }
  return found.empty() ? "" : *std::ranges::max_element(found);
}

bool can_run() {
  const bool found =
      has_caddy() && !built("pebble").empty() && !built("pebble-challtestsrv").empty();
  if (!found)
    WARN("Caddy or Pebble isn't there, so this isn't tested: tests/kube/cluster builds it");
  return found;
}

int free_port() { return api::listen_on("127.0.0.1", 0).port; }

// A program that runs as long as this object lives.
class Program {
 public:
  Program(std::vector<std::string> command, const std::filesystem::path& log) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    if (posix_spawn(&pid_, words.front(), &files, nullptr, words.data(), environ) != 0)
      throw std::runtime_error("can't start " + command.front());
    posix_spawn_file_actions_destroy(&files);
  }
  ~Program() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

 private:
  pid_t pid_ = 0;
};

struct Page {
  CURLcode result = CURLE_OK;
  long status = 0;
  long version = 0;
  std::string body;
};

size_t take(char* data, size_t, size_t count, void* into) noexcept {
  static_cast<std::string*>(into)->append(data, count);
  return count;
}

// Pebble, its DNS server, for which every name leads to this machine, and an ingress controller
// that orders there.
struct Authority {
  explicit Authority(const test::TempDir& dir) : dir_(dir) {
    const SelfSigned own = self_signed({"localhost"});
    dir.write("pebble.crt", own.certificate);
    dir.write("pebble.key", own.key);
    world = std::make_unique<World>(dir / "caddy", true,
                                    "https://localhost:" + std::to_string(port) + "/dir",
                                    (dir / "pebble.crt").string());
    const Json config = {{"pebble",
                          {{"listenAddress", "127.0.0.1:" + std::to_string(port)},
                           {"managementListenAddress", "127.0.0.1:" + std::to_string(management)},
                           {"certificate", (dir / "pebble.crt").string()},
                           {"privateKey", (dir / "pebble.key").string()},
                           {"httpPort", world->port()},
                           {"tlsPort", world->ingress->settings().https->port}}}};
    const auto file = dir.write("pebble.json", config.dump());
    setenv("PEBBLE_VA_NOSLEEP", "1", 1);
    setenv("PEBBLE_WFE_NONCEREJECT", "0", 1);
    const std::string dns_address = "127.0.0.1:" + std::to_string(dns);
    names = std::make_unique<Program>(
        std::vector<std::string>{built("pebble-challtestsrv"), "-dnsserver", dns_address, "-http01",
                                 "", "-https01", "", "-tlsalpn01", "", "-doh", "", "-management",
                                 "127.0.0.1:" + std::to_string(names_management), "-defaultIPv6",
                                 "", "-defaultIPv4", "127.0.0.1"},
        dir / "names.log");
    pebble = std::make_unique<Program>(
        std::vector<std::string>{built("pebble"), "-config", file.string(), "-dnsserver",
                                 dns_address},
        dir / "pebble.log");
    REQUIRE(eventually([&] { return !roots().empty(); }));
  }

  std::string roots() const {
    curl::Easy easy;
    std::string text;
    easy.set(CURLOPT_URL, "https://127.0.0.1:" + std::to_string(management) + "/roots/0");
    easy.set(CURLOPT_SSL_VERIFYPEER, 0L);
    easy.set(CURLOPT_SSL_VERIFYHOST, 0L);
    easy.set(CURLOPT_WRITEFUNCTION, &take);
    easy.set(CURLOPT_WRITEDATA, &text);
    return easy.perform() == CURLE_OK ? text : "";
  }

  // From now on, this name leads to an address at which nobody listens.
  void mislead(const std::string& host) const {
    httplib::Client client("127.0.0.1", names_management);
    const Json record = {{"host", host}, {"addresses", {"127.9.9.9"}}};
    REQUIRE(eventually([&] {
      const auto done = client.Post("/add-a", record.dump(), "application/json");
      return done && done->status == 200;
    }));
  }

  // What a visitor gets who trusts Pebble alone.
  Page visit(const std::string& host) const {
    const int https = world->ingress->settings().https->port;
    curl::Easy easy;
    curl::Lines where;
    where.add("::127.0.0.1:" + std::to_string(https));
    Page page;
    const auto file = dir_.write("roots.pem", roots());
    easy.set(CURLOPT_URL, "https://" + host + ":" + std::to_string(https) + "/");
    easy.set(CURLOPT_CONNECT_TO, where);
    easy.set(CURLOPT_CAINFO, file.string());
    easy.set(CURLOPT_HTTP_VERSION, long(CURL_HTTP_VERSION_2TLS));
    easy.set(CURLOPT_WRITEFUNCTION, &take);
    easy.set(CURLOPT_WRITEDATA, &page.body);
    page.result = easy.perform();
    page.status = easy.status();
    curl_easy_getinfo(easy.get(), CURLINFO_HTTP_VERSION, &page.version);
    return page;
  }

  const test::TempDir& dir_;
  const int port = free_port();
  const int management = free_port();
  const int dns = free_port();
  const int names_management = free_port();
  std::unique_ptr<World> world;
  std::unique_ptr<Program> names;
  std::unique_ptr<Program> pebble;
};

}  // namespace

TEST_CASE("hosts get certificates when they may, and no other host does", "[caddy]") {
  if (!can_run()) return;
  const test::TempDir dir;
  Authority acme(dir);
  World& world = *acme.world;
  App web("web");
  world.objects.deploy("web", "web.shop.test");
  world.objects.run("web-1", "web", web.address());
  world.start({{"berth.test"}, "https://berth.test"});
  REQUIRE(eventually([&] { return world.body("web.shop.test") == "web"; }));
  // The host is served, but has no Certificate.
  CHECK(acme.visit("web.shop.test").result != CURLE_OK);
  // berthd's own host needs none.
  CHECK(eventually([&] { return acme.visit("berth.test").status == 503; }));

  const auto start = std::chrono::steady_clock::now();
  CHECK(world.ingress->certificate("web.shop.test", "uid-1").stage == Stage::pending);
  REQUIRE(eventually(
      [&] { return world.ingress->certificate("web.shop.test", "uid-1").stage == Stage::served; }));
  const ServedCertificate served = world.ingress->certificate("web.shop.test", "uid-1");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::cout << "      a certificate was served " << took.count() << " s after it was allowed\n";
  CHECK(served.from <= Instant(std::chrono::duration_cast<Instant::duration>(
                           std::chrono::system_clock::now().time_since_epoch())));
  CHECK(served.until > served.from);
  const Page page = acme.visit("web.shop.test");
  CHECK(page.result == CURLE_OK);
  CHECK(page.body == "web");
  CHECK(page.version == CURL_HTTP_VERSION_2_0);

  const auto plain = world.get("web.shop.test", "/a?b=c");
  CHECK(plain->status == 308);
  CHECK(plain->get_header_value("Location") ==
        "https://web.shop.test:" + std::to_string(world.ingress->settings().https->port) +
            "/a?b=c");

  // Handshakes for other names order nothing.
  for (const char* host : {"other.shop.test", "shop.test", "x.web.shop.test"}) {
    INFO(host);
    CHECK(acme.visit(host).result != CURLE_OK);
  }
  const std::string log = dir.read("pebble.log");
  CHECK(log.find("web.shop.test") != std::string::npos);
  CHECK(log.find("other.shop.test") == std::string::npos);
  CHECK(log.find("x.web.shop.test") == std::string::npos);
}

TEST_CASE("a certificate that can't be issued fails for the reason that the authority gives",
          "[caddy]") {
  if (!can_run()) return;
  const test::TempDir dir;
  Authority acme(dir);
  World& world = *acme.world;
  acme.mislead("lost.shop.test");
  world.objects.deploy("web", "lost.shop.test");
  world.start({{"berth.test"}, "https://berth.test"});
  ServedCertificate seen;
  const bool has_failed = eventually([&] {
    seen = world.ingress->certificate("lost.shop.test", "uid-1");
    return seen.stage == Stage::failed && seen.reason.find("127.9.9.9") != std::string::npos;
  });
  INFO("stage " << int(seen.stage) << ", " << seen.reason);
  REQUIRE(has_failed);
  CHECK(world.ingress->certificate("lost.shop.test", "uid-1").stage == Stage::failed);
  CHECK(world.status("lost.shop.test") == 503);
}
