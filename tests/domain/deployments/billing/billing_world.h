#pragma once

#include <functional>

#include "controller/domain/deployments/billing/billing.h"
#include "controller/domain/ledger/ledger_audit.h"
#include "tests/domain/world.h"

// An operator with deployments that cost points. Tests call the billing loop's functions
// themselves.
namespace berth::test {

inline constexpr std::int64_t price = 1'000;

inline tiers::Tier paid_tier(const std::string& slug, std::int64_t points) {
  return {.id = {},
          .name = slug,
          .slug = slug,
          .description = "",
          .monthly_cost_points = points,
          .monthly_cost_sats = {},
          .memory_limit_mb = 256,
          .cpu_limit_millicores = 250,
          .max_deployments = {},
          .auto_approve = true};
}

struct BillingWorld : World {
  tiers::Tier paid = new_tier(paid_tier("paid", price));
  accounts::User ada = verified_user("ada");
  apps::App app = approved_app(ada, {Scope::deploy_manage});
  Instant start = clock.now();

  tiers::Tier new_tier(const tiers::Tier& tier) {
    return write([&](db::Tx& tx) { return tiers::create(tx, tier); });
  }
  void change_tier(const std::string& slug, const std::function<void(tiers::Tier&)>& edit) {
    write([&](db::Tx& tx) {
      auto tier = *tiers::find_by_slug(tx, slug);
      edit(tier);
      tiers::update(tx, tier);
    });
  }

  void give(std::int64_t points) { mint(ledger::app_account(app.id), points); }
  void take(std::int64_t points) {
    write([&](db::Tx& tx) {
      REQUIRE(ledger::post(tx, {.kind = "test",
                                .from = ledger::app_account(app.id),
                                .to = ledger::treasury(),
                                .amount = points,
                                .memo = ""}));
    });
  }
  std::int64_t points() { return balance(ledger::app_account(app.id)); }

  // Creates a deployment that is running and has its first period paid.
  deployments::Deployment running(const std::string& name = "shop",
                                  const std::string& tier = "paid") {
    const auto row = deploy(app, order(name, tier));
    seen_running(row.id);
    run();
    return find_deployment(row.id);
  }
  void seen_running(const std::string& id) {
    deployments::Observation seen;
    seen.status = deployments::Status::running;
    REQUIRE(record(id, find_deployment(id).generation, seen));
  }

  // Does what the loop would do now.
  void run() {
    for (;;) {
      const auto ids = read([](db::Tx& tx) { return billing::due(tx, 50); });
      if (ids.empty()) break;
      look(ids);
    }
    look(read([](db::Tx& tx) { return billing::in_debt(tx, "", "", 1'000); }));
  }
  void look(const std::vector<std::string>& ids) {
    if (ids.empty()) return;
    write([&](db::Tx& tx) {
      for (const std::string& id : ids) billing::settle_due(tx, id, keys.data);
    });
  }
  // Moves the clock on to `end` as if the loop were working all the time.
  void run_until(Instant end) {
    run();
    for (;;) {
      const auto next = read([](db::Tx& tx) { return billing::next_due(tx); });
      if (!next || *next > end) break;
      clock.advance(std::max(*next - clock.now(), Duration(0)));
      run();
    }
    if (end > clock.now()) clock.advance(end - clock.now());
    run();
  }
  void run_for(Duration time) { run_until(clock.now() + time); }

  billing::View view(const std::string& id) {
    return read([&](db::Tx& tx) { return billing::view(tx, id); });
  }
  billing::Status billing_of(const std::string& id) { return *find_deployment(id).billing_status; }
  deployments::Deployment change(const std::string& id, const deployments::Change& wanted) {
    return write([&](db::Tx& tx) {
      return deployments::change(tx, actor(app), id, wanted, rules, keys.data);
    });
  }
  deployments::Deployment put_on(const std::string& id, const std::string& tier) {
    deployments::Change wanted;
    wanted.tier = tier;
    return change(id, wanted);
  }
  deployments::Deployment suspend(const std::string& id) {
    return write([&](db::Tx& tx) { return deployments::suspend(tx, {"root", "r"}, id); });
  }
  deployments::Deployment reactivate(const std::string& id) {
    return write([&](db::Tx& tx) { return deployments::reactivate(tx, {"root", "r"}, id); });
  }
  // By days since the creation, which is day 0.
  std::vector<std::int64_t> charges(const std::string& id) {
    std::vector<std::int64_t> days;
    read([&](db::Tx& tx) {
      auto rows = tx.query(
          "SELECT c.period_start, d.inserted_at FROM deployment_charges c JOIN deployments d ON "
          "d.id = c.deployment_id WHERE d.id = $1 ORDER BY c.period_start",
          id);
      while (rows.next())
        days.push_back((rows.instant("period_start") - rows.instant("inserted_at")) /
                       std::chrono::hours(24));
    });
    return days;
  }
  std::vector<std::string> mails() {
    std::vector<std::string> subjects;
    read([&](db::Tx& tx) {
      auto rows = tx.query(
          "SELECT subject FROM outbox WHERE subject LIKE 'Your deployment%' ORDER BY created_at, "
          "id");
      while (rows.next()) subjects.push_back(rows.text("subject"));
    });
    return subjects;
  }
  std::vector<std::string> broken_invariants() {
    std::vector<std::string> names;
    for (const auto& check : read([](db::Tx& tx) { return ledger::audit(tx); }))
      if (!check.ok) names.push_back(check.name + ": " + check.detail);
    return names;
  }
};

// A deployment that is running, with its first period paid.
struct PaidDeployment : BillingWorld {
  deployments::Deployment row = [this] {
    give(price);
    return running();
  }();
  std::string id = row.id;
  deployments::Status status() { return find_deployment(id).status; }
};

}  // namespace berth::test
