#pragma once

#include <chrono>
#include <optional>

#include "controller/db/database.h"
#include "controller/domain/kernel/replicas.h"
#include "controller/domain/ledger/running_audit.h"
#include "reconcilers/loops/repeating.h"

namespace berth::reconcilers {

// Closes the ledger's days (closed_days.h) and checks its old rows, a few in each round
// (running_audit.h). No payment depends on when a round runs. The composition root creates one, and
// calls start() and stop() once each.
class LedgerLoop {
 public:
  struct Options {
    std::chrono::milliseconds interval = std::chrono::seconds(1);
    // Null if berthd has the database for itself.
    Replicas* replicas = nullptr;
  };

  explicit LedgerLoop(db::Database& database) : LedgerLoop(database, Options()) {}
  LedgerLoop(db::Database& database, Options options);

  void start() { rounds_.start(); }
  void stop() { rounds_.stop(); }  // returns when the current step has ended

  // Takes one step of the first of these that is due: closing a day, the pass over closed days, the
  // passes over other things. Returns false, and writes nothing, if nothing is due, or if it is
  // another process's turn. Throws Error `unavailable` if the database can't be used.
  bool run_once();

 private:
  bool close_some();
  bool check_days();
  bool check_others();
  void run_and_log();
  void begin_anew();

  db::Database& database_;
  LoopTurn turn_;
  std::optional<ledger::DayWalk> closing_;  // the day that is being closed
  ledger::DaysPass pass_;
  Repeating rounds_;  // last: joined before the members that it uses are destroyed
};

}  // namespace berth::reconcilers
