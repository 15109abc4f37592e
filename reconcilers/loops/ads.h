#pragma once

#include <chrono>

#include "controller/db/database.h"
#include "controller/domain/ads/serving.h"
#include "controller/domain/kernel/replicas.h"
#include "reconcilers/loops/repeating.h"

namespace berth::reconcilers {

// Does for ads what becomes due with time: it ends campaigns whose ends_at has passed and refunds
// what is left of them, returns reservations that were never reported to their budgets, counts
// demand anew, and deletes rows that nobody needs. It also reads changed campaigns into memory, so
// that after many changes no ad request has to wait for that. No payment depends on when a round
// runs. Of several berthd processes on a database, one does all of this, and each reads the
// campaigns. The composition root creates one, and calls start() and stop() once each.
class AdsLoop {
 public:
  struct Options {
    std::chrono::milliseconds interval = std::chrono::seconds(1);
    // Limits for one transaction, because it holds up all other writes. A campaign that ends may
    // have to release as many reservations as a campaign may hold.
    int campaigns = 4;
    int rows = 200;
    // Null if berthd has the database for itself.
    Replicas* replicas = nullptr;
  };

  AdsLoop(db::Database& database, ads::CampaignIndex& index)
      : AdsLoop(database, index, Options()) {}
  AdsLoop(db::Database& database, ads::CampaignIndex& index, Options options);

  void start() { rounds_.start(); }
  void stop() { rounds_.stop(); }  // returns when the current transaction has ended

  // Does everything that is due, if it is this process's turn. Returns the number of campaigns,
  // reservations and rows that it processed. If nothing is due, nothing is written. Throws Error
  // `unavailable` if the database can't be used.
  int run_once();

 private:
  template <typename IsDue, typename Some>
  int repeat(IsDue is_due, Some some);
  int do_what_is_due();
  void run_and_log();

  db::Database& database_;
  ads::CampaignIndex& index_;
  const Options options_;
  LoopTurn turn_;
  Repeating rounds_;  // last: joined before the members that it uses are destroyed
};

}  // namespace berth::reconcilers
