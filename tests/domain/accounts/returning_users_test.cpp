// Deleting an account and signing up again doesn't make a new user.
#include "controller/domain/accounts/returning_users.h"

#include <catch2/catch.hpp>

#include "controller/domain/lifecycle/expiry.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "controller/domain/points/points.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

struct Fixture {
  World world;
  Fixture() {
    world.bonus = {.points = 10, .first_multiplier = 1, .early_multiplier = 1};
    world.mint(ledger::treasury(), 1'000'000);
  }
  accounts::User sign_up(const std::string& email, const std::string& username,
                         const std::optional<std::string>& referral_code = {}) {
    return world.write([&](db::Tx& tx) {
      return accounts::register_user(tx,
                                     {.email = email,
                                      .username = username,
                                      .password_hash = "no hash",
                                      .referral_code = referral_code},
                                     world.bonus, world.keys, "https://api.example.org");
    });
  }
  // Returns the user's points after verifying the address.
  std::int64_t verified(const accounts::User& user) {
    world.write([&](db::Tx& tx) { accounts::mark_verified(tx, user.id, world.bonus); });
    return world.find_user(user.id).points;
  }
  void erase(const accounts::User& user) {
    world.write([&](db::Tx& tx) {
      accounts::delete_account(tx, *accounts::find(tx, user.id), world.keys);
    });
  }
  std::int64_t remembered() {
    return world.read(
        [](db::Tx& tx) { return tx.number("SELECT count(*) FROM deleted_addresses"); });
  }
};

TEST_CASE("a mailbox has many addresses") {
  CHECK(accounts::mailbox_of("Ada@Example.ORG") == "ada@example.org");
  CHECK(accounts::mailbox_of("ada+berth+2@example.org") == "ada@example.org");
  CHECK(accounts::mailbox_of("a.d.a@example.org") == "a.d.a@example.org");
  CHECK(accounts::mailbox_of("a.d.a+x@GoogleMail.com") == "ada@gmail.com");
  CHECK(accounts::mailbox_of("+ada@example.org") == "+ada@example.org");
}

TEST_CASE("no sign-up bonus for a year after the address was deleted") {
  Fixture f;
  auto ada = f.sign_up("ada@example.org", "ada");
  REQUIRE(f.verified(ada) == 10);
  f.erase(ada);
  CHECK(f.remembered() == 1);
  CHECK(f.world.read([](db::Tx& tx) {
    return tx.number("SELECT count(*) FROM deleted_addresses WHERE address_hash LIKE '%ada%'");
  }) == 0);
  for (const char* email : {"ada@example.org", "ADA@example.org", "ada+again@example.org"}) {
    INFO(email);
    f.world.clock.advance(10 * 24h);
    ada = f.sign_up(email, "ada" + std::to_string(f.world.clock.now().time_since_epoch().count()));
    CHECK(f.verified(ada) == 0);
    f.erase(ada);
  }
  CHECK(f.verified(f.sign_up("ada@example.com", "another")) == 10);
  // The year counts from the latest deletion.
  f.world.clock.advance(accounts::address_remembered_for - 1ms);
  const auto early = f.sign_up("ada@example.org", "early");
  CHECK(f.verified(early) == 0);
  f.world.clock.advance(1ms);
  CHECK(f.verified(f.sign_up("ada+2@example.org", "late")) == 10);
  while (f.world.read([](db::Tx& tx) { return expiry::is_anything_due(tx); }))
    REQUIRE(f.world.write([](db::Tx& tx) { return expiry::remove_some(tx, 100); }) > 0);
  CHECK(f.remembered() == 0);
}

TEST_CASE("an address that was never verified can't use up its owner's bonus") {
  Fixture f;
  f.erase(f.sign_up("victim@example.org", "mallory"));
  CHECK(f.remembered() == 0);
  CHECK(f.verified(f.sign_up("victim@example.org", "victim")) == 10);
}

TEST_CASE("referring a returning user isn't rewarded") {
  Fixture f;
  const auto eve = f.sign_up("eve@example.org", "eve");
  REQUIRE(f.verified(eve) == 10);
  const auto ada = f.world.verified_user("ada");
  const auto app = f.world.approved_app(ada, {Scope::profile_read, Scope::points_spend});
  const auto spends = [&](const accounts::User& user) {
    f.world.mint(ledger::user_account(user.id), 2 * points::referral_use);
    const auto caller = f.world.check(f.world.tokens(app, user, "points:spend").access_token);
    f.world.write([&](db::Tx& tx) {
      points::spend(tx,
                    {.grant_id = caller.grant_id,
                     .user_id = caller.user_id,
                     .app_id = caller.app_id,
                     .amount = 2 * points::referral_use,
                     .description = ""},
                    {});
    });
    return f.world.find_user(eve.id).points;
  };
  auto bob = f.sign_up("bob@example.org", "bob");
  f.verified(bob);
  f.erase(bob);
  bob = f.sign_up("bob@example.org", "bob2", eve.referral_code);
  f.verified(bob);
  CHECK(spends(bob) == 10);
  const auto tim = f.sign_up("tim@example.org", "tim", eve.referral_code);
  f.verified(tim);
  CHECK(spends(tim) == 10 + rewards::Rules{}.referral);
}

}  // namespace
