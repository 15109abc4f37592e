#include "reconcilers/expiry.h"

#include "controller/base/log.h"
#include "controller/domain/expiry.h"

namespace berth::reconcilers {

ExpiryLoop::ExpiryLoop(db::Database& database, connections::UseLog& uses, Options options)
    : database_(database), uses_(uses), options_(options) {}

ExpiryLoop::~ExpiryLoop() { stop(); }

void ExpiryLoop::start() {
  thread_ = std::thread([this] { work(); });
}

void ExpiryLoop::stop() {
  if (!thread_.joinable()) return;
  stopping_.request_stop();
  thread_.join();
  try {
    uses_.flush(database_);
  } catch (const std::exception& failure) {
    log::warning("when apps were last used is lost", {{"error", failure.what()}});
  }
}

int ExpiryLoop::run_once() {
  int removed = 0;
  // Looks before it writes: an empty transaction would take the writer from somebody.
  while (!stopping_.stop_requested() &&
         database_.read([](db::Tx& tx) { return expiry::is_anything_due(tx); })) {
    const int some =
        database_.write([&](db::Tx& tx) { return expiry::remove_some(tx, options_.batch); });
    if (some == 0) break;
    removed += some;
  }
  return removed;
}

void ExpiryLoop::work() {
  while (!stopping_.stop_requested()) {
    run_and_log();
    std::unique_lock lock(mutex_);
    wakes_.wait_for(lock, stopping_.get_token(), options_.interval, [] { return false; });
  }
}

void ExpiryLoop::run_and_log() {
  try {
    const int removed = run_once();
    uses_.flush(database_);
    if (removed > 0) log::debug("removed what has expired", {{"rows", removed}});
  } catch (const std::exception& failure) {
    // The next round tries again.
    log::warning("what has expired can't be removed", {{"error", failure.what()}});
  }
}

}  // namespace berth::reconcilers
