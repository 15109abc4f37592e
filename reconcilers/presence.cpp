#include "reconcilers/presence.h"

#include "controller/base/log.h"

namespace berth::reconcilers {

void PresenceLoop::start() {
  thread_ = std::thread([this] { work(); });
}

void PresenceLoop::stop() {
  if (!thread_.joinable()) return;
  stopping_.request_stop();
  thread_.join();
  flush_and_log();
}

void PresenceLoop::work() {
  while (!stopping_.stop_requested()) {
    flush_and_log();
    std::unique_lock lock(mutex_);
    wakes_.wait_for(lock, stopping_.get_token(), interval, [] { return false; });
  }
}

void PresenceLoop::flush_and_log() {
  try {
    board_->flush(database_);
  } catch (const std::exception& failure) {
    // The next round tries again.
    log::warning("when users were last seen can't be written", {{"error", failure.what()}});
  }
}

}  // namespace berth::reconcilers
