#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "controller/db/database.h"

namespace berth::reconcilers {

// What time alone does to ads: campaigns whose ends_at has come end and give back their rest,
// reservations that nobody reported go back to their budgets, demand is counted anew, and rows that
// nobody needs go. No payment depends on when it does so. For the composition root: make it,
// start() and stop() it, once.
class AdsLoop {
 public:
  struct Options {
    std::chrono::milliseconds interval = std::chrono::seconds(1);
    // Of one transaction, which holds up the other writes: an end may release as many reservations
    // as a campaign may have.
    int campaigns = 4;
    int rows = 200;
  };

  explicit AdsLoop(db::Database& database) : AdsLoop(database, Options()) {}
  AdsLoop(db::Database& database, Options options);
  ~AdsLoop();  // stops
  AdsLoop(const AdsLoop&) = delete;
  AdsLoop& operator=(const AdsLoop&) = delete;

  void start();
  void stop();  // returns when the transaction that runs has ended

  // Everything that is due. Returns how many campaigns, reservations and rows it dealt with. Writes
  // nothing where nothing is due. Throws Error unavailable.
  int run_once();

 private:
  template <typename IsDue, typename Some>
  int repeat(IsDue is_due, Some some);
  void work();

  db::Database& database_;
  const Options options_;
  std::mutex mutex_;
  std::condition_variable_any wakes_;
  std::stop_source stopping_;
  std::thread thread_;
};

}  // namespace berth::reconcilers
