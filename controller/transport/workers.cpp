#include "controller/transport/workers.h"

#include <utility>

namespace berth::api {

Workers::Workers(std::string name, std::size_t most, First first, Work work)
    : work_(std::move(work)),
      crew_(mutex_, {.most = most,
                     .kept = first == First::stays ? 1U : 0U,
                     .name = std::move(name),
                     .work = [this](ThreadCrew::Lock& lock) { this->work(lock); },
                     .next =
                         [this] {
                           return stopping_ || !waiting_.empty() ? ThreadCrew::now
                                                                 : ThreadCrew::never;
                         }}) {
  const std::lock_guard lock(mutex_);
  if (first == First::stays) crew_.start();
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  crew_.join();
}

bool Workers::submit(Connection& connection) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(&connection);
  if (crew_.call(waiting_.size())) return true;
  waiting_.pop_back();
  return false;
}

bool Workers::has_waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size() > crew_.idle();
}

void Workers::work(ThreadCrew::Lock& lock) {
  while (true) {
    if (!waiting_.empty()) {
      Connection& connection = *waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      work_(connection);
      lock.lock();
    } else if (stopping_ || !crew_.rest(lock)) {
      return;
    }
  }
}

}  // namespace berth::api
