#include "controller/domain/social/friends.h"

#include <catch2/catch.hpp>

#include "controller/domain/lifecycle/user_admin.h"
#include "controller/domain/social/blocks.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;

struct Fixture {
  World world;
  accounts::User ada = world.new_user("ada");
  accounts::User bob = world.new_user("bob");
  accounts::User eve = world.new_user("eve");

  template <typename Work>
  std::string write(Work&& work) {
    return refusal([&] { world.write(work); });
  }
  friends::Friendship ask(const accounts::User& from, const accounts::User& to) {
    return world.write([&](db::Tx& tx) { return friends::ask(tx, from.id, to.id); });
  }
  using Change = friends::Friendship (*)(db::Tx&, const std::string&, const std::string&);
  std::string change(Change operation, const accounts::User& by, const std::string& id) {
    return write([&](db::Tx& tx) { operation(tx, by.id, id); });
  }
  std::string between(const accounts::User& one, const accounts::User& other) {
    return world.read([&](db::Tx& tx) {
      const auto found = friends::between(tx, one.id, other.id);
      return found ? std::string(to_string(found->status)) : "none";
    });
  }
  std::int64_t rows() {
    return world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM friendships"); });
  }
  // Creates a friendship in this state that ada has requested from bob.
  std::string in_state(const std::string& status) {
    const std::string id = ask(ada, bob).id;
    if (status == "rejected") REQUIRE(change(friends::reject, bob, id) == "");
    if (status == "accepted" || status == "removed")
      REQUIRE(change(friends::accept, bob, id) == "");
    if (status == "removed") REQUIRE(change(friends::end, bob, ada.id) == "");
    return id;
  }
};

TEST_CASE("a request waits for the other user's answer") {
  Fixture f;
  const auto asked = f.ask(f.ada, f.bob);
  CHECK(asked.status == friends::Status::pending);
  const auto requests = [&](const accounts::User& user, friends::Direction direction) {
    return f.world.read(
        [&](db::Tx& tx) { return friends::list_requests(tx, user.id, direction, {}); });
  };
  const auto incoming = requests(f.bob, friends::Direction::incoming);
  REQUIRE(incoming.items.size() == 1);
  CHECK(incoming.total == 1);
  CHECK(incoming.items[0].friendship_id == asked.id);
  CHECK(incoming.items[0].user_id == f.ada.id);
  CHECK(incoming.items[0].username == "ada");
  CHECK(incoming.items[0].sent_at == f.world.clock.now());
  const auto outgoing = requests(f.ada, friends::Direction::outgoing);
  REQUIRE(outgoing.items.size() == 1);
  CHECK(outgoing.items[0].user_id == f.bob.id);
  CHECK(requests(f.ada, friends::Direction::incoming).total == 0);
  CHECK(requests(f.bob, friends::Direction::outgoing).items.empty());

  CHECK(f.change(friends::accept, f.bob, asked.id) == "");
  CHECK(requests(f.bob, friends::Direction::incoming).total == 0);
  for (const auto& [user, other] : {std::pair(f.ada, f.bob), std::pair(f.bob, f.ada)}) {
    const std::string& id = user.id;
    const auto list = f.world.read([&](db::Tx& tx) { return friends::list(tx, id, {}); });
    REQUIRE(list.items.size() == 1);
    CHECK(list.total == 1);
    CHECK(list.items[0].user_id == other.id);
    CHECK(list.items[0].username == other.username);
    CHECK(list.items[0].email == other.email);
  }
}

TEST_CASE("requesting a user who has sent a request accepts it") {
  Fixture f;
  const auto asked = f.ask(f.ada, f.bob);
  const auto back = f.ask(f.bob, f.ada);
  CHECK(back.id == asked.id);
  CHECK(back.status == friends::Status::accepted);
  CHECK(f.between(f.ada, f.bob) == "accepted");
}

TEST_CASE("each state has its transitions, and no others") {
  struct Row {
    std::string state, accept, reject, withdraw, end, ask_again, end_state_of_ask;
  };
  const std::string done, invalid = "409 invalid_state", none = "404 friendship_not_found";
  // accept and reject are called by the recipient; withdraw and a second request by the requester.
  for (const Row& row : {Row{"pending", done, done, done, none, invalid, "pending"},
                         Row{"accepted", invalid, invalid, invalid, done, invalid, "accepted"},
                         Row{"rejected", invalid, invalid, invalid, none, done, "pending"},
                         Row{"removed", invalid, invalid, invalid, none, done, "pending"}}) {
    INFO(row.state);
    {
      Fixture f;
      CHECK(f.change(friends::accept, f.bob, f.in_state(row.state)) == row.accept);
      CHECK(f.between(f.ada, f.bob) == (row.accept.empty() ? "accepted" : row.state));
    }
    {
      Fixture f;
      CHECK(f.change(friends::reject, f.bob, f.in_state(row.state)) == row.reject);
      CHECK(f.between(f.ada, f.bob) == (row.reject.empty() ? "rejected" : row.state));
    }
    {
      Fixture f;
      CHECK(f.change(friends::withdraw, f.ada, f.in_state(row.state)) == row.withdraw);
      CHECK(f.between(f.ada, f.bob) == (row.withdraw.empty() ? "removed" : row.state));
    }
    {
      Fixture f;
      f.in_state(row.state);
      CHECK(f.change(friends::end, f.ada, f.bob.id) == row.end);
      CHECK(f.between(f.ada, f.bob) == (row.end.empty() ? "removed" : row.state));
    }
    {
      Fixture f;
      const std::string id = f.in_state(row.state);
      CHECK(f.change(friends::ask, f.ada, f.bob.id) == row.ask_again);
      CHECK(f.between(f.ada, f.bob) == row.end_state_of_ask);
      CHECK(f.rows() == 1);
      const auto now = f.world.read(
          [&](db::Tx& tx) { return friends::between(tx, f.ada.id, f.bob.id).value(); });
      CHECK((now.id == id) == !row.ask_again.empty());
    }
  }
}

TEST_CASE("after an end, the other user may ask as well, and the old request is gone") {
  Fixture f;
  const std::string old = f.in_state("rejected");
  const auto asked = f.ask(f.bob, f.ada);
  CHECK(asked.id != old);
  CHECK(asked.status == friends::Status::pending);
  CHECK(f.change(friends::accept, f.bob, asked.id) == "403 forbidden");
  CHECK(f.change(friends::accept, f.ada, old) == "404 friendship_not_found");
  CHECK(f.change(friends::accept, f.ada, asked.id) == "");
}

TEST_CASE("each side decides what is theirs to decide, and others can do nothing") {
  Fixture f;
  const std::string id = f.ask(f.ada, f.bob).id;
  CHECK(f.change(friends::accept, f.ada, id) == "403 forbidden");
  CHECK(f.change(friends::reject, f.ada, id) == "403 forbidden");
  CHECK(f.change(friends::withdraw, f.bob, id) == "403 forbidden");
  for (const auto change : {friends::accept, friends::reject, friends::withdraw}) {
    CHECK(f.change(change, f.eve, id) == "404 friendship_not_found");
    CHECK(f.change(change, f.bob, "unknown") == "404 friendship_not_found");
  }
  CHECK(f.between(f.ada, f.bob) == "pending");
  CHECK(f.change(friends::ask, f.ada, f.ada.id) == "422 validation_failed");
  CHECK(f.change(friends::ask, f.ada, "unknown") == "404 user_not_found");
}

TEST_CASE("a block ends a friendship, works both ways, and its end restores nothing") {
  for (const std::string state : {"pending", "accepted"})
    for (const bool ada_blocks : {true, false}) {
      Fixture f;
      const auto& blocker = ada_blocks ? f.ada : f.bob;
      const auto& blocked = ada_blocks ? f.bob : f.ada;
      const std::string id = f.in_state(state);
      const auto block = [&] {
        return f.write([&](db::Tx& tx) { blocks::add(tx, blocker.id, blocked.id); });
      };
      CHECK(block() == "");
      CHECK(block() == "");
      CHECK(f.between(f.ada, f.bob) == "removed");
      CHECK(f.change(friends::accept, f.bob, id) == "409 invalid_state");
      CHECK(f.change(friends::ask, f.ada, f.bob.id) == "404 user_not_found");
      CHECK(f.change(friends::ask, f.bob, f.ada.id) == "404 user_not_found");
      // Only the user who blocked can end the block.
      CHECK(f.write([&](db::Tx& tx) { blocks::remove(tx, blocked.id, blocker.id); }) ==
            "404 user_not_found");
      CHECK(f.change(friends::ask, f.bob, f.ada.id) == "404 user_not_found");
      CHECK(f.write([&](db::Tx& tx) { blocks::remove(tx, blocker.id, blocked.id); }) == "");
      CHECK(f.between(f.ada, f.bob) == "removed");
      CHECK(f.change(friends::ask, f.bob, f.ada.id) == "");
    }
}

TEST_CASE("blocks are listed for the user who made them") {
  Fixture f;
  CHECK(f.write([&](db::Tx& tx) { blocks::add(tx, f.ada.id, f.ada.id); }) ==
        "422 validation_failed");
  CHECK(f.write([&](db::Tx& tx) { blocks::add(tx, f.ada.id, "unknown"); }) == "404 user_not_found");
  CHECK(f.write([&](db::Tx& tx) { blocks::add(tx, f.ada.id, f.bob.id); }) == "");
  f.world.clock.advance(std::chrono::seconds(1));
  CHECK(f.write([&](db::Tx& tx) { blocks::add(tx, f.ada.id, f.eve.id); }) == "");
  f.world.read([&](db::Tx& tx) {
    const auto mine = blocks::list(tx, f.ada.id, {});
    REQUIRE(mine.items.size() == 2);
    CHECK(mine.total == 2);
    CHECK(mine.items[0].username == "eve");
    CHECK(mine.items[1].user_id == f.bob.id);
    CHECK(blocks::list(tx, f.bob.id, {}).total == 0);
    CHECK(blocks::around(tx, f.bob.id) == std::unordered_set<std::string>{f.ada.id});
    CHECK(blocks::between(tx, f.bob.id, f.ada.id));
    CHECK_FALSE(blocks::between(tx, f.bob.id, f.eve.id));
  });
}

TEST_CASE("unanswered requests and blocks have limits") {
  Fixture f;
  const auto fill = [&](const char* sql, int count) {
    f.world.write([&](db::Tx& tx) {
      for (int i = 0; i < count; ++i) {
        const std::string number = std::to_string(i + 100);
        tx.execute(
            "INSERT INTO users (id, email, email_key, username, username_key, password_hash, "
            "referral_code, registration_number, signup_multiplier, created_at, updated_at) "
            "VALUES ('zz' || $1, $1, $1, 'n' || $1, 'n' || $1, '', $1, $2, 1, 0, 0) "
            "ON CONFLICT DO NOTHING",
            number, i + 100);
        tx.execute(sql, f.ada.id, "zz" + number);
      }
    });
  };
  fill(
      "INSERT INTO friendships (id, low_id, high_id, requester_id, status, asked_at, changed_at) "
      "VALUES ('f' || $2, $1, $2, $1, 'pending', 0, 0)",
      friends::max_open_requests);
  CHECK(f.change(friends::ask, f.ada, f.bob.id) == "409 invalid_state");
  CHECK(f.change(friends::ask, f.bob, f.ada.id) == "");
  f.world.write([](db::Tx& tx) { tx.execute("DELETE FROM friendships"); });
  fill(
      "INSERT INTO friendships (id, low_id, high_id, requester_id, status, asked_at, changed_at) "
      "VALUES ('f' || $2, $1, $2, $1, 'accepted', 0, 0)",
      friends::max_friends);
  const std::string id = f.ask(f.bob, f.ada).id;
  CHECK(f.change(friends::accept, f.ada, id) == "409 invalid_state");
  CHECK(f.between(f.ada, f.bob) == "pending");
  fill("INSERT INTO blocks (blocker_id, blocked_id, created_at) VALUES ($1, $2, 0)",
       blocks::max_blocks_per_user);
  CHECK(f.write([&](db::Tx& tx) { blocks::add(tx, f.ada.id, f.bob.id); }) ==
        "422 validation_failed");
}

TEST_CASE("a deleted account has no friends and blocks nobody") {
  Fixture f;
  f.in_state("accepted");
  f.world.write([&](db::Tx& tx) {
    blocks::add(tx, f.bob.id, f.eve.id);
    accounts::delete_account(tx, f.bob, f.world.keys);
  });
  CHECK(f.between(f.ada, f.bob) == "none");
  CHECK(f.rows() == 0);
  CHECK(f.change(friends::ask, f.ada, f.bob.id) == "404 user_not_found");
  f.world.read([](db::Tx& tx) { CHECK(tx.number("SELECT count(*) FROM blocks") == 0); });
}

}  // namespace
