#pragma once

#include <chrono>

#include "controller/db/database.h"
#include "controller/domain/kernel/replicas.h"
#include "reconcilers/loops/repeating.h"

namespace berth::reconcilers {

// Adds the ledger's pending credits to the rows of their accounts (pending.h in
// controller/domain/ledger). On SQLite there is nothing to do. The composition root creates one,
// and calls start() and stop() once each.
class PendingCredits {
 public:
  struct Options {
    std::chrono::milliseconds interval{100};
    // Null if berthd has the database for itself.
    Replicas* replicas = nullptr;
  };

  PendingCredits(db::Database& database, Options options);

  void start() { rounds_.start(); }
  void stop() { rounds_.stop(); }  // returns when the current batch has ended

  // Adds what is pending, batch by batch, until a batch isn't full. Returns the number of credits;
  // 0 if it is another process's turn. Throws Error `unavailable` if the database can't be used.
  int run_once();

 private:
  void run_and_log();

  db::Database& database_;
  LoopTurn turn_;
  bool has_failed_ = false;  // whether the previous round has failed
  Repeating rounds_;         // last: joined before the members that it uses are destroyed
};

}  // namespace berth::reconcilers
