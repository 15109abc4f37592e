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

TEST_CASE("a session is ended by its user alone, once") {
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

TEST_CASE("one session too many ends the oldest") {
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
