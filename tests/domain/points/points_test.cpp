#include "controller/domain/points/points.h"

#include <catch2/catch.hpp>

#include "controller/domain/ledger/ledger_audit.h"
#include "controller/domain/oauth/connections.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;

struct Fixture {
  World world;
  accounts::User ada = world.verified_user("ada");
  accounts::User bob = world.verified_user("bob");
  apps::App app = world.approved_app(ada, {Scope::profile_read, Scope::points_spend});
  rewards::Rules rules;

  ledger::Account account(const accounts::User& user) { return ledger::user_account(user.id); }
  oauth::Caller caller(const accounts::User& user) {
    return world.check(world.tokens(app, user, "points:spend").access_token);
  }
  std::int64_t spend(const oauth::Caller& caller, std::int64_t amount) {
    return world.write([&](db::Tx& tx) {
      return points::spend(tx,
                           {.grant_id = caller.grant_id,
                            .user_id = caller.user_id,
                            .app_id = caller.app_id,
                            .amount = amount,
                            .description = "a hat"},
                           rules)
          .balance;
    });
  }
  std::int64_t transfer(const accounts::User& from, const points::Recipient& to,
                        std::int64_t amount) {
    return world.write([&](db::Tx& tx) {
      return points::transfer(tx, {.user_id = from.id, .grant_id = {}}, to, amount, "thanks");
    });
  }
  Page<points::Entry> history(const accounts::User& user, const points::Filter& filter = {},
                              const PageRequest& page = {}) {
    return world.read([&](db::Tx& tx) { return points::history(tx, account(user), filter, page); });
  }
  ~Fixture() {
    for (const auto& check : world.read([](db::Tx& tx) { return ledger::audit(tx); })) {
      INFO(check.name << ": " << check.detail);
      CHECK(check.ok);
    }
  }
};

TEST_CASE("spending moves points from the user to the app") {
  Fixture f;
  f.world.mint(f.account(f.bob), 10);
  const auto caller = f.caller(f.bob);
  CHECK(f.spend(caller, 4) == 6);
  CHECK(f.world.balance(ledger::app_account(f.app.id)) == 4);
  CHECK(refusal([&] { f.spend(caller, 7); }) == "422 insufficient_balance");
  CHECK(f.spend(caller, 6) == 0);
  CHECK(refusal([&] { f.spend(caller, 1); }) == "422 insufficient_balance");
}

TEST_CASE("the user's daily limit stops an app, and a refusal takes nothing") {
  Fixture f;
  f.world.mint(f.account(f.bob), 100);
  const auto caller = f.caller(f.bob);
  f.world.write(
      [&](db::Tx& tx) { connections::set_daily_spend_limit(tx, f.bob.id, f.app.id, 10); });
  CHECK(f.spend(caller, 10) == 90);
  CHECK(refusal([&] { f.spend(caller, 1); }) == "422 spend_limit_reached");
  CHECK(f.world.balance(f.account(f.bob)) == 90);
  f.world.clock.advance(std::chrono::hours(24));
  CHECK(f.spend(caller, 1) == 89);
}

TEST_CASE("a transfer goes to another user, by id or by name") {
  Fixture f;
  f.world.mint(f.account(f.bob), 10);
  CHECK(f.transfer(f.bob, {.user_id = f.ada.id, .username = {}}, 3) == 7);
  CHECK(f.transfer(f.bob, {.user_id = {}, .username = "ADA"}, 3) == 4);
  CHECK(f.world.balance(f.account(f.ada)) == 6);
  const auto refused = [&](const points::Recipient& to, std::int64_t amount = 1) {
    return refusal([&] { f.transfer(f.bob, to, amount); });
  };
  CHECK(refused({.user_id = f.bob.id, .username = {}}) == "422 validation_failed");
  CHECK(refused({.user_id = {}, .username = "bob"}) == "422 validation_failed");
  CHECK(refused({.user_id = {}, .username = {}}) == "422 validation_failed");
  CHECK(refused({.user_id = f.ada.id, .username = "ada"}) == "422 validation_failed");
  CHECK(refused({.user_id = {}, .username = "nobody"}) == "404 user_not_found");
  CHECK(refused({.user_id = f.ada.id, .username = {}}, 5) == "422 insufficient_balance");
  CHECK(f.world.balance(f.account(f.bob)) == 4);
}

TEST_CASE("no balance exceeds what a JSON number represents exactly") {
  Fixture f;
  f.world.mint(f.account(f.ada), ledger::max_points - 10);
  f.world.mint(f.account(f.bob), 10);
  CHECK(refusal([&] { f.world.mint(f.account(f.bob), 1); }) == "422 validation_failed");
  CHECK(f.transfer(f.bob, {.user_id = f.ada.id, .username = {}}, 10) == 0);
  CHECK(f.world.balance(f.account(f.ada)) == ledger::max_points);
  CHECK(f.transfer(f.ada, {.user_id = f.bob.id, .username = {}}, ledger::max_points) == 0);
  CHECK(f.world.balance(f.account(f.bob)) == ledger::max_points);
}

TEST_CASE("the history lists movements and their parties, newest first") {
  Fixture f;
  f.world.mint(f.account(f.bob), 10);
  f.world.clock.advance(std::chrono::hours(1));
  f.spend(f.caller(f.bob), 4);
  f.world.clock.advance(std::chrono::hours(1));
  const Instant late = f.world.clock.now();
  f.transfer(f.bob, {.user_id = f.ada.id, .username = {}}, 1);

  const auto all = f.history(f.bob);
  REQUIRE(all.total == 3);
  CHECK(all.items[0].kind == "transfer");
  CHECK(all.items[0].amount == -1);
  CHECK(all.items[0].description == "thanks");
  CHECK(all.items[0].counterparty.id() == "user:" + f.ada.id);
  CHECK(all.items[0].counterparty_name == "ada");
  CHECK(all.items[0].at == late);
  CHECK(all.items[1].kind == "spend");
  CHECK(all.items[1].counterparty_name == "My game");
  CHECK(all.items[2].kind == "mint");
  CHECK(all.items[2].amount == 10);
  CHECK(all.items[2].counterparty.id() == "issuance");
  CHECK_FALSE(all.items[2].counterparty_name);
  CHECK(f.history(f.ada).items.at(0).amount == 1);

  const auto kinds = [&](const points::Filter& filter) {
    std::string text;
    for (const auto& entry : f.history(f.bob, filter).items) text += entry.kind + " ";
    return text;
  };
  using points::Direction;
  CHECK(kinds({.kind = "spend", .direction = {}, .from = {}, .until = {}}) == "spend ");
  CHECK(kinds({.kind = {}, .direction = Direction::in, .from = {}, .until = {}}) == "mint ");
  CHECK(kinds({.kind = {}, .direction = Direction::out, .from = {}, .until = {}}) ==
        "transfer spend ");
  CHECK(kinds({.kind = {}, .direction = {}, .from = late, .until = {}}) == "transfer ");
  CHECK(kinds({.kind = {}, .direction = {}, .from = {}, .until = late}) == "spend mint ");
  const auto second = f.history(f.bob, {}, {.page = 2, .page_size = 2});
  CHECK(second.total == 3);
  REQUIRE(second.items.size() == 1);
  CHECK(second.items[0].kind == "mint");
}

// The sizes of all entries that fit the filter, as they are found page by page.
std::vector<std::int64_t> walked(Fixture& f, const points::Filter& filter) {
  std::vector<std::int64_t> amounts;
  PageRequest page = {.page = 1, .page_size = 3};
  while (true) {
    const auto found = f.history(f.bob, filter, page);
    for (const auto& entry : found.items) amounts.push_back(entry.amount);
    if (!found.next) {
      CHECK(found.total == std::int64_t(amounts.size()));
      return amounts;
    }
    page.after = found.next;
  }
}

TEST_CASE("the history is walked from position to position, whatever the filter") {
  Fixture f;
  for (int i = 1; i <= 7; ++i) f.world.mint(f.account(f.bob), i);
  for (int i = 1; i <= 4; ++i) f.transfer(f.bob, {.user_id = f.ada.id, .username = {}}, i);
  f.world.clock.advance(std::chrono::hours(1));
  const Instant later = f.world.clock.now();
  f.world.mint(f.account(f.bob), 100);
  f.spend(f.caller(f.bob), 50);
  using points::Direction;
  using Amounts = std::vector<std::int64_t>;
  CHECK(walked(f, {}) == Amounts{-50, 100, -4, -3, -2, -1, 7, 6, 5, 4, 3, 2, 1});
  CHECK(walked(f, {.kind = {}, .direction = Direction::out, .from = {}, .until = {}}) ==
        Amounts{-50, -4, -3, -2, -1});
  CHECK(walked(f, {.kind = "mint", .direction = {}, .from = {}, .until = {}}) ==
        Amounts{100, 7, 6, 5, 4, 3, 2, 1});
  CHECK(walked(f, {.kind = "mint", .direction = Direction::in, .from = {}, .until = later}) ==
        Amounts{7, 6, 5, 4, 3, 2, 1});
  CHECK(walked(f, {.kind = "mint", .direction = Direction::out, .from = {}, .until = {}}).empty());
  CHECK(walked(f, {.kind = {}, .direction = {}, .from = later, .until = {}}) == Amounts{-50, 100});
  CHECK(walked(f, {.kind = {}, .direction = {}, .from = {}, .until = later}) ==
        Amounts{-4, -3, -2, -1, 7, 6, 5, 4, 3, 2, 1});
  const auto second = f.history(f.bob, {.kind = {}, .direction = {}, .from = {}, .until = later},
                                {.page = 3, .page_size = 4});
  REQUIRE(second.items.size() == 3);
  CHECK(second.items[0].amount == 3);
}

TEST_CASE("analytics count what happened within the window") {
  Fixture f;
  f.world.mint(f.account(f.bob), 100);
  const auto bob = f.caller(f.bob);
  f.spend(bob, 5);
  f.world.clock.advance(std::chrono::days(10));
  f.spend(bob, 7);
  f.world.mint(ledger::app_account(f.app.id), 1'000);
  const auto analytics = [&](int days) {
    return f.world.read([&](db::Tx& tx) { return points::analytics(tx, f.app.id, days); });
  };
  CHECK(analytics(30).total_spends == 2);
  CHECK(analytics(30).earnings == 12);
  CHECK(analytics(30).total_awards == 1);
  CHECK(analytics(30).total_users == 1);
  CHECK(analytics(7).total_spends == 1);
  CHECK(analytics(7).earnings == 7);
  // The user connected the app ten days ago and hasn't used it since.
  CHECK(analytics(7).daily_active_users == 0);
  CHECK(analytics(7).retention_7d == 0);
  connections::UseLog uses;
  uses.note(bob.grant_id, f.world.clock.now());
  uses.flush(f.world.db);
  CHECK(analytics(7).daily_active_users == 1);
  CHECK(analytics(7).retention_7d == 1);
}

struct Brought : Fixture {
  accounts::User eve = world.verified_user("eve");
  accounts::User friend_of_eve = [this] {
    const auto user = world.new_user("friend", eve.referral_code);
    world.write([&](db::Tx& tx) { accounts::mark_verified(tx, user.id); });
    return world.find_user(user.id);
  }();
  Brought() { world.mint(ledger::treasury(), 1'000); }
  std::int64_t eve_has() { return world.balance(account(eve)); }
};

TEST_CASE("referring a user is rewarded once, after they have really used the service") {
  Brought f;
  f.world.mint(f.account(f.friend_of_eve), 1'000);
  const auto caller = f.caller(f.friend_of_eve);
  f.spend(caller, points::referral_use - 1);
  CHECK(f.eve_has() == 0);
  f.spend(caller, 1);
  CHECK(f.eve_has() == f.rules.referral);
  f.spend(caller, points::referral_use);
  CHECK(f.eve_has() == f.rules.referral);
}

TEST_CASE("points received for free don't count for a referral") {
  Brought f;
  f.world.write([&](db::Tx& tx) {
    rewards::pay(tx, f.rules,
                 {.kind = rewards::Kind::session,
                  .user_id = f.friend_of_eve.id,
                  .app_owner_id = {},
                  .amount = 200,
                  .memo = ""});
  });
  const auto caller = f.caller(f.friend_of_eve);
  f.spend(caller, 200);
  CHECK(f.eve_has() == 0);
  f.world.mint(f.account(f.friend_of_eve), points::referral_use);
  f.spend(caller, points::referral_use);
  CHECK(f.eve_has() == f.rules.referral);
}

TEST_CASE("spending in the referrer's own app doesn't count for a referral") {
  Brought f;
  f.world.mint(f.account(f.friend_of_eve), 1'000);
  f.app = f.world.approved_app(f.eve, {Scope::profile_read, Scope::points_spend});
  f.spend(f.caller(f.friend_of_eve), 500);
  CHECK(f.eve_has() == 0);
}

TEST_CASE("a referral that the treasury can't pay is paid with a later spending") {
  Brought f;
  f.world.mint(f.account(f.friend_of_eve), 1'000);
  f.world.write([](db::Tx& tx) {
    ledger::post(tx, {.kind = "test",
                      .from = ledger::treasury(),
                      .to = ledger::issuance(),
                      .amount = 1'000,
                      .memo = ""});
  });
  const auto caller = f.caller(f.friend_of_eve);
  const auto refused = rewards::refused_for_empty_treasury();
  CHECK(f.spend(caller, 200) == 800);
  CHECK(rewards::refused_for_empty_treasury() == refused + 1);
  CHECK(f.eve_has() == 0);
  f.world.mint(ledger::treasury(), 50);
  f.spend(caller, 1);
  CHECK(f.eve_has() == 50);
}

}  // namespace
