// The device authorization grant (RFC 8628), and berth's own client.
#include "controller/domain/oauth/device.h"

#include <catch2/catch.hpp>
#include <set>

#include "controller/domain/apps/built_in.h"
#include "controller/domain/apps/members.h"
#include "controller/domain/oauth/connections.h"
#include "controller/domain/oauth/expiry.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

struct Device {
  World world;
  accounts::User ada = world.verified_user("ada");
  apps::App client = world.write([](db::Tx& tx) {
    apps::add_built_in(tx);
    return *apps::find_by_client_id(tx, "berth");
  });

  oauth::DeviceAuthorization start(const std::optional<std::string>& scope = "profile:read",
                                   const std::string& address = "192.0.2.7") {
    return world.write([&](db::Tx& tx) {
      return oauth::authorize_device(tx, client,
                                     {.scope = scope, .address = address, .user_agent = "berth/1"},
                                     world.keys.data);
    });
  }
  std::optional<oauth::DeviceRequest> look_up(const std::string& user_code) {
    return world.read(
        [&](db::Tx& tx) { return oauth::find_device_request(tx, user_code, world.keys.data); });
  }
  bool decide(const std::string& user_code, oauth::DeviceDecision decision) {
    return world.write([&](db::Tx& tx) {
      return oauth::decide_device_request(tx, ada, user_code, decision, world.keys.data);
    });
  }
  // Returns how a poll is refused; empty if it gave tokens, which are then in `tokens`.
  std::string poll(const std::string& device_code) {
    std::string why;
    const std::string thrown = refusal([&] {
      const auto answer = world.write([&](db::Tx& tx) {
        return oauth::exchange_device_code(tx, client, device_code, world.policy);
      });
      if (answer)
        tokens = *answer;
      else
        why = to_string(answer.error());
    });
    return thrown.empty() ? why : thrown;
  }
  std::int64_t rows() {
    return world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM device_codes"); });
  }
  oauth::Tokens tokens;
};

TEST_CASE("a device gets tokens once the person has allowed it, and once only") {
  Device d;
  const auto codes = d.start("profile:read deploy:manage");
  CHECK(d.poll(codes.device_code) == "authorization_pending");
  const auto request = d.look_up(codes.user_code);
  REQUIRE(request);
  CHECK(request->app.client_id == "berth");
  CHECK(request->scopes.text() == "profile:read deploy:manage");
  CHECK(request->address == "192.0.2.7");
  CHECK(request->user_agent == "berth/1");
  CHECK(d.decide(codes.user_code, oauth::DeviceDecision::allow));
  CHECK(d.poll(codes.device_code) == "");
  const oauth::Caller caller = d.world.check(d.tokens.access_token);
  CHECK(caller.user_id == d.ada.id);
  CHECK(caller.first_party);
  CHECK(caller.scopes.text() == "profile:read deploy:manage");
  CHECK(d.poll(codes.device_code) == "400 invalid_grant");
  // The refresh token rotates like any other, and needs no secret.
  const auto fresh = d.world.refresh(d.client, d.tokens.refresh_token);
  REQUIRE(fresh);
  CHECK(refusal_of(d.world.refresh(d.client, d.tokens.refresh_token)) == "401 invalid_grant");
  // The person sees it among their connected apps, and can end it.
  d.world.write([&](db::Tx& tx) { connections::disconnect(tx, d.ada.id, d.client.id); });
  CHECK(refusal([&] { d.world.check(fresh->access_token); }) == "401 token_revoked");
}

TEST_CASE("a device that asks too often has to wait longer each time") {
  Device d;
  const auto codes = d.start();
  CHECK(d.poll(codes.device_code) == "authorization_pending");
  d.world.clock.advance(4s);
  CHECK(d.poll(codes.device_code) == "slow_down");  // 10 s from now on
  d.world.clock.advance(9s);
  CHECK(d.poll(codes.device_code) == "slow_down");  // 15 s
  d.world.clock.advance(15s);
  CHECK(d.poll(codes.device_code) == "authorization_pending");
  // Once it is allowed, waiting is over.
  CHECK(d.decide(codes.user_code, oauth::DeviceDecision::allow));
  CHECK(d.poll(codes.device_code) == "");
}

TEST_CASE("a denied request ends, for the device and for the page") {
  Device d;
  const auto codes = d.start();
  CHECK(d.decide(codes.user_code, oauth::DeviceDecision::deny));
  CHECK_FALSE(d.look_up(codes.user_code));
  CHECK_FALSE(d.decide(codes.user_code, oauth::DeviceDecision::allow));
  CHECK(d.poll(codes.device_code) == "access_denied");
  CHECK(d.poll(codes.device_code) == "400 invalid_grant");
}

TEST_CASE("codes expire after ten minutes and leave nothing behind") {
  Device d;
  const auto codes = d.start();
  const auto forgotten = d.start();
  d.world.clock.advance(10min - 1ms);
  CHECK(d.look_up(codes.user_code));
  d.world.clock.advance(1ms);
  CHECK_FALSE(d.look_up(codes.user_code));
  CHECK_FALSE(d.decide(codes.user_code, oauth::DeviceDecision::allow));
  CHECK(d.poll(codes.device_code) == "expired_token");
  CHECK(d.poll(codes.device_code) == "400 invalid_grant");
  CHECK(d.rows() == 1);
  CHECK(d.poll(forgotten.device_code) == "expired_token");
  d.start();
  d.world.clock.advance(10min + oauth::expired_kept_for);
  CHECK(d.world.read(oauth::is_any_old));
  CHECK(d.world.write([](db::Tx& tx) { return oauth::remove_old(tx, 100); }) == 1);
  CHECK(d.rows() == 0);
}

TEST_CASE("a code can be typed in any way, and only a code that waits is found") {
  Device d;
  const std::string code = d.start().user_code;
  std::string lower = code;
  for (char& c : lower) c = char(std::tolower(static_cast<unsigned char>(c)));
  std::string plain = code;
  std::erase(plain, '-');
  for (const std::string& text :
       {code, lower, plain, " " + plain + " ", plain.substr(0, 2) + " - " + plain.substr(2)})
    CHECK(d.look_up(text));
  for (const std::string& text :
       {std::string(), std::string("-"), plain.substr(1), plain + "B", std::string("BBBBBBBB"),
        std::string(8, '\0'), std::string(100'000, ' ') + plain, std::string("%' OR 1=1")})
    CHECK_FALSE(d.look_up(text));
}

TEST_CASE("codes are made of letters that can't be mistaken, and stored as hashes") {
  Device d;
  std::set<std::string> seen;
  for (int i = 0; i < 50; ++i) {
    const auto codes = d.start();
    CHECK(codes.user_code.size() == 9);
    CHECK(codes.user_code[4] == '-');
    CHECK(codes.user_code.find_first_not_of("BCDFGHJKLMNPQRSTVWXZ-") == std::string::npos);
    CHECK(codes.device_code.starts_with("dc_live_"));
    seen.insert(codes.user_code);
    seen.insert(codes.device_code);
  }
  CHECK(seen.size() == 100);
  d.world.read([&](db::Tx& tx) {
    auto rows = tx.query("SELECT device_code_hash, user_code_hash FROM device_codes");
    while (rows.next()) {
      CHECK_FALSE(seen.contains(rows.text("device_code_hash")));
      CHECK_FALSE(seen.contains(rows.text("user_code_hash")));
    }
  });
}

TEST_CASE("only berth's own client may use the device grant, for scopes that it has") {
  Device d;
  const apps::App other = d.world.new_app(d.ada).app;
  const auto start_as = [&](const apps::App& app, const std::string& scope) {
    return refusal([&] {
      d.world.write([&](db::Tx& tx) {
        return oauth::authorize_device(tx, app, {.scope = scope, .address = "", .user_agent = ""},
                                       d.world.keys.data);
      });
    });
  };
  CHECK(start_as(other, "profile:read") == "400 unauthorized_client");
  CHECK(start_as(d.client, "points:spend") == "400 invalid_scope");
  CHECK(start_as(d.client, "unheard:of") == "400 invalid_scope");
  CHECK(start_as(d.client, "profile:read") == "");
  // A code of one client is unknown to another one.
  const auto codes = d.start();
  CHECK(refusal([&] {
          d.world.write([&](db::Tx& tx) {
            static_cast<void>(
                oauth::exchange_device_code(tx, other, codes.device_code, d.world.policy));
          });
        }) == "400 invalid_grant");
  CHECK(d.poll(codes.device_code) == "authorization_pending");
}

TEST_CASE("whoever is suspended after they allowed a device gives it nothing") {
  Device d;
  const auto codes = d.start();
  CHECK(d.decide(codes.user_code, oauth::DeviceDecision::allow));
  d.world.suspend_user(d.ada.id);
  CHECK(d.poll(codes.device_code) == "access_denied");
}

TEST_CASE("a device that is disconnected before it polls gets nothing") {
  Device d;
  const auto codes = d.start();
  CHECK(d.decide(codes.user_code, oauth::DeviceDecision::allow));
  const auto connected = d.world.read(
      [&](db::Tx& tx) { return connections::list(tx, d.ada.id, {.page = 1, .page_size = 10}); });
  REQUIRE(connected.items.size() == 1);
  CHECK(connected.items[0].app_name == "berth");
  d.world.write([&](db::Tx& tx) { connections::disconnect(tx, d.ada.id, d.client.id); });
  CHECK(d.poll(codes.device_code) == "access_denied");
}

TEST_CASE("an admin can switch berth's own client off") {
  Device d;
  const auto codes = d.start();
  CHECK(d.decide(codes.user_code, oauth::DeviceDecision::allow));
  CHECK(d.poll(codes.device_code) == "");
  const auto waiting = d.start();
  d.world.write([&](db::Tx& tx) { apps::suspend(tx, d.client.id, "root"); });
  d.client = d.world.find_app(d.client.id);
  CHECK(refusal([&] { d.world.check(d.tokens.access_token); }) == "403 account_suspended");
  CHECK_FALSE(d.look_up(waiting.user_code));
  CHECK(d.poll(waiting.device_code) == "access_denied");
  CHECK(refusal([&] { d.start(); }) == "400 unauthorized_client");
  d.world.write([&](db::Tx& tx) { apps::reactivate(tx, d.client.id, "root"); });
  CHECK(d.world.check(d.tokens.access_token).user_id == d.ada.id);
}

namespace {

// Adds requests from an address, as if so many devices had asked.
void add_requests(Device& d, int count, const std::string& address) {
  d.start("profile:read", address);
  d.world.write([&](db::Tx& tx) {
    tx.execute(R"(
        INSERT INTO device_codes (device_code_hash, user_code_hash, app_id, scopes, address,
                                  narrow_network, middle_network, wide_network, user_agent,
                                  created_at, expires_at, poll_interval)
        SELECT 'd' || $1 || n.value, 'u' || $1 || n.value, d.app_id, d.scopes, d.address,
               d.narrow_network, d.middle_network, d.wide_network, d.user_agent, d.created_at,
               d.expires_at, d.poll_interval
        FROM device_codes d
        JOIN (WITH RECURSIVE numbers (value) AS (
                SELECT 1 UNION ALL SELECT value + 1 FROM numbers WHERE value < $2)
              SELECT value FROM numbers) n ON 1 = 1
        WHERE d.address = $1)",
               address, std::int64_t(count - 1));
  });
}

}  // namespace

TEST_CASE("one site can't fill the table of devices' requests", "[pool:device_requests]") {
  Device d;
  const auto asks = [&](const std::string& address) {
    return refusal([&] { d.start("profile:read", address); });
  };
  // Three quarters of the table, from 1,500 of the /64 of a /48.
  constexpr int of_each = 5;
  for (int i = 0; d.rows() < std::int64_t(oauth::max_device_requests * 3 / 4); ++i)
    add_requests(d, of_each, "2001:db8:1:" + std::to_string(1'000 + i) + "::1");
  CHECK(asks("2001:db8:1:9999::1") == "429 rate_limited");
  CHECK(asks("2001:db8:2::1") == "");
  CHECK(asks("192.0.2.7") == "");
  // The share of an address, and of its neighbours.
  add_requests(d, int(oauth::max_device_requests / 16), "198.51.100.1");
  CHECK(asks("198.51.100.1") == "429 rate_limited");
  CHECK(asks("198.51.100.2") == "");
  add_requests(d, int(oauth::max_device_requests / 12 - oauth::max_device_requests / 16) - 1,
               "198.51.100.3");
  CHECK(asks("198.51.100.4") == "429 rate_limited");
  CHECK(asks("198.51.101.1") == "");
}

TEST_CASE("strangers can't fill the table of devices' requests") {
  Device d;
  add_requests(d, int(oauth::max_device_requests), "192.0.2.7");
  CHECK(refusal([&] { d.start(); }) == "503 unavailable");
  d.world.clock.advance(10min);
  CHECK(refusal([&] { d.start(); }) == "");  // takes the place of some that have expired
  CHECK(d.rows() < std::int64_t(oauth::max_device_requests));
}

TEST_CASE("berth's own client is made once, belongs to nobody, and can't be deleted") {
  Device d;
  d.world.write([](db::Tx& tx) { apps::add_built_in(tx); });  // a later start
  CHECK(d.world.read([](db::Tx& tx) {
    return tx.number("SELECT count(*) FROM apps WHERE client_id = 'berth'");
  }) == 1);
  CHECK(d.client.is_public);
  CHECK(d.client.built_in);
  CHECK(refusal([&] {
          d.world.read([&](db::Tx& tx) { return apps::membership(tx, d.ada.id, d.client.id); });
        }) == "403 forbidden");
  CHECK_FALSE(d.world.read([&](db::Tx& tx) { return accounts::find(tx, d.client.owner_id); }));
  CHECK(d.world.read([](db::Tx& tx) {
    return accounts::list_users(tx, {}, {.page = 1, .page_size = 10}).total;
  }) == 1);
  // It doesn't count among the first users.
  CHECK(d.ada.registration_number == 1);
  // No secret, not even an empty one, authenticates it.
  for (const char* secret : {"", "cs_live_x"})
    CHECK(refusal([&] {
            d.world.read([&](db::Tx& tx) { return apps::authenticate(tx, "berth", secret); });
          }) == "401 invalid_client");
}

TEST_CASE("berth's own client redirects to any port of this machine, and nowhere else") {
  Device d;
  for (const char* uri : {"http://127.0.0.1:1/callback", "http://127.0.0.1:65535/callback",
                          "http://127.0.0.1/callback", "http://[::1]:4711/callback"})
    CHECK(apps::is_registered(d.client, uri));
  for (const char* uri : {"http://127.0.0.1:4711/other", "http://localhost:4711/callback",
                          "https://127.0.0.1/callback", "http://127.0.0.1.example.org/callback",
                          "http://10.0.0.1:4711/callback", "http://127.0.0.1:4711/callback/",
                          "http://127.0.0.1:4711/callback?x=1"})
    CHECK_FALSE(apps::is_registered(d.client, uri));
}

TEST_CASE("a public client has PKCE and rotation, but nothing that only a secret could prove") {
  Device d;
  const auto created = d.world.write([&](db::Tx& tx) {
    return apps::create(tx, d.ada.id,
                        {.app_name = "On phones",
                         .app_description = "",
                         .logo_url = {},
                         .website_url = {},
                         .redirect_uris = {redirect_uri},
                         .allowed_scopes = {Scope::profile_read},
                         .is_public = true});
  });
  CHECK(created.client_secret == "");
  CHECK(created.app.is_public);
  CHECK_FALSE(created.app.built_in);
  const apps::App client =
      d.world.read([&](db::Tx& tx) { return apps::public_client(tx, created.app.client_id); });
  CHECK(refusal_of(d.world.exchange(client, d.world.authorize(client, d.ada),
                                    std::string(43, 'x'))) == "400 invalid_grant");
  const oauth::Tokens tokens = d.world.tokens(client, d.ada);
  CHECK_FALSE(d.world.check(tokens.access_token).first_party);
  CHECK(d.world.refresh(client, tokens.refresh_token).has_value());
  CHECK(refusal([&] {
          d.world.write([&](db::Tx& tx) { return oauth::client_credentials(tx, client, {}); });
        }) == "400 unauthorized_client");
  CHECK(refusal([&] {
          d.world.write([&](db::Tx& tx) { return apps::rotate_secret(tx, client, 0s); });
        }) == "409 invalid_state");
  // A client with a secret can't leave it out.
  const apps::App confidential = d.world.new_app(d.ada).app;
  CHECK(refusal([&] {
          d.world.read([&](db::Tx& tx) { return apps::public_client(tx, confidential.client_id); });
        }) == "401 invalid_client");
}

}  // namespace
