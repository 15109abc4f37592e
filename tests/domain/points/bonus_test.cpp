// Bonus points: what the treasury gives for nothing reaches others only within bounds.
#include <catch2/catch.hpp>

#include "controller/domain/accounts/bonuses.h"
#include "controller/domain/ads/campaigns.h"
#include "controller/domain/ledger/ledger_audit.h"
#include "controller/domain/points/points.h"
#include "tests/domain/items/items_world.h"

namespace {

using namespace berth;
using namespace berth::test;

struct Fixture {
  World world;
  rewards::Rules rules;
  accounts::User ada = world.verified_user("ada");
  apps::App app = world.approved_app(ada, {Scope::profile_read, Scope::points_spend});

  ~Fixture() {
    for (const auto& check : world.read([](db::Tx& tx) { return ledger::audit(tx); })) {
      INFO(check.name << ": " << check.detail);
      CHECK(check.ok);
    }
  }

  // A new user who got a bonus.
  accounts::User user(const std::string& name, std::int64_t bonus = 500) {
    const auto made = world.verified_user(name);
    reward(made, bonus);
    return made;
  }
  void reward(const accounts::User& to, std::int64_t points) {
    if (points == 0) return;
    world.write([&](db::Tx& tx) {
      // The treasury has no more than this, so that nobody gets a bonus for signing up.
      ledger::mint(tx, ledger::treasury(), points, "test");
      rewards::give(tx, {.kind = rewards::Kind::signup,
                         .user_id = to.id,
                         .app_owner_id = {},
                         .amount = points,
                         .memo = ""});
    });
  }
  void spend(const accounts::User& from, std::int64_t points, const apps::App& in) {
    const auto caller = world.check(world.tokens(in, from, "points:spend").access_token);
    world.write([&](db::Tx& tx) {
      points::spend(tx,
                    {.grant_id = caller.grant_id,
                     .user_id = caller.user_id,
                     .app_id = caller.app_id,
                     .amount = points,
                     .description = ""},
                    rules);
    });
  }
  void transfer(const accounts::User& from, const accounts::User& to, std::int64_t points) {
    world.write([&](db::Tx& tx) {
      points::transfer(tx, {.user_id = from.id, .grant_id = {}}, {.user_id = to.id, .username = {}},
                       points, "");
    });
  }
  void gift(const accounts::User& from, const accounts::User& to, std::int64_t points) {
    const auto item = new_item(world, "hat" + std::to_string(++items), points);
    world.write([&](db::Tx& tx) {
      cosmetics::give(tx, {.user_id = from.id, .grant_id = {}}, item.id, to.id);
    });
  }
  void advertise(const apps::App& by, std::int64_t points) {
    world.write([&](db::Tx& tx) {
      campaigns::create(tx, by.id,
                        {.name = "Spring",
                         .surface_type = ads::SurfaceType::banner,
                         .total_payment = points,
                         .payout_rate = 1});
    });
  }
  std::int64_t bonus_of(const ledger::Account& account) {
    return world.read([&](db::Tx& tx) { return ledger::bonus(tx, account); });
  }
  std::int64_t bonus_of(const accounts::User& of) { return bonus_of(ledger::user_account(of.id)); }
  int items = 0;
};

TEST_CASE("bonuses of others reach a person within one bound, by whatever way") {
  Fixture f;
  const auto way = GENERATE(as<std::string>(), "transfer", "spend", "gift");
  const auto give = [&](const accounts::User& from, std::int64_t points) {
    return refusal([&] {
      if (way == "transfer") f.transfer(from, f.ada, points);
      if (way == "spend") f.spend(from, points, f.app);
      if (way == "gift") f.gift(from, f.ada, points);
    });
  };
  CHECK(give(f.user("bob"), bonuses::most_received) == "");
  const auto eve = f.user("eve");
  const auto has = [&] { return f.world.balance(ledger::user_account(eve.id)); };
  const std::int64_t before = has();
  CHECK(give(eve, 1) == "422 bonus_locked");
  CHECK(has() == before);
  // By the other ways neither.
  CHECK(refusal([&] { f.transfer(eve, f.ada, 1); }) == "422 bonus_locked");
  CHECK(refusal([&] { f.spend(eve, 1, f.app); }) == "422 bonus_locked");
  CHECK(refusal([&] { f.gift(eve, f.ada, 1); }) == "422 bonus_locked");
  f.world.clock.advance(bonuses::window);
  CHECK(give(eve, bonuses::most_received) == "");
  CHECK(give(f.user("tim"), 1) == "422 bonus_locked");
}

TEST_CASE("points of one's own go first, and a bonus stays one wherever it goes") {
  Fixture f;
  const auto bob = f.user("bob"), eve = f.user("eve", 0);
  f.world.mint(ledger::user_account(bob.id), 50);
  f.transfer(bob, eve, 60);
  CHECK(f.bonus_of(bob) == 490);
  CHECK(f.bonus_of(eve) == 10);
  f.transfer(eve, f.ada, 55);
  CHECK(f.bonus_of(eve) == 5);
  CHECK(f.bonus_of(f.ada) == 5);
  // What the platform gets is taken from the bonus first.
  f.world.mint(ledger::user_account(bob.id), 50);
  buy(f.world, bob, new_item(f.world, "cap", 100));
  CHECK(f.bonus_of(bob) == 390);
}

TEST_CASE("a bonus pays in the user's own app and for its hosting, but not for ads") {
  Fixture f;
  f.reward(f.ada, 900);
  f.spend(f.ada, 900, f.app);
  const ledger::Account account = ledger::app_account(f.app.id);
  CHECK(f.bonus_of(account) == 900);
  CHECK(refusal([&] { f.advertise(f.app, 10); }) == "422 bonus_locked");
  CHECK(refusal([&] { f.advertise(f.app, 901); }) == "422 insufficient_balance");
  f.world.mint(account, 100);
  f.advertise(f.app, 100);
  CHECK(f.bonus_of(account) == 900);
  f.world.write([&](db::Tx& tx) {
    ledger::post(
        tx, {.kind = "test", .from = account, .to = ledger::treasury(), .amount = 300, .memo = ""});
  });
  CHECK(f.bonus_of(account) == 600);
}

TEST_CASE("who has spent points of their own in others' apps has no bounds any more") {
  Fixture f;
  const auto bob = f.user("bob", 1'000), eve = f.user("eve", 0);
  const auto own = f.world.approved_app(bob, {Scope::profile_read, Scope::points_spend});
  CHECK(refusal([&] { f.transfer(bob, eve, 501); }) == "422 bonus_locked");
  f.world.mint(ledger::user_account(bob.id), 3 * rewards::own_use);
  f.spend(bob, rewards::own_use, own);     // one's own app doesn't count
  f.transfer(bob, eve, rewards::own_use);  // nor does a transfer
  CHECK(f.bonus_of(bob) == 1'000);
  f.spend(bob, rewards::own_use - 1, f.app);
  CHECK(f.bonus_of(bob) == 1'000);
  f.spend(bob, 1, f.app);
  CHECK(f.bonus_of(bob) == 0);
  f.transfer(bob, eve, 1'000);
  CHECK(f.bonus_of(eve) == 0);
  f.reward(bob, 700);
  CHECK(f.bonus_of(bob) == 0);
  f.transfer(bob, eve, 700);
  // An app of theirs may advertise with what it has.
  f.reward(f.ada, 200);
  f.spend(f.ada, 200, f.app);
  f.world.mint(ledger::user_account(f.ada.id), rewards::own_use);
  f.reward(f.ada, 1);
  f.spend(f.ada, rewards::own_use, own);
  f.advertise(f.app, 300);
  CHECK(f.bonus_of(ledger::app_account(f.app.id)) == 0);
}

TEST_CASE("a transaction that isn't posted leaves the bonus where it was") {
  Fixture f;
  const auto bob = f.user("bob", 100);
  const ledger::Account from = ledger::user_account(bob.id);
  f.world.write([&](db::Tx& tx) {
    CHECK_FALSE(
        ledger::post(tx, ledger::Transaction{.kind = "test",
                                             .legs = {{from, ledger::app_account(f.app.id), 60},
                                                      {from, ledger::app_account(f.app.id), 60}},
                                             .memo = ""}));
  });
  CHECK(f.bonus_of(bob) == 100);
  CHECK(f.bonus_of(ledger::app_account(f.app.id)) == 0);
}

TEST_CASE("a circle of referrals that pass their bonuses on isn't paid") {
  Fixture f;
  auto first = f.user("first");
  const auto second = f.world.new_user("second", first.referral_code);
  f.world.write([&](db::Tx& tx) { accounts::mark_verified(tx, second.id); });
  f.transfer(first, second, 500);
  f.spend(second, 500, f.app);
  CHECK(f.world.balance(ledger::user_account(first.id)) == 0);
}

}  // namespace
