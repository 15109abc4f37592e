#include "controller/base/public_address.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "tests/socket_address.h"

using berth::is_public_address;
using berth::parse_address_range;
using berth::public_blocks;

namespace {

bool is_public(const std::string& text) {
  const sockaddr_storage storage = berth::test::socket_address(text);
  return is_public_address(reinterpret_cast<const sockaddr&>(storage));
}

}  // namespace

TEST_CASE("addresses that webhooks may be sent to") {
  for (const char* open :
       {"1.1.1.1", "8.8.8.8", "168.63.129.15", "168.63.129.17", "9.255.255.255", "11.0.0.0",
        "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1", "172.15.255.255",
        "172.32.0.0", "192.167.255.255", "192.169.0.0", "223.255.255.255", "2606:4700::1111",
        "2a00:1450::1", "2003::1"}) {
    INFO(open);
    CHECK(is_public(open));
  }
}

TEST_CASE("addresses that webhooks may not be sent to") {
  for (const char* closed : {"0.0.0.0",
                             "10.0.0.1",
                             "10.255.255.255",
                             "100.64.0.1",
                             "100.127.255.255",
                             "127.0.0.1",
                             "127.255.255.254",
                             "168.63.129.16",
                             "169.254.169.254",
                             "172.16.0.1",
                             "172.31.255.255",
                             "192.0.0.8",
                             "192.0.2.1",
                             "192.168.0.1",
                             "198.18.0.1",
                             "198.19.255.255",
                             "203.0.113.9",
                             "224.0.0.1",
                             "240.0.0.1",
                             "255.255.255.255",
                             "::",
                             "::1",
                             "::ffff:127.0.0.1",
                             "::ffff:8.8.8.8",
                             "::127.0.0.1",
                             "64:ff9b::7f00:1",
                             "64:ff9b::808:808",
                             "100::1",
                             "fc00::1",
                             "fd12::1",
                             "fe80::1",
                             "fec0::1",
                             "ff02::1",
                             "2001::1",
                             "2001:db8::1",
                             "2002:7f00:1::",
                             "3fff::1",
                             "4000::1"}) {
    INFO(closed);
    CHECK_FALSE(is_public(closed));
  }
}

TEST_CASE("blocks of public addresses leave out what is closed, and contain the rest") {
  const auto blocks =
      public_blocks({*parse_address_range("198.51.101.7/24"),
                     *parse_address_range("2600:1f00::/24"), *parse_address_range("fd00::/8")});
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[0].range == "0.0.0.0/0");
  CHECK(blocks[1].range == "2000::/3");
  const auto is_in = [](const std::vector<std::string>& list, const std::string& text) {
    return std::find(list.begin(), list.end(), text) != list.end();
  };
  // The bits behind the prefix are zero, as Kubernetes wants them.
  for (const char* closed : {"10.0.0.0/8", "168.63.129.16/32", "192.0.0.0/24", "198.51.101.0/24"})
    CHECK(is_in(blocks[0].except, closed));
  for (const char* closed : {"2001::/23", "2002::/16", "2600:1f00::/24"})
    CHECK(is_in(blocks[1].except, closed));
  // Outside of its block, an exception would be refused by the API server.
  CHECK_FALSE(is_in(blocks[1].except, "fd00::/8"));
}

TEST_CASE("a block that is closed as a whole isn't left open") {
  const auto blocks = public_blocks({*parse_address_range("::/0")});
  REQUIRE(blocks.size() == 1);
  CHECK(blocks[0].range == "0.0.0.0/0");
  CHECK(public_blocks({*parse_address_range("::/0"), *parse_address_range("0.0.0.0/0")}).empty());
}
