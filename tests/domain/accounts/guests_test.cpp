// Guests: what an app can make, within which limits, and what guests can't do.
#include "controller/domain/accounts/guests.h"

#include <catch2/catch.hpp>

#include "controller/domain/accounts/account_mail.h"
#include "controller/domain/items/cosmetics.h"
#include "controller/domain/ledger/rewards.h"
#include "controller/domain/lifecycle/passwords.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "controller/domain/oauth/guest_tokens.h"
#include "controller/domain/points/points.h"
#include "controller/domain/social/friends.h"
#include "controller/domain/social/user_search.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

struct Fixture {
  World world;
  accounts::User ada = world.verified_user("ada");
  accounts::User bob = world.verified_user("bob");
  apps::App app = world.approved_app(ada, {Scope::points_spend});

  oauth::Guest guest() { return guest_of(app); }
  oauth::Guest guest_of(const apps::App& maker) {
    return world.write([&](db::Tx& tx) { return oauth::add_guest(tx, maker); });
  }
  std::string refused() {
    return refusal([&] { guest(); });
  }
  void set_counts(const std::string& subject, const std::string& column, int number) {
    world.write([&](db::Tx& tx) {
      tx.execute("UPDATE guest_counts SET " + column + " = $2 WHERE subject = $1", subject, number);
    });
  }
  std::int64_t living_of(const accounts::User& owner) {
    return rows("SELECT coalesce(sum(living), 0) FROM guest_counts WHERE subject = 'owner:" +
                owner.id + "'");
  }
  std::int64_t rows(const std::string& sql) {
    return world.read([&](db::Tx& tx) { return tx.number(sql); });
  }
};

TEST_CASE("a guest has an id, an address that is nobody's, a random name and tokens") {
  Fixture f;
  const oauth::Guest guest = f.guest();
  CHECK(guest.user.is_guest);
  CHECK(guest.user.email == guest.user.id + "@guest.invalid");
  CHECK(guest.user.username.starts_with("guest-"));
  CHECK_FALSE(guest.user.email_verified);
  CHECK(guest.user.points == 0);
  CHECK(guest.tokens.user_id == guest.user.id);
  CHECK(guest.tokens.scopes ==
        ScopeSet{Scope::profile_read, Scope::points_read, Scope::points_spend});
  CHECK(guest.tokens.session_token);
  const oauth::Caller caller = f.world.check(guest.tokens.access_token);
  CHECK(caller.is_guest);
  CHECK(caller.app_id == f.app.id);
  CHECK_FALSE(f.world.check(f.world.tokens(f.app, f.bob).access_token).is_guest);
  CHECK(f.guest().user.username != guest.user.username);
}

TEST_CASE("an app without points:spend doesn't get it for its guests") {
  Fixture f;
  const apps::App plain = f.world.new_app(f.ada).app;
  CHECK(f.guest_of(plain).tokens.scopes == ScopeSet{Scope::profile_read, Scope::points_read});
}

TEST_CASE("guests take no numbers from those who register, and no search finds them") {
  Fixture f;
  CHECK(f.guest().user.registration_number < 0);
  const oauth::Guest guest = f.guest();
  const auto carol = f.world.new_user("carol");
  CHECK(carol.registration_number == f.bob.registration_number + 1);
  f.world.read([&](db::Tx& tx) {
    CHECK(user_search::search(tx, f.bob.id, "guest").empty());
    CHECK(user_search::search(tx, f.bob.id, guest.user.username).empty());
    CHECK_FALSE(user_search::find(tx, guest.user.username));
    CHECK(tx.number("SELECT count(*) FROM username_suffixes WHERE user_id = $1", guest.user.id) ==
          0);
  });
}

TEST_CASE("an app makes a limited number of guests a day") {
  Fixture f;
  f.guest();
  f.set_counts(f.app.id, "made", guests::max_made_per_day - 1);
  f.guest();
  CHECK(f.refused() == "429 rate_limited");
  f.guest_of(f.world.new_app(f.bob).app);  // another app's guests are counted by themselves
  f.world.clock.advance(12h);
  f.guest();
  CHECK(f.rows("SELECT made FROM guest_counts WHERE subject = 'all'") == 1);
}

TEST_CASE("an app has a limited number of guests, and so have all apps together") {
  Fixture f;
  f.guest();
  f.set_counts(f.app.id, "living", guests::max_living);
  CHECK(f.refused() == "429 rate_limited");
  f.world.clock.advance(24h);
  CHECK(f.refused() == "429 rate_limited");
  f.set_counts(f.app.id, "living", 1);
  f.set_counts("all", "living", guests::max_living_of_all);
  CHECK(f.refused() == "429 rate_limited");
  f.set_counts("all", "living", 1);
  f.guest();
  f.set_counts("all", "made", guests::max_made_per_day_by_all);
  CHECK(f.refused() == "429 rate_limited");
  // A refusal counts nothing.
  CHECK(f.rows("SELECT min(living) FROM guest_counts WHERE subject <> 'all'") == 2);
  CHECK(f.rows("SELECT max(living) FROM guest_counts WHERE subject <> 'all'") == 2);
}

TEST_CASE("the apps of one account leave room for the guests of others") {
  Fixture f;
  const apps::App second = f.world.approved_app(f.ada, {Scope::points_spend});
  f.guest();
  f.guest_of(second);
  CHECK(f.living_of(f.ada) == 2);
  f.set_counts("owner:" + f.ada.id, "made", guests::max_made_per_day_by_owner);
  CHECK(f.refused() == "429 rate_limited");
  CHECK(refusal([&] { f.guest_of(second); }) == "429 rate_limited");
  f.world.clock.advance(24h);
  f.guest();
  f.set_counts("owner:" + f.ada.id, "living", guests::max_living_of_owner);
  CHECK(refusal([&] { f.guest_of(second); }) == "429 rate_limited");
  f.guest_of(f.world.approved_app(f.bob, {Scope::points_spend}));
}

TEST_CASE("apps without an approved scope leave room for those with one") {
  Fixture f;
  const apps::App plain = f.world.new_app(f.bob).app;
  const auto refused = [&] { return refusal([&] { f.guest_of(plain); }); };
  f.guest_of(plain);
  f.set_counts("all", "living", guests::max_living_of_all_unapproved);
  CHECK(refused() == "429 rate_limited");
  f.guest();
  f.set_counts("all", "living", 2);
  f.set_counts("all", "made", guests::max_made_per_day_by_all_unapproved);
  CHECK(refused() == "429 rate_limited");
  f.guest();
  f.set_counts("all", "made", 3);
  // An account has no more of them with further apps.
  f.set_counts("owner:" + f.bob.id, "living", guests::max_living_of_owner_unapproved);
  CHECK(refusal([&] { f.guest_of(f.world.new_app(f.bob).app); }) == "429 rate_limited");
  f.guest_of(f.world.approved_app(f.bob, {Scope::points_spend}));
}

TEST_CASE("apps that can't prove who they are, or are suspended, make no guests") {
  Fixture f;
  apps::App open = f.app;
  open.is_public = true;
  CHECK(refusal([&] { f.guest_of(open); }) == "400 unauthorized_client");
  apps::App suspended = f.app;
  suspended.suspended = true;
  CHECK(refusal([&] { f.guest_of(suspended); }) == "400 unauthorized_client");
  f.world.suspend_user(f.ada.id);
  CHECK(f.refused() == "400 unauthorized_client");
}

TEST_CASE("nobody logs in as a guest, recovers their password or registers such an address") {
  Fixture f;
  const oauth::Guest guest = f.guest();
  f.world.read([&](db::Tx& tx) { CHECK_FALSE(accounts::credentials(tx, guest.user.email)); });
  CHECK(refusal([&] { f.world.log_in(guest.user); }) == "403 guest_account");
  f.world.write([&](db::Tx& tx) { accounts::request_reset(tx, guest.user.email); });
  const auto letters = f.rows("SELECT count(*) FROM outbox");
  f.world.write([&](db::Tx& tx) {
    accounts::answer_reset_requests(tx, f.world.keys, "https://api.example.org", 10);
    accounts::mark_verified(tx, guest.user.id);
    accounts::suspend(tx, guest.user.id, "test", f.world.keys);
  });
  CHECK(f.rows("SELECT count(*) FROM outbox") == letters);
  CHECK_FALSE(f.world.find_user(guest.user.id).email_verified);
  for (const char* address : {"ada@guest.invalid", "Ada@Guest.INVALID"})
    CHECK(refusal([&] { accounts::check_email(address); }) == "422 validation_failed");
  CHECK(refusal([] { accounts::check_email("ada@example.invalid"); }).empty());
}

TEST_CASE("guests get no rewards, and their referral code is nobody's") {
  Fixture f;
  f.world.mint(ledger::treasury(), 1'000);
  const oauth::Guest guest = f.guest();
  const auto outcome = f.world.write([&](db::Tx& tx) {
    return rewards::pay(tx, {},
                        {.kind = rewards::Kind::session,
                         .user_id = guest.user.id,
                         .app_owner_id = {},
                         .amount = 1,
                         .memo = ""});
  });
  CHECK(outcome.refusal == rewards::Refusal::email_not_verified);
  CHECK(refusal([&] { f.world.new_user("dora", guest.user.referral_code); }) ==
        "422 validation_failed");
}

TEST_CASE("points and gifts neither come from guests nor reach them") {
  Fixture f;
  const oauth::Guest guest = f.guest();
  f.world.mint(ledger::user_account(f.bob.id), 100);
  f.world.mint(ledger::user_account(guest.user.id), 100);
  const auto transfer = [&](const std::string& from, const std::string& to) {
    return refusal([&] {
      f.world.write([&](db::Tx& tx) {
        points::transfer(tx, {.user_id = from, .grant_id = {}}, {.user_id = to, .username = {}}, 1,
                         "");
      });
    });
  };
  CHECK(transfer(f.bob.id, guest.user.id) == "403 guest_account");
  CHECK(transfer(guest.user.id, f.bob.id) == "403 guest_account");
  CHECK(transfer(f.bob.id, f.ada.id).empty());
  const auto hat = f.world.write([&](db::Tx& tx) {
    return cosmetics::create(tx, {.id = {},
                                  .name = "Hat",
                                  .description = {},
                                  .category = cosmetics::Category::hat,
                                  .rarity = cosmetics::Rarity::common,
                                  .asset_url = {},
                                  .price_points = 0,
                                  .available = true});
  });
  const auto give = [&](const std::string& from, const std::string& to) {
    return refusal([&] {
      f.world.write(
          [&](db::Tx& tx) { cosmetics::give(tx, {.user_id = from, .grant_id = {}}, hat.id, to); });
    });
  };
  CHECK(give(f.bob.id, guest.user.id) == "403 guest_account");
  CHECK(give(guest.user.id, f.bob.id) == "403 guest_account");
  CHECK(f.world.balance(ledger::user_account(guest.user.id)) == 100);
}

TEST_CASE("a guest can't be an admin") {
  Fixture f;
  const oauth::Guest guest = f.guest();
  CHECK(refusal([&] {
          f.world.write([&](db::Tx& tx) {
            accounts::promote(tx, guest.user.id, {.tier = {}, .is_admin = true}, "test");
          });
        }) == "403 guest_account");
}

TEST_CASE("a guest may have few unanswered friend requests") {
  Fixture f;
  const oauth::Guest guest = f.guest();
  for (int i = 0; i <= guests::max_open_requests; ++i) {
    const auto other = f.world.new_user("friend" + std::to_string(i));
    const std::string refused = refusal(
        [&] { f.world.write([&](db::Tx& tx) { friends::ask(tx, guest.user.id, other.id); }); });
    CHECK(refused == (i < guests::max_open_requests ? "" : "409 invalid_state"));
  }
}

TEST_CASE("guests can't bury somebody under their friend requests") {
  Fixture f;
  const auto asked_by = [&](const std::string& id) {
    return refusal([&] { f.world.write([&](db::Tx& tx) { friends::ask(tx, id, f.bob.id); }); });
  };
  for (int i = 0; i < guests::max_requests_to_one; ++i)
    REQUIRE(asked_by(f.guest().user.id).empty());
  CHECK(asked_by(f.guest().user.id) == "409 invalid_state");
  CHECK(asked_by(f.ada.id).empty());
}

}  // namespace
