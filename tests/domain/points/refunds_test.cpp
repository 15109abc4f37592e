// What apps give back of what users spent.
#include "controller/domain/points/refunds.h"

#include <rapidcheck.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "controller/domain/accounts/bonuses.h"
#include "controller/domain/ads/campaigns.h"
#include "controller/domain/kernel/audit.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "controller/domain/oauth/connections.h"
#include "controller/domain/webhooks/webhooks.h"
#include "tests/domain/points/spends_world.h"

namespace {

using namespace berth;
using namespace berth::test;

struct Fixture : SpendsWorld {
  void mint(const accounts::User& to, std::int64_t points) {
    world.mint(ledger::user_account(to.id), points);
  }
  void reward(const accounts::User& to, std::int64_t points) {
    world.write([&](db::Tx& tx) {
      ledger::mint(tx, ledger::treasury(), points, "test");
      rewards::give(tx, {.kind = rewards::Kind::signup,
                         .user_id = to.id,
                         .app_owner_id = {},
                         .amount = points,
                         .memo = ""});
    });
  }
  points::Refund refund(const std::string& spend_id, std::int64_t amount) {
    return world.write([&](db::Tx& tx) {
      return points::refund(
          tx, {.spend_id = spend_id, .amount = amount, .reason = "sold out", .app_id = app.id});
    });
  }
  points::Refund refund_by_admin(const std::string& spend_id, std::int64_t amount) {
    return world.write([&](db::Tx& tx) {
      return points::refund(tx, {.spend_id = spend_id,
                                 .amount = amount,
                                 .reason = "broken",
                                 .app_id = {},
                                 .admin = "root"});
    });
  }
  std::string refused(const std::string& spend_id, std::int64_t amount) {
    return refusal([&] { refund(spend_id, amount); });
  }
  std::int64_t points_of(const accounts::User& user) {
    return world.balance(ledger::user_account(user.id));
  }
  std::int64_t points_of_app() { return world.balance(ledger::app_account(app.id)); }
  std::int64_t bonus_of(const ledger::Account& account) {
    return world.read([&](db::Tx& tx) { return ledger::bonus(tx, account); });
  }
  std::int64_t bonus_of(const accounts::User& user) {
    return bonus_of(ledger::user_account(user.id));
  }
  std::int64_t of_user(const accounts::User& user, const std::string& column) {
    return world.read([&](db::Tx& tx) {
      return tx.number("SELECT " + column + " FROM users WHERE id = $1", user.id);
    });
  }
  std::int64_t rows(const std::string& table) {
    return world.read([&](db::Tx& tx) { return tx.number("SELECT count(*) FROM " + table); });
  }
  void take_from_app(std::int64_t amount) {
    world.write([&](db::Tx& tx) {
      REQUIRE(ledger::post(tx, {.kind = "test",
                                .from = ledger::app_account(app.id),
                                .to = ledger::treasury(),
                                .amount = amount,
                                .memo = ""}));
    });
  }
};

points::Filter of_kind(const std::string& kind) {
  return {.kind = kind, .direction = {}, .from = {}, .until = {}};
}

TEST_CASE("a spend is given back in parts, and never more than it was") {
  Fixture f;
  f.mint(f.bob, 100);
  const std::string id = f.spend(f.bob, 60);
  const auto first = f.refund(id, 25);
  CHECK(first.spend_id == id);
  CHECK(first.amount == 25);
  CHECK(first.refunded == 25);
  CHECK(first.refundable == 35);
  CHECK(f.points_of(f.bob) == 65);
  CHECK(f.points_of_app() == 35);
  CHECK(f.refused(id, 36) == "422 refund_exceeds_spend");
  CHECK(f.points_of(f.bob) == 65);
  const auto rest = f.refund(id, 35);
  CHECK(rest.refunded == 60);
  CHECK(rest.refundable == 0);
  CHECK(f.points_of(f.bob) == 100);
  CHECK(f.points_of_app() == 0);
  CHECK(f.refused(id, 1) == "422 refund_exceeds_spend");
  CHECK(f.bonus_of(f.bob) == 0);
  CHECK(f.rows("refunds") == 2);
}

TEST_CASE("the user's history and the app's figures show a refund") {
  Fixture f;
  f.mint(f.bob, 100);
  const std::string id = f.spend(f.bob, 60);
  const auto made = f.refund(id, 20);
  const auto entries = f.world.read([&](db::Tx& tx) {
    return points::history(tx, ledger::user_account(f.bob.id), of_kind("refund"), {});
  });
  REQUIRE(entries.items.size() == 1);
  CHECK(entries.items[0].transaction_id == made.id);
  CHECK(entries.items[0].amount == 20);
  CHECK(entries.items[0].description == "sold out");
  CHECK(entries.items[0].counterparty_name == "My game");
  const auto figures =
      f.world.read([&](db::Tx& tx) { return points::analytics(tx, f.app.id, 30); });
  CHECK(figures.earnings == 40);
  CHECK(figures.total_spends == 1);
}

TEST_CASE("a refund is an event for the app's webhooks") {
  Fixture f;
  f.mint(f.bob, 100);
  const std::string id = f.spend(f.bob, 60);
  f.world.write([&](db::Tx& tx) {
    webhooks::create(tx, f.app.id, "https://game.example.org/hook", {"points.refunded"},
                     webhooks::Schemes::only_https, f.world.keys.data);
  });
  f.refund(id, 20);
  f.refund_by_admin(id, 5);
  const std::string events = f.world.read([&](db::Tx& tx) {
    std::string all;
    auto rows = tx.query("SELECT type, data FROM app_events WHERE subject = $1 ORDER BY id", id);
    while (rows.next()) {
      const auto data = nlohmann::json::parse(rows.text("data"));
      all += rows.text("type") + " " + data.at("amount").dump() + " of " +
             data.at("refunded").dump() + " by " + data.at("initiated_by").get<std::string>() +
             ", ";
    }
    return all;
  });
  CHECK(events == "points.refunded 20 of 20 by owner, points.refunded 5 of 25 by admin, ");
  CHECK(f.rows("webhook_deliveries") == 2);
}

TEST_CASE("a refund has to be of a spend, in the app, within its time, and to somebody") {
  Fixture f;
  f.mint(f.bob, 100);
  const std::string id = f.spend(f.bob, 60);
  for (const char* unknown :
       {"01936f5e-7c1a-7000-8000-000000000007", "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff"})
    CHECK(f.refused(unknown, 1) == "404 not_found");
  const std::string minted = f.world.read([&](db::Tx& tx) {
    return points::history(tx, ledger::user_account(f.bob.id), of_kind("mint"), {})
        .items.at(0)
        .transaction_id;
  });
  CHECK(f.refused(minted, 1) == "404 not_found");
  const auto refund = f.refund(id, 1);
  CHECK(f.refused(refund.id, 1) == "404 not_found");
  const auto other = f.world.approved_app(f.bob, {Scope::points_spend});
  CHECK(refusal([&] {
          f.world.write([&](db::Tx& tx) {
            points::refund(tx, {.spend_id = id, .amount = 1, .reason = "", .app_id = other.id});
          });
        }) == "404 not_found");
  f.world.clock.advance(points::refundable_for);
  f.refund(id, 1);
  f.world.clock.advance(std::chrono::milliseconds(1));
  CHECK(f.refused(id, 1) == "409 invalid_state");
  CHECK(f.refund_by_admin(id, 1).refunded == 3);
  const auto logged =
      f.world.read([](db::Tx& tx) { return audit::list(tx, {.action = "points.refund"}, {}); });
  REQUIRE(logged.items.size() == 1);
  CHECK(logged.items[0].actor == "root");
  CHECK(logged.items[0].target == f.bob.id);
  CHECK(logged.items[0].details.find(R"("reason":"broken")") != std::string::npos);
  CHECK(logged.items[0].details.find(id) != std::string::npos);
  f.world.write([&](db::Tx& tx) { accounts::delete_account(tx, f.bob, f.world.keys); });
  CHECK(refusal([&] { f.refund_by_admin(id, 1); }) == "409 invalid_state");
  CHECK(f.points_of_app() == 57);
}

TEST_CASE("a refund comes from the app's balance, and a refusal counts nothing") {
  Fixture f;
  f.mint(f.bob, 100);
  const std::string id = f.spend(f.bob, 60);
  f.take_from_app(50);
  CHECK(f.refused(id, 11) == "422 insufficient_balance");
  CHECK(f.refund(id, 10).refundable == 50);
  CHECK(f.refused(id, 1) == "422 insufficient_balance");
  CHECK(f.points_of(f.bob) == 50);
}

TEST_CASE("the user's daily limit stays used") {
  Fixture f;
  f.mint(f.bob, 100);
  const std::string id = f.spend(f.bob, 10);
  f.world.write(
      [&](db::Tx& tx) { connections::set_daily_spend_limit(tx, f.bob.id, f.app.id, 10); });
  f.refund(id, 10);
  CHECK(refusal([&] { f.spend(f.bob, 1); }) == "422 spend_limit_reached");
}

TEST_CASE("a bonus comes back as a bonus, and may reach its recipient again") {
  Fixture f;
  f.reward(f.bob, bonuses::most_received);
  f.mint(f.bob, 4);
  const std::string id = f.spend(f.bob, bonuses::most_received + 4);
  CHECK(f.bonus_of(ledger::app_account(f.app.id)) == bonuses::most_received);
  f.reward(f.bob, 1);
  CHECK(refusal([&] { f.spend(f.bob, 1); }) == "422 bonus_locked");
  f.refund(id, (bonuses::most_received + 4) / 2);
  // The own points were counted as the user's own use, and come back as a bonus, too.
  CHECK(f.bonus_of(f.bob) == 1 + (bonuses::most_received + 4) / 2);
  f.refund(id, (bonuses::most_received + 4) / 2);
  CHECK(f.bonus_of(f.bob) == 1 + bonuses::most_received + 4);
  CHECK(f.bonus_of(ledger::app_account(f.app.id)) == 0);
  CHECK(f.of_user(f.ada, "bonus_received") == 0);
  CHECK(f.of_user(f.bob, "own_spent") == 0);
  f.spend(f.bob, bonuses::most_received);
}

TEST_CASE("the same points free no second account of its bonus") {
  Fixture f;
  f.reward(f.bob, 400);
  f.mint(f.bob, rewards::own_use);
  const std::string id = f.spend(f.bob, rewards::own_use);
  CHECK(f.bonus_of(f.bob) == 0);  // their bonus is theirs now
  f.refund(id, rewards::own_use);
  CHECK(f.points_of(f.bob) == 400 + rewards::own_use);
  CHECK(f.bonus_of(f.bob) == rewards::own_use);
  CHECK(f.of_user(f.bob, "own_spent") == 0);
}

TEST_CASE("a referral isn't counted for points that were given back") {
  Fixture f;
  f.world.mint(ledger::treasury(), 1'000);
  const auto eve = f.world.new_user("eve", f.bob.referral_code);
  f.world.write([&](db::Tx& tx) {
    accounts::mark_verified(tx, eve.id);
    ledger::end_bonus(tx, ledger::user_account(eve.id));
  });
  f.mint(eve, 200);
  const std::int64_t before = f.points_of(f.bob);
  const std::string first = f.spend(eve, points::referral_use - 1);
  f.refund(first, 50);
  CHECK(f.of_user(eve, "referral_spent") == points::referral_use - 51);
  CHECK(f.bonus_of(eve) == 0);
  f.spend(eve, 50);
  CHECK(f.points_of(f.bob) == before);
  f.spend(eve, 1);
  CHECK(f.points_of(f.bob) == before + f.rules.referral);
  // What has rewarded somebody comes back as a bonus.
  f.refund(first, points::referral_use - 51);
  CHECK(f.bonus_of(eve) == points::referral_use - 51);
}

TEST_CASE("an app can't give back points of the user's own out of a bonus") {
  Fixture f;
  f.mint(f.bob, 60);
  const std::string id = f.spend(f.bob, 60);
  f.take_from_app(60);
  f.reward(f.ada, 80);
  f.spend(f.ada, 80);
  CHECK(f.bonus_of(ledger::app_account(f.app.id)) == 80);
  CHECK(f.refused(id, 1) == "422 bonus_locked");
  CHECK(f.refused(id, 61) == "422 refund_exceeds_spend");
  CHECK(f.points_of(f.bob) == 0);
}

TEST_CASE("a deleted app has nothing to give back") {
  Fixture f;
  f.mint(f.bob, 60);
  const std::string id = f.spend(f.bob, 60);
  f.world.write([&](db::Tx& tx) { accounts::delete_account(tx, f.ada, f.world.keys); });
  CHECK(refusal([&] { f.refund_by_admin(id, 60); }) == "422 insufficient_balance");
}

TEST_CASE("of many refunds at once, those that fit are made") {
  Fixture f;
  constexpr int threads = 32;
  constexpr std::int64_t each = 5, fitting = 7;
  f.mint(f.bob, 1'000);
  const std::string id = f.spend(f.bob, fitting * each + each - 1);
  f.world.mint(ledger::app_account(f.app.id), 1'000);
  std::atomic<int> made = 0, exceeding = 0;
  std::vector<std::thread> all;
  all.reserve(threads);
  for (int i = 0; i < threads; ++i)
    all.emplace_back([&] {
      // A store with many writers may refuse one that was overtaken too often; callers try again.
      for (std::string ended = "503"; ended.starts_with("503");) {
        ended = f.refused(id, each);
        if (ended.empty()) ++made;
        if (ended == "422 refund_exceeds_spend") ++exceeding;
      }
    });
  for (std::thread& thread : all) thread.join();
  CHECK(made == fitting);
  CHECK(exceeding == threads - fitting);
  CHECK(f.points_of(f.bob) == 1'000 - (each - 1));
  CHECK(f.rows("refunds") == fitting);
}

TEST_CASE("the parts of a spend make what the whole does") {
  CHECK(rc::check("shares of parts sum to that of the whole, and none exceeds its part", [] {
    const std::int64_t whole = *rc::gen::inRange<std::int64_t>(1, ledger::max_points);
    const std::int64_t of = *rc::gen::inRange<std::int64_t>(0, whole + 1);
    std::int64_t refunded = 0, sum = 0;
    while (refunded < whole) {
      const std::int64_t left = whole - refunded;
      // Some small ones, and one that takes what is left after some.
      const bool is_last = *rc::gen::inRange(0, 8) == 0;
      const std::int64_t part = is_last ? left : *rc::gen::inRange<std::int64_t>(1, left + 1);
      const std::int64_t in_part =
          points::share(of, refunded + part, whole) - points::share(of, refunded, whole);
      RC_ASSERT(in_part >= 0);
      RC_ASSERT(in_part <= part);
      sum += in_part;
      refunded += part;
    }
    RC_ASSERT(sum == of);
  }));
  CHECK(points::share(ledger::max_points, ledger::max_points, ledger::max_points) ==
        ledger::max_points);
}

TEST_CASE("any split of a refund leaves everybody with the same") {
  // A part of the points is a bonus, and another one was counted.
  const std::int64_t bonus = GENERATE(0, 1, 37, 120), own = GENERATE(1, 40, 150);
  const std::vector<std::int64_t> parts =
      GENERATE(std::vector<std::int64_t>{1'000}, std::vector<std::int64_t>{1, 1'000},
               std::vector<std::int64_t>{7, 1, 1, 3, 1'000});
  Fixture f;
  if (bonus > 0) f.reward(f.bob, bonus);
  f.mint(f.bob, own);
  const std::int64_t before = f.points_of(f.bob), amount = bonus + own;
  const std::string id = f.spend(f.bob, amount);
  std::int64_t left = amount;
  for (const std::int64_t part : parts)
    if (const std::int64_t taken = std::min(part, left); taken > 0) {
      f.refund(id, taken);
      left -= taken;
    }
  CHECK(left == 0);
  CHECK(f.points_of(f.bob) == before);
  const std::int64_t counted = bonus > 0 ? std::min(own, rewards::own_use) : 0;
  CHECK(f.bonus_of(f.bob) == bonus + counted);
  CHECK(f.bonus_of(ledger::app_account(f.app.id)) == 0);
  CHECK(f.of_user(f.ada, "bonus_received") == 0);
  CHECK(f.of_user(f.bob, "own_spent") == 0);
}

}  // namespace
