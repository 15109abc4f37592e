// Renewals, warnings and suspensions, and what ends them.
#include "controller/domain/deployments/billing/billing.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "controller/domain/accounts/account_changes.h"
#include "controller/domain/kernel/outbox.h"
#include "tests/domain/deployments/billing/billing_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using deployments::Status;
using Days = std::vector<std::int64_t>;

constexpr auto day = 24h;
constexpr auto month = 30 * day;

using Fixture = PaidDeployment;

TEST_CASE("each period is charged once, when it begins") {
  Fixture f;
  f.give(2 * price + 5);
  CHECK(f.charges(f.id) == Days{0});
  f.run_until(f.start + month - 1ms);
  CHECK(f.charges(f.id) == Days{0});
  f.run_until(f.start + month);
  CHECK(f.charges(f.id) == Days{0, 30});
  f.run();
  f.look({f.id, f.id});
  CHECK(f.points() == price + 5);
  f.run_until(f.start + 2 * month + day);
  CHECK(f.charges(f.id) == Days{0, 30, 60});
  CHECK(f.points() == 5);
  CHECK(f.status() == Status::running);
  CHECK(f.billing_of(f.id) == billing::Status::current);
  CHECK(f.mails().empty());
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("a renewal that would fail is announced 24 h before, and fails at its time") {
  Fixture f;
  f.give(price - 1);
  f.run_until(f.start + month - day - 1ms);
  CHECK(f.billing_of(f.id) == billing::Status::current);
  f.run_until(f.start + month - day);
  CHECK(f.billing_of(f.id) == billing::Status::warning);
  CHECK(f.logs(f.id).back().action == deployments::LogAction::billing_warning);
  CHECK(f.mails() == std::vector<std::string>{"Your deployment shop will be stopped"});
  const auto low = f.read([](db::Tx& tx) {
    std::vector<nlohmann::json> events;
    auto rows = tx.query("SELECT data FROM app_events WHERE type = 'balance.low'");
    while (rows.next()) events.push_back(nlohmann::json::parse(rows.text("data")));
    return events;
  });
  REQUIRE(low.size() == 1);
  CHECK(low[0] == nlohmann::json{{"deployment_id", f.id},
                                 {"balance", price - 1},
                                 {"held", 0},
                                 {"points_per_hour", price / 720},
                                 {"hours_left", 24}});
  f.run_until(f.start + month - 1ms);
  CHECK(f.status() == Status::running);
  f.run_until(f.start + month);
  CHECK(f.status() == Status::stopped);
  CHECK(f.billing_of(f.id) == billing::Status::suspended);
  CHECK(f.find_deployment(f.id).stopped_at == f.start + month);
  CHECK(
      f.history(f.id).ends_with("billing_warning info, billing_failed failed, suspend succeeded"));
  CHECK(f.mails().back() == "Your deployment shop was stopped");
  CHECK(f.charges(f.id) == Days{0});
  CHECK(f.points() == price - 1);
  const auto logs = f.logs(f.id).size();
  f.run_for(10 * day);  // one warning and one suspension
  CHECK(f.logs(f.id).size() == logs);
}

TEST_CASE("the mails of billing are in the owner's language") {
  Fixture f;
  f.write([&](db::Tx& tx) { accounts::set_language(tx, f.ada.id, Language::de); });
  f.run_until(f.start + month);
  f.give(price);
  f.run();
  std::string all;
  for (const auto& mail : f.read([&](db::Tx& tx) { return outbox::list(tx, f.keys.data); }))
    if (mail.subject.find("shop") != std::string::npos) all += mail.subject + "\n" + mail.body;
  for (const char* text :
       {"Ihr Deployment shop wird angehalten\nHallo ada,\n\nfür die nächsten 30 Tage",
        "Ihr Deployment shop wurde angehalten\n", "Ihr Deployment shop startet wieder\n",
        "30 Tage in der Stufe paid kosten 1000.\n"}) {
    INFO(all);
    CHECK(all.find(text) != std::string::npos);
  }
  CHECK(all.find("Your deployment") == std::string::npos);
}

TEST_CASE("with enough points again, the then current period is charged and the deployment runs") {
  Fixture f;
  f.run_until(f.start + month + 5 * day);
  REQUIRE(f.billing_of(f.id) == billing::Status::suspended);
  f.give(price - 1);
  f.run();
  CHECK(f.status() == Status::stopped);
  f.give(1);
  f.run();
  CHECK(f.status() == Status::deploying);
  CHECK(f.billing_of(f.id) == billing::Status::current);
  CHECK_FALSE(f.find_deployment(f.id).stopped_at);
  CHECK_FALSE(f.find_deployment(f.id).message);
  CHECK(f.logs(f.id).back().action == deployments::LogAction::reactivate);
  CHECK(f.mails().back() == "Your deployment shop starts again");
  CHECK(f.charges(f.id) == Days{0, 30});
  CHECK(f.points() == 0);
  CHECK(f.view(f.id).next_renewal == f.start + 2 * month);
}

TEST_CASE("periods of a suspension aren't charged") {
  Fixture f;
  f.run_until(f.start + 3 * month + 2 * day);
  f.give(5 * price);
  f.run();
  CHECK(f.charges(f.id) == Days{0, 90});
  CHECK(f.points() == 4 * price);
}

TEST_CASE("points that arrive in time withdraw the warning") {
  Fixture f;
  f.run_until(f.start + month - 1h);
  REQUIRE(f.billing_of(f.id) == billing::Status::warning);
  CHECK(f.view(f.id).stops_at == f.start + month);
  f.give(price);
  f.run();
  CHECK(f.billing_of(f.id) == billing::Status::current);
  f.run_until(f.start + month);
  CHECK(f.charges(f.id) == Days{0, 30});
  CHECK(f.status() == Status::running);
}

TEST_CASE("if the points go at the last moment, the warning comes first and the stop 24 h later") {
  Fixture f;
  f.give(price);
  f.run_until(f.start + month - 1ms);
  f.take(1);
  f.run_until(f.start + month);
  CHECK(f.status() == Status::running);
  CHECK(f.billing_of(f.id) == billing::Status::warning);
  CHECK_FALSE(f.view(f.id).is_paid);
  f.run_until(f.start + month + day - 1ms);
  CHECK(f.status() == Status::running);
  f.run_until(f.start + month + day);
  CHECK(f.status() == Status::stopped);
  CHECK(f.charges(f.id) == Days{0});
}

TEST_CASE("nothing is stopped without a warning because berthd was down") {
  Fixture f;
  f.run_until(f.start + month - 2 * day);
  f.clock.advance(7 * day);  // the loop doesn't run
  f.run();
  CHECK(f.status() == Status::running);
  CHECK(f.billing_of(f.id) == billing::Status::warning);
  const Instant warned = f.clock.now();
  f.run_until(warned + day - 1ms);
  CHECK(f.status() == Status::running);
  SECTION("without points it is stopped then, and nobody pays for that time") {
    f.run_until(warned + day);
    CHECK(f.status() == Status::stopped);
    CHECK(f.charges(f.id) == Days{0});
  }
  SECTION("with points its period is paid whole") {
    f.give(price);
    f.run();
    CHECK(f.billing_of(f.id) == billing::Status::current);
    CHECK(f.charges(f.id) == Days{0, 30});
    CHECK(f.status() == Status::running);
  }
}

TEST_CASE("a warning from before berthd went down counts") {
  Fixture f;
  f.run_until(f.start + month - 1h);
  REQUIRE(f.billing_of(f.id) == billing::Status::warning);
  f.clock.advance(3 * day);
  f.run();
  CHECK(f.status() == Status::stopped);
}

TEST_CASE("periods that passed while berthd was down aren't charged") {
  Fixture f;
  f.give(10 * price);
  f.clock.advance(3 * month + 5 * day);
  f.run();
  CHECK(f.charges(f.id) == Days{0, 90});
  CHECK(f.points() == 9 * price);
  CHECK(f.status() == Status::running);
}

TEST_CASE("points are counted once over the renewals of all of the app's deployments") {
  Fixture f;
  f.give(2 * price);
  f.run_for(1h);
  const auto second = f.running("second");
  f.run_until(f.start + month - day + 2h);
  CHECK(f.points() == price);
  CHECK(f.billing_of(f.id) == billing::Status::current);
  CHECK(f.billing_of(second.id) == billing::Status::warning);
  f.run_until(f.start + month + 2h);
  CHECK(f.charges(f.id) == Days{0, 30});
  CHECK(f.find_deployment(second.id).status == Status::stopped);
}

TEST_CASE("prices of which a floating-point sum is written with an exponent are counted, too") {
  BillingWorld f;
  constexpr std::int64_t dear = 1'000'000'000'000'000;
  f.new_tier(paid_tier("dear", dear));
  f.give(3 * dear + 5);
  const auto first = f.running("first", "dear");
  f.run_for(1h);
  const auto second = f.running("second", "dear");
  f.run_until(f.start + month - day + 2h);
  CHECK(f.points() == dear + 5);
  CHECK(f.billing_of(first.id) == billing::Status::current);
  CHECK(f.billing_of(second.id) == billing::Status::warning);
}

TEST_CASE("what its owner stopped stays stopped and isn't renewed") {
  Fixture f;
  f.give(10 * price);
  f.run_until(f.start + 10 * day);
  f.stop(f.app, f.id);
  CHECK_FALSE(f.view(f.id).next_renewal);
  f.run_until(f.start + 2 * month + 10 * day);
  CHECK(f.status() == Status::stopped);
  CHECK(f.charges(f.id) == Days{0});
  CHECK(f.mails().empty());
  SECTION("restart charges the current period, counted from creation") {
    CHECK(f.restart(f.app, f.id).status == Status::deploying);
    CHECK(f.charges(f.id) == Days{0, 60});
    f.restart(f.app, f.id);
    CHECK(f.points() == 9 * price);
    f.run_until(f.start + 3 * month);
    CHECK(f.charges(f.id) == Days{0, 60, 90});
  }
  SECTION("without points for it the restart is refused") {
    f.take(9 * price + 1);
    CHECK(refusal([&] { f.restart(f.app, f.id); }) == "422 insufficient_balance");
    CHECK(f.status() == Status::stopped);
    f.give(1);
    f.run();  // the deployment isn't waiting for points any more
    CHECK(f.status() == Status::stopped);
  }
}

TEST_CASE("a stop and restart within a paid period costs nothing") {
  Fixture f;
  f.run_until(f.start + month - 1h);
  REQUIRE(f.billing_of(f.id) == billing::Status::warning);
  f.stop(f.app, f.id);
  CHECK(f.billing_of(f.id) == billing::Status::current);
  f.run_for(30min);
  f.restart(f.app, f.id);
  f.run();
  CHECK(f.billing_of(f.id) == billing::Status::warning);
  CHECK(f.mails().size() == 1);  // the warning came before
  f.run_until(f.start + month);
  CHECK(f.status() == Status::stopped);
}

TEST_CASE("the owner can end the wait for points by stopping the deployment") {
  Fixture f;
  f.run_until(f.start + month + day);
  REQUIRE(f.billing_of(f.id) == billing::Status::suspended);
  CHECK(f.stop(f.app, f.id).status == Status::stopped);
  CHECK(f.logs(f.id).back().action == deployments::LogAction::stop);
  CHECK(f.billing_of(f.id) == billing::Status::current);
  const auto logs = f.logs(f.id).size();
  f.stop(f.app, f.id);
  CHECK(f.logs(f.id).size() == logs);
  f.give(10 * price);
  f.run();
  CHECK(f.status() == Status::stopped);
  CHECK(f.charges(f.id) == Days{0});
}

TEST_CASE("restarting or changing a suspended deployment charges its period") {
  Fixture f;
  f.run_until(f.start + month + day);
  deployments::Change wanted;
  wanted.set(&deployments::ContainerSpec::port, 8080);
  CHECK(refusal([&] { f.restart(f.app, f.id); }) == "422 insufficient_balance");
  CHECK(refusal([&] { f.change(f.id, wanted); }) == "422 insufficient_balance");
  CHECK(f.find_deployment(f.id).container.port == 3000);
  f.give(price);
  SECTION("restart") { f.restart(f.app, f.id); }
  SECTION("PATCH") { f.change(f.id, wanted); }
  CHECK(f.status() == Status::deploying);
  CHECK(f.billing_of(f.id) == billing::Status::current);
  CHECK(f.charges(f.id) == Days{0, 30});
  CHECK(f.history(f.id).find("reactivate") != std::string::npos);
}

TEST_CASE("a PATCH of a stopped deployment is charged too, and leaves it stopped") {
  Fixture f;
  f.stop(f.app, f.id);
  f.run_until(f.start + month + day);
  deployments::Change wanted;
  CHECK(refusal([&] { f.change(f.id, wanted); }) == "");  // the change has no effect
  wanted.set(&deployments::ContainerSpec::port, 8080);
  CHECK(refusal([&] { f.change(f.id, wanted); }) == "422 insufficient_balance");
  f.give(price);
  CHECK(f.change(f.id, wanted).status == Status::stopped);
  CHECK(f.charges(f.id) == Days{0, 30});
  f.run_until(f.start + 3 * month);
  CHECK(f.charges(f.id) == Days{0, 30});
}

TEST_CASE("a deleted deployment is neither renewed nor refunded") {
  Fixture f;
  f.give(price);
  f.destroy(f.app, f.id);
  f.run_until(f.start + 2 * month);
  CHECK(f.points() == price);
  CHECK(f.charges(f.id) == Days{0});
  CHECK_FALSE(f.read([](db::Tx& tx) { return billing::next_due(tx); }));
}

TEST_CASE("an interrupted transaction has charged nothing") {
  Fixture f;
  f.give(price);
  f.clock.advance(month);
  for (int i = 0; i < 3; ++i) {
    CHECK_THROWS_AS(f.write([&](db::Tx& tx) {
      billing::settle_due(tx, f.id, f.keys.data);
      throw std::runtime_error("cut off");
    }),
                    std::runtime_error);
    CHECK(f.charges(f.id) == Days{0});
  }
  f.run();
  CHECK(f.charges(f.id) == Days{0, 30});
  CHECK(f.points() == 0);
  CHECK(f.broken_invariants().empty());
}

TEST_CASE("a free deployment is exempt and never becomes due") {
  BillingWorld f;
  const auto row = f.running("shop", "wide");
  CHECK(row.billing_status == billing::Status::exempt);
  CHECK_FALSE(f.read([](db::Tx& tx) { return billing::next_due(tx); }));
  const auto view = f.view(row.id);
  CHECK(view.status == billing::Status::exempt);
  CHECK(view.is_paid);
  CHECK_FALSE(view.next_renewal);
  CHECK(view.history.empty());
}

TEST_CASE("what is shown of a deployment's billing") {
  Fixture f;
  f.give(price + 7);
  f.run_until(f.start + month + 3 * day);
  const auto view = f.view(f.id);
  CHECK(view.status == billing::Status::current);
  CHECK(view.tier == "paid");
  CHECK(view.price == price);
  CHECK(view.period == billing::Period{f.start + month, f.start + 2 * month});
  CHECK(view.is_paid);
  CHECK(view.next_renewal == f.start + 2 * month);
  CHECK_FALSE(view.stops_at);
  CHECK(view.balance == 7);
  REQUIRE(view.history.size() == 2);
  CHECK(view.history[0].period_start == f.start + month);
  CHECK(view.history[0].at == f.start + month);
  CHECK(view.history[1].kind == billing::EntryKind::charge);
  CHECK(view.history[1].amount == price);
  CHECK(view.history[1].tier == "paid");
  CHECK(view.history[1].transaction_id);
}

TEST_CASE("an audit finds a charge that isn't in the ledger, and the reverse") {
  Fixture f;
  REQUIRE(f.broken_invariants().empty());
  f.write([](db::Tx& tx) { tx.execute("UPDATE deployment_charges SET amount = amount - 1"); });
  CHECK(f.broken_invariants().size() == 1);
  f.write([](db::Tx& tx) { tx.execute("DELETE FROM deployment_charges"); });
  CHECK(f.broken_invariants().size() == 1);
}

}  // namespace
