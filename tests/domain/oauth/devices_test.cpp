#include "controller/domain/oauth/devices.h"

#include <catch2/catch.hpp>

#include "controller/domain/apps/built_in.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/lifecycle/ways_in.h"
#include "controller/domain/oauth/connections.h"
#include "controller/domain/oauth/expiry.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

struct Client {
  World world;
  accounts::User ada = world.verified_user("ada");
  apps::App app = world.write([](db::Tx& tx) {
    apps::add_built_in(tx);
    return *apps::find_by_client_id(tx, "berth");
  });

  oauth::Tokens log_in(const devices::Origin& origin = {
                           .name = "laptop", .program = "berth-cli/1", .address = "192.0.2.7"}) {
    auto request = world.authorization(app);
    request.redirect_uri = "http://127.0.0.1:1/callback";
    const auto code = world.write([&](db::Tx& tx) { return authorized(tx, ada, request).code; });
    const auto tokens = world.exchange(app, code, code_verifier, request.redirect_uri).value();
    world.write([&](db::Tx& tx) {
      accounts::connect_device(tx, tokens, origin, world.keys, "https://api.example.org");
    });
    return tokens;
  }
  std::vector<devices::Device> list() {
    return world.read([&](db::Tx& tx) { return devices::list(tx, ada.id, {}); }).items;
  }
  std::string end(const std::string& user_id, const std::string& id) {
    return refusal([&] { world.write([&](db::Tx& tx) { devices::end(tx, user_id, id); }); });
  }
  int letters() {
    int count = 0;
    for (const auto& mail :
         world.read([&](db::Tx& tx) { return outbox::list(tx, world.keys.data); }))
      count += mail.subject.find("logged in with the client berth") != std::string::npos ? 1 : 0;
    return count;
  }
};

TEST_CASE("the programs that have logged in are listed, and ended one by one") {
  Client c;
  const auto laptop = c.log_in();
  c.world.clock.advance(1min);
  const auto tower =
      c.log_in({.name = "tower", .program = "berth-cli/2", .address = "198.51.100.9"});
  const auto all = c.list();
  REQUIRE(all.size() == 2);
  CHECK(all[0].name == "tower");
  CHECK(all[0].program == "berth-cli/2");
  CHECK(all[0].address == "198.51.100.9");
  CHECK(all[1].name == "laptop");
  CHECK(all[1].connected_at == c.world.clock.now() - 1min);
  const auto bob = c.world.verified_user("bob");
  CHECK(c.end(bob.id, all[0].id) == "404 device_not_found");
  CHECK(c.end(c.ada.id, all[0].id) == "");
  CHECK(c.end(c.ada.id, all[0].id) == "404 device_not_found");
  CHECK(refusal([&] { c.world.check(tower.access_token); }) == "401 token_revoked");
  CHECK(c.world.refresh({}, tower.refresh_token).error().code == Code::consumed_refresh_token);
  CHECK(c.world.check(laptop.access_token).family_id == all[1].id);
  REQUIRE(c.list().size() == 1);
  CHECK(c.list()[0].name == "laptop");
}

TEST_CASE("an app's tokens are no device") {
  Client c;
  const auto game = c.world.approved_app(c.world.verified_user("olga"), {Scope::profile_read});
  const auto tokens = c.world.tokens(game, c.ada);
  CHECK(c.list().empty());
  CHECK(c.end(c.ada.id, tokens.family_id) == "404 device_not_found");
  CHECK_FALSE(tokens.first_party);
}

TEST_CASE("a device shows where it last got tokens, and when it was last used") {
  Client c;
  auto tokens = c.log_in();
  c.world.clock.advance(30min);
  tokens = c.world.refresh({}, tokens.refresh_token).value();
  CHECK(tokens.first_party);
  c.world.write([&](db::Tx& tx) {
    devices::refreshed(tx, tokens,
                       {.name = "ignored", .program = "berth-cli/3", .address = "203.0.113.5"});
  });
  CHECK(c.list().at(0).name == "laptop");
  CHECK(c.list().at(0).program == "berth-cli/3");
  CHECK(c.list().at(0).address == "203.0.113.5");
  CHECK(c.list().at(0).last_used == c.world.clock.now());
  devices::UseLog uses;
  c.world.clock.advance(5min);
  uses.note(tokens.family_id, c.world.clock.now());
  uses.flush(c.world.db);
  CHECK(c.list().at(0).last_used == c.world.clock.now());
}

TEST_CASE("a device is listed as long as it can act, and leaves nothing behind") {
  Client c;
  c.log_in();
  c.world.clock.advance(30 * 24h - 1min);
  CHECK(c.list().size() == 1);
  c.world.clock.advance(2min);
  CHECK(c.list().empty());
  c.world.clock.advance(90 * 24h);
  c.world.write([](db::Tx& tx) {
    while (oauth::remove_old(tx, 100) > 0) {
    }
  });
  CHECK(c.world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM devices"); }) == 0);
}

TEST_CASE("a name that can't be shown in a line is dropped, and a long one cut") {
  Client c;
  for (const std::string& name : {std::string("\xE2\x80\xAE"
                                              "potpal"),
                                  std::string("a\nb"), std::string("\x1b[2J"), std::string(" "),
                                  std::string(), std::string("\xE2\x80\x8B")}) {
    c.world.clock.advance(1s);
    c.log_in({.name = name, .program = name, .address = "192.0.2.7"});
    CHECK(c.list().at(0).name == "unnamed");
    CHECK(c.list().at(0).program == "");
  }
  c.world.clock.advance(1s);
  c.log_in({.name = std::string(500, 'x'), .program = std::string(500, 'y'), .address = ""});
  CHECK(c.list().at(0).name.size() == devices::kept_of_name);
  CHECK(c.list().at(0).program.size() == devices::kept_of_program);
}

TEST_CASE("the user is told of each program that logs in, ten times a day at most") {
  Client c;
  c.log_in();
  REQUIRE(c.letters() == 1);
  const auto letter =
      c.world.read([&](db::Tx& tx) { return outbox::list(tx, c.world.keys.data).front(); });
  CHECK(letter.to == c.ada.email);
  for (const char* part : {"name: laptop", "program: berth-cli/1", "address: 192.0.2.7",
                           "https://api.example.org/account", "/forgot-password"})
    CHECK(letter.body.find(part) != std::string::npos);
  for (int i = 0; i < 20; ++i) c.log_in();
  CHECK(c.letters() == accounts::max_device_letters_per_day);
  c.world.clock.advance(24h + 1ms);
  c.log_in();
  CHECK(c.letters() == accounts::max_device_letters_per_day + 1);
}

TEST_CASE("a deleted account leaves no device") {
  Client c;
  c.log_in();
  c.world.write([&](db::Tx& tx) {
    devices::forget(tx, c.ada.id);
    CHECK(tx.number("SELECT count(*) FROM devices") == 0);
  });
}

}  // namespace
