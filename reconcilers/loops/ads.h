#pragma once

#include <chrono>

#include "controller/db/database.h"
#include "controller/domain/ads/serving.h"
#include "reconcilers/loops/repeating.h"

namespace berth::reconcilers {

// What time alone does to ads: campaigns whose ends_at has come end and give back their rest,
// reservations that nobody reported go back to their budgets, demand is counted anew, and rows that
// nobody needs go; and what changed of many campaigns comes into memory before the next request for
// an ad has to wait for that. No payment depends on when it does so. For the composition root: make
// it, start() and stop() it, once.
class AdsLoop {
 public:
  struct Options {
    std::chrono::milliseconds interval = std::chrono::seconds(1);
    // Of one transaction, which holds up the other writes: an end may release as many reservations
    // as a campaign may have.
    int campaigns = 4;
    int rows = 200;
  };

  AdsLoop(db::Database& database, ads::CampaignIndex& index)
      : AdsLoop(database, index, Options()) {}
  AdsLoop(db::Database& database, ads::CampaignIndex& index, Options options);

  void start() { rounds_.start(); }
  void stop() { rounds_.stop(); }  // returns when the transaction that runs has ended

  // Everything that is due. Returns how many campaigns, reservations and rows it dealt with. Writes
  // nothing where nothing is due. Throws Error unavailable.
  int run_once();

 private:
  template <typename IsDue, typename Some>
  int repeat(IsDue is_due, Some some);
  void run_and_log();

  db::Database& database_;
  ads::CampaignIndex& index_;
  const Options options_;
  Repeating rounds_;  // the last member: it ends before what it uses
};

}  // namespace berth::reconcilers
