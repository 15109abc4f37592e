#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "controller/db/database.h"
#include "controller/domain/ledger/old_postings.h"

namespace berth::reconcilers {

// Moves what an older berthd posted (controller/domain/ledger/old_postings.h), in batches of some
// milliseconds with pauses between them, so that payments don't wait; then its thread ends. Logs
// its progress. The composition root creates one, and calls start() and stop() once each.
class LedgerMove {
 public:
  explicit LedgerMove(db::Database& database);

  void start();
  void stop();  // returns when the current batch has ended

  // Moves one batch. Returns false, and writes nothing, if nothing is left. Throws Error
  // `unavailable` if the database can't be used.
  bool run_once();

 private:
  using SteadyClock = std::chrono::steady_clock;
  void work(const std::stop_token& stop);
  void adapt();
  void log_progress();
  void pause(const std::stop_token& stop, SteadyClock::duration how_long);

  db::Database& database_;
  int batch_;                         // the transactions of the next one
  SteadyClock::duration writing_{};   // how long the writer was busy with the last one
  std::int64_t logged_percent_ = -1;  // -1: nothing is logged yet
  SteadyClock::time_point logged_at_;
  std::mutex mutex_;
  std::condition_variable_any stopping_;
  std::jthread thread_;  // last: joined before the members that it uses are destroyed
};

}  // namespace berth::reconcilers
