// The address of a request's caller, behind proxies that are trusted or not.
#include "api/gate/client_address.h"

#include <catch2/catch.hpp>

namespace {

using namespace berth;
using namespace berth::api;

constexpr const char* proxy = "10.0.0.1";

std::string address_of(const std::vector<std::string>& lines, const std::string& peer = proxy) {
  std::vector<AddressRange> trusted;
  for (const char* range : {"10.0.0.0/8", "2001:db8:ffff::/48"})
    trusted.push_back(parse_address_range(range).value());
  Request request;
  request.remote_address = peer;
  request.headers.add("x-forwarded-proto", "https");
  for (const std::string& line : lines) request.headers.add("x-forwarded-for", line);
  return client_address(request, trusted);
}

TEST_CASE("the client's address is the last one that no trusted proxy has") {
  CHECK(address_of({}) == proxy);
  CHECK(address_of({"192.0.2.1"}) == "192.0.2.1");
  CHECK(address_of({"203.0.113.9, 192.0.2.1"}) == "192.0.2.1");
  CHECK(address_of({"203.0.113.9,\t192.0.2.1 , 10.2.0.1,10.0.0.7"}) == "192.0.2.1");
  CHECK(address_of({"192.0.2.1"}, "192.0.2.99") == "192.0.2.99");
  CHECK(address_of({"10.0.0.3, 10.0.0.2"}) == "10.0.0.3");
}

TEST_CASE("all X-Forwarded-For lines form one list, since a proxy may append a line of its own") {
  CHECK(address_of({"203.0.113.1", "192.0.2.1"}) == "192.0.2.1");
  CHECK(address_of({"203.0.113.1, 203.0.113.2", "192.0.2.1, 10.0.0.2"}) == "192.0.2.1");
  CHECK(address_of({"203.0.113.1", "192.0.2.1", "10.0.0.2", "10.0.0.3"}) == "192.0.2.1");
}

TEST_CASE("an entry that isn't an address ends the reading at the proxy that wrote it") {
  for (const char* entry :
       {"", " ", "unknown", "_hidden", "for=192.0.2.1", "192.0.2", "256.0.0.1",
        "192.0.2.1:", "192.0.2.1:x", "192.0.2.1:123456", "[192.0.2.1]", "[::1", "[2001:db8::1]x",
        "[2001:db8::1]:", "2001:db8::1%eth0", "\"192.0.2.1\"", "example.org"}) {
    INFO(entry);
    CHECK(address_of({std::string("203.0.113.9, ") + entry}) == proxy);
    CHECK(address_of({"203.0.113.9", entry}) == proxy);
    CHECK(address_of({std::string("203.0.113.9, ") + entry + ", 10.0.0.2"}) == "10.0.0.2");
  }
}

TEST_CASE("an address may have a port, and IPv6 has two forms") {
  CHECK(address_of({"192.0.2.1:4711"}) == "192.0.2.1");
  CHECK(address_of({"2001:db8::1"}) == "2001:db8::1");
  CHECK(address_of({"2001:DB8:0::1"}) == "2001:db8::1");
  CHECK(address_of({"[2001:db8::1]"}) == "2001:db8::1");
  CHECK(address_of({"[2001:db8::1]:443"}) == "2001:db8::1");
  CHECK(address_of({"203.0.113.9, [2001:db8::1]:443, [2001:db8:ffff::2]:1"}) == "2001:db8::1");
  CHECK(address_of({"192.0.2.1"}, "2001:db8:ffff::1") == "192.0.2.1");
}

TEST_CASE("an IPv4 address in the notation of IPv6 is the IPv4 address") {
  CHECK(address_of({"::ffff:192.0.2.1"}) == "192.0.2.1");
  CHECK(address_of({"203.0.113.9, 192.0.2.1, ::ffff:10.0.0.2"}) == "192.0.2.1");
  CHECK(address_of({"192.0.2.1"}, "::ffff:10.0.0.1") == "192.0.2.1");
}

TEST_CASE("an endless chain of trusted proxies isn't followed to its end") {
  std::string chain = "192.0.2.1";
  for (int i = 1; i < max_forwarding_proxies; ++i) chain += ", 10.0.0.2";
  CHECK(address_of({chain}) == "192.0.2.1");
  CHECK(address_of({chain + ", 10.0.0.3"}) == "10.0.0.2");
}

TEST_CASE("the proxy that berthd has started speaks for its clients, and nobody else does") {
  CHECK(address_of({"192.0.2.1"}, "unix") == "192.0.2.1");
  CHECK(address_of({"203.0.113.9, 192.0.2.1"}, "unix") == "192.0.2.1");
  CHECK(address_of({"192.0.2.1, 10.0.0.2"}, "unix") == "192.0.2.1");
  CHECK(address_of({}, "unix") == "unix");
  CHECK(address_of({"unix"}, "unix") == "unix");
  Request request;
  request.remote_address = "unix";
  request.headers.add("x-forwarded-for", "203.0.113.9, 192.0.2.1");
  CHECK(client_address(request, {}) == "192.0.2.1");
  request.remote_address = "127.0.0.1";
  CHECK(client_address(request, {}) == "127.0.0.1");
}

}  // namespace
