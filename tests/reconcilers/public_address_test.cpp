#include "reconcilers/loops/public_address.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/socket_address.h"

using berth::reconcilers::is_public_address;

namespace {

bool is_public(const std::string& text) {
  const sockaddr_storage storage = berth::test::socket_address(text);
  return is_public_address(reinterpret_cast<const sockaddr&>(storage));
}

}  // namespace

TEST_CASE("addresses that webhooks may be sent to") {
  for (const char* open :
       {"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
        "126.255.255.255", "128.0.0.1", "172.15.255.255", "172.32.0.0", "192.167.255.255",
        "192.169.0.0", "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "2003::1"}) {
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
