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
  presence::AtTable sit(const std::string& table, const std::string& user_id, Going going) {
    return world.read([&](db::Tx& tx) { return board.sit(tx, table, user_id, going); });
  }
  std::vector<presence::AtTable> at_table(const std::string& table) {
    return world.read([&](db::Tx& tx) { return board.at_table(tx, table); });
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
  f.sit("table-1", f.ada.id, Going::stays);
  f.world.write([&](db::Tx& tx) { accounts::delete_account(tx, f.ada, f.world.keys); });
  f.board.flush(f.world.db);
  f.world.read([](db::Tx& tx) { CHECK(tx.number("SELECT count(*) FROM presence") == 0); });
  f.board.forget(f.ada.id);
  CHECK(f.at_table("table-1").empty());
}

TEST_CASE("a table lists who sits there, and for a while who did") {
  Fixture f;
  const auto at_table = [&](const char* table) {
    std::string text;
    for (const auto& seat : f.at_table(table))
      text += (seat.user_id == f.ada.id ? "ada " : "bob ") +
              std::string(seat.online ? "online; " : "offline; ");
    return text;
  };
  CHECK(at_table("table-1").empty());
  f.sit("table-1", f.ada.id, Going::stays);
  f.world.clock.advance(30s);
  f.sit("table-1", f.bob.id, Going::stays);
  CHECK(at_table("table-1") == "ada online; bob online; ");
  CHECK(at_table("table-2").empty());
  f.world.clock.advance(30s);
  CHECK(at_table("table-1") == "ada offline; bob online; ");
  CHECK_FALSE(f.sit("table-1", f.bob.id, Going::leaves).online);
  CHECK(at_table("table-1") == "ada offline; bob offline; ");
  f.sit("table-1", f.ada.id, Going::stays);
  CHECK(at_table("table-1") == "ada online; bob offline; ");
  f.world.clock.advance(presence::table_kept_for);
  CHECK(at_table("table-1").empty());
  f.board.flush(f.world.db);
  // Leaving a table without sitting there takes no seat.
  CHECK_FALSE(f.sit("table-3", f.ada.id, Going::leaves).online);
  CHECK(at_table("table-3").empty());
}

TEST_CASE("a table's seats are limited") {
  Fixture f;
  for (size_t i = 0; i < presence::Board::max_at_table; ++i)
    f.sit("table-1", std::to_string(i), Going::stays);
  const auto sit = [&] { return refusal([&] { f.sit("table-1", f.ada.id, Going::stays); }); };
  CHECK(sit() == "503 unavailable");
  f.world.clock.advance(presence::table_kept_for);
  f.board.flush(f.world.db);
  CHECK(sit() == "");
}

// Two berthd processes that share a database.
struct Shared {
  World world;
  presence::Board first{presence::Kept::in_database}, second{presence::Kept::in_database};
  accounts::User ada = world.new_user("ada");
  accounts::User bob = world.new_user("bob");

  Instant now() { return world.clock.now(); }
  presence::Entry of(const presence::Board& board, const accounts::User& user) {
    return world.read([&](db::Tx& tx) { return board.of(tx, user.id); });
  }
  void sit(presence::Board& board, const accounts::User& user, Going going = Going::stays) {
    world.read([&](db::Tx& tx) { return board.sit(tx, "table-1", user.id, going); });
  }
  // Returns, for example, "ada bob-" if bob has left.
  std::string at_table(const presence::Board& board) {
    std::string all;
    for (const auto& seat : world.read([&](db::Tx& tx) { return board.at_table(tx, "table-1"); }))
      all += (all.empty() ? "" : " ") + world.find_user(seat.user_id).username +
             (seat.online ? "" : "-");
    return all;
  }
};

TEST_CASE("shared presence: who is online at one berthd is online at the others") {
  Shared s;
  s.first.set(s.ada.id, chess, Going::stays, s.now());
  CHECK(s.of(s.first, s.ada).online);  // before it is written
  CHECK_FALSE(s.of(s.second, s.ada).online);
  s.first.flush(s.world.db);
  for (const auto* board : {&s.first, &s.second}) {
    CHECK(s.of(*board, s.ada).online);
    CHECK(s.of(*board, s.ada).place == chess);
  }
  s.world.clock.advance(1s);
  s.second.set(s.ada.id, {}, Going::leaves, s.now());
  s.second.flush(s.world.db);
  CHECK_FALSE(s.of(s.first, s.ada).online);
  CHECK(s.of(s.first, s.ada).last_seen == s.now());
  CHECK_FALSE(s.of(s.first, s.bob).online);
}

TEST_CASE("shared presence: a heartbeat at another berthd keeps the place, unless it had ended") {
  Shared s;
  s.first.set(s.ada.id, chess, Going::stays, s.now());
  s.first.flush(s.world.db);
  s.world.clock.advance(50s);
  s.second.touch(s.ada.id, s.now());
  CHECK(s.of(s.second, s.ada).place == chess);
  s.second.flush(s.world.db);
  s.world.clock.advance(50s);
  CHECK(s.of(s.first, s.ada).online);
  CHECK(s.of(s.first, s.ada).place == chess);
  s.world.clock.advance(10s);
  CHECK_FALSE(s.of(s.first, s.ada).online);
  s.second.touch(s.ada.id, s.now());
  CHECK(s.of(s.second, s.ada).place == presence::Place());
  s.second.flush(s.world.db);
  CHECK(s.of(s.first, s.ada).online);
  CHECK(s.of(s.first, s.ada).place == presence::Place());
}

TEST_CASE("shared presence: what is written late undoes nothing that is newer") {
  Shared s;
  s.first.set(s.ada.id, chess, Going::stays, s.now());
  s.world.clock.advance(1s);
  s.second.set(s.ada.id, {.current_game = "Go", .lobby = {}}, Going::stays, s.now());
  s.second.flush(s.world.db);
  s.first.flush(s.world.db);
  for (const auto* board : {&s.first, &s.second})
    CHECK(s.of(*board, s.ada).place.current_game == "Go");
}

TEST_CASE("shared presence: a table has the people of all berthd processes") {
  Shared s;
  s.sit(s.first, s.ada);
  s.first.flush(s.world.db);
  s.world.clock.advance(1s);
  s.sit(s.second, s.bob);
  CHECK(s.at_table(s.second) == "ada bob");
  s.second.flush(s.world.db);
  CHECK(s.at_table(s.first) == "ada bob");
  s.world.clock.advance(1s);
  s.sit(s.second, s.ada, Going::leaves);
  CHECK(s.at_table(s.second) == "ada- bob");
  s.second.flush(s.world.db);
  CHECK(s.at_table(s.first) == "ada- bob");
}

TEST_CASE(
    "shared presence: places go when a user is offline, seats after ten minutes, and both "
    "with the account") {
  Shared s;
  s.first.set(s.ada.id, chess, Going::stays, s.now());
  s.sit(s.first, s.ada);
  s.sit(s.first, s.bob);
  s.first.flush(s.world.db);
  const auto count = [&](const char* sql) {
    return s.world.read([&](db::Tx& tx) { return tx.number(sql); });
  };
  constexpr const char* places = R"(SELECT count(*) FROM presence WHERE lobby IS NOT NULL)";
  constexpr const char* seats = R"(SELECT count(*) FROM presence_seats)";
  CHECK_FALSE(s.world.read(presence::is_any_old));
  s.world.clock.advance(presence::online_for);
  CHECK(s.world.read(presence::is_any_old));
  CHECK(s.world.write([](db::Tx& tx) { return presence::remove_old(tx, 10); }) == 1);
  CHECK(count(places) == 0);
  CHECK(s.of(s.first, s.ada).last_seen == s.now() - presence::online_for);
  CHECK(count(seats) == 2);
  s.world.write([&](db::Tx& tx) { accounts::delete_account(tx, s.bob, s.world.keys); });
  CHECK(count(seats) == 1);
  s.sit(s.second, s.bob);
  s.second.flush(s.world.db);  // was under way at another berthd
  CHECK(count(seats) == 1);
  s.world.clock.advance(presence::table_kept_for);
  CHECK(s.world.write([](db::Tx& tx) { return presence::remove_old(tx, 10); }) == 1);
  CHECK(count(seats) == 0);
}

TEST_CASE("shared presence: a table has room for as many as one berthd's") {
  Shared s;
  s.world.write([](db::Tx& tx) {
    for (size_t i = 0; i < presence::Board::max_at_table; ++i)
      tx.execute(R"(INSERT INTO presence_seats (table_id, user_id, sat_at, last_seen, has_left)
                    VALUES ('table-1', $1, $2, $2, 0))",
                 std::to_string(i), tx.now());
  });
  CHECK(refusal([&] { s.sit(s.second, s.ada); }) == "503 unavailable");
}

}  // namespace
