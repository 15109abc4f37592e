#include "controller/db/postgres/log_flush.h"

#include <algorithm>
#include <iterator>
#include <thread>
#include <utility>

#include "controller/base/log.h"
#include "controller/db/postgres/failure.h"

namespace berth::db::postgres {
namespace {

using std::chrono::steady_clock;

// The smallest transaction whose commit waits for the disk and for the standby.
constexpr const char* flush_sql = "SELECT pg_logical_emit_message(true, 'berth', '')";
constexpr std::chrono::milliseconds pause_before_retry{20};

}  // namespace

// One of the threads that wait flushes for all of them. Those that come meanwhile are served by the
// next flush, because the log may have been written before their commits.
bool LogFlush::wait(const std::string& incarnation, std::chrono::milliseconds most) {
  const auto until = steady_clock::now() + most;
  // A flush that has begun may end after this thread has given up.
  const auto self = std::make_shared<Waiter>(Waiter{.incarnation = incarnation});
  std::unique_lock lock(mutex_);
  waiting_.push_back(self);
  while (!self->is_stored) {
    if (steady_clock::now() >= until) {
      self->has_given_up = true;  // a flush that is under way may have taken it from the list
      std::erase(waiting_, self);
      return false;
    }
    if (is_flushing_) {
      changed_.wait_until(lock, until);
      continue;
    }
    is_flushing_ = true;
    const auto served = std::exchange(waiting_, {});
    lock.unlock();
    const auto flushed = flush(until);
    if (!flushed) std::this_thread::sleep_for(pause_before_retry);
    lock.lock();
    is_flushing_ = false;
    if (flushed)
      for (const auto& one : served)
        one->is_stored = flushed->is_whole && flushed->incarnation == one->incarnation;
    else
      std::ranges::copy_if(served, std::back_inserter(waiting_),
                           [](const auto& one) { return !one->has_given_up; });
    changed_.notify_all();
  }
  return *self->is_stored;
}

// Returns nothing if the server didn't answer.
std::optional<LogFlush::Flushed> LogFlush::flush(Deadline deadline) {
  try {
    if (connection_ && (connection_->is_lost() || is_outdated_(*connection_))) connection_.reset();
    if (!connection_) connection_ = connect_();
    connection_->forget_warnings();
    connection_->run(flush_sql, deadline);
    if (is_outdated_(*connection_)) return std::nullopt;
    is_failing_ = false;
    return Flushed{.incarnation = connection_->incarnation(),
                   .is_whole = !connection_->was_warned()};
  } catch (const std::exception& failure) {
    if (!std::exchange(is_failing_, true))
      log::warning("the server's log couldn't be flushed; trying again",
                   {{"error", failure.what()}});
    connection_.reset();
    return std::nullopt;
  }
}

}  // namespace berth::db::postgres
