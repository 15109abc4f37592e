// Budgets: what is told, what stops, and that nothing is ever charged beyond one.
#include "controller/domain/deployments/metering/budgets.h"

#include <catch2/catch.hpp>

#include "tests/domain/deployments/metering/metering_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using deployments::Status;
using metering::AtLimit;
using metering::Budget;
using metering::BudgetPeriod;

struct Fixture : Metered {
  metering::BudgetChange change(std::optional<std::int64_t> limit,
                                BudgetPeriod period = BudgetPeriod::day,
                                const std::string& deployment = "",
                                AtLimit at_limit = AtLimit::stop_metered) {
    return {.app_id = app.id,
            .deployment_id = deployment,
            .period = period,
            .limit = limit,
            .at_limit = at_limit};
  }
  std::optional<Budget> set(const metering::BudgetChange& wanted) {
    return write([&](db::Tx& tx) { return metering::set_budget(tx, wanted); });
  }
  std::vector<Budget> budgets() {
    return read([&](db::Tx& tx) { return metering::budgets(tx, app.id); });
  }
  bool lets_more(const metering::BudgetChange& wanted) {
    return read([&](db::Tx& tx) { return metering::lets_more_be_spent(tx, wanted); });
  }
};

TEST_CASE("a budget tells at its marks, and at its end stops what is metered, to the point") {
  Fixture f;
  const auto free = f.deploy_on("wide", "free").id;
  f.seen_running(free);
  const auto made = f.set(f.change(1'000));
  REQUIRE(made);
  CHECK(made->spent == 0);
  CHECK_FALSE(made->is_reached);
  CHECK(made->period_ends == f.midnight());
  f.pass_until(f.start + 500s - 1ms, false);
  CHECK(f.outcome.budgets_told == 0);
  for (const auto& [seconds, told] : {std::pair(500, 1), {750, 2}, {900, 3}, {1'000, 4}}) {
    CHECK(f.status(f.id) == Status::running);
    f.pass_until(f.start + std::chrono::seconds(seconds), false);
    CHECK(f.outcome.budgets_told == told);
  }
  CHECK(f.status(f.id) == Status::stopped);
  CHECK(f.billing_of(f.id) == billing::Status::suspended);
  CHECK(f.find_deployment(f.id).message == metering::budget_spent);
  CHECK(f.status(free) == Status::running);
  // What it runs until it has stopped is never charged.
  f.clock.advance(4s);
  f.end(f.id);
  f.look();
  CHECK(f.total(f.id).points == 1'000);
  CHECK(f.total(f.id).unpaid_milliseconds == 4'000);
  CHECK(f.points() == 999'000);
  REQUIRE(f.budgets().size() == 1);
  CHECK(f.budgets()[0].spent == 1'000);
  CHECK(f.budgets()[0].is_reached);
  CHECK(f.budgets()[0].reached_at == f.start + 1'000s);
  const auto events = f.events("budget.reached");
  REQUIRE(events.size() == 4);
  CHECK(events[0].find("\"percent\":50") != std::string::npos);
  CHECK(events[3].find("\"percent\":100") != std::string::npos);
  CHECK(f.subjects("of a budget").size() == 4);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("nothing that costs points starts beyond a budget, until it is raised") {
  Fixture f;
  f.set(f.change(1'000));
  f.pass(30min);
  REQUIRE(f.status(f.id) == Status::stopped);
  CHECK(refusal([&] { f.restart(f.app, f.id); }) == "409 budget_reached");
  CHECK(refusal([&] { f.deploy_on("hourly", "second"); }) == "409 budget_reached");
  CHECK(refusal([&] { f.deploy_on("paid", "third"); }) == "409 budget_reached");
  CHECK(refusal([&] { f.deploy_on("wide", "free"); }).empty());
  const auto wanted = f.change(1'100);
  CHECK(f.lets_more(wanted));
  CHECK_FALSE(f.lets_more(f.change(900)));
  CHECK_FALSE(f.lets_more(f.change(5'000, BudgetPeriod::thirty_days)));
  f.set(wanted);
  f.look();
  CHECK(f.status(f.id) == Status::deploying);
  CHECK(f.history(f.id).ends_with("reactivate succeeded"));
  f.pass(30min);
  CHECK(f.status(f.id) == Status::stopped);
  CHECK(f.total(f.id).points == 1'100);
  CHECK(f.lets_more(f.change(std::nullopt)));
  CHECK(f.set(f.change(std::nullopt)) == std::nullopt);
  f.look();
  CHECK(f.status(f.id) == Status::deploying);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("a day's budget moves on at midnight, and what it stopped starts again by itself") {
  Fixture f;
  f.set(f.change(1'000));
  f.pass_until(f.midnight());
  CHECK(f.status(f.id) == Status::stopped);
  f.pass(10min);
  CHECK(f.status(f.id) == Status::deploying);
  CHECK(f.budgets()[0].mark == 50);
  f.pass(24h);
  CHECK(f.total(f.id).points == 2'000);
  for (const auto& use : f.uses(f.id)) CHECK(use.points <= 1'000);
  CHECK(f.outcome.suspended == 0);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("30 days are the present one and the 29 before it") {
  Fixture f;
  f.set(f.change(2'000, BudgetPeriod::thirty_days));
  f.set(f.change(1'500));
  f.pass(36h);  // 1,500 on the first day and 500 on the second
  CHECK(f.status(f.id) == Status::stopped);
  REQUIRE(f.uses(f.id).size() == 2);
  CHECK(f.uses(f.id)[0].points == 1'500);
  CHECK(f.uses(f.id)[1].points == 500);
  const std::int64_t first = f.today() - 2;
  f.pass_until(start_of_day(first + 30) - 1min);
  CHECK(f.total(f.id).points == 2'000);
  f.pass(24h);
  CHECK(f.uses(f.id).back().day == first + 30);
  CHECK(f.uses(f.id).back().points == 1'500);
  CHECK(f.total(f.id).points == 3'500);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("a budget of a deployment stops it alone") {
  Fixture f;
  const auto other = f.deploy_on("hourly", "other").id;
  f.seen_running(other);
  f.begin(other);
  f.set(f.change(600, BudgetPeriod::day, f.id));
  f.set(f.change(2'000));
  f.pass(15min);
  CHECK(f.status(f.id) == Status::stopped);
  CHECK(f.status(other) == Status::running);
  CHECK(f.total(f.id).points == 600);
  f.pass(45min);  // 600 of one and 1,400 of the other
  CHECK(f.status(other) == Status::stopped);
  CHECK(f.total(f.id).points == 600);
  CHECK(f.total(other).points == 1'400);
  CHECK(refusal([&] { f.set(f.change(5, BudgetPeriod::day, "nothing")); }) ==
        "404 deployment_not_found");
  f.destroy(f.app, f.id);
  CHECK(f.budgets().size() == 1);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("a deployment's budget holds until its last container has ended") {
  Fixture f;
  f.set(f.change(60, BudgetPeriod::day, f.id));
  f.pass(1min, false);
  REQUIRE(f.status(f.id) == Status::stopped);
  f.clock.advance(5s);
  f.destroy(f.app, f.id);
  f.look();
  CHECK(f.budgets().empty());
  f.clock.advance(5s);
  f.end(f.id);
  f.look();
  CHECK(f.total(f.id).points == 60);
  CHECK(f.points() == 1'000'000 - 60);
  CHECK(f.held() == 0);
  CHECK(f.read([&](db::Tx& tx) {
    return tx.number("SELECT count(*) FROM budgets WHERE app_id = $1", f.app.id);
  }) == 0);
}

TEST_CASE("at stop_all the others are stopped, too, and aren't renewed beyond it") {
  Fixture f;
  const auto base = f.deploy_on("paid", "base").id;
  f.seen_running(base);
  f.set(f.change(1'500, BudgetPeriod::day, "", AtLimit::stop_all));
  CHECK(f.budgets()[0].spent == price);  // what was charged for 30 days counts
  f.pass(10min);
  CHECK(f.status(f.id) == Status::stopped);
  CHECK(f.status(base) == Status::stopped);
  CHECK(f.total(f.id).points == 500);
  CHECK(refusal([&] { f.deploy_on("wide", "free"); }) == "409 budget_reached");
  // Going on is more than stopping.
  CHECK(f.lets_more(f.change(1'500)));
  f.pass_until(f.midnight() + 1min);
  CHECK(f.status(base) == Status::deploying);
  f.set(f.change(price - 1, BudgetPeriod::day, "", AtLimit::stop_all));
  f.destroy(f.app, f.id);
  f.pass(31 * 24h);
  CHECK(f.status(base) == Status::stopped);
  CHECK(f.charges(base).size() == 1);
  f.set(f.change(std::nullopt));
  f.look();
  CHECK(f.status(base) == Status::deploying);
  CHECK(f.charges(base).size() == 2);
}

TEST_CASE("a budget below what is spent is reached at once") {
  Fixture f;
  f.pass(1h);
  const auto made = f.set(f.change(3'000));
  REQUIRE(made);
  CHECK(made->is_reached);
  CHECK(made->spent == 3'600);
  f.look();
  f.follow();
  f.look();
  CHECK(f.status(f.id) == Status::stopped);
  // What it had used before it got the budget is charged: nobody runs things for nothing by a
  // budget that comes afterwards.
  CHECK(f.total(f.id).points == 3'600);
  CHECK(f.total(f.id).unpaid_milliseconds == 0);
  CHECK(f.points() == 1'000'000 - 3'600);
}

TEST_CASE("a budget has bounds") {
  Fixture f;
  CHECK(refusal([&] { f.set(f.change(0)); }) == "422 validation_failed");
  CHECK(refusal([&] { f.set(f.change(ledger::max_points + 1)); }) == "422 validation_failed");
  CHECK(f.set(f.change(ledger::max_points))->forecast == 0);
  CHECK(f.set(f.change(std::nullopt, BudgetPeriod::thirty_days)) == std::nullopt);
  f.look();
  CHECK(f.status(f.id) == Status::running);
}

TEST_CASE("the forecast is what the last full days had") {
  Fixture f;
  f.pass(36h + 1h);  // 12 hours on the first day, 24 on the second
  const auto day = f.set(f.change(100'000));
  const auto month = f.set(f.change(1'000'000, BudgetPeriod::thirty_days));
  CHECK(day->forecast == 18 * point_a_second);
  CHECK(day->forecast_reached_at == std::nullopt);  // not before midnight
  CHECK(month->spent == 37 * point_a_second);
  CHECK(month->forecast == 30 * 18 * point_a_second);
  REQUIRE(month->forecast_reached_at);
  const auto pace = 18 * point_a_second;  // a day
  CHECK(*month->forecast_reached_at ==
        f.clock.now() + Duration((1'000'000 - 37 * point_a_second) * 86'400'000 / pace));
}

}  // namespace
