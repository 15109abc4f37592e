// Tables stay as large as the rows that are still needed.
#include "controller/domain/lifecycle/expiry.h"

#include <catch2/catch.hpp>
#include <map>

#include "controller/domain/accounts/sessions.h"
#include "controller/domain/oauth/connections.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

constexpr int plenty = 1'000;

struct Fixture {
  World world;
  accounts::User ada = world.verified_user("ada");
  accounts::User bob = world.verified_user("bob");
  apps::App app = world.approved_app(ada, {Scope::deploy_manage});

  using Sizes = std::map<std::string, std::int64_t>;
  Sizes sizes() {
    return world.read([&](db::Tx& tx) {
      Sizes all;
      for (const char* table :
           {"authorization_codes", "access_tokens", "refresh_tokens", "play_sessions",
            "token_families", "grants", "sessions", "email_tokens", "idempotency_keys",
            "login_networks", "unverified_letters"}) {
        const std::string sql = "SELECT count(*) FROM " + std::string(table);
        if (const auto rows = tx.number(sql); rows > 0) all[table] = rows;
      }
      return all;
    });
  }
  bool is_due() {
    return world.read([](db::Tx& tx) { return expiry::is_anything_due(tx); });
  }
  int remove(int limit = plenty) {
    int removed = 0;
    while (is_due()) {
      const int some = world.write([&](db::Tx& tx) { return expiry::remove_some(tx, limit); });
      REQUIRE(some > 0);
      removed += some;
    }
    return removed;
  }
};

TEST_CASE("rows that are still needed stay") {
  Fixture f;
  f.remove();
  f.world.tokens(f.app, f.bob);
  f.world.authorize(f.app, f.bob);
  f.world.write([&](db::Tx& tx) { oauth::client_credentials(tx, f.app, {}); });
  f.world.log_in(f.ada);
  const auto before = f.sizes();
  CHECK_FALSE(f.is_due());
  CHECK(f.world.write([](db::Tx& tx) { return expiry::remove_some(tx, plenty); }) == 0);
  CHECK(f.sizes() == before);
}

TEST_CASE("everything that ended is removed, in batches of any size") {
  for (const int batch : {1, 3, plenty}) {
    Fixture f;
    for (int i = 0; i < 5; ++i) {
      auto tokens = f.world.tokens(f.app, f.bob);
      CHECK(f.world.refresh(f.app, tokens.refresh_token));
      f.world.authorize(f.app, f.bob);
      f.world.log_in(f.ada);
    }
    f.world.write([&](db::Tx& tx) {
      oauth::client_credentials(tx, f.app, {});
      accounts::remember_network(tx, f.ada.id, "192.0.2.1");
      accounts::remember_network(tx, f.bob.id, "192.0.2.1");
      tx.execute(
          "INSERT INTO idempotency_keys (principal, method, path, key, request_hash, status, "
          "body, created_at) VALUES ('p', 'POST', '/', 'k', 'h', 200, '{}', $1)",
          tx.now());
    });
    f.world.clock.advance(std::chrono::days(90) + 1h);
    CHECK(f.remove(batch) > 30);
    CHECK(f.sizes() == Fixture::Sizes{{"grants", 2}});  // consents don't expire
  }
}

TEST_CASE("a family that is refreshed lives, and its expired tokens are removed") {
  Fixture f;
  f.remove();
  std::string token = f.world.tokens(f.app, f.bob).refresh_token;
  for (int day = 0; day < 60; ++day) {
    f.world.clock.advance(24h);
    token = f.world.refresh(f.app, token).value().refresh_token;
    f.remove();
  }
  const auto sizes = f.sizes();
  CHECK(sizes.at("token_families") == 1);
  CHECK(sizes.at("access_tokens") == 1);
  CHECK(sizes.at("refresh_tokens") == 2);  // the last one, and the one that was consumed for it
  CHECK_FALSE(sizes.contains("play_sessions"));
  CHECK(refusal_of(f.world.refresh(f.app, token)) == "");
}

TEST_CASE("a family that isn't refreshed is removed with its last token, before its own end") {
  Fixture f;
  f.world.tokens(f.app, f.bob);
  f.world.clock.advance(std::chrono::days(30));
  f.remove();
  CHECK(f.sizes() == Fixture::Sizes{{"grants", 1}});
}

TEST_CASE("a family with many tokens is removed in small batches") {
  Fixture f;
  f.remove();
  std::string token = f.world.tokens(f.app, f.bob).refresh_token;
  constexpr int refreshes = 100;
  for (int i = 0; i < refreshes; ++i) token = f.world.refresh(f.app, token).value().refresh_token;
  f.world.write([&](db::Tx& tx) { oauth::revoke(tx, f.app, token); });
  f.world.clock.advance(59min);
  CHECK_FALSE(f.is_due());
  f.world.clock.advance(1min);
  constexpr int limit = 7;
  int removed = 0;
  while (f.is_due()) {
    const int some = f.world.write([](db::Tx& tx) { return expiry::remove_some(tx, limit); });
    REQUIRE(some > 0);
    REQUIRE(some <= limit);
    removed += some;
    CHECK(refusal_of(f.world.refresh(f.app, token)) == "401 invalid_grant");
  }
  CHECK(removed > 2 * refreshes);
  const auto left = f.sizes();
  for (const char* table : {"token_families", "access_tokens", "refresh_tokens", "play_sessions"})
    CHECK_FALSE(left.contains(table));
}

TEST_CASE("a refreshed session keeps its family, and both end together") {
  Fixture f;
  std::string token = *f.world.tokens(f.app, f.bob).session_token;
  constexpr Duration between = play::ends_after - 1min;
  for (int day = 0; day < 40; ++day) {
    for (Duration passed{}; passed + between < play::token_lifetime; passed += between) {
      f.world.write([&](db::Tx& tx) { play::heartbeat(tx, play::check(tx, token), {}); });
      f.world.clock.advance(between);
    }
    token =
        f.world.write([&](db::Tx& tx) { return play::refresh(tx, play::check(tx, token)).token; });
    f.remove();
  }
  CHECK(f.sizes().at("play_sessions") == 1);
  f.world.clock.advance(25h);
  f.remove();
  CHECK(f.sizes() == Fixture::Sizes{{"grants", 1}});
}

TEST_CASE("a used code is kept as long as the tokens that it gave") {
  Fixture f;
  const std::string code = f.world.authorize(f.app, f.bob);
  const auto tokens = f.world.exchange(f.app, code).value();
  f.world.clock.advance(59min);
  f.remove();
  CHECK(refusal_of(f.world.exchange(f.app, code)) == "400 invalid_grant");
  CHECK(refusal([&] { f.world.check(tokens.access_token); }) == "401 token_revoked");
}

TEST_CASE("for a while, a bearer is told that their token has expired or was revoked") {
  Fixture f;
  const auto tokens = f.world.tokens(f.app, f.bob);
  f.world.clock.advance(1h);
  f.remove();
  CHECK(refusal([&] { f.world.check(tokens.access_token); }) == "401 token_expired");
  f.world.clock.advance(1h);
  f.remove();
  CHECK(refusal([&] { f.world.check(tokens.access_token); }) == "401 invalid_token");
  const auto others = f.world.tokens(f.app, f.bob);
  f.world.write([&](db::Tx& tx) { connections::disconnect(tx, f.bob.id, f.app.id); });
  f.remove();
  CHECK(refusal([&] { f.world.check(others.access_token); }) == "401 token_revoked");
  f.world.clock.advance(1h);
  f.remove();
  const auto left = f.sizes();
  CHECK_FALSE(left.contains("token_families"));
  CHECK_FALSE(left.contains("grants"));  // the consent was removed, too
}

TEST_CASE("what a deleted app was given is removed") {
  Fixture f;
  const auto other = f.world.new_app(f.ada).app;
  f.world.tokens(other, f.bob);
  f.world.tokens(other, f.ada);
  f.world.authorize(other, f.ada);
  f.world.write([&](db::Tx& tx) { apps::remove(tx, other); });
  CHECK(f.is_due());
  f.remove();
  f.world.clock.advance(1h);
  f.remove();
  f.world.read([&](db::Tx& tx) {
    CHECK(tx.number("SELECT count(*) FROM grants") == 0);
    CHECK(tx.number("SELECT count(*) FROM token_families") == 0);
  });
}

TEST_CASE("mail that isn't sent is removed after 90 days") {
  Fixture f;
  const auto mails = [&] {
    return f.world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM outbox"); });
  };
  const auto before = mails();
  REQUIRE(before > 0);
  f.world.clock.advance(std::chrono::days(90) - 1ms);
  f.remove();
  CHECK(mails() == before);
  f.world.clock.advance(1ms);
  f.remove(1);
  CHECK(mails() == 0);
}

TEST_CASE("letters to unverified addresses are counted for a day") {
  Fixture f;
  CHECK(f.sizes()["unverified_letters"] == 2);
  f.world.clock.advance(24h);
  f.remove();
  CHECK(f.sizes()["unverified_letters"] == 2);
  f.world.clock.advance(24h);
  f.remove();
  CHECK(f.sizes()["unverified_letters"] == 0);
}

TEST_CASE("consents to a deleted app end in batches of any size, and it isn't looked at again") {
  for (const int batch : {1, 2, plenty}) {
    INFO("in batches of " << batch);
    Fixture f;
    f.remove();
    const apps::App other = f.world.new_app(f.bob).app;
    f.world.tokens(f.app, f.ada);
    f.world.tokens(f.app, f.bob);
    f.world.tokens(other, f.ada);
    const auto count = [&](const std::string& sql) {
      return f.world.read([&](db::Tx& tx) { return tx.number(sql); });
    };
    f.world.write([&](db::Tx& tx) { apps::remove(tx, f.app); });
    CHECK(f.is_due());
    f.remove(batch);
    CHECK(count("SELECT count(*) FROM grants WHERE revoked_at IS NULL") == 1);
    CHECK(count("SELECT count(*) FROM apps WHERE deleted_at IS NOT NULL") == 1);
    CHECK(count("SELECT count(*) FROM apps WHERE deleted_at IS NOT NULL AND consents_ended = 0") ==
          0);
  }
}

}  // namespace
