#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/kube_client/api_server.h"
#include "tests/kube_client/certificates.h"
#include "tests/temp_dir.h"

using namespace berth::kube;
using berth::test::TempDir;

namespace {

enum class Clients { anybody, with_certificate };

// An API server over TLS, and what is needed to talk to it.
struct TlsWorld {
  explicit TlsWorld(Clients clients, const std::string& names = "IP:127.0.0.1") {
    const Identity own = ca.sign("api", names);
    const auto certificate = dir.write("api.crt", own.certificate);
    const auto key = dir.write("api.key", own.key);
    const auto client_ca = dir.write("ca.crt", ca.identity().certificate);
    const char* wanted = clients == Clients::with_certificate ? client_ca.c_str() : nullptr;
    server = std::make_unique<ApiServer>(
        [](const httplib::Request& request, httplib::Response& response) {
          response.set_content("hello " + request.get_header_value("Host"), "text/plain");
        },
        std::make_unique<httplib::SSLServer>(certificate.c_str(), key.c_str(), wanted));
    config = server->config("https");
    config.ca_data = ca.identity().certificate;
  }
  std::string greeting() const { return "hello 127.0.0.1:" + std::to_string(server->port()); }

  TempDir dir;
  Authority ca{"the cluster's"};
  std::unique_ptr<ApiServer> server;
  Kubeconfig config;
};

// Takes one connection, refuses to connect it further, and remembers what was asked.
class RefusingProxy {
 public:
  RefusingProxy() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(listener_, any, size) == 0);
    REQUIRE(::listen(listener_, 1) == 0);
    REQUIRE(::getsockname(listener_, any, &size) == 0);
    port_ = ::ntohs(address.sin_port);
    thread_ = std::thread([this] { answer(); });
  }
  ~RefusingProxy() {
    if (thread_.joinable()) end();
    ::close(listener_);
  }
  RefusingProxy(const RefusingProxy&) = delete;
  int port() const { return port_; }
  std::string end() {
    ::shutdown(listener_, SHUT_RDWR);  // if nobody has come
    thread_.join();
    return seen_;
  }

 private:
  void answer() {
    const int connection = ::accept(listener_, nullptr, nullptr);
    if (connection < 0) return;
    std::array<char, 4096> buffer = {};
    while (seen_.find("\r\n\r\n") == std::string::npos) {
      const ssize_t size = ::recv(connection, buffer.data(), buffer.size(), 0);
      if (size <= 0) break;
      seen_.append(buffer.data(), size_t(size));
    }
    const std::string refusal = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n";
    ::send(connection, refusal.data(), refusal.size(), MSG_NOSIGNAL);
    ::close(connection);
  }

  int listener_;
  int port_ = 0;
  std::string seen_;
  std::thread thread_;
};

}  // namespace

TEST_CASE("the server's certificate is checked against the kubeconfig's authority alone") {
  TlsWorld world(Clients::anybody);
  SECTION("data") { CHECK(Client(world.config).raw("/") == world.greeting()); }
  SECTION("a file") {
    world.config.ca_data.reset();
    world.config.ca_file = world.dir / "ca.crt";
    CHECK(Client(world.config).raw("/") == world.greeting());
  }
  SECTION("another authority") {
    world.config.ca_data = Authority("another").identity().certificate;
    const ApiError error = error_from([&] { Client(world.config).raw("/"); });
    CHECK(error.unreachable());
    CHECK_THAT(error.what(), Catch::Contains("certificate"));
    world.config.ca_data.reset();
    world.config.insecure_skip_tls_verify = true;
    CHECK(Client(world.config).raw("/") == world.greeting());
  }
  SECTION("the system's authorities") {
    world.config.ca_data.reset();
    CHECK(error_from([&] { Client(world.config).raw("/"); }).unreachable());
  }
  SECTION("an authority that is no certificate") {
    world.config.ca_data = "-----BEGIN CERTIFICATE-----\nQQ==\n-----END CERTIFICATE-----\n";
    CHECK(error_from([&] { Client(world.config).raw("/"); }).unreachable());
  }
}

TEST_CASE("a proxy passes the encrypted connection on, and sees no credential") {
  TlsWorld world(Clients::anybody);
  world.config.token = "secret";
  RefusingProxy proxy;
  world.config.proxy_url = "http://127.0.0.1:" + std::to_string(proxy.port());
  CHECK(error_from([&] { Client(world.config).raw("/"); }).unreachable());
  const std::string seen = proxy.end();
  CHECK_THAT(seen, Catch::StartsWith("CONNECT 127.0.0.1:" + std::to_string(world.server->port())));
  CHECK_THAT(seen, !Catch::Contains("secret"));
}

TEST_CASE("requests act as somebody else if the kubeconfig says so") {
  TlsWorld world(Clients::anybody);
  world.config.impersonation = {
      {"Impersonate-User", "ada"}, {"Impersonate-Group", "a"}, {"Impersonate-Group", "b"}};
  Client(world.config).raw("/");
  const httplib::Request request = world.server->seen().at(0);
  CHECK(request.get_header_value("Impersonate-User") == "ada");
  CHECK(request.get_header_value_count("Impersonate-Group") == 2);
}

TEST_CASE("tls-server-name is the name that the certificate must have") {
  TlsWorld world(Clients::anybody, "DNS:api.example.test");
  CHECK(error_from([&] { Client(world.config).raw("/"); }).unreachable());
  world.config.tls_server_name = "other.example.test";
  CHECK(error_from([&] { Client(world.config).raw("/"); }).unreachable());
  world.config.tls_server_name = "api.example.test";
  CHECK(Client(world.config).raw("/") == world.greeting());
}

TEST_CASE("a client certificate is presented") {
  TlsWorld world(Clients::with_certificate);
  const Identity me = world.ca.sign("me", "");
  SECTION("none") {
    CHECK(error_from([&] { Client(world.config).raw("/"); }).unreachable());
  }
  SECTION("of another authority") {
    const Identity stranger = Authority("another").sign("me", "");
    world.config.client_certificate_data = stranger.certificate;
    world.config.client_key_data = stranger.key;
    CHECK(error_from([&] { Client(world.config).raw("/"); }).unreachable());
  }
  SECTION("a key that isn't its own") {
    world.config.client_certificate_data = me.certificate;
    world.config.client_key_data = world.ca.sign("you", "").key;
    CHECK(error_from([&] { Client(world.config).raw("/"); }).unreachable());
  }
  SECTION("data") {
    world.config.client_certificate_data = me.certificate;
    world.config.client_key_data = me.key;
    CHECK(Client(world.config).raw("/") == world.greeting());
  }
  SECTION("out of files, which are replaced by better ones while it runs") {
    const Identity stranger = Authority("another").sign("me", "");
    world.config.client_certificate_file = world.dir.write("me.crt", stranger.certificate);
    world.config.client_key_file = world.dir.write("me.key", stranger.key);
    Client client(world.config);
    CHECK(error_from([&] { client.raw("/"); }).unreachable());
    world.dir.write("me.crt", me.certificate);
    world.dir.write("me.key", me.key);
    CHECK(client.raw("/") == world.greeting());
  }
  SECTION("out of an exec plugin") {
    const nlohmann::json credential = {
        {"apiVersion", "client.authentication.k8s.io/v1"},
        {"kind", "ExecCredential"},
        {"status", {{"clientCertificateData", me.certificate}, {"clientKeyData", me.key}}}};
    world.dir.write("credential", credential.dump());
    ExecPlugin plugin;
    plugin.api_version = "client.authentication.k8s.io/v1";
    plugin.command = "cat";
    plugin.args = {(world.dir / "credential").string()};
    world.config.exec = plugin;
    CHECK(Client(world.config).raw("/") == world.greeting());
  }
}
