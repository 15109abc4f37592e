// A year of billing: 100 deployments of five operators, who receive and spend points and stop,
// start, change and delete deployments; transactions that are interrupted, and outages of up to ten
// days.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <random>
#include <set>

#include "controller/domain/ledger/numbers.h"
#include "tests/domain/deployments/billing/billing_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

constexpr auto day = 24h;
constexpr int operators = 5;
constexpr int deployments_of_each = 20;
// The average number of events of each kind, for each operator or deployment.
constexpr double per_day_and_app = 0.5;          // points that are received or spent
constexpr double per_day_and_deployment = 0.02;  // the owner or an admin does something
constexpr double down_times = 12;

struct Operator {
  apps::App app;
  std::vector<std::string> ids;
};

class Year {
 public:
  explicit Year(std::uint64_t seed) : random_(seed) {
    world_.new_tier(paid_tier("large", 2 * price + 1));
    world_.mint(ledger::treasury(), 1'000'000);
    for (int i = 0; i < operators; ++i) {
      const auto user = world_.verified_user("user" + std::to_string(i));
      operators_.push_back({.app = world_.approved_app(user, {Scope::deploy_manage}), .ids = {}});
      world_.mint(ledger::app_account(operators_.back().app.id),
                  2 * deployments_of_each * (2 * price + 1));
    }
    while (int(total()) < operators * deployments_of_each) {
      world_.clock.advance(chosen(6h));
      create(operators_[total() % operators]);
    }
    // What is left determines the first renewals.
    for (const Operator& each : operators_)
      spend(each, chosen(world_.balance(ledger::app_account(each.app.id))));
  }

  void live() {
    const Instant end = world_.clock.now() + 365 * day;
    while (world_.clock.now() < end) {
      const Instant next = world_.clock.now() + next_event();
      run_until(next);
      if (happens(down_times / expected_events())) {
        // Berthd is down, so nothing is settled or requested.
        world_.clock.advance(chosen(10 * day));
      } else {
        something();
      }
      run();
    }
  }

  // ---- What must always hold
  // ----------------------------------------------------------------------

  static int charges_outside_their_period(db::Tx& tx) {
    int outside = 0;
    auto rows = tx.query("SELECT period_start, transaction_id FROM deployment_charges");
    while (rows.next()) {
      const Instant start = rows.instant("period_start");
      const Instant at = ledger::time_of_id(ledger::parts_of_id(rows.text("transaction_id")));
      if (at < start || at >= start + std::chrono::days(30)) ++outside;
    }
    return outside;
  }

  void check_ledger() {
    CHECK(world_.broken_invariants() == std::vector<std::string>{});
    world_.read([](db::Tx& tx) {
      // The primary key forbids two charges for a period. This checks that each charge is for a
      // period.
      CHECK(tx.number("SELECT count(*) FROM deployment_charges c JOIN deployments d ON d.id = "
                      "c.deployment_id WHERE (c.period_start - d.inserted_at) % 2592000000 <> 0 OR "
                      "c.period_start < d.inserted_at") == 0);
      CHECK(charges_outside_their_period(tx) == 0);
      CHECK(
          tx.number("SELECT count(*) FROM ledger_transactions t JOIN ledger_kinds k ON k.number = "
                    "t.kind WHERE k.kind = 'deployment'") ==
          tx.number("SELECT count(*) FROM deployment_charges"));
    });
  }

  // Each suspension follows a warning of its own that is at least 24 h old.
  void check_suspensions() {
    const auto found = world_.read([](db::Tx& tx) {
      std::map<std::string, std::vector<std::pair<std::string, Instant>>> logs;
      auto rows = tx.query(R"(
          SELECT deployment_id, action, inserted_at
          FROM deploy_logs
          ORDER BY inserted_at, number)");
      while (rows.next())
        logs[rows.text("deployment_id")].emplace_back(rows.text("action"),
                                                      rows.instant("inserted_at"));
      return logs;
    });
    for (const auto& [id, log] : found) {
      std::optional<Instant> warned;
      for (const auto& [action, at] : log) {
        if (action == "billing_warning") warned = at;
        if (action != "billing_failed") continue;
        ++suspensions_;
        if (!warned || at - *warned < 24h) ++unannounced_;
        warned.reset();
      }
    }
    const auto charges = world_.read(
        [](db::Tx& tx) { return tx.number("SELECT count(*) FROM deployment_charges"); });
    std::cout << "  " << charges << " charges, " << suspensions_ << " suspensions, "
              << reactivations_ << " reactivations, " << cut_off_ << " transactions cut off\n";
    CHECK(unannounced_ == 0);
    CHECK(suspensions_ > 0);
    CHECK(reactivations_ > 0);
    CHECK(cut_off_ > 0);
  }

 private:
  // ---- Events
  // -------------------------------------------------------------------------------------

  void something() {
    Operator& who = operators_[chosen(operators_.size())];
    if (happens(share_of_points())) {
      if (happens(0.6))
        world_.mint(ledger::app_account(who.app.id), 1 + chosen(8 * price));
      else
        spend(who, chosen(world_.balance(ledger::app_account(who.app.id)) + 1));
      return;
    }
    if (who.ids.empty()) return create(who);
    act(who, chosen(who.ids.size()));
  }

  void act(Operator& who, size_t number) {
    const std::string id = who.ids[number];
    const auto actor = world_.actor(who.app);
    switch (chosen(10)) {
      case 0:
      case 1:
        attempt([&](db::Tx& tx) { deployments::stop(tx, actor, id); });
        resting_.insert(id);
        break;
      case 2:
      case 3:
      case 4:
        if (attempt([&](db::Tx& tx) { deployments::restart(tx, actor, id); })) resting_.erase(id);
        break;
      case 5:
        attempt([&](db::Tx& tx) { deployments::suspend(tx, {"root", "r"}, id); });
        break;
      case 6:
        attempt([&](db::Tx& tx) { deployments::reactivate(tx, {"root", "r"}, id); });
        break;
      case 7:
        attempt([&](db::Tx& tx) {
          deployments::Change change;
          change.tier = std::array{"paid", "large", "wide"}.at(chosen(3));
          deployments::change(tx, actor, id, change, world_.rules, world_.keys.data);
        });
        break;
      case 8:
        attempt([&](db::Tx& tx) {
          deployments::Change change;
          change.set(&deployments::ContainerSpec::replicas, std::array{1, 2, 3}.at(chosen(3)));
          deployments::change(tx, actor, id, change, world_.rules, world_.keys.data);
        });
        break;
      default:
        attempt([&](db::Tx& tx) { deployments::destroy(tx, actor, id); });
        who.ids.erase(who.ids.begin() + std::ptrdiff_t(number));
        create(who);
    }
  }

  void create(Operator& who) {
    const auto order = test::order("d" + std::to_string(++names_), happens(0.7) ? "paid" : "large");
    attempt([&](db::Tx& tx) {
      who.ids.push_back(
          deployments::create(tx, world_.actor(who.app), order, world_.rules, world_.keys.data).id);
    });
  }

  void spend(const Operator& who, std::int64_t points) {
    if (points < 1) return;
    world_.write([&](db::Tx& tx) {
      ledger::post(tx, {.kind = "spend",
                        .from = ledger::app_account(who.app.id),
                        .to = ledger::treasury(),
                        .amount = points,
                        .memo = ""});
    });
  }

  // Returns false if it was refused.
  template <typename Work>
  bool attempt(Work&& work) {
    const std::string refused = refusal([&] { world_.write(work); });
    if (!refused.empty() && refused != "422 insufficient_balance" &&
        refused != "403 deployment_suspended")
      FAIL(refused);
    return refused.empty();
  }

  // ---- The loop
  // ----------------------------------------------------------------------------------

  void run_until(Instant end) {
    for (;;) {
      const auto next = world_.read([](db::Tx& tx) { return billing::next_due(tx); });
      if (!next || *next > end) break;
      world_.clock.advance(std::max(*next - world_.clock.now(), Duration(0)));
      run();
    }
    world_.clock.advance(std::max(end - world_.clock.now(), Duration(0)));
  }

  // Each batch may be interrupted at any point, any number of times, as if berthd had been killed.
  void run() {
    for (;;) {
      const auto ids = world_.read([](db::Tx& tx) { return billing::due(tx, 20); });
      if (ids.empty()) break;
      look(ids);
    }
    look(world_.read([](db::Tx& tx) { return billing::in_debt(tx, "", "", 1'000); }));
    check_now();
  }

  void look(const std::vector<std::string>& ids) {
    if (ids.empty()) return;
    const auto looks = [&](size_t count, bool cut_off) {
      world_.write([&](db::Tx& tx) {
        for (size_t i = 0; i < count; ++i) billing::settle_due(tx, ids[i], world_.keys.data);
        if (cut_off) throw std::runtime_error("cut off");
      });
    };
    while (happens(0.05)) {
      ++cut_off_;
      CHECK_THROWS_AS(looks(1 + chosen(ids.size()), true), std::runtime_error);
    }
    looks(ids.size(), false);
  }

  // Checks what must hold whenever the loop has run.
  void check_now() {
    world_.read([&](db::Tx& tx) {
      auto rows = tx.query(
          "SELECT d.id, d.status, d.billing_status, d.suspended_at, "
          "t.monthly_cost_points * d.most_containers AS price, a.balance, b.paid_until, "
          "b.warned_at FROM deployments d JOIN deploy_tiers t ON t.id = "
          "d.tier_id JOIN ledger_accounts a ON a.id = 'app:' || d.app_id JOIN deployment_billing b "
          "ON b.deployment_id = d.id WHERE d.status <> 'destroyed'");
      while (rows.next()) {
        const std::string id = rows.text("id");
        const bool runs = rows.text("status") != "stopped";
        const bool waits = rows.text("billing_status") == "suspended";
        const std::int64_t price = rows.integer("price");
        if (waits && rows.null("suspended_at") && rows.integer("balance") >= price)
          FAIL(id << " has its points again and isn't reactivated");
        if (runs && resting_.contains(id)) FAIL(id << " runs though its owner stopped it");
        if (runs && waits) FAIL(id << " runs though it is suspended");
        const bool unpaid = price > 0 && rows.instant("paid_until") <= tx.now();
        if (runs && unpaid &&
            (rows.null("warned_at") || rows.instant("warned_at") + 24h <= tx.now()))
          FAIL(id << " runs, isn't paid, and its time is over");
        if (waits) waiting_.insert(id);
        if (runs && waiting_.erase(id) > 0) ++reactivations_;
      }
    });
  }

  // ---- Random choices
  // -----------------------------------------------------------------------------

  size_t total() const {
    size_t count = 0;
    for (const Operator& each : operators_) count += each.ids.size();
    return count;
  }
  static double events_a_day() {
    return operators * (per_day_and_app + deployments_of_each * per_day_and_deployment);
  }
  static double expected_events() { return 365 * events_a_day(); }
  static double share_of_points() { return operators * per_day_and_app / events_a_day(); }
  Duration next_event() {
    return Duration(std::int64_t(std::exponential_distribution<>(events_a_day())(random_) *
                                 double(Duration(day).count())));
  }
  bool happens(double probability) { return std::bernoulli_distribution(probability)(random_); }
  Duration chosen(Duration below) { return Duration(std::int64_t(chosen(size_t(below.count())))); }
  std::int64_t chosen(std::int64_t below) { return std::int64_t(chosen(size_t(below))); }
  size_t chosen(int below) { return chosen(size_t(below)); }
  size_t chosen(size_t below) {  // returns 0 to below - 1
    return below < 2 ? 0 : std::uniform_int_distribution<size_t>(0, below - 1)(random_);
  }

  // Keeps the file in memory, because syncing thousands of commits to a disk would take most of the
  // time.
  struct InMemory {
    InMemory() {
      if (std::filesystem::is_directory("/dev/shm")) ::setenv("TMPDIR", "/dev/shm", 1);
    }
  };

  std::mt19937_64 random_;
  InMemory in_memory_;
  BillingWorld world_;
  std::vector<Operator> operators_;
  std::set<std::string> resting_;  // stopped by their owners
  std::set<std::string> waiting_;  // were suspended when the loop last ran
  int names_ = 0;
  int suspensions_ = 0;
  int unannounced_ = 0;
  int reactivations_ = 0;
  int cut_off_ = 0;
};

void live_a_year(std::uint64_t seed) {
  INFO("seed " << seed);
  std::cout << "a year of billing, seed " << seed << "\n";
  Year year(seed);
  year.live();
  year.check_ledger();
  year.check_suspensions();
}

TEST_CASE("a year of billing for 100 deployments: seed 1") { live_a_year(1); }
TEST_CASE("a year of billing for 100 deployments: seed 2") { live_a_year(2); }
TEST_CASE("a year of billing for 100 deployments: seed 3") { live_a_year(3); }

TEST_CASE("a year of billing for 100 deployments: a random seed") {
  live_a_year(std::random_device{}());
}

}  // namespace
