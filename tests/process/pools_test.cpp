// What one client behind a proxy can take of the pools that all requests share.
#include <catch2/catch.hpp>

#include "tests/process/client.h"
#include "tests/process/raw.h"

using namespace berth::process;

namespace {

constexpr int connections = 64;
constexpr int binds_at = 48;
constexpr int without_reserve = 60;

using Connections = std::vector<std::unique_ptr<Raw>>;

std::string forwarded_for(const std::string& client) {
  return "Host: localhost\r\nX-Forwarded-For: " + client + "\r\n";
}

// A request whose body doesn't come.
std::unique_ptr<Raw> hold(const Berthd& berthd, const std::string& client) {
  auto held = std::make_unique<Raw>(berthd.port());
  held->send("POST /api/auth/login HTTP/1.1\r\n" + forwarded_for(client) +
             "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{");
  return held;
}

int status_of(const Berthd& berthd, const std::string& path, const std::string& client,
              const std::string& more = "") {
  const Raw raw(berthd.port());
  raw.send("GET " + path + " HTTP/1.1\r\n" + forwarded_for(client) + more +
           "Connection: close\r\n\r\n");
  const std::string answer = raw.receive();
  REQUIRE(answer.size() > 12);
  return std::stoi(answer.substr(9, 3));
}

// Whether the client's request finds no place. If it finds one, it may have been in the way of a
// request that was to be held, since the server takes a place once it has read the head. Therefore
// another one is held then.
bool is_refused(const Berthd& berthd, const std::string& path, const std::string& client,
                Connections& held, const std::string& fields = "") {
  if (status_of(berthd, path, client, fields) == 503) return true;
  held.push_back(hold(berthd, client));
  return false;
}

}  // namespace

TEST_CASE("one client behind a proxy doesn't take every request's place, nor all clients /health",
          "[pool:requests]") {
  const Berthd berthd({"--trusted-proxies", "127.0.0.0/8", "--max-connections",
                       std::to_string(connections), "--request-timeout", "60s"});
  constexpr const char* document = "/.well-known/openapi.json";
  Connections held;
  for (int i = 0; i < binds_at; ++i) held.push_back(hold(berthd, "203.0.113.5"));
  CHECK(eventually([&] { return is_refused(berthd, document, "203.0.113.5", held); }));
  CHECK(status_of(berthd, document, "198.51.100.1") == 200);
  CHECK(status_of(berthd, document, "2001:db8::1") == 200);
  // Its own neighbours, and the client itself, still learn that the server is up.
  CHECK(status_of(berthd, "/health", "203.0.113.5") == 200);
  CHECK(status_of(berthd, "/health", "203.0.113.9") == 200);

  // Many networks take all places but those in reserve.
  for (int i = 0; i < without_reserve - binds_at; ++i)
    held.push_back(hold(berthd, "198.51." + std::to_string(i) + ".1"));
  CHECK(eventually([&] { return is_refused(berthd, document, "192.0.2.1", held); }));
  CHECK(status_of(berthd, "/health", "192.0.2.1") == 200);
  const std::string secret = "x-internal-secret: ";
  CHECK(status_of(berthd, "/api/internal/treasury", "192.0.2.1",
                  secret + berthd.internal_secret() + "\r\n") == 200);
  CHECK(eventually([&] {
    return is_refused(berthd, "/api/internal/treasury", "192.0.2.1", held, secret + "wrong\r\n");
  }));
  held.clear();
  CHECK(eventually([&] { return status_of(berthd, document, "203.0.113.5") == 200; }));
}
