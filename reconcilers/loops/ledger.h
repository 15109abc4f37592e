#pragma once

#include <optional>

#include "controller/domain/kernel/loop.h"
#include "controller/domain/ledger/running_audit.h"

namespace berth::reconcilers {

// Closes the ledger's days (closed_days.h) and checks its old rows, a few in each round
// (running_audit.h). No payment depends on when a round runs. Used by one thread.
class LedgerLoop {
 public:
  Loop loop();

  // Takes one step of the first of these that is due: closing a day, the pass over closed days, the
  // passes over other things. Returns false, and writes nothing, if nothing is due. Throws Error
  // `unavailable` if the database can't be used.
  bool run_once(Round& round);

 private:
  bool close_some(Round& round);
  bool check_days(Round& round);
  static bool check_others(Round& round);

  std::optional<ledger::DayWalk> closing_;  // the day that is being closed
  ledger::DaysPass pass_;
};

}  // namespace berth::reconcilers
