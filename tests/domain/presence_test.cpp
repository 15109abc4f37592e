#include "controller/domain/social/presence.h"

#include <catch2/catch.hpp>

#include "controller/domain/lifecycle/user_admin.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using presence::Going;

struct Fixture {
  World world;
  presence::Board board;
  accounts::User ada = world.new_user("ada");
  accounts::User bob = world.new_user("bob");

  Instant now() { return world.clock.now(); }
  void beat(const accounts::User& user, const presence::Place& place = {}) {
    board.set(user.id, place, Going::stays, now());
  }
  presence::Entry of(const accounts::User& user) { return of(board, user); }
  presence::Entry of(const presence::Board& any, const accounts::User& user) {
    return world.read([&](db::Tx& tx) { return any.of(tx, user.id); });
  }
};

const presence::Place chess = {.current_game = "Chess", .lobby = "lobby-1"};

TEST_CASE("a user is online for a minute after each heartbeat, with their place") {
  Fixture f;
  const Instant registered = f.ada.created_at;
  f.world.clock.advance(1h);
  CHECK_FALSE(f.of(f.ada).online);
  CHECK(f.of(f.ada).last_seen == registered);
  f.beat(f.ada, chess);
  const Instant seen = f.now();
  f.world.clock.advance(60s - 1ms);
  CHECK(f.of(f.ada).online);
  CHECK(f.of(f.ada).place.current_game == "Chess");
  CHECK(f.of(f.ada).place.lobby == "lobby-1");
  f.world.clock.advance(1ms);
  CHECK_FALSE(f.of(f.ada).online);
  CHECK(f.of(f.ada).last_seen == seen);
  CHECK_FALSE(f.of(f.ada).place.current_game);
  CHECK_FALSE(f.of(f.bob).online);
}

TEST_CASE("a session's heartbeat keeps the place and doesn't restore an earlier one") {
  Fixture f;
  f.beat(f.ada, chess);
  f.world.clock.advance(30s);
  f.board.touch(f.ada.id, f.now());
  f.world.clock.advance(59s);
  CHECK(f.of(f.ada).online);
  CHECK(f.of(f.ada).place.current_game == "Chess");
  f.world.clock.advance(1s);
  f.board.touch(f.ada.id, f.now());
  CHECK(f.of(f.ada).online);
  CHECK_FALSE(f.of(f.ada).place.current_game);
  f.board.touch(f.bob.id, f.now());
  CHECK(f.of(f.bob).online);
}

TEST_CASE("a user who leaves is offline at once") {
  Fixture f;
  f.beat(f.ada, chess);
  f.world.clock.advance(1s);
  f.board.set(f.ada.id, chess, Going::leaves, f.now());
  CHECK_FALSE(f.of(f.ada).online);
  CHECK(f.of(f.ada).last_seen == f.now());
  CHECK_FALSE(f.of(f.ada).place.lobby);
  f.beat(f.ada);
  CHECK(f.of(f.ada).online);
}

TEST_CASE("last_seen survives a restart, and memory stays small") {
  Fixture f;
  f.beat(f.ada, chess);
  const Instant seen = f.now();
  f.board.flush(f.world.db);
  CHECK(f.of(f.ada).online);  // written, but still in memory
  f.world.clock.advance(1h);
  f.beat(f.bob);
  f.board.flush(f.world.db);  // removes ada from memory
  CHECK(f.of(f.ada).last_seen == seen);
  const presence::Board restarted;
  CHECK(f.of(restarted, f.ada).last_seen == seen);
  CHECK_FALSE(f.of(restarted, f.ada).online);
  CHECK(f.of(restarted, f.bob).last_seen == f.now());
}

TEST_CASE("more rows than fit into one transaction are written") {
  Fixture f;
  std::vector<accounts::User> users;
  f.world.write([&](db::Tx& tx) {
    for (int i = 0; i < 1'200; ++i) {
      const std::string name = "user" + std::to_string(i);
      users.push_back(accounts::register_user(tx,
                                              {.email = name + "@example.org",
                                               .username = name,
                                               .password_hash = "",
                                               .referral_code = {}},
                                              f.world.bonus, f.world.keys, ""));
    }
  });
  f.world.clock.advance(1s);
  for (const auto& user : users) f.beat(user);
  f.board.flush(f.world.db);
  f.world.read([&](db::Tx& tx) {
    CHECK(tx.number("SELECT count(*) FROM presence WHERE last_seen = $1", f.now()) == 1'200);
  });
}

TEST_CASE("a deleted account's presence is removed and not written") {
  Fixture f;
  f.beat(f.ada);
  f.board.flush(f.world.db);
  f.world.clock.advance(1s);
  f.beat(f.ada);
  f.board.sit("table-1", f.ada.id, Going::stays, f.now());
  f.world.write([&](db::Tx& tx) { accounts::delete_account(tx, f.ada, f.world.keys); });
  f.board.flush(f.world.db);
  f.world.read([](db::Tx& tx) { CHECK(tx.number("SELECT count(*) FROM presence") == 0); });
  f.board.forget(f.ada.id);
  CHECK(f.board.at_table("table-1", f.now()).empty());
}

TEST_CASE("a table lists who sits there, and for a while who did") {
  Fixture f;
  const auto at_table = [&](const char* table) {
    std::string text;
    for (const auto& seat : f.board.at_table(table, f.now()))
      text += (seat.user_id == f.ada.id ? "ada " : "bob ") +
              std::string(seat.online ? "online; " : "offline; ");
    return text;
  };
  CHECK(at_table("table-1").empty());
  f.board.sit("table-1", f.ada.id, Going::stays, f.now());
  f.world.clock.advance(30s);
  f.board.sit("table-1", f.bob.id, Going::stays, f.now());
  CHECK(at_table("table-1") == "ada online; bob online; ");
  CHECK(at_table("table-2").empty());
  f.world.clock.advance(30s);
  CHECK(at_table("table-1") == "ada offline; bob online; ");
  CHECK_FALSE(f.board.sit("table-1", f.bob.id, Going::leaves, f.now()).online);
  CHECK(at_table("table-1") == "ada offline; bob offline; ");
  f.board.sit("table-1", f.ada.id, Going::stays, f.now());
  CHECK(at_table("table-1") == "ada online; bob offline; ");
  f.world.clock.advance(presence::table_kept_for);
  CHECK(at_table("table-1").empty());
  f.board.flush(f.world.db);
  // Leaving a table without sitting there takes no seat.
  CHECK_FALSE(f.board.sit("table-3", f.ada.id, Going::leaves, f.now()).online);
  CHECK(at_table("table-3").empty());
}

TEST_CASE("a table's seats are limited") {
  Fixture f;
  for (size_t i = 0; i < presence::Board::max_at_table; ++i)
    f.board.sit("table-1", std::to_string(i), Going::stays, f.now());
  const auto sit = [&] {
    return refusal([&] { f.board.sit("table-1", f.ada.id, Going::stays, f.now()); });
  };
  CHECK(sit() == "503 unavailable");
  f.world.clock.advance(presence::table_kept_for);
  f.board.flush(f.world.db);
  CHECK(sit() == "");
}

}  // namespace
