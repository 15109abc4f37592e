#pragma once

#include <chrono>
#include <utility>
#include <vector>

#include "controller/db/database.h"
#include "controller/domain/kernel/replicas.h"
#include "controller/domain/kernel/use_log.h"
#include "reconcilers/loops/repeating.h"

namespace berth::reconcilers {

// Removes what has expired, in small batches, and stores when consents and sessions were last used.
// Nothing depends on when it does so. Of several berthd processes on a database, one removes rows,
// and each stores the uses that it has seen. The composition root creates one, and calls start()
// and stop() once each.
class ExpiryLoop {
 public:
  struct Options {
    // Rows stay in their tables for at most about this long after they have expired.
    std::chrono::milliseconds interval = std::chrono::seconds(10);
    // Rows in one transaction, which holds up other writes for some milliseconds.
    int batch = 200;
    // Null if berthd has the database for itself.
    Replicas* replicas = nullptr;
  };

  ExpiryLoop(db::Database& database, std::vector<UseLog*> uses)
      : ExpiryLoop(database, std::move(uses), Options()) {}
  ExpiryLoop(db::Database& database, std::vector<UseLog*> uses, Options options);
  ~ExpiryLoop();  // stops
  ExpiryLoop(const ExpiryLoop&) = delete;
  ExpiryLoop& operator=(const ExpiryLoop&) = delete;

  void start() { rounds_.start(); }
  // Returns when the current batch has ended and the times of last use have been written.
  void stop();

  // Deletes everything that is due, batch by batch, if it is this process's turn. Returns how many
  // rows were deleted. Throws Error `unavailable` if the database can't be used.
  int run_once();

 private:
  void run_and_log();
  void flush_uses();

  db::Database& database_;
  const std::vector<UseLog*> uses_;
  const Options options_;
  LoopTurn turn_;
  Repeating rounds_;  // last: joined before the members that it uses are destroyed
};

}  // namespace berth::reconcilers
