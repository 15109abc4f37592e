#pragma once

#include <chrono>
#include <memory>

#include "controller/db/database.h"
#include "controller/domain/social/presence.h"
#include "reconcilers/loops/repeating.h"

namespace berth::reconcilers {

// Writes from time to time when users were last seen. The composition root creates one, and calls
// start() and stop() once each.
class PresenceLoop {
 public:
  // A crash loses at most this much.
  static constexpr std::chrono::seconds interval{10};

  // Where several berthd processes share a database, the others know after this time what one has
  // heard.
  static constexpr std::chrono::seconds shared_interval{2};

  PresenceLoop(db::Database& database, std::shared_ptr<presence::Board> board,
               std::chrono::seconds pause = interval)
      : database_(database),
        board_(std::move(board)),
        rounds_("presence", [this] { flush_and_log(); }, {.interval = pause}) {}
  ~PresenceLoop() { stop(); }
  PresenceLoop(const PresenceLoop&) = delete;
  PresenceLoop& operator=(const PresenceLoop&) = delete;

  void start() { rounds_.start(); }
  // Returns when everything has been written.
  void stop();

 private:
  void flush_and_log();

  db::Database& database_;
  const std::shared_ptr<presence::Board> board_;
  Repeating rounds_;  // last: joined before the members that it uses are destroyed
};

}  // namespace berth::reconcilers
