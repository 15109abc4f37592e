#include "controller/base/address_range.h"

#include <catch2/catch.hpp>

#include "tests/socket_address.h"

namespace {

using berth::parse_address_range;

bool is_in(const std::string& range, const std::string& address) {
  const sockaddr_storage storage = berth::test::socket_address(address);
  return contains(parse_address_range(range).value(), reinterpret_cast<const sockaddr&>(storage));
}

TEST_CASE("a range has the addresses that begin as it does") {
  CHECK(is_in("203.0.112.0/20", "203.0.112.0"));
  CHECK(is_in("203.0.112.0/20", "203.0.127.255"));
  CHECK_FALSE(is_in("203.0.112.0/20", "203.0.111.255"));
  CHECK_FALSE(is_in("203.0.112.0/20", "203.0.128.0"));
  CHECK(is_in("0.0.0.0/0", "255.255.255.255"));
  CHECK(is_in("192.0.2.7", "192.0.2.7"));
  CHECK_FALSE(is_in("192.0.2.7", "192.0.2.8"));
  CHECK(is_in("2600:1f14:abcd::/49", "2600:1f14:abcd:7fff::1"));
  CHECK_FALSE(is_in("2600:1f14:abcd::/49", "2600:1f14:abcd:8000::1"));
  CHECK(is_in("2001:db8::1/128", "2001:db8::1"));
}

TEST_CASE("a range of one family has no address of the other") {
  CHECK_FALSE(is_in("0.0.0.0/0", "::1"));
  CHECK_FALSE(is_in("::/0", "0.0.0.1"));
}

TEST_CASE("what is no range isn't taken for one") {
  for (const char* text :
       {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x", "10.0.0/8",
        "example.org/8", "::/129", "1::2::3", "10.0.0.0/8/8", " ::"}) {
    INFO(text);
    CHECK_FALSE(parse_address_range(text));
  }
}

}  // namespace
