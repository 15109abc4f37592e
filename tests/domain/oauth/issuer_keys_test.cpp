// The keys of issuers of ID tokens: when they are fetched, and when they aren't.
#include "controller/domain/oauth/issuer_keys.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <thread>

#include "tests/domain/world.h"
#include "tests/id_token_signer.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using nlohmann::json;

const std::string base = "https://ci.example.org";

struct Fixture {
  Clock clock = Clock::standing_at(*parse_iso8601("2026-01-31T12:00:00Z"));
  IdTokenSigner signer{jwk::Algorithm::eddsa};
  json discovery = {{"issuer", base}, {"jwks_uri", base + "/keys"}};
  json set = signer.key_set();
  bool is_down = false;
  std::vector<std::string> asked = {};
  oauth::Issuer issuer = {.id = "1",
                          .issuer = base,
                          .name = "CI",
                          .kind = oauth::IssuerKind::other,
                          .jwks_uri = {},
                          .inserted_at = clock.now()};
  oauth::IssuerKeys keys{clock,
                         [this](const std::string& url) {
                           asked.push_back(url);
                           if (is_down) throw std::runtime_error("nobody is there");
                           return url == base + "/keys" ? set.dump() : discovery.dump();
                         },
                         oauth::IssuerSchemes::only_https};

  std::string refused() {
    return refusal([&] { keys.find(issuer, "key-1"); });
  }
};

TEST_CASE("keys are fetched once, by the discovery document, and anew after an hour") {
  Fixture f;
  CHECK(f.keys.find(f.issuer, "key-1"));
  CHECK(f.asked ==
        std::vector<std::string>{base + "/.well-known/openid-configuration", base + "/keys"});
  f.clock.advance(59min);
  CHECK(f.keys.find(f.issuer, "key-1"));
  CHECK(f.asked.size() == 2);
  f.clock.advance(1min);
  f.set = IdTokenSigner(jwk::Algorithm::eddsa, "key-2").key_set();
  CHECK_FALSE(f.keys.find(f.issuer, "key-1"));  // the issuer has withdrawn it
  CHECK(f.keys.find(f.issuer, "key-2"));
  CHECK(f.asked.size() == 4);
}

TEST_CASE("a jwks_uri takes the place of the discovery document") {
  Fixture f;
  f.issuer.jwks_uri = base + "/keys";
  CHECK(f.keys.find(f.issuer, "key-1"));
  CHECK(f.asked == std::vector<std::string>{base + "/keys"});
}

TEST_CASE("unknown names of keys make berthd ask once a minute at most") {
  Fixture f;
  for (int i = 0; i < 100; ++i) CHECK_FALSE(f.keys.find(f.issuer, "key " + std::to_string(i)));
  CHECK(f.asked.size() == 2);
  f.clock.advance(oauth::IssuerKeys::least_interval - 1ms);
  CHECK_FALSE(f.keys.find(f.issuer, "key-2"));
  CHECK(f.asked.size() == 2);
  f.clock.advance(1ms);
  f.set["keys"].push_back(IdTokenSigner(jwk::Algorithm::es256, "key-2").public_jwk());
  CHECK(f.keys.find(f.issuer, "key-2"));
  CHECK(f.keys.find(f.issuer, "key-1"));
  CHECK(f.asked.size() == 4);
}

TEST_CASE("an issuer that doesn't answer is asked once a minute, and its keys are good for a day") {
  Fixture f;
  f.is_down = true;
  CHECK(f.refused() == "503 unavailable");
  CHECK(f.refused() == "503 unavailable");
  CHECK(f.asked.size() == 1);
  f.is_down = false;
  f.clock.advance(1min);
  CHECK(f.refused().empty());
  f.is_down = true;
  f.clock.advance(2h);
  CHECK(f.keys.find(f.issuer, "key-1"));
  CHECK(f.keys.find(f.issuer, "key-1"));
  CHECK(f.asked.size() == 4);
  f.clock.advance(22h);
  CHECK(f.refused() == "503 unavailable");
}

TEST_CASE("documents that aren't the issuer's give no keys") {
  const auto refused = [](auto&& change) {
    Fixture f;
    change(f);
    return f.refused();
  };
  CHECK(refused([](Fixture&) {}).empty());
  CHECK(refused([](Fixture& f) { f.discovery["issuer"] = base + "/"; }) == "503 unavailable");
  CHECK(refused([](Fixture& f) { f.discovery.erase("issuer"); }) == "503 unavailable");
  CHECK(refused([](Fixture& f) { f.discovery = json::array(); }) == "503 unavailable");
  for (const char* uri : {"", "/keys", "http://ci.example.org/keys", "http://127.0.0.1/keys"})
    CHECK(refused([&](Fixture& f) { f.discovery["jwks_uri"] = uri; }) == "503 unavailable");
  CHECK(refused([](Fixture& f) { f.set = json::object(); }) == "503 unavailable");
  CHECK(refused([](Fixture& f) { f.set["keys"] = json::array(); }) == "503 unavailable");
  CHECK(refused([](Fixture& f) { f.set["keys"][0]["kty"] = "oct"; }) == "503 unavailable");
}

TEST_CASE("one network doesn't take all places in which requests wait for keys",
          "[pool:issuer_keys]") {
  Fixture f;
  std::atomic<bool> may_end = false;
  std::atomic<int> asked = 0;
  oauth::IssuerKeys keys(
      f.clock,
      [&](const std::string&) -> std::string {
        ++asked;
        may_end.wait(false);
        throw std::runtime_error("nobody is there");
      },
      oauth::IssuerSchemes::only_https);
  const auto find = [&](const std::string& address) {
    const ClaimantOfThread claimant({.address = address});
    return refusal([&] { keys.find(f.issuer, "key-1"); });
  };
  const auto used = [] { return figures_of(Pool::issuer_keys).used; };
  const std::size_t of_crowd = limits_of(oauth::IssuerKeys::max_waiting, false).binds_at;
  {
    std::vector<std::jthread> waiting;
    for (std::size_t i = 0; i < of_crowd; ++i) waiting.emplace_back([&] { find("192.0.2.1"); });
    while (used() < of_crowd) std::this_thread::yield();
    CHECK(find("192.0.2.1") == "503 unavailable");
    waiting.emplace_back([&] { find("198.51.100.1"); });
    while (used() < of_crowd + 1) std::this_thread::yield();
    may_end = true;
    may_end.notify_all();
  }
  CHECK(used() == 0);
  CHECK(asked == 1);  // the others waited for the one that asked
}

}  // namespace
