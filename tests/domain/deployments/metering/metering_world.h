#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "controller/domain/deployments/metering/budgets.h"
#include "controller/domain/deployments/metering/meter.h"
#include "controller/domain/deployments/metering/prices.h"
#include "controller/domain/deployments/metering/settlement.h"
#include "controller/domain/deployments/metering/usage.h"
#include "tests/domain/deployments/billing/billing_world.h"

// An operator with deployments that are charged by the hour, and a cluster that runs them. Tests
// call the functions of the metering loop and of the meter themselves.
namespace berth::test {

// A point for a second.
inline constexpr std::int64_t point_a_second = 3'600;

inline tiers::Tier hourly_tier(const std::string& slug, std::int64_t points_per_hour) {
  tiers::Tier tier = paid_tier(slug, 0);
  tier.points_per_hour = points_per_hour;
  return tier;
}

struct MeteringWorld : BillingWorld {
  tiers::Tier hourly = new_tier(hourly_tier("hourly", point_a_second));
  ledger::Account account = ledger::app_account(app.id);
  // What the cluster has of each deployment, by its id.
  std::map<std::string, std::vector<metering::Run>> cluster;
  int pods = 0;
  bool is_seen = true;        // whether the leader sees the cluster
  metering::Outcome outcome;  // of all looks of the metering loop

  std::int64_t today() { return utc_day(clock.now()); }
  Instant midnight() { return start_of_day(today() + 1); }

  deployments::Deployment deploy_on(const std::string& tier, const std::string& name = "shop") {
    return deploy(app, order(name, tier));
  }

  // ---- What the cluster does

  // A new pod of the deployment starts now.
  void begin(const std::string& id) {
    cluster[id].push_back(
        {.name = "pod" + std::to_string(++pods) + "/0", .started_at = clock.now(), .ended_at = {}});
    report(id);
  }
  // All that runs of the deployment ends now.
  void end(const std::string& id) {
    for (metering::Run& run : cluster[id])
      if (!run.ended_at) run.ended_at = clock.now();
    report(id);
  }
  std::int64_t running_containers(const std::string& id) {
    return std::ranges::count_if(cluster[id], [](const auto& run) { return !run.ended_at; });
  }
  bool is_running(const std::string& id) { return running_containers(id) > 0; }
  metering::Recorded report(const std::string& id) { return record_runs(id, cluster[id]); }
  metering::Recorded record_runs(const std::string& id, const std::vector<metering::Run>& runs,
                                 const std::optional<Instant>& vanished_at = {}) {
    const bool would =
        read([&](db::Tx& tx) { return metering::would_change(tx, id, runs, vanished_at); });
    const auto done =
        write([&](db::Tx& tx) { return metering::record(tx, id, runs, vanished_at); });
    if (would != done.is_changed()) throw std::logic_error("would_change() differs from record()");
    return done;
  }
  // The cluster does at once what is wanted.
  void follow() {
    for (const auto& [id, runs] : std::map(cluster)) {
      const auto status = find_deployment(id).status;
      const bool wanted =
          status != deployments::Status::stopped && status != deployments::Status::destroyed;
      const int containers = deployments::most_replicas(find_deployment(id).container);
      while (wanted && running_containers(id) < containers) begin(id);
      if (!wanted && is_running(id)) end(id);
    }
  }

  // ---- What the loops do

  void see() {
    if (is_seen) write([&](db::Tx& tx) { metering::set_watched_until(tx, clock.now()); });
  }
  // Does what the metering loop and billing's would do now.
  void look() {
    see();
    for (;;) {
      const auto ids = read([](db::Tx& tx) { return metering::due(tx, 50); });
      if (ids.empty()) break;
      outcome.add(write([&](db::Tx& tx) {
        metering::Outcome all;
        for (const std::string& id : ids) all.add(metering::settle_due(tx, id, keys.data));
        return all;
      }));
    }
    run();
  }
  // Moves the clock on to `until` as if the loops were working all the time.
  void pass_until(Instant until, bool follows = true) {
    for (int steps = 0; steps < 100'000; ++steps) {
      look();
      if (follows) follow();
      const auto metered = read([](db::Tx& tx) { return metering::next_due(tx); });
      const auto billed = read([](db::Tx& tx) { return billing::next_due(tx); });
      Instant next = until;
      if (metered) next = std::min(next, *metered);
      if (billed) next = std::min(next, *billed);
      if (next >= until && !(metered && *metered <= clock.now())) break;
      clock.advance(std::max(next - clock.now(), Duration(0)));
    }
    if (until > clock.now()) clock.advance(until - clock.now());
    look();
    if (follows) follow();
    look();
  }
  void pass(Duration time, bool follows = true) { pass_until(clock.now() + time, follows); }

  // ---- What came of it

  std::int64_t held() {
    return read([&](db::Tx& tx) { return ledger::held(tx, account); });
  }
  std::vector<metering::DayUse> uses(const std::string& id) {
    return read([&](db::Tx& tx) { return metering::uses(tx, id, today() - 100, today() + 1); });
  }
  metering::DayUse total(const std::string& id) {
    metering::DayUse all;
    for (const auto& use : uses(id)) {
      all.milliseconds += use.milliseconds;
      all.points += use.points;
      all.pending_milliseconds += use.pending_milliseconds;
      all.unpaid_milliseconds += use.unpaid_milliseconds;
    }
    return all;
  }
  std::vector<metering::Interval> intervals(const std::string& id) {
    return read([&](db::Tx& tx) {
      return metering::interval_page(tx, id, 0, utc_day(tx.now()), {.page_size = 100}).items;
    });
  }
  deployments::Status status(const std::string& id) { return find_deployment(id).status; }
  std::vector<std::string> events(const std::string& type) {
    std::vector<std::string> found;
    read([&](db::Tx& tx) {
      auto rows = tx.query("SELECT data FROM app_events WHERE type = $1 ORDER BY id", type);
      while (rows.next()) found.push_back(rows.text("data"));
    });
    return found;
  }
  std::vector<std::string> subjects(const std::string& with) {
    std::vector<std::string> found;
    read([&](db::Tx& tx) {
      auto rows = tx.query("SELECT subject FROM outbox ORDER BY created_at, id");
      while (rows.next())
        if (rows.text("subject").find(with) != std::string::npos)
          found.push_back(rows.text("subject"));
    });
    return found;
  }
};

// A deployment that runs on the cluster and is charged a point for a second.
struct Metered : MeteringWorld {
  std::string id;
  explicit Metered(std::int64_t points = 1'000'000) {
    give(points);
    id = deploy_on("hourly").id;
    seen_running(id);
    begin(id);
    look();
  }
};

}  // namespace berth::test
