// Rate limits, as the gate counts them.
#include <catch2/catch.hpp>

#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

struct Fixture : Operator {
  Fixture() { g.services.rate_limits = true; }
};

TEST_CASE("each answer says how many requests are left, and a refused one when to come back") {
  Fixture f;
  for (int left = 29; left >= 0; --left) {
    const auto answer = f.g.ask("GET", "/api/deploy/tiers", {f.token});
    CHECK(answer.status == 200);
    CHECK(answer.header("RateLimit-Limit") == "30");
    CHECK(answer.header("RateLimit-Remaining") == std::to_string(left));
    CHECK(answer.header("RateLimit-Reset") == "60");
    CHECK_FALSE(answer.has("Retry-After"));
  }
  const auto refused = f.g.ask("GET", "/api/deploy/tiers", {f.token});
  CHECK(refused.error() == "429 rate_limited");
  CHECK(refused.header("RateLimit-Limit") == "30");
  CHECK(refused.header("RateLimit-Remaining") == "0");
  const int wait = std::stoi(refused.header("Retry-After"));
  CHECK(wait >= 1);
  CHECK(wait <= 60);
  CHECK(refused.header("RateLimit-Reset") == refused.header("Retry-After"));
}

TEST_CASE("each operation and each grant has a count of its own") {
  Fixture f;
  for (int i = 0; i < 31; ++i) f.g.ask("GET", "/api/deploy/tiers", {f.token});
  CHECK(f.g.ask("GET", "/api/deploy/tiers", {f.token}).status == 429);
  CHECK(f.g.ask("GET", "/api/deploy/apps", {f.token}).status == 200);
  // Another token of the same grant shares its limit; another user's token doesn't.
  const auto same_grant = f.g.world.tokens(f.app, f.user, "deploy:manage");
  CHECK(f.g.ask("GET", "/api/deploy/tiers", {bearer(same_grant.access_token)}).status == 429);
  const auto bob = f.g.world.verified_user("bob");
  const auto bobs = f.g.world.approved_app(bob, {Scope::deploy_manage});
  CHECK(f.g.ask("GET", "/api/deploy/tiers",
                {bearer(f.g.world.tokens(bobs, bob, "deploy:manage").access_token)})
            .status == 200);
}

TEST_CASE("at most ten writes are allowed, counting refused ones") {
  Fixture f;
  for (int i = 0; i < 10; ++i)
    CHECK(f.g.ask("POST", "/api/deploy/apps", {f.token}, "{}").status == 422);
  CHECK(f.g.ask("POST", "/api/deploy/apps", {f.token}, f.order()).error() == "429 rate_limited");
}

TEST_CASE("a stored answer counts, and says how many requests are left now") {
  Fixture f;
  const auto create = [&] {
    return f.g.ask("POST", "/api/deploy/apps", {f.token, {"Idempotency-Key", "key"}}, f.order());
  };
  CHECK(create().header("RateLimit-Remaining") == "9");
  CHECK(create().header("RateLimit-Remaining") == "8");
}

TEST_CASE("callers who aren't admitted aren't counted, and see no limits") {
  Fixture f;
  for (int i = 0; i < 40; ++i) {
    const auto answer = f.g.ask("GET", "/api/deploy/tiers", {bearer("at_live_wrong")});
    CHECK(answer.status == 401);
    CHECK_FALSE(answer.has("RateLimit-Limit"));
  }
  CHECK(f.g.ask("GET", "/api/deploy/tiers", {f.token}).header("RateLimit-Remaining") == "29");
}

TEST_CASE(
    "open operations count by address, which X-Forwarded-For sets only from trusted proxies") {
  Fixture f;
  for (const char* proxy : {"10.0.0.1", "10.0.0.2"})
    f.g.services.admission.trusted_proxies.push_back(parse_address_range(proxy).value());
  const auto remaining = [&](const std::string& peer, const std::string& forwarded) {
    f.g.remote_address = peer;
    std::vector<Header> headers;
    if (!forwarded.empty()) headers.push_back({"X-Forwarded-For", forwarded});
    return f.g.ask("GET", "/.well-known/oauth-protected-resource", headers)
        .header("RateLimit-Remaining");
  };
  CHECK(remaining("192.0.2.1", "") == "59");
  CHECK(remaining("192.0.2.1", "203.0.113.5") == "58");
  CHECK(remaining("192.0.2.1", "203.0.113.6, 10.0.0.1") == "57");
  CHECK(remaining("10.0.0.1", "192.0.2.1") == "56");
  CHECK(remaining("10.0.0.1", "203.0.113.9, 192.0.2.1") == "55");
  CHECK(remaining("10.0.0.1", "203.0.113.9,192.0.2.1,  10.0.0.2") == "54");
  CHECK(remaining("10.0.0.1", "") == "59");
  CHECK(remaining("192.0.2.2", "192.0.2.1") == "59");
  // All addresses of an IPv6 network belong to one customer.
  CHECK(remaining("2001:db8:1:2::1", "") == "59");
  CHECK(remaining("2001:db8:1:2::2", "") == "58");
  CHECK(remaining("2001:db8:1:3::1", "") == "59");
}

TEST_CASE("limits can be switched off, and /health has none") {
  Operator off;
  CHECK_FALSE(off.g.ask("GET", "/api/deploy/tiers", {off.token}).has("RateLimit-Limit"));
  Fixture on;
  for (int i = 0; i < 100; ++i) CHECK(on.g.ask("GET", "/health").status == 200);
}

TEST_CASE("a rate-limited OAuth call has OAuth's form of an error") {
  Fixture f;
  Answered last;
  for (int i = 0; i <= 300; ++i)
    last = f.g.ask("POST", "/api/oauth/token/verify", {}, R"({"token": "x"})");
  CHECK(last.error() == "429 rate_limited");
  CHECK(last.body["error_description"].is_string());
  CHECK_FALSE(last.header("Retry-After").empty());
  for (int i = 0; i <= 300; ++i)
    last = f.g.ask("POST", "/api/auth/refresh", {}, R"({"refresh_token": "x"})");
  CHECK(last.error() == "429 rate_limited");
  CHECK(last.body["error_description"] == last.body["message"]);
}

}  // namespace
