// Where points come from and go to, and what is unusual.
#include "controller/domain/money/money.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "controller/domain/accounts/sessions.h"
#include "controller/domain/deployments/billing/billing.h"
#include "controller/domain/money/anomalies.h"
#include "controller/domain/points/points.h"
#include "controller/domain/points/refunds.h"
#include "tests/domain/ads/ads_world.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using std::chrono::days;

struct Fixture {
  World world;
  rewards::Rules rules;
  accounts::User ada = world.verified_user("ada");
  apps::App app =
      world.approved_app(ada, {Scope::profile_read, Scope::points_spend, Scope::deploy_manage});

  std::string spend(const accounts::User& from, std::int64_t points) {
    const auto caller = world.check(world.tokens(app, from, "points:spend").access_token);
    return world.write([&](db::Tx& tx) {
      return points::spend(tx,
                           {.grant_id = caller.grant_id,
                            .user_id = caller.user_id,
                            .app_id = caller.app_id,
                            .amount = points,
                            .description = ""},
                           rules)
          .id;
    });
  }
  void move(const ledger::Account& from, const ledger::Account& to, std::int64_t points) {
    world.write([&](db::Tx& tx) {
      REQUIRE(
          ledger::post(tx, {.kind = "test", .from = from, .to = to, .amount = points, .memo = ""}));
    });
  }
  money::OfApp of_app(int window = 30) {
    return world.read([&](db::Tx& tx) { return money::of_app(tx, app.id, window); });
  }
  std::vector<money::Anomaly> found(money::Rule rule) {
    auto all = world.read([](db::Tx& tx) { return money::anomalies(tx); });
    std::erase_if(all, [&](const money::Anomaly& one) { return one.rule != rule; });
    return all;
  }
};

TEST_CASE("an app's money says what came, what left and what is left") {
  Fixture f;
  const accounts::User bob = f.world.verified_user("bob");
  f.world.mint(ledger::user_account(bob.id), 100);
  f.world.mint(ledger::app_account(f.app.id), 500);
  const std::string id = f.spend(bob, 60);
  f.world.write([&](db::Tx& tx) {
    points::refund(tx, {.spend_id = id, .amount = 20, .reason = "", .app_id = f.app.id});
  });
  f.move(ledger::app_account(f.app.id), ledger::treasury(), 100);
  const auto sums = f.of_app();
  CHECK(sums.balance == 440);
  CHECK(sums.held == 0);
  CHECK(sums.earned == 40);
  CHECK(sums.spent == 100);
  std::int64_t in = 0, out = 0;
  for (const money::KindSum& one : sums.kinds) {
    in += one.in;
    out += one.out;
  }
  CHECK(in - out == sums.balance);
  // The present day isn't over, so it says nothing about those to come.
  CHECK_FALSE(sums.forecast.days_left);
  f.world.clock.advance(24h);
  CHECK(f.of_app(1).spent == 0);
  const auto later = f.of_app();
  CHECK(later.spent == 100);
  // 440 came in 7 days, because the points were minted on one of them.
  CHECK_FALSE(later.forecast.days_left);
}

TEST_CASE("a forecast divides what is left by what is lost on a day") {
  CHECK(money::forecast(700, 7, 0, 70).days_left == 70);
  CHECK(money::forecast(700, 7, 35, 70).days_left == 140);
  CHECK(money::forecast(0, 7, 0, 1).days_left == 0);
  CHECK_FALSE(money::forecast(700, 7, 70, 70).days_left);
  CHECK_FALSE(money::forecast(700, 7, 71, 70).days_left);
  CHECK(money::forecast(ledger::max_points, 7, 0, 1).days_left == ledger::max_points * 7);
}

TEST_CASE("the first charge that can't be paid is found among those that repeat") {
  const Instant now = *parse_iso8601("2026-01-31T12:00:00Z");
  const auto charge = [&](const std::string& name, std::int64_t amount, Duration in) {
    return money::Charge{.deployment_id = name, .name = name, .amount = amount, .at = now + in};
  };
  const std::vector<money::Charge> first = {charge("b", 10, days(5)), charge("a", 100, days(2))};
  CHECK_FALSE(money::charges(50, {}, now).next);
  const auto at_once = money::charges(99, first, now);
  CHECK(at_once.next->name == "a");
  CHECK(at_once.first_unpaid->name == "a");
  CHECK(at_once.first_unpaid->at == now + days(2));
  const auto later = money::charges(219, first, now);
  REQUIRE(later.first_unpaid);
  CHECK(later.first_unpaid->name == "b");
  CHECK(later.first_unpaid->at == now + days(5) + billing::period_length);
  CHECK_FALSE(money::charges(100'000, first, now).first_unpaid);
  CHECK(rc::check("what was paid before the first charge that fails is within the balance", [&] {
    const std::int64_t balance = *rc::gen::inRange<std::int64_t>(0, 10'000);
    std::vector<money::Charge> some;
    const int count = *rc::gen::inRange(1, 5);
    for (int i = 0; i < count; ++i)
      some.push_back(charge(std::to_string(i), *rc::gen::inRange<std::int64_t>(1, 500),
                            days(*rc::gen::inRange(0, 30))));
    const auto unpaid = money::charges(balance, some, now).first_unpaid;
    const Instant end = unpaid ? unpaid->at : now + money::charges_looked_ahead;
    std::int64_t before = 0, until = 0;
    for (const money::Charge& one : some)
      for (Instant at = one.at; at <= end; at += billing::period_length) {
        until += one.amount;
        if (at < end) before += one.amount;
      }
    RC_ASSERT(before <= balance);
    RC_ASSERT(!unpaid || until > balance);
  }));
}

TEST_CASE("an app's next charge is that of its deployment") {
  Fixture f;
  f.world.mint(ledger::app_account(f.app.id), 250);
  f.world.write([&](db::Tx& tx) { apps::promote(tx, f.app.id, "basic", "root"); });
  const auto deployment = f.world.deploy(f.world.find_app(f.app.id), order("shop", "basic"));
  const auto sums = f.of_app();
  REQUIRE(sums.charges.next);
  CHECK(sums.charges.next->deployment_id == deployment.id);
  CHECK(sums.charges.next->amount == 100);
  CHECK(sums.charges.next->at == f.world.clock.now() + billing::period_length);
  // 150 are left: they pay for the second period.
  REQUIRE(sums.charges.first_unpaid);
  CHECK(sums.charges.first_unpaid->at == f.world.clock.now() + 2 * billing::period_length);
  f.world.stop(f.world.find_app(f.app.id), deployment.id);
  CHECK_FALSE(f.of_app().charges.next);
}

TEST_CASE("the platform's money is what exists, and the apps that move most") {
  Fixture f;
  f.world.mint(ledger::treasury(), 1'000);
  f.world.mint(ledger::app_account(f.app.id), 300);
  f.move(ledger::app_account(f.app.id), ledger::treasury(), 50);
  f.world.clock.advance(24h);
  f.world.mint(ledger::user_account(f.ada.id), 10);
  const auto sums = f.world.read([](db::Tx& tx) { return money::of_platform(tx, 1); });
  CHECK(sums.supply == 1'310);
  CHECK(sums.treasury == 1'050);
  CHECK(sums.owed == 260);
  CHECK(sums.issued == 10);
  CHECK(sums.supply_before == 1'300);
  CHECK(sums.owed_before == 250);
  CHECK(sums.movers.empty());
  const auto both = f.world.read([](db::Tx& tx) { return money::of_platform(tx, 2); });
  CHECK(both.supply_before == 0);
  REQUIRE(both.movers.size() == 1);
  CHECK(both.movers[0].app_id == f.app.id);
  CHECK(both.movers[0].name == "My game");
  CHECK(both.movers[0].in == 300);
  CHECK(both.movers[0].out == 50);
  CHECK(both.complete);
}

TEST_CASE("bonus points of new accounts that gather in one app are found") {
  Fixture f;
  f.world.mint(ledger::treasury(), 100'000);
  const auto join = [&](const std::string& name) {
    const accounts::User user = f.world.verified_user(name);
    f.world.write([&](db::Tx& tx) {
      rewards::give(tx, {.kind = rewards::Kind::signup,
                         .user_id = user.id,
                         .app_owner_id = {},
                         .amount = 100,
                         .memo = ""});
    });
    return user;
  };
  const accounts::User old = join("old");
  f.world.clock.advance(money::new_account_age + 1h);
  f.spend(old, 100);  // no new account
  for (const char* name : {"one", "two", "three"}) f.spend(join(name), 100);
  CHECK(f.found(money::Rule::farming).empty());
  f.spend(join("four"), 100);
  const auto found = f.found(money::Rule::farming);
  REQUIRE(found.size() == 1);
  CHECK(found[0].app_id == f.app.id);
  CHECK(found[0].name == "My game");
  CHECK(found[0].value == 400);
  f.world.clock.advance(days(money::farming_days) + 1h);
  CHECK(f.found(money::Rule::farming).empty());
}

TEST_CASE("a day on which far more leaves an account than usual is found for two days") {
  Fixture f;
  const ledger::Account app = ledger::app_account(f.app.id);
  f.world.mint(app, 10'000'000);
  for (int day = 0; day < money::outflow_days; ++day) {
    f.move(app, ledger::treasury(), 3'000);
    f.world.clock.advance(24h);
  }
  f.move(app, ledger::treasury(), money::outflow_factor * 3'000);
  CHECK(f.found(money::Rule::sudden_outflow).empty());
  f.move(app, ledger::treasury(), 1);
  const auto found = f.found(money::Rule::sudden_outflow);
  REQUIRE(found.size() == 1);
  CHECK(found[0].app_id == f.app.id);
  CHECK(found[0].value == money::outflow_factor * 3'000 + 1);
  CHECK(found[0].usual == money::outflow_factor * 3'000 + 1);
  CHECK(found[0].day == utc_day(f.world.clock.now()));
  f.world.clock.advance(24h);
  CHECK(f.found(money::Rule::sudden_outflow).size() == 1);
  f.world.clock.advance(24h);
  CHECK(f.found(money::Rule::sudden_outflow).empty());
}

TEST_CASE("what leaves an account that nothing has left before is only found above the floor") {
  Fixture f;
  const ledger::Account app = ledger::app_account(f.app.id);
  f.world.mint(app, 100'000);
  f.move(app, ledger::treasury(), money::outflow_floor - 1);
  CHECK(f.found(money::Rule::sudden_outflow).empty());
  f.move(app, ledger::treasury(), 1);
  CHECK(f.found(money::Rule::sudden_outflow).size() == 1);
}

TEST_CASE("ads that their app's owner sees, or somebody from the owner's networks, are found") {
  AdsWorld w;
  const auto campaign = w.new_campaign();
  const auto see = [&](const accounts::User& user) {
    ads::Report report =
        w.report(campaign.id, ads::EventType::impression, w.serve(w.game, user).impression_token);
    report.user_id = user.id;
    w.record(report);
  };
  const auto found = [&] {
    auto all = w.world.read([](db::Tx& tx) { return money::anomalies(tx); });
    std::erase_if(all,
                  [](const money::Anomaly& one) { return one.rule != money::Rule::self_clicking; });
    return all;
  };
  for (int i = 0; i < money::self_clicking_events - 1; ++i) see(w.publisher);
  see(w.viewer);
  CHECK(found().empty());
  const auto log_in = [&](const accounts::User& user) {
    w.world.write([&](db::Tx& tx) { accounts::remember_network(tx, user.id, "192.0.2.1"); });
  };
  log_in(w.publisher);
  CHECK(found().empty());
  log_in(w.viewer);
  REQUIRE(found().size() == 1);
  CHECK(found()[0].app_id == w.game.id);
  CHECK(found()[0].value == money::self_clicking_events);
  w.world.clock.advance(money::self_clicking_window + 1s);
  CHECK(found().empty());
}

TEST_CASE("two users share a network if both have logged in from it") {
  Fixture f;
  const accounts::User bob = f.world.verified_user("bob");
  const auto share = [&] {
    return f.world.read([&](db::Tx& tx) { return accounts::share_network(tx, f.ada.id, bob.id); });
  };
  const auto log_in = [&](const accounts::User& user, const std::string& network) {
    f.world.write([&](db::Tx& tx) { accounts::remember_network(tx, user.id, network); });
  };
  log_in(f.ada, "192.0.2.1");
  log_in(bob, "192.0.2.2");
  CHECK_FALSE(share());
  log_in(bob, "192.0.2.1");
  CHECK(share());
  f.world.clock.advance(accounts::networks_known_for);
  CHECK_FALSE(share());
}

TEST_CASE("the median of an even number of values is the lower one in the middle") {
  CHECK(money::median({}) == 0);
  CHECK(money::median({5}) == 5);
  CHECK(money::median({9, 1}) == 1);
  CHECK(money::median({3, 9, 1}) == 3);
  CHECK(money::median({4, 3, 9, 1}) == 3);
}

}  // namespace
