#include "reconcilers/loops/presence.h"

#include "controller/base/log.h"

namespace berth::reconcilers {

void PresenceLoop::stop() {
  if (rounds_.stop()) flush_and_log();
}

void PresenceLoop::flush_and_log() {
  try {
    board_->flush(database_);
  } catch (const std::exception& failure) {
    log::warning("the times when users were last seen couldn't be written",
                 {{"error", failure.what()}});
  }
}

}  // namespace berth::reconcilers
