// Changes of tiers, admins' suspensions, and stipends.
#include <catch2/catch.hpp>

#include "controller/domain/deployments/billing/billing.h"
#include "tests/domain/deployments/billing/billing_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using deployments::Status;
using Days = std::vector<std::int64_t>;

constexpr auto day = 24h;
constexpr auto month = 30 * day;

struct Fixture : PaidDeployment {
  tiers::Tier large = [this] {
    tiers::Tier tier = paid_tier("large", 3 * price);
    tier.memory_limit_mb = 2'048;
    tier.cpu_limit_millicores = 2'000;
    return new_tier(tier);
  }();
};

TEST_CASE("a larger tier costs the difference for the rest of the period, rounded up") {
  Fixture f;
  f.give(10 * price);
  f.run_until(f.start + 10 * day + 1ms);
  const auto changed = f.put_on(f.id, "large");
  CHECK(changed.tier_slug == "large");
  CHECK(changed.memory_limit_mb == 2'048);
  CHECK(changed.cpu_limit_millicores == 2'000);
  CHECK(changed.status == Status::deploying);
  CHECK(changed.generation == f.row.generation + 1);
  CHECK(f.points() == 10 * price - 1'334);
  const auto view = f.view(f.id);
  CHECK(view.price == 3 * price);
  REQUIRE(view.history.size() == 2);
  CHECK(view.history[0].kind == billing::EntryKind::tier_change);
  CHECK(view.history[0].from_tier == "paid");
  CHECK(view.history[0].amount == 1'334);
  CHECK(f.logs(f.id).back().details->find(R"("to":"large")") != std::string::npos);
  f.run_until(f.start + month);
  CHECK(f.charges(f.id) == Days{0, 30});
  CHECK(f.points() == 7 * price - 1'334);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("a smaller tier gives the difference back, rounded down") {
  Fixture f;
  f.give(10 * price);
  f.put_on(f.id, "large");
  CHECK(f.points() == 8 * price);
  f.run_until(f.start + 10 * day + 1ms);
  f.put_on(f.id, "paid");
  CHECK(f.points() == 8 * price + 1'333);
  f.put_on(f.id, "wide");  // it is free
  CHECK(f.points() == 8 * price + 1'333 + 666);
  CHECK(f.billing_of(f.id) == billing::Status::exempt);
  f.run_until(f.start + 2 * month);
  CHECK(f.points() == 8 * price + 1'333 + 666);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("from a free tier to a paid one: the rest of the period is charged, then whole periods") {
  BillingWorld f;
  const auto row = f.running("shop", "wide");
  f.run_until(f.start + month + 15 * day);
  CHECK(refusal([&] { f.put_on(row.id, "paid"); }) == "422 insufficient_balance");
  CHECK(f.find_deployment(row.id).tier_slug == "wide");
  f.give(2 * price);
  f.put_on(row.id, "paid");
  CHECK(f.points() == 2 * price - price / 2);
  CHECK(f.billing_of(row.id) == billing::Status::current);
  CHECK(f.charges(row.id).empty());
  f.run_until(f.start + 2 * month);
  CHECK(f.charges(row.id) == Days{60});
  CHECK(f.points() == price / 2);
}

TEST_CASE("in an unpaid period, a change of tier charges the whole period at the new price") {
  Fixture f;
  f.run_until(f.start + month + 10 * day);
  REQUIRE(f.billing_of(f.id) == billing::Status::suspended);
  SECTION("which may be nothing: it runs again") {
    f.put_on(f.id, "wide");
    CHECK(f.status() == Status::deploying);
    CHECK(f.billing_of(f.id) == billing::Status::exempt);
    CHECK(f.charges(f.id) == Days{0});
  }
  SECTION("or more") {
    f.give(3 * price - 1);
    CHECK(refusal([&] { f.put_on(f.id, "large"); }) == "422 insufficient_balance");
    f.give(1);
    f.put_on(f.id, "large");
    CHECK(f.status() == Status::deploying);
    CHECK(f.charges(f.id) == Days{0, 30});
    CHECK(f.points() == 0);
  }
}

TEST_CASE("a change of tier is refused as an order would be") {
  Fixture f;
  CHECK(refusal([&] { f.put_on(f.id, "gold"); }) == "422 unknown_tier");
  CHECK(refusal([&] { f.put_on(f.id, "sats"); }) == "422 payment_method_unsupported");
  CHECK(refusal([&] { f.put_on(f.id, "basic"); }) == "403 tier_not_allowed");
  f.write([&](db::Tx& tx) { apps::promote(tx, f.app.id, "basic", "root"); });
  f.give(100);
  f.deploy(f.app, order("other", "basic"));
  CHECK(refusal([&] { f.put_on(f.id, "basic"); }) == "429 deployment_limit_reached");
  CHECK(refusal([&] { f.put_on(f.id, "large"); }) == "422 insufficient_balance");
  CHECK(f.find_deployment(f.id).tier_slug == "paid");
  f.change_tier("paid", [](tiers::Tier& tier) { tier.custom_domain_allowed = true; });
  deployments::Change wanted;
  wanted.custom_domain = "www.example.com";
  f.change(f.id, wanted);
  CHECK(refusal([&] { f.put_on(f.id, "wide"); }) == "422 validation_failed");
}

TEST_CASE("a credit that the treasury can't pay refuses the change") {
  Fixture f;
  f.write([&](db::Tx& tx) {
    ledger::post(tx, {.kind = "test",
                      .from = ledger::treasury(),
                      .to = ledger::issuance(),
                      .amount = price,
                      .memo = ""});
  });
  CHECK(refusal([&] { f.put_on(f.id, "wide"); }) == "503 unavailable");
  CHECK(f.find_deployment(f.id).tier_slug == "paid");
}

TEST_CASE("an admin's new price applies from the next period") {
  Fixture f;
  f.give(10 * price);
  f.run_until(f.start + 10 * day);
  f.change_tier("paid", [](tiers::Tier& tier) { tier.monthly_cost_points = 3 * price; });
  f.run();
  CHECK(f.points() == 10 * price);
  f.run_until(f.start + month);
  CHECK(f.points() == 7 * price);
  // A credit is computed from what was paid.
  f.change_tier("paid", [](tiers::Tier& tier) { tier.monthly_cost_points = 50 * price; });
  f.put_on(f.id, "wide");
  CHECK(f.points() == 10 * price);
}

TEST_CASE("a tier that becomes free, and one that ceases to be") {
  Fixture f;
  f.run_until(f.start + month + day);
  REQUIRE(f.billing_of(f.id) == billing::Status::suspended);
  f.change_tier("paid", [](tiers::Tier& tier) { tier.monthly_cost_points = 0; });
  f.run();
  CHECK(f.status() == Status::deploying);
  CHECK(f.billing_of(f.id) == billing::Status::exempt);
  f.run_until(f.start + month + 10 * day);
  f.change_tier("paid", [](tiers::Tier& tier) { tier.monthly_cost_points = 5; });
  f.run();
  CHECK(f.billing_of(f.id) == billing::Status::current);
  CHECK(f.view(f.id).next_renewal == f.start + 2 * month);
  f.run_until(f.start + 2 * month - day);
  CHECK(f.billing_of(f.id) == billing::Status::warning);
  f.give(5);
  f.run_until(f.start + 2 * month);
  CHECK(f.charges(f.id) == Days{0, 60});
}

TEST_CASE("after an admin's suspension, what ran before runs again") {
  Fixture f;
  const auto held = f.suspend(f.id);
  CHECK(held.status == Status::stopped);
  CHECK(held.reason == deployments::Reason::suspended_by_admin);
  CHECK(held.generation == f.row.generation + 1);
  CHECK(f.suspend(f.id).generation == held.generation);
  CHECK(f.logs(f.id).back().action == deployments::LogAction::suspend);
  CHECK(refusal([&] { f.restart(f.app, f.id); }) == "403 deployment_suspended");
  CHECK(refusal([&] { f.put_on(f.id, "wide"); }) == "403 deployment_suspended");
  f.give(10 * price);
  f.run_until(f.start + month + 5 * day);
  CHECK(f.status() == Status::stopped);
  CHECK(f.charges(f.id) == Days{0});
  const auto free = f.reactivate(f.id);
  CHECK(free.status == Status::deploying);
  CHECK_FALSE(free.reason);
  CHECK_FALSE(free.stopped_at);
  CHECK(f.charges(f.id) == Days{0, 30});
  CHECK(f.reactivate(f.id).generation == free.generation);
  CHECK(f.logs(f.id).back().action == deployments::LogAction::reactivate);
  CHECK(refusal([&] { f.suspend("unknown"); }) == "404 deployment_not_found");
  f.destroy(f.app, f.id);
  CHECK(refusal([&] { f.suspend(f.id); }) == "422 deployment_destroyed");
}

TEST_CASE("a reactivated deployment without points waits for them") {
  Fixture f;
  f.suspend(f.id);
  f.run_until(f.start + month + 5 * day);
  const deployments::Deployment waiting = f.reactivate(f.id);
  CHECK(waiting.status == Status::stopped);
  CHECK(waiting.message == billing::points_missing);
  CHECK(f.billing_of(f.id) == billing::Status::suspended);
  f.give(price);
  f.run();
  CHECK(f.status() == Status::deploying);
  CHECK_FALSE(f.find_deployment(f.id).message);
  CHECK(f.charges(f.id) == Days{0, 30});
}

TEST_CASE("what its owner stopped stays stopped after an admin's suspension") {
  Fixture f;
  SECTION("stopped before") {
    f.stop(f.app, f.id);
    f.suspend(f.id);
  }
  SECTION("stopped meanwhile") {
    f.suspend(f.id);
    CHECK(f.stop(f.app, f.id).status == Status::stopped);
    CHECK(f.logs(f.id).back().action == deployments::LogAction::stop);
  }
  CHECK(f.reactivate(f.id).status == Status::stopped);
  f.give(10 * price);
  f.run_for(2 * month);
  CHECK(f.status() == Status::stopped);
}

TEST_CASE("an admin's suspension lasts, even if points arrive for an earlier billing suspension") {
  Fixture f;
  f.run_until(f.start + month + day);
  REQUIRE(f.billing_of(f.id) == billing::Status::suspended);
  f.suspend(f.id);
  f.give(price);
  f.run();
  CHECK(f.status() == Status::stopped);
  CHECK(f.points() == price);
  CHECK(f.reactivate(f.id).status == Status::deploying);
  CHECK(f.billing_of(f.id) == billing::Status::current);
  CHECK(f.points() == 0);
}

// ---- Stipends ----------------------------------------------------------------------------------

struct Stipends : BillingWorld {
  Stipends() {
    mint(ledger::treasury(), 10'000);
    change_tier("wide", [](tiers::Tier& tier) { tier.monthly_stipend_points = 30; });
  }
  std::int64_t got() {
    return read([&](db::Tx& tx) {
      return tx.number("SELECT coalesce(sum(amount), 0) FROM stipends WHERE owner_id = $1", ada.id);
    });
  }
};

TEST_CASE("an account gets one stipend in 30 days, however many deployments run") {
  Stipends f;
  const auto before = f.balance(ledger::user_account(f.ada.id));
  const auto first = f.running("first", "wide");
  f.running("second", "wide");
  const auto other = f.approved_app(f.ada, {Scope::deploy_manage});
  f.deploy(other, order("third", "wide"));
  f.run();
  CHECK(f.got() == 30);
  CHECK(f.balance(ledger::user_account(f.ada.id)) == before + 30);
  f.destroy(f.app, first.id);
  f.running("fourth", "wide");
  f.run_until(f.start + month - 1ms);
  CHECK(f.got() == 30);
  f.run_until(f.start + month);
  CHECK(f.got() == 60);
  // The app of the oldest deployment that has the tier is told.
  CHECK(f.read([&](db::Tx& tx) {
    return tx.number(R"(SELECT count(*) FROM app_events WHERE type = 'payout' AND app_id = $1)",
                     f.app.id);
  }) == 2);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("a stipend that differs from what the treasury paid is found") {
  Stipends f;
  f.running("first", "wide");
  f.run();
  REQUIRE(f.broken_invariants().empty());
  const std::string found =
      "each day's stipends are what the treasury paid for them: 1 of 1 days of stipends, the "
      "first: the treasury on 2026-01-31 is off by ";
  f.write([](db::Tx& tx) { tx.execute("UPDATE stipends SET amount = amount + 1"); });
  CHECK(f.broken_invariants() == std::vector{found + "1"});
  f.write([](db::Tx& tx) { tx.execute("DELETE FROM stipends"); });
  CHECK(f.broken_invariants() == std::vector{found + "31"});
}

TEST_CASE("the largest stipend counts, and stopped deployments get none") {
  Stipends f;
  tiers::Tier rich = paid_tier("rich", 0);
  rich.monthly_stipend_points = 500;
  f.new_tier(rich);
  f.deploy(f.app, order("poor", "wide"));
  const auto row = f.deploy(f.app, order("rich", "rich"));
  f.run();
  CHECK(f.got() == 500);
  f.stop(f.app, row.id);
  f.run_until(f.start + month);
  CHECK(f.got() == 530);
}

TEST_CASE("a stopped deployment gets no stipend until it runs") {
  Stipends f;
  const auto row = f.deploy(f.app, order("shop", "wide"));
  f.stop(f.app, row.id);
  f.run_for(2 * month);
  CHECK(f.got() == 0);
  f.restart(f.app, row.id);
  f.run();
  CHECK(f.got() == 30);
}

TEST_CASE("a stipend that is introduced later is paid to existing deployments") {
  BillingWorld f;
  f.mint(ledger::treasury(), 100);
  f.running("shop", "wide");
  f.change_tier("wide", [](tiers::Tier& tier) { tier.monthly_stipend_points = 100; });
  f.run();
  CHECK(f.read([](db::Tx& tx) { return tx.number("SELECT sum(amount) FROM stipends"); }) == 100);
}

TEST_CASE("stipends wait while the treasury is empty") {
  Stipends f;
  f.change_tier("wide", [](tiers::Tier& tier) { tier.monthly_stipend_points = 20'000; });
  f.running("shop", "wide");
  CHECK(f.got() == 0);
  f.mint(ledger::treasury(), 20'000);
  f.run_for(1h);
  CHECK(f.got() == 20'000);
}

}  // namespace
