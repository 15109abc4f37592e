#pragma once

#include <chrono>
#include <memory>

#include "controller/db/database.h"
#include "controller/domain/social/presence.h"
#include "reconcilers/loops/repeating.h"

namespace berth::reconcilers {

// Writes now and then when users were last seen. For the composition root: make it, start() and
// stop() it, once.
class PresenceLoop {
 public:
  // What a crash loses at most.
  static constexpr std::chrono::seconds interval{10};

  PresenceLoop(db::Database& database, std::shared_ptr<presence::Board> board)
      : database_(database),
        board_(std::move(board)),
        rounds_([this] { flush_and_log(); }, {.interval = interval}) {}
  ~PresenceLoop() { stop(); }
  PresenceLoop(const PresenceLoop&) = delete;
  PresenceLoop& operator=(const PresenceLoop&) = delete;

  void start() { rounds_.start(); }
  // Returns when everything is written.
  void stop();

 private:
  void flush_and_log();

  db::Database& database_;
  const std::shared_ptr<presence::Board> board_;
  Repeating rounds_;  // the last member: it ends before what it uses
};

}  // namespace berth::reconcilers
