#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "controller/db/database.h"
#include "controller/domain/deployments/billing/billing.h"
#include "controller/domain/kernel/replicas.h"
#include "reconcilers/loops/repeating.h"

namespace berth::reconcilers {

// Renews, warns, suspends and reactivates deployments
// (controller/domain/deployments/billing/billing.h). It processes what is due by the database's
// clock, and deployments in debt whose app was credited; whatever became due while berthd was down
// is done afterwards. One loop runs for each database, whether or not its process leads the
// cluster; if that process dies, the loop of another one goes on. The composition root creates one,
// and calls start() and stop() once each.
class BillingLoop {
 public:
  struct Options {
    // Due deployments are polled for and no timer is set, because the clock can be moved. A poll is
    // one look-up in an index.
    std::chrono::milliseconds poll = std::chrono::seconds(1);
    // How often all deployments in debt are checked, so that a credit whose notification was lost,
    // or a lower price, takes effect within a minute.
    std::chrono::milliseconds sweep = std::chrono::minutes(1);
    // Apps are credited with each spending, so credits that arrive within this time are handled by
    // one check.
    std::chrono::milliseconds rest = std::chrono::milliseconds(100);
    // Deployments in one transaction, which holds up other writes for some milliseconds.
    int batch = 50;
    // Null if berthd has the database for itself.
    Replicas* replicas = nullptr;
  };

  BillingLoop(db::Database& database, std::string data_key)
      : BillingLoop(database, std::move(data_key), Options()) {}
  BillingLoop(db::Database& database, std::string data_key, Options options);

  void start() { rounds_.start(); }
  void stop() { rounds_.stop(); }  // returns when the current batch has ended

  // Call this when the app's account was credited (db::Topic::app_balance). Returns at once; may be
  // called from any thread.
  void credited(const std::string& app_id);
  // Call this when such notifications may have been lost; all deployments in debt are then checked
  // in the next round. May be called from any thread.
  void any_credited() { is_sweep_due_ = true; }

  // How often billing came to each outcome since this process started, by name; `failed` counts
  // deployments that are tried again. Thread-safe.
  std::vector<std::pair<std::string, std::uint64_t>> outcomes() const;

  // Processes everything that is due, batch by batch, and the deployments in debt: all of them the
  // first time and once per `sweep`, otherwise those of credited apps. Returns how many deployments
  // it checked, and 0 if it is another process's turn. Throws Error `unavailable` if the database
  // can't be used.
  int run_once();

 private:
  using SteadyClock = std::chrono::steady_clock;

  void run_and_log();
  int look_at_debts(const std::string& app_id);  // an empty id means all apps
  int look_at_due();
  void look_at(const std::vector<std::string>& ids);
  std::set<std::string> take_credited();

  db::Database& database_;
  const std::string data_key_;
  const Options options_;
  LoopTurn turn_;
  std::array<std::atomic<std::uint64_t>, billing::outcome_count> outcomes_{};
  std::atomic<std::uint64_t> failures_{0};
  SteadyClock::time_point next_sweep_ = SteadyClock::time_point::min();
  std::atomic<bool> is_sweep_due_ = false;
  std::mutex mutex_;
  std::set<std::string> credited_;  // the ids of apps
  Repeating rounds_;                // last: joined before the members that it uses are destroyed
};

}  // namespace berth::reconcilers
