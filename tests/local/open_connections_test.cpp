// Connections to containers on which requests have gone on for long.
#include "reconcilers/embedded/ingress/open_connections.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <thread>

#include "controller/base/descriptor.h"

using namespace berth;
using namespace berth::embedded;
using namespace std::chrono_literals;

namespace {

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(std::uint16_t(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A server that accepts connections and never answers.
struct Silent {
  Descriptor socket{::socket(AF_INET, SOCK_STREAM, 0)};
  int port = 0;
  std::vector<Descriptor> accepted;

  Silent() {
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    REQUIRE(bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(listen(socket.get(), 8) == 0);
    getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(port); }
  // A client that has sent something.
  Descriptor request() {
    Descriptor client{::socket(AF_INET, SOCK_STREAM, 0)};
    const sockaddr_in to = loopback(port);
    REQUIRE(connect(client.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
    accepted.emplace_back(accept(socket.get(), nullptr, nullptr));
    REQUIRE(send(client.get(), "x", 1, 0) == 1);
    return client;
  }
};

}  // namespace

TEST_CASE("connections on which nothing was sent for long are counted by their address") {
  Silent shop;
  Silent other;
  const std::set<std::string> both = {shop.address(), other.address()};
  std::vector<Descriptor> clients;
  clients.push_back(shop.request());
  clients.push_back(shop.request());
  clients.push_back(other.request());
  CHECK(open_connections(both, 1min).empty());
  std::this_thread::sleep_for(300ms);
  CHECK(open_connections(both, 100ms) ==
        std::map<std::string, std::int64_t>{{shop.address(), 2}, {other.address(), 1}});
  CHECK(open_connections({other.address()}, 100ms) ==
        std::map<std::string, std::int64_t>{{other.address(), 1}});
  CHECK(open_connections({}, 100ms).empty());
  REQUIRE(send(clients.front().get(), "x", 1, 0) == 1);
  CHECK(open_connections({shop.address()}, 100ms).at(shop.address()) == 1);
  clients.clear();
  CHECK(open_connections(both, 0ms).empty());
}
