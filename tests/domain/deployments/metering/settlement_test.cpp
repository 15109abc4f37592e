// Holds, charges, and what happens when the points run out.
#include "controller/domain/deployments/metering/settlement.h"

#include <catch2/catch.hpp>

#include "controller/domain/accounts/account_changes.h"
#include "controller/domain/kernel/outbox.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "tests/domain/deployments/metering/metering_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using deployments::Status;
using nlohmann::json;

constexpr std::int64_t hour_price = point_a_second;

TEST_CASE("nothing metered starts unless an hour of it is held") {
  MeteringWorld f;
  f.give(hour_price - 1);
  CHECK(refusal([&] { f.deploy_on("hourly"); }) == "422 insufficient_balance");
  CHECK(f.held() == 0);
  f.give(1);
  const auto id = f.deploy_on("hourly").id;
  CHECK(f.held() == hour_price);
  CHECK(f.points() == hour_price);  // it is still the app's
  CHECK(refusal([&] { f.deploy_on("hourly", "second"); }) == "422 insufficient_balance");
  f.give(hour_price);
  f.deploy_on("hourly", "second");
  CHECK(f.held() == 2 * hour_price);
  CHECK(f.broken_invariants().empty());
  f.stop(f.app, id);
  f.look();
  CHECK(f.held() == hour_price);
  CHECK(f.points() == 2 * hour_price);
}

TEST_CASE("points that are held can't leave the account") {
  Metered f(hour_price + 10);
  const auto pay = [&](std::int64_t points) {
    return f.write([&](db::Tx& tx) {
      return ledger::post(tx, {.kind = "test",
                               .from = f.account,
                               .to = ledger::treasury(),
                               .amount = points,
                               .memo = ""})
          .has_value();
    });
  };
  CHECK_FALSE(pay(11));
  CHECK(pay(10));
  CHECK_FALSE(pay(1));
  CHECK(f.read([&](db::Tx& tx) { return ledger::spendable(tx, f.account); }) == 0);
  CHECK(f.read([&](db::Tx& tx) { return ledger::words_for_held(tx, f.account); }) ==
        " (3600 of its points are held for what runs by the hour)");
  CHECK_FALSE(f.write([&](db::Tx& tx) { return ledger::set_held(tx, f.account, hour_price + 1); }));
  // A tier that costs points for 30 days can't be paid with them.
  CHECK(refusal([&] { f.deploy_on("paid", "second"); }) == "422 insufficient_balance");
}

TEST_CASE("a day is charged when it has ended, to the point") {
  Metered f;
  f.pass_until(f.midnight());
  CHECK(f.points() == 1'000'000);
  f.pass(1min);
  CHECK(f.points() == 1'000'000 - 12 * hour_price);
  const auto uses = f.uses(f.id);
  REQUIRE(uses.size() == 2);
  CHECK(uses[0] == metering::DayUse{.deployment_id = f.id,
                                    .day = f.today() - 1,
                                    .process = "web",
                                    .item = metering::Item::base,
                                    .milliseconds = 12h / 1ms,
                                    .points = 12 * hour_price,
                                    .pending_milliseconds = 0,
                                    .unpaid_milliseconds = 0});
  CHECK(uses[1].pending_milliseconds == 1min / 1ms);
  CHECK(f.outcome.settlements == 1);
  const auto events = f.events("charge.settled");
  REQUIRE(events.size() == 1);
  CHECK(events[0].find("\"points\":43200") != std::string::npos);
  f.pass(48h);
  CHECK(f.points() == 1'000'000 - 60 * hour_price);
  CHECK(f.status(f.id) == Status::running);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("a deployment that has stopped is charged at once") {
  Metered f;
  f.clock.advance(100s);
  f.stop(f.app, f.id);
  f.look();
  CHECK(f.points() == 1'000'000);  // its container still ends
  f.clock.advance(3s);
  f.end(f.id);
  f.look();
  CHECK(f.points() == 1'000'000 - 103);
  CHECK(f.held() == 0);
  f.look();
  CHECK(f.points() == 1'000'000 - 103);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("what is less than a point is carried to the next charge") {
  MeteringWorld f;
  f.new_tier(hourly_tier("slow", 1));
  f.give(100);
  const auto id = f.deploy_on("slow").id;
  const auto run_for_minutes = [&](int minutes) {
    f.begin(id);
    f.clock.advance(std::chrono::minutes(minutes));
    f.stop(f.app, id);
    f.end(id);
    f.look();
    f.restart(f.app, id);
  };
  run_for_minutes(10);
  CHECK(f.points() == 100);
  CHECK(f.total(id).pending_milliseconds == 10min / 1ms);  // nothing is written for it
  CHECK(f.outcome.settlements == 0);
  run_for_minutes(80);
  CHECK(f.points() == 99);
  run_for_minutes(90);
  CHECK(f.points() == 97);
  f.stop(f.app, id);
  run_for_minutes(1);
  f.pass_until(f.midnight() + 1min, false);
  CHECK(f.points() == 97);
  CHECK(f.total(id).pending_milliseconds == 0);
  CHECK(f.total(id).points == 3);
  CHECK(f.total(id).milliseconds == 181min / 1ms);
  run_for_minutes(59);
  CHECK(f.points() == 96);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("the rest of a point holds nothing once nothing runs") {
  MeteringWorld f;
  f.new_tier(hourly_tier("slow", 1));
  f.give(1);
  const auto id = f.deploy_on("slow").id;
  f.begin(id);
  f.clock.advance(30min);
  f.stop(f.app, id);
  f.end(id);
  f.look();
  CHECK(f.total(id).pending_milliseconds == 30min / 1ms);
  CHECK(f.held() == 0);
  f.pass_until(f.midnight() + 1min, false);
  CHECK(f.total(id).pending_milliseconds == 0);
  CHECK(f.held() == 0);
  CHECK(f.points() == 1);
}

TEST_CASE("when the points run out, what is metered is suspended and the rest goes on") {
  Metered f(hour_price);
  const auto free = f.deploy_on("wide", "free").id;
  f.seen_running(free);
  CHECK(f.outcome.warned == 1);  // an hour is less than a day
  f.pass_until(f.start + 1h - 1ms, false);
  CHECK(f.status(f.id) == Status::running);
  f.pass_until(f.start + 1h, false);
  CHECK(f.status(f.id) == Status::stopped);
  CHECK(f.billing_of(f.id) == billing::Status::suspended);
  CHECK(f.find_deployment(f.id).message == metering::hour_missing);
  CHECK(f.status(free) == Status::running);
  CHECK(f.points() == hour_price);  // until its container has ended
  f.clock.advance(2s);
  f.end(f.id);
  f.look();
  CHECK(f.points() == 0);
  CHECK(f.held() == 0);
  CHECK(f.total(f.id).points == hour_price);
  CHECK(f.total(f.id).unpaid_milliseconds == 2'000);  // the platform's
  CHECK(f.outcome.unpaid_milliseconds == 2'000);
  CHECK(f.subjects("were stopped") ==
        std::vector<std::string>{"Deployments of your app My game were stopped"});
  CHECK(f.history(f.id).ends_with("billing_warning info, suspend succeeded"));
  REQUIRE(f.events("billing.failed").size() == 1);
  const json failed = json::parse(f.events("billing.failed")[0]);
  CHECK(failed.at("amount") == 0);  // for 30 days
  CHECK(failed.at("points_per_hour") == hour_price);
  CHECK(failed.at("balance") == hour_price);
  CHECK(f.broken_invariants().empty());

  f.give(hour_price - 1);
  f.look();
  CHECK(f.status(f.id) == Status::stopped);
  CHECK(refusal([&] { f.restart(f.app, f.id); }) == "422 insufficient_balance");
  f.give(1);
  f.look();
  CHECK(f.status(f.id) == Status::deploying);
  CHECK(f.billing_of(f.id) == billing::Status::exempt);
  CHECK(f.held() == hour_price);
  CHECK(f.history(f.id).ends_with("reactivate succeeded"));
}

TEST_CASE("a deployment that its owner stopped waits for no points") {
  Metered f(hour_price);
  f.pass(2h);
  REQUIRE(f.billing_of(f.id) == billing::Status::suspended);
  f.stop(f.app, f.id);
  f.give(10 * hour_price);
  f.look();
  CHECK(f.status(f.id) == Status::stopped);
  CHECK(f.held() == 0);
  f.restart(f.app, f.id);
  CHECK(f.status(f.id) == Status::deploying);
}

TEST_CASE("an admin's suspension and a lack of points are two things") {
  Metered f(hour_price);
  f.pass(2h);
  REQUIRE(f.billing_of(f.id) == billing::Status::suspended);
  f.suspend(f.id);
  f.give(hour_price);
  f.look();
  CHECK(f.status(f.id) == Status::stopped);
  f.take(1);
  CHECK(f.reactivate(f.id).message == metering::hour_missing);
  CHECK(f.status(f.id) == Status::stopped);
  f.give(1);
  f.look();
  CHECK(f.status(f.id) == Status::deploying);
}

TEST_CASE("the owner is warned once, a day before the points run out") {
  Metered f(30 * hour_price);
  f.pass_until(f.start + 6h - 1ms);
  CHECK(f.outcome.warned == 0);
  f.pass_until(f.start + 6h);
  CHECK(f.outcome.warned == 1);
  CHECK(f.subjects("run out") ==
        std::vector<std::string>{"The points of your app My game run out"});
  REQUIRE(f.events("balance.low").size() == 1);
  // All fields that api/resources/webhooks.yaml requires.
  const json low = json::parse(f.events("balance.low")[0]);
  CHECK(low.size() == 5);
  CHECK(low.at("deployment_id").is_null());
  CHECK(low.at("balance") == 30 * hour_price);
  CHECK(low.at("held").get<std::int64_t>() > 0);
  CHECK(low.at("points_per_hour") == hour_price);
  CHECK(low.at("hours_left") == 24);
  f.pass(1h);
  CHECK(f.outcome.warned == 1);
  const auto account = f.read([&](db::Tx& tx) { return metering::account(tx, f.app.id); });
  CHECK(account.balance == 30 * hour_price);
  CHECK(account.accrued == 7 * hour_price);
  CHECK(account.points_per_hour == hour_price);
  CHECK(account.lasts_until == f.start + 30h);
  CHECK(account.warned_at == f.start + 6h);
  // Points for more than 36 hours withdraw the warning, and it comes again.
  f.give(20 * hour_price);
  f.pass(2h);
  CHECK(f.read([&](db::Tx& tx) { return metering::account(tx, f.app.id); }).warned_at ==
        std::nullopt);
  f.pass(24h);
  CHECK(f.outcome.warned == 2);
}

TEST_CASE("the mails of metering are in the owner's language") {
  Metered f(hour_price + 1);
  f.write([&](db::Tx& tx) { accounts::set_language(tx, f.ada.id, Language::de); });
  f.pass(2h);
  std::string all;
  for (const auto& mail : f.read([&](db::Tx& tx) { return outbox::list(tx, f.keys.data); }))
    all += mail.subject + "\n" + mail.body;
  CHECK(all.find("Deployments Ihrer App My game wurden angehalten") != std::string::npos);
}

TEST_CASE("a first price is announced before it applies, and who can't pay it is stopped then") {
  MeteringWorld f;
  const auto id = f.deploy_on("wide").id;
  f.seen_running(id);
  f.change_tier("wide", [](tiers::Tier& tier) { tier.points_per_hour = 5; });
  f.begin(id);
  f.look();
  CHECK(f.outcome.warned == 1);
  f.pass_until(f.midnight() - 1ms);
  CHECK(f.status(id) == Status::running);
  f.pass(1min);
  CHECK(f.status(id) == Status::stopped);
  f.pass(24h);
  CHECK(f.total(id).milliseconds > 0);
  CHECK(f.total(id).points == 0);
  CHECK(f.total(id).unpaid_milliseconds == f.total(id).milliseconds);
}

TEST_CASE("what ran while berthd was down is charged, once") {
  Metered f;
  f.clock.advance(60h + 10s);  // from noon to a midnight, and until its end was seen
  f.look();
  CHECK(f.points() == 1'000'000 - 60 * hour_price);
  CHECK(f.outcome.settlements == 3);
  // As if a clock had been ahead by a day and was moved back: nothing is charged again.
  f.write([](db::Tx& tx) {
    tx.execute("UPDATE meter_intervals SET counted_to = counted_to + 86400000");
  });
  f.clock.advance(24h);
  f.look();
  CHECK(f.points() == 1'000'000 - 60 * hour_price);
  f.clock.advance(24h + 1min);
  f.look();
  CHECK(f.points() == 1'000'000 - 84 * hour_price);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("an admin gives back what was charged by the hour, at most once") {
  Metered f;
  f.pass(24h);
  f.mint(ledger::treasury(), 1);
  const std::int64_t charged = f.total(f.id).points;
  REQUIRE(charged == 12 * hour_price);
  const auto refund = [&](std::int64_t points) {
    return refusal([&] {
      f.write([&](db::Tx& tx) { billing::refund(tx, {"root", "r"}, f.id, points, "a fault"); });
    });
  };
  CHECK(refund(charged + 1) == "422 validation_failed");
  CHECK(refund(charged).empty());
  CHECK(refund(1) == "422 validation_failed");
  CHECK(f.points() == 1'000'000);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("an app is charged before it is deleted, and its hold ends") {
  Metered f(10 * hour_price);
  f.clock.advance(100s);
  f.destroy(f.app, f.id);
  f.clock.advance(1s);
  const auto app = f.find_app(f.app.id);
  f.write([&](db::Tx& tx) { apps::remove(tx, app); });
  CHECK(f.points() == 0);
  CHECK(f.held() == 0);
  CHECK(f.total(f.id).points == 101);
  f.clock.advance(2s);
  f.end(f.id);
  f.look();
  f.pass(24h, false);
  CHECK(f.total(f.id).points == 101);
  CHECK(f.total(f.id).unpaid_milliseconds == 2'000);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("the audit finds a hold without points and a charge that isn't the ledger's") {
  Metered f;
  f.pass(24h);
  REQUIRE(f.broken_invariants().empty());
  SECTION("more is held than the app has") {
    f.write([](db::Tx& tx) {
      tx.execute("UPDATE ledger_accounts SET held = balance + 1 WHERE held > 0");
    });
  }
  SECTION("a receipt is another") {
    f.write([](db::Tx& tx) { tx.execute("UPDATE meter_settlements SET points = points + 1"); });
  }
  SECTION("a day is another") {
    f.write([](db::Tx& tx) { tx.execute("UPDATE meter_days SET points = points + 1"); });
  }
  SECTION("a receipt is gone") {
    f.write([](db::Tx& tx) { tx.execute("DELETE FROM meter_settlements"); });
  }
  CHECK_FALSE(f.broken_invariants().empty());
}

}  // namespace
