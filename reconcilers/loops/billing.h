#pragma once

#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "controller/db/database.h"
#include "reconcilers/loops/repeating.h"

namespace berth::reconcilers {

// Renews deployments, warns, suspends and reactivates them
// (controller/domain/deployments/billing/billing.h). It looks at what is due by the database's
// clock, and at deployments in debt whose app was credited; what it missed while it was down it
// does afterwards. One for each database, whoever leads the cluster. For the composition root: make
// it, start() and stop() it, once.
class BillingLoop {
 public:
  struct Options {
    // The clock can be moved, so what is due is asked for and not computed ahead; one look-up in an
    // index.
    std::chrono::milliseconds poll = std::chrono::seconds(1);
    // All that is in debt is looked at so often, so that a lost word about a credit, or a lower
    // price, costs a minute.
    std::chrono::milliseconds sweep = std::chrono::minutes(1);
    // Apps are credited with each spending: what comes within so long shares a look.
    std::chrono::milliseconds rest = std::chrono::milliseconds(100);
    // Deployments of one transaction: it holds up the other writes for some milliseconds.
    int batch = 50;
  };

  BillingLoop(db::Database& database, std::string data_key)
      : BillingLoop(database, std::move(data_key), Options()) {}
  BillingLoop(db::Database& database, std::string data_key, Options options);

  void start() { rounds_.start(); }
  void stop() { rounds_.stop(); }  // returns when the batch that runs has ended

  // The app's account was credited (db::Topic::app_balance). Quick, from any thread.
  void credited(const std::string& app_id);

  // Everything that is due, batch by batch, and what is in debt; all of that the first time.
  // Returns at how many deployments it looked. Throws Error unavailable.
  int run_once();

 private:
  using SteadyClock = std::chrono::steady_clock;

  void run_and_log();
  int look_at_debts(const std::string& app_id);  // empty: of all
  int look_at_due();
  void look_at(const std::vector<std::string>& ids);
  std::set<std::string> take_credited();

  db::Database& database_;
  const std::string data_key_;
  const Options options_;
  SteadyClock::time_point next_sweep_ = SteadyClock::time_point::min();
  std::mutex mutex_;
  std::set<std::string> credited_;  // ids of apps
  Repeating rounds_;                // the last member: it ends before what it uses
};

}  // namespace berth::reconcilers
