#include "controller/base/address_range.h"

#include <catch2/catch.hpp>

#include "tests/socket_address.h"

namespace {

using berth::network_of;
using berth::parse_address_range;
using berth::parse_ip_address;

bool is_in(const std::string& range, const std::string& address) {
  const sockaddr_storage storage = berth::test::socket_address(address);
  return contains(parse_address_range(range).value(), reinterpret_cast<const sockaddr&>(storage));
}

TEST_CASE("a range contains the addresses with its leading bits") {
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

TEST_CASE("what isn't a range is refused") {
  for (const char* text : {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x",
                           "10.0.0/8", "example.org/8", "::/129", "1::2::3", "10.0.0.0/8/8",
                           " ::", "::ffff:10.0.0.0/95", "::ffff:10.0.0.0/129"}) {
    INFO(text);
    CHECK_FALSE(parse_address_range(text));
  }
}

TEST_CASE("an address has only its own notation") {
  CHECK(to_string(parse_ip_address("192.0.2.1").value()) == "192.0.2.1");
  CHECK(to_string(parse_ip_address("2001:DB8:0:0::1").value()) == "2001:db8::1");
  CHECK(to_string(parse_ip_address("::ffff:192.0.2.1").value()) == "192.0.2.1");
  CHECK(to_string(parse_ip_address("::ffff:c000:201").value()) == "192.0.2.1");
  for (const std::string& text :
       {std::string(), std::string("192.0.2"), std::string("192.0.2.1:80"), std::string("[::1]"),
        std::string("fe80::1%eth0"), std::string(" 192.0.2.1"), std::string("unknown"),
        std::string("192.0.2.1\0x", 11), std::string(1000, '1')}) {
    INFO(text);
    CHECK_FALSE(parse_ip_address(text));
  }
}

TEST_CASE("an IPv4 range in the notation of IPv6 contains the IPv4 addresses") {
  const auto range = parse_address_range("::ffff:10.0.0.0/104").value();
  CHECK(contains(range, parse_ip_address("10.255.0.1").value()));
  CHECK(contains(range, parse_ip_address("::ffff:10.1.0.1").value()));
  CHECK_FALSE(contains(range, parse_ip_address("11.0.0.1").value()));
  CHECK_FALSE(contains(range, parse_ip_address("::ffff:11.0.0.1").value()));
}

TEST_CASE("an IPv6 customer is one network, an IPv4 address is another") {
  CHECK(network_of("192.0.2.1") == "192.0.2.1");
  CHECK(network_of("2001:db8:1:2:3:4:5:6") == "2001:db8:1:2::/64");
  CHECK(network_of("2001:db8:1:2::ffff") == "2001:db8:1:2::/64");
  CHECK(network_of("2001:db8:1:3::1") == "2001:db8:1:3::/64");
  CHECK(network_of("::ffff:192.0.2.1") == "192.0.2.1");
  CHECK(network_of("") == "");
}

}  // namespace
