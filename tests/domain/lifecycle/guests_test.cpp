// How guests end: as an account, in place, or because they don't come back.
#include "controller/domain/lifecycle/guests.h"

#include <catch2/catch.hpp>

#include "controller/domain/accounts/guests.h"
#include "controller/domain/items/avatars.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/lifecycle/expiry.h"
#include "controller/domain/oauth/guest_tokens.h"
#include "controller/domain/social/friends.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using std::chrono::days;

constexpr int plenty = 1'000;

struct Fixture {
  World world;
  accounts::User ada = world.verified_user("ada");
  accounts::User bob = world.verified_user("bob");
  apps::App app = world.approved_app(ada, {Scope::points_spend});
  oauth::Guest guest = another();

  oauth::Guest another() {
    return world.write([&](db::Tx& tx) { return oauth::add_guest(tx, app); });
  }
  static accounts::Registration registration(const std::string& name) {
    return {.email = name + "@example.org",
            .username = name,
            .password_hash = "no hash",
            .referral_code = {}};
  }
  accounts::User upgrade(const std::string& id, const std::string& name) {
    return world.write([&](db::Tx& tx) {
      return guests::upgrade(tx, id, registration(name), world.bonus, world.keys,
                             "https://api.example.org", world.policy);
    });
  }
  void make_friends(const std::string& one, const std::string& other) {
    world.write([&](db::Tx& tx) { friends::accept(tx, other, friends::ask(tx, one, other).id); });
  }
  void expire() {
    while (world.read([](db::Tx& tx) { return expiry::is_anything_due(tx); }))
      REQUIRE(world.write([](db::Tx& tx) { return expiry::remove_some(tx, plenty); }) > 0);
  }
  std::int64_t number(const std::string& sql) {
    return world.read([&](db::Tx& tx) { return tx.number(sql); });
  }
  std::int64_t rows_of_guest() {
    return world.read([&](db::Tx& tx) {
      return tx.number("SELECT count(*) FROM users WHERE id = $1", guest.user.id);
    });
  }
  std::int64_t living() { return number("SELECT living FROM guest_counts WHERE subject = 'all'"); }
  bool is_there() {
    return world.read([&](db::Tx& tx) { return accounts::find(tx, guest.user.id).has_value(); });
  }
};

TEST_CASE("a guest becomes an account in place") {
  Fixture f;
  const std::string id = f.guest.user.id;
  f.world.mint(ledger::user_account(id), 70);
  f.make_friends(id, f.bob.id);
  const auto letters = f.number("SELECT count(*) FROM outbox");
  const accounts::User user = f.upgrade(id, "carol");
  CHECK(user.id == id);
  CHECK_FALSE(user.is_guest);
  CHECK(user.email == "carol@example.org");
  CHECK(user.username == "carol");
  CHECK_FALSE(user.email_verified);
  CHECK(user.points == 70);
  CHECK(user.registration_number == f.bob.registration_number + 1);
  CHECK(user.signup_multiplier == f.world.bonus.first_multiplier);
  CHECK(user.referral_code.find(':') == std::string::npos);
  CHECK(f.number("SELECT count(*) FROM outbox") == letters + 1);
  f.world.read([&](db::Tx& tx) {
    CHECK(friends::list(tx, id, {}).total == 1);
    CHECK(accounts::credentials(tx, "carol@example.org")->user_id == id);
    CHECK(tx.number("SELECT count(*) FROM username_suffixes WHERE user_id = $1", id) > 0);
  });
  CHECK(f.living() == 0);
  // As after a registration, the bonus is paid when the address is verified.
  f.world.mint(ledger::treasury(), 10'000);
  f.world.write([&](db::Tx& tx) { accounts::mark_verified(tx, id, f.world.bonus); });
  CHECK(f.world.find_user(id).points == 70 + f.world.bonus.points * f.world.bonus.first_multiplier);
  f.world.log_in(user);
}

TEST_CASE("the tokens of a guest go on working for the account, but for spending") {
  Fixture f;
  f.upgrade(f.guest.user.id, "carol");
  const ScopeSet kept = {Scope::profile_read, Scope::points_read};
  const oauth::Caller caller = f.world.check(f.guest.tokens.access_token);
  CHECK_FALSE(caller.is_guest);
  CHECK(caller.user_id == f.guest.user.id);
  CHECK(caller.scopes == kept);
  auto answer = f.world.refresh(f.app, f.guest.tokens.refresh_token);
  REQUIRE(refusal_of(answer) == "");
  CHECK(answer->scopes == kept);
  // The tokens end as those of others do, and the user can consent to spending as others do.
  const auto again = f.world.tokens(f.app, f.world.find_user(f.guest.user.id), "points:spend");
  CHECK(f.world.check(again.access_token).scopes.has(Scope::points_spend));
  std::string token = answer->refresh_token;
  for (int i = 0; i < 3; ++i) {
    f.world.clock.advance(days(29));
    answer = f.world.refresh(f.app, token);
    REQUIRE(refusal_of(answer) == "");
    token = answer->refresh_token;
  }
  f.world.clock.advance(days(4));
  CHECK(refusal_of(f.world.refresh(f.app, token)) == "401 invalid_grant");
}

TEST_CASE("a guest is upgraded once, and to an address and a name that are free") {
  Fixture f;
  const oauth::Guest other = f.another();
  const auto refused = [&](const std::string& id, const std::string& name) {
    return refusal([&] { f.upgrade(id, name); });
  };
  CHECK(refused(f.guest.user.id, "bob") == "422 validation_failed");
  CHECK(f.world.find_user(f.guest.user.id).is_guest);
  CHECK(refused(f.guest.user.id, "carol").empty());
  CHECK(refused(f.guest.user.id, "carol") == "409 invalid_state");
  CHECK(refused(f.guest.user.id, "dora") == "409 invalid_state");
  CHECK(refused(other.user.id, "carol") == "422 validation_failed");
  CHECK(refused(f.bob.id, "dora") == "409 invalid_state");
  CHECK(f.living() == 1);
}

TEST_CASE("a guest who is refreshed stays, for years") {
  Fixture f;
  std::string token = f.guest.tokens.refresh_token;
  for (int month = 0; month < 24; ++month) {
    f.world.clock.advance(days(29));
    auto answer = f.world.refresh(f.app, token);
    REQUIRE(refusal_of(answer) == "");
    token = answer->refresh_token;
    f.expire();
    REQUIRE(f.is_there());
  }
  CHECK(f.world.find_user(f.guest.user.id).is_guest);
  f.world.clock.advance(days(31));
  f.expire();
  CHECK_FALSE(f.is_there());
}

TEST_CASE("a guest who doesn't come back is removed, and a day later nothing of them is left") {
  Fixture f;
  f.make_friends(f.guest.user.id, f.bob.id);
  f.world.clock.advance(days(30) - 1h);
  f.expire();
  CHECK(f.is_there());
  f.world.clock.advance(1h);
  f.expire();
  CHECK_FALSE(f.is_there());
  CHECK(f.living() == 0);
  CHECK(f.number("SELECT count(*) FROM friendships") == 0);
  f.world.clock.advance(2h);  // the consent is kept for an hour
  f.expire();
  CHECK(f.rows_of_guest() == 1);
  f.world.clock.advance(days(1));
  f.expire();
  CHECK(f.rows_of_guest() == 0);
  CHECK(f.number("SELECT count(*) FROM user_apps WHERE user_id NOT IN (SELECT id FROM users)") ==
        0);
  CHECK(f.number("SELECT count(*) FROM given_up_names") == 0);
}

TEST_CASE("what a request has stored for a guest after their removal goes with the row") {
  Fixture f;
  const std::string id = f.guest.user.id;
  f.world.clock.advance(days(30));
  f.expire();
  REQUIRE_FALSE(f.is_there());
  // As of a heartbeat and a change of the avatar whose tokens were checked before.
  f.world.write([&](db::Tx& tx) {
    tx.execute("INSERT INTO play_time (user_id, counted_until) VALUES ($1, $2)", id, tx.now());
    avatars::change(
        tx, {.user_id = id, .display_name = std::optional<std::string>("Late"), .appearance = {}});
  });
  f.world.clock.advance(2h);  // the consent is kept for an hour
  f.expire();
  f.world.clock.advance(days(1));
  f.expire();
  CHECK(f.rows_of_guest() == 0);
  CHECK(f.number("SELECT count(*) FROM avatars") == 0);
}

TEST_CASE("the points of a removed guest go to the treasury, and their row stays for the ledger") {
  Fixture f;
  f.world.mint(ledger::user_account(f.guest.user.id), 70);
  const auto before = f.world.balance(ledger::treasury());
  f.world.clock.advance(days(32));
  f.expire();
  f.world.clock.advance(days(32));
  f.expire();
  CHECK(f.world.balance(ledger::treasury()) == before + 70);
  CHECK(f.rows_of_guest() == 1);
  CHECK(f.number("SELECT count(*) FROM users WHERE guest_due_at IS NOT NULL") == 0);
}

TEST_CASE("a guest whose app has revoked the tokens is removed when they would have expired") {
  Fixture f;
  const oauth::Guest other = f.another();
  f.world.write([&](db::Tx& tx) { oauth::revoke(tx, f.app, f.guest.tokens.refresh_token); });
  f.world.clock.advance(days(15));
  CHECK(refusal_of(f.world.refresh(f.app, other.tokens.refresh_token)) == "");
  f.world.clock.advance(days(15));
  f.expire();
  CHECK_FALSE(f.is_there());
  CHECK(f.world.find_user(other.user.id).is_guest);
}

TEST_CASE("an upgraded guest isn't removed") {
  Fixture f;
  f.upgrade(f.guest.user.id, "carol");
  f.world.clock.advance(days(400));
  f.expire();
  CHECK(f.is_there());
}

TEST_CASE("a guest gets further sessions in the app, and an account doesn't") {
  Fixture f;
  const auto start = [&](const std::string& access_token) {
    const oauth::Caller caller = f.world.check(access_token);
    return f.world.write([&](db::Tx& tx) { return oauth::start_guest_session(tx, caller); });
  };
  const play::Token token = start(f.guest.tokens.access_token);
  CHECK(f.world.read([&](db::Tx& tx) { return play::check(tx, token.token).user_id; }) ==
        f.guest.user.id);
  CHECK(token.expires_at == f.world.clock.now() + play::token_lifetime);
  const std::string bobs = f.world.tokens(f.app, f.bob).access_token;
  CHECK(refusal([&] { start(bobs); }) == "409 invalid_state");
}

}  // namespace
