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

TEST_CASE("of several challenges, the first that a client can answer counts") {
  struct Row {
    const char* field;
    Challenge::Scheme scheme;
    const char* realm;
  };
  using enum Challenge::Scheme;
  const Row rows[] = {
      {R"(Negotiate, Basic realm="Registry")", basic, "Registry"},
      {R"(Negotiate abc==, Basic realm="Registry")", basic, "Registry"},
      {R"(NTLM , , Bearer realm="https://a.example/",service="x")", bearer, "https://a.example/"},
      {R"(Digest realm="a, Basic realm=b", qop="auth", Basic realm="c")", basic, "c"},
      {R"(Basic realm="a", Bearer realm="b")", basic, "a"},
      {R"(Bearer realm = "b" , service=s, Negotiate)", bearer, "b"},
  };
  for (const Row& row : rows) {
    INFO(row.field);
    const auto challenge = parse_challenge(row.field);
    REQUIRE(challenge);
    CHECK(challenge->scheme == row.scheme);
    CHECK(challenge->realm == row.realm);
  }
  CHECK_FALSE(parse_challenge("Negotiate, NTLM"));
  CHECK_FALSE(parse_challenge("Negotiate abc=="));
}
