// Header fields: those that are meaningless if there are two of them, and those in every answer.
#include <catch2/catch.hpp>

#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

TEST_CASE("a field that decides something is refused if it occurs twice") {
  Operator o;
  const std::vector<std::pair<std::string, std::string>> fields = {
      {"Authorization", "Bearer " + o.tokens.access_token},
      {"Content-Type", "application/json"},
      {"Idempotency-Key", "key"},
      {"Last-Event-ID", "7"},
      {"Origin", "https://api.example.org"},
      {"Sec-Fetch-Site", "same-origin"},
      {"X-Admin-Actor", "root"},
      {"X-Internal-Secret", "internal secret"}};
  for (const auto& [name, value] : fields) {
    INFO(name);
    std::vector<Header> headers = {{name, value}, {name, value}};
    if (name != "Authorization") headers.push_back(o.token);
    const auto answer = o.g.ask("POST", "/api/deploy/apps", headers, o.order());
    CHECK(answer.error() == "400 malformed_request");
    CHECK(answer.text.find(name + " was sent more than once") != std::string::npos);
    CHECK(o.g.ask("POST", "/api/oauth/token", headers, "{}").error() == "400 invalid_request");
  }
  CHECK(o.g.ask("GET", "/api/deploy/apps", {o.token}).body["apps"].empty());
}

TEST_CASE("an internal secret that is sent twice is refused and tells nothing") {
  GateWorld g;
  const std::string secret = "internal secret";
  const auto ask = [&](const std::vector<Header>& headers) {
    return g.ask("GET", "/api/internal/scope-requests", headers).error();
  };
  CHECK(ask({{"x-internal-secret", secret}, {"X-Internal-Secret", secret}}) == ask({}));
  CHECK(ask({{"x-internal-secret", secret}, {"x-internal-secret", "guess"}}) == ask({}));
  CHECK(ask({}).starts_with("403"));
}

TEST_CASE("two request ids count as none") {
  GateWorld g;
  CHECK(g.ask("GET", "/health", {{"X-Request-Id", "mine"}}).header("X-Request-Id") == "mine");
  const auto answer = g.ask("GET", "/health", {{"X-Request-Id", "mine"}, {"x-request-id", "two"}});
  CHECK(answer.status == 200);
  CHECK(answer.header("X-Request-Id").size() == 36);
}

TEST_CASE("caches may keep public answers, but not answers for one user") {
  Operator o;
  const auto cache_control = [](const Answered& answer) { return answer.header("Cache-Control"); };
  const auto created = o.g.ask("POST", "/api/deploy/apps", {o.token}, o.order());
  REQUIRE(created.status == 201);
  const std::string id = created.body.value("id", "none");
  CHECK(cache_control(created) == "no-store");
  for (const std::string& path :
       {std::string("/api/deploy/apps"), "/api/deploy/apps/" + id,
        "/api/deploy/apps/" + id + "/events", std::string("/api/deploy/tiers"),
        std::string("/api/nowhere"), std::string("/api/internal/scope-requests")}) {
    INFO(path);
    CHECK(cache_control(o.g.ask("GET", path, {o.token})) == "no-store");
  }
  CHECK(cache_control(o.g.ask("GET", "/api/deploy/apps")) == "no-store");
  CHECK(
      cache_control(o.g.ask("POST", "/api/oauth/my-apps/" + o.registered.app.id + "/rotate-secret",
                            {bearer(o.jwt)})) == "no-store");
  CHECK(cache_control(o.g.ask("POST", "/api/oauth/token", {}, "{}")) == "no-store");
  for (const char* path :
       {"/health", "/.well-known/openapi.json", "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-authorization-server"}) {
    INFO(path);
    CHECK(cache_control(o.g.ask("GET", path)).empty());
  }
}

TEST_CASE("the transport is told whether a valid token was sent") {
  Operator o;
  const auto is_known = [&](const std::vector<Header>& headers) {
    return o.g.respond("GET", "/api/deploy/apps", headers).caller_is_known;
  };
  CHECK(is_known({o.token}));
  CHECK_FALSE(is_known({}));
  CHECK_FALSE(is_known({bearer("at_live_wrong")}));
  CHECK_FALSE(o.g.respond("GET", "/health", {o.token}).caller_is_known);
}

}  // namespace
