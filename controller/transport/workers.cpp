#include "controller/transport/workers.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace berth::api {
namespace {

// A burst leaves threads behind. This many stay; the others end after this time without work.
constexpr std::size_t kept_threads = 4;
constexpr std::chrono::seconds idle_lifetime{10};

void join(std::list<std::thread> threads) {
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

Workers::Workers(std::size_t most, Work work)
    : most_(std::max<std::size_t>(most, 1)), work_(std::move(work)) {
  const std::lock_guard lock(mutex_);
  start();
}

Workers::~Workers() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  arrived_.notify_all();
  ended_all_.wait(lock, [&] { return threads_.empty(); });
  lock.unlock();
  join(std::move(ended_));
}

// The caller holds the lock.
void Workers::start() {
  const auto place = threads_.emplace(threads_.end());
  try {
    *place = std::thread([this, place] { work(place); });
  } catch (const std::system_error&) {
    threads_.erase(place);
    if (threads_.empty()) throw;
  }
}

void Workers::submit(Connection& connection) {
  Threads ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(ended_);
    waiting_.push_back(&connection);
    if (idle_ < waiting_.size() && threads_.size() < most_) start();
    if (idle_ > 0) arrived_.notify_one();
  }
  join(std::move(ended));
}

bool Workers::has_waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size() > idle_;
}

// Returns false if the thread should end.
bool Workers::wait_for_work(std::unique_lock<std::mutex>& lock) {
  const auto wake = [&] { return stopping_ || !waiting_.empty(); };
  ++idle_;
  while (!arrived_.wait_for(lock, idle_lifetime, wake) && threads_.size() <= kept_threads) {
  }
  --idle_;
  return !waiting_.empty();
}

void Workers::work(Threads::iterator self) {
  std::unique_lock lock(mutex_);
  while (wait_for_work(lock)) {
    Connection& connection = *waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    work_(connection);
    lock.lock();
  }
  ended_.splice(ended_.end(), threads_, self);
  if (threads_.empty()) ended_all_.notify_all();
}

}  // namespace berth::api
