#pragma once

#include <chrono>

#include "controller/db/database.h"
#include "controller/domain/oauth/connections.h"
#include "reconcilers/loops/repeating.h"

namespace berth::reconcilers {

// Removes what has expired, in small batches, and writes down when consents were last used. Nothing
// depends on when it does so. For the composition root: make it, start() and stop() it, once.
class ExpiryLoop {
 public:
  struct Options {
    // So that the tables hold no more than this much of what is over.
    std::chrono::milliseconds interval = std::chrono::seconds(10);
    // Rows of one transaction: it holds up the other writes for some milliseconds.
    int batch = 200;
  };

  ExpiryLoop(db::Database& database, connections::UseLog& uses)
      : ExpiryLoop(database, uses, Options()) {}
  ExpiryLoop(db::Database& database, connections::UseLog& uses, Options options);
  ~ExpiryLoop();  // stops
  ExpiryLoop(const ExpiryLoop&) = delete;
  ExpiryLoop& operator=(const ExpiryLoop&) = delete;

  void start() { rounds_.start(); }
  // Returns when the batch that runs has ended; what was last used is written.
  void stop();

  // Everything that is due, batch by batch. Returns how many rows it removed. Throws Error
  // unavailable.
  int run_once();

 private:
  void run_and_log();

  db::Database& database_;
  connections::UseLog& uses_;
  const Options options_;
  Repeating rounds_;  // the last member: it ends before what it uses
};

}  // namespace berth::reconcilers
