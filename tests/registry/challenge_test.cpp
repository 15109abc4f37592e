#include "reconcilers/registry/challenge.h"

#include <catch2/catch.hpp>

using berth::registry::Challenge;
using berth::registry::parse_challenge;

TEST_CASE("a registry's challenge names the place that gives tokens") {
  const auto challenge = parse_challenge(
      R"(Bearer realm="https://auth.example.org/token",service="registry \"one\"", scope="a,b")");
  REQUIRE(challenge);
  CHECK(challenge->scheme == Challenge::Scheme::bearer);
  CHECK(challenge->realm == "https://auth.example.org/token");
  CHECK(challenge->service == "registry \"one\"");
  CHECK(parse_challenge("bearer REALM=x")->realm == "x");
  CHECK(parse_challenge(R"(Basic realm="Registry")")->scheme == Challenge::Scheme::basic);
  CHECK(parse_challenge("Basic")->scheme == Challenge::Scheme::basic);
}

TEST_CASE("a challenge that can't be read is none") {
  CHECK_FALSE(parse_challenge(""));
  CHECK_FALSE(parse_challenge("Negotiate"));
  CHECK_FALSE(parse_challenge("Bearer realm"));
  CHECK_FALSE(parse_challenge("Bearer realm=\"https://auth.example.org"));
  CHECK_FALSE(parse_challenge("Bearer realm=\"a\\"));
}
