#include "controller/domain/accounts/sessions.h"

#include <catch2/catch.hpp>

#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

Page<accounts::SessionInfo> sessions(World& world, const accounts::User& user) {
  return world.read([&](db::Tx& tx) {
    return accounts::list_sessions(tx, user.id, {.page = 1, .page_size = 100});
  });
}

std::string end(World& world, const accounts::User& user, const std::string& id) {
  return refusal([&] { world.write([&](db::Tx& tx) { accounts::end_session(tx, user.id, id); }); });
}

TEST_CASE("sessions that are alive are listed, newest first") {
  World world;
  const auto ada = world.new_user("ada"), bob = world.new_user("bob");
  const auto first = world.log_in(ada);
  world.clock.advance(1min);
  const auto second = world.log_in(ada);
  world.log_in(bob);
  const auto list = sessions(world, ada);
  REQUIRE(list.total == 2);
  CHECK(list.items[0].id == second.id);
  CHECK(list.items[1].id == first.id);
  CHECK(list.items[1].address == "127.0.0.1");
  CHECK(list.items[1].user_agent == "test");
  world.clock.advance(24h - 1min);
  CHECK(sessions(world, ada).total == 1);
}

TEST_CASE("only its user ends a session, once") {
  World world;
  const auto ada = world.new_user("ada"), bob = world.new_user("bob");
  const auto session = world.log_in(ada), other = world.log_in(ada);
  CHECK(end(world, bob, session.id) == "404 session_not_found");
  CHECK(end(world, ada, "nothing") == "404 session_not_found");
  CHECK(end(world, ada, session.id) == "");
  CHECK(end(world, ada, session.id) == "404 session_not_found");
  REQUIRE(sessions(world, ada).total == 1);
  CHECK(sessions(world, ada).items[0].id == other.id);
}

TEST_CASE("one session too many ends the oldest one") {
  World world;
  const auto ada = world.new_user("ada");
  const auto oldest = world.log_in(ada);
  for (int i = 0; i < accounts::max_sessions_per_user; ++i) {
    world.clock.advance(1s);
    world.log_in(ada);
  }
  CHECK(sessions(world, ada).total == accounts::max_sessions_per_user);
  CHECK(end(world, ada, oldest.id) == "404 session_not_found");
}

TEST_CASE("a user has no more rows than sessions, however often they log in and out") {
  World world;
  const auto ada = world.new_user("ada");
  const auto rows = [&] {
    return world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM sessions"); });
  };
  for (int i = 0; i < 10; ++i) CHECK(end(world, ada, world.log_in(ada).id) == "");
  CHECK(rows() == 0);
  for (int i = 0; i < accounts::max_sessions_per_user + 10; ++i) world.log_in(ada);
  CHECK(rows() == accounts::max_sessions_per_user);
  world.write([&](db::Tx& tx) { accounts::end_sessions(tx, ada.id); });
  CHECK(rows() == 0);
}

TEST_CASE("what is stored of an address and a user agent is short") {
  World world;
  const auto ada = world.new_user("ada");
  world.write([&](db::Tx& tx) {
    accounts::open_session(tx, ada.id, std::string(60'000, 'a'), std::string(60'000, 'u'), 24h);
  });
  const auto session = sessions(world, ada).items.at(0);
  CHECK(session.address == std::string(64, 'a'));
  CHECK(session.user_agent == std::string(256, 'u'));
  CHECK(accounts::network_of(std::string(60'000, 'a')) == std::string(64, 'a'));
  world.write([&](db::Tx& tx) { accounts::open_session(tx, ada.id, "", "Caf\xe9/1.0", 24h); });
  CHECK(sessions(world, ada).items.at(0).user_agent == "Caf\uFFFD/1.0");
}

TEST_CASE("a session with an idle time-out ends when it isn't used, and another one doesn't") {
  World world;
  const auto ada = world.new_user("ada");
  accounts::SessionUses uses;
  const auto open = [&](std::optional<Duration> idle_timeout) {
    return world.write([&](db::Tx& tx) {
      return accounts::open_session(tx, ada.id, "127.0.0.1", "test", 24h, idle_timeout);
    });
  };
  const auto use = [&](const accounts::Session& session) {
    return refusal([&] {
      world.read([&](db::Tx& tx) {
        const auto jwt = accounts::session_jwt(session, world.keys);
        if (accounts::check_signed_in(tx, jwt, world.keys, &uses).ends_idle)
          uses.note(session.id, tx.now());
      });
    });
  };
  const auto browser = open(2h), program = open({});
  for (int i = 0; i < 3; ++i) {
    world.clock.advance(2h - 1s);
    CHECK(use(browser) == "");
    if (i == 1) {
      // A restart loses only what is in memory.
      uses.flush(world.db);
      uses.flush(world.db);
    }
  }
  uses.flush(world.db);
  CHECK(sessions(world, ada).total == 2);
  world.clock.advance(2h);
  CHECK(use(browser) == "401 token_expired");
  CHECK(use(browser) == "401 token_expired");  // a refused request doesn't count as a use
  CHECK(use(program) == "");
  CHECK(sessions(world, ada).total == 1);
  const auto writes = world.db.writes();
  uses.flush(world.db);
  CHECK(world.db.writes() == writes);
}

TEST_CASE("networks are known for 90 days, and 20 of them") {
  World world;
  const auto ada = world.new_user("ada"), bob = world.new_user("bob");
  const auto knows = [&](const accounts::User& user, const std::string& network) {
    return world.read([&](db::Tx& tx) { return accounts::knows_network(tx, user.id, network); });
  };
  const auto remember = [&](const std::string& network) {
    world.clock.advance(1s);
    world.write([&](db::Tx& tx) { accounts::remember_network(tx, ada.id, network); });
  };
  remember("192.0.2.1");
  CHECK(knows(ada, "192.0.2.1"));
  CHECK_FALSE(knows(ada, "192.0.2.2"));
  CHECK_FALSE(knows(bob, "192.0.2.1"));
  world.clock.advance(90 * 24h);
  CHECK_FALSE(knows(ada, "192.0.2.1"));
  for (int i = 0; i < 21; ++i) remember("198.51.100." + std::to_string(i));
  CHECK_FALSE(knows(ada, "198.51.100.0"));
  CHECK(knows(ada, "198.51.100.1"));
  CHECK(world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM login_networks"); }) ==
        20);
}

}  // namespace
