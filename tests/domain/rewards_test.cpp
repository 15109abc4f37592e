#include "controller/domain/ledger/rewards.h"

#include <catch2/catch.hpp>

#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using rewards::Refusal;

struct Fixture {
  World world;
  accounts::User ada = world.verified_user("ada");
  accounts::User bob = world.verified_user("bob");
  rewards::Rules rules = {.user_daily = 10, .owner_daily = 15, .total_daily = 18};
  Fixture() { world.mint(ledger::treasury(), 1'000); }

  rewards::Outcome pay(const accounts::User& user, std::int64_t amount,
                       const std::optional<std::string>& owner = {}) {
    return world.write([&](db::Tx& tx) {
      return rewards::pay(tx, rules,
                          {.kind = rewards::Kind::session,
                           .user_id = user.id,
                           .app_owner_id = owner,
                           .amount = amount,
                           .memo = "a live minute"});
    });
  }
  std::int64_t has(const accounts::User& user) {
    return world.balance(ledger::user_account(user.id));
  }
};

TEST_CASE("a reward is paid from the treasury, whole or not at all") {
  Fixture f;
  CHECK(f.pay(f.ada, 8).points == 8);
  CHECK(f.world.balance(ledger::treasury()) == 992);
  CHECK(f.pay(f.ada, 3).refusal == Refusal::user_cap);
  CHECK(f.has(f.ada) == 8);
  CHECK(f.pay(f.ada, 2).points == 2);
  CHECK(f.pay(f.ada, 0).refusal == Refusal::nothing_due);
}

TEST_CASE("limits hold for a user, an owner's apps and everybody together, in a UTC day") {
  Fixture f;
  CHECK(f.pay(f.ada, 10, "owner").points == 10);
  CHECK(f.pay(f.bob, 6, "owner").refusal == Refusal::owner_cap);
  CHECK(f.pay(f.bob, 5, "owner").points == 5);
  CHECK(f.pay(f.bob, 4, "another").refusal == Refusal::total_cap);
  CHECK(f.pay(f.bob, 3).points == 3);
  f.world.clock.advance(std::chrono::hours(12) - std::chrono::milliseconds(1));
  CHECK(f.pay(f.ada, 1).refusal == Refusal::user_cap);
  f.world.clock.advance(std::chrono::milliseconds(1));  // midnight has come
  CHECK(f.pay(f.ada, 10, "owner").points == 10);
}

TEST_CASE("nobody is rewarded before the address is verified") {
  Fixture f;
  const auto eve = f.world.new_user("eve");
  CHECK(f.pay(eve, 1).refusal == Refusal::email_not_verified);
  CHECK(f.has(eve) == 0);
}

TEST_CASE("a reward that no balance can take is refused, and doesn't fail") {
  Fixture f;
  f.rules = {.user_daily = INT64_MAX, .owner_daily = INT64_MAX, .total_daily = INT64_MAX};
  CHECK(f.pay(f.ada, ledger::max_points + 1).refusal == Refusal::user_cap);
  CHECK(f.pay(f.ada, 10).points == 10);
  CHECK(f.pay(f.ada, ledger::max_points - 9).refusal == Refusal::user_cap);
  CHECK(f.has(f.ada) == 10);
}

TEST_CASE("an empty treasury ends rewards, and nothing else") {
  Fixture f;
  f.rules = {};
  const auto before = rewards::refused_for_empty_treasury();
  CHECK(f.pay(f.ada, 999).points == 999);
  CHECK(f.pay(f.bob, 2).refusal == Refusal::treasury_empty);
  CHECK(rewards::refused_for_empty_treasury() == before + 1);
  CHECK(f.pay(f.bob, 1).points == 1);
  f.world.mint(ledger::treasury(), 5);
  CHECK(f.pay(f.bob, 5).points == 5);
}

}  // namespace
