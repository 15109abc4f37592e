#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "controller/db/database.h"
#include "controller/domain/presence.h"

namespace berth::reconcilers {

// Writes now and then when users were last seen. For the composition root: make it, start() and
// stop() it, once.
class PresenceLoop {
 public:
  // What a crash loses at most.
  static constexpr std::chrono::seconds interval{10};

  PresenceLoop(db::Database& database, std::shared_ptr<presence::Board> board)
      : database_(database), board_(std::move(board)) {}
  ~PresenceLoop() { stop(); }
  PresenceLoop(const PresenceLoop&) = delete;
  PresenceLoop& operator=(const PresenceLoop&) = delete;

  void start();
  // Returns when everything is written.
  void stop();

 private:
  void work();
  void flush_and_log();

  db::Database& database_;
  const std::shared_ptr<presence::Board> board_;
  std::mutex mutex_;
  std::condition_variable_any wakes_;
  std::stop_source stopping_;
  std::thread thread_;
};

}  // namespace berth::reconcilers
