#include "controller/transport/connection_pool.h"

#include <system_error>
#include <utility>

namespace berth::api {
namespace {

// A burst of connections leaves threads behind. This many stay; the others end after this time
// without work.
constexpr std::size_t kept_threads = 16;
constexpr std::chrono::seconds idle_lifetime{30};

}  // namespace

ConnectionPool::ConnectionPool(Serve serve) : serve_(std::move(serve)) {}

ConnectionPool::~ConnectionPool() {
  std::unique_lock lock(mutex_);
  stopping_ = true;
  arrived_.notify_all();
  emptied_.wait(lock, [&] { return threads_.empty(); });
  lock.unlock();
  join(std::move(ended_));
}

void ConnectionPool::join(Threads threads) {
  for (std::thread& thread : threads) thread.join();
}

bool ConnectionPool::submit(Connection& connection) {
  Threads ended;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    ended.swap(ended_);
    if (threads_.size() - serving_ <= waiting_.size()) {
      const auto place = threads_.emplace(threads_.end());
      try {
        *place = std::thread([this, place] { work(place); });
      } catch (const std::system_error&) {
        threads_.erase(place);
        ended_.swap(ended);
        return false;
      }
    }
    waiting_.push_back(std::move(connection));
    arrived_.notify_one();
  }
  join(std::move(ended));
  return true;
}

bool ConnectionPool::wait_until_empty(Deadline deadline) {
  std::unique_lock lock(mutex_);
  return emptied_.wait_until(lock, deadline, [&] { return serving_ + waiting_.size() == 0; });
}

// Returns false if the thread should end.
bool ConnectionPool::wait_for_connection(std::unique_lock<std::mutex>& lock) {
  const auto wake = [&] { return stopping_ || !waiting_.empty(); };
  while (!arrived_.wait_for(lock, idle_lifetime, wake) && threads_.size() <= kept_threads) {
  }
  return !waiting_.empty();
}

void ConnectionPool::work(Threads::iterator self) {
  std::unique_lock lock(mutex_);
  while (wait_for_connection(lock)) {
    Connection connection = std::move(waiting_.front());
    waiting_.pop_front();
    ++serving_;
    lock.unlock();
    serve_(std::move(connection));
    lock.lock();
    --serving_;
    if (serving_ + waiting_.size() == 0) emptied_.notify_all();
  }
  ended_.splice(ended_.end(), threads_, self);
  emptied_.notify_all();
}

}  // namespace berth::api
