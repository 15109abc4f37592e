#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace berth::api {

struct Connection;

// Threads that work for the connections which are submitted to them, in their order. Threads are
// started when they are needed, and end when there has been nothing to do for a while, except for a
// few. All functions may be called from any thread.
class Workers {
 public:
  // Called on a thread of the pool, which has the connection for itself. Throws nothing.
  using Work = std::function<void(Connection&)>;

  // There are `most` threads at most. Starts the first one, which never ends, so that whatever is
  // submitted is done even if the system can't start others. Throws std::system_error.
  Workers(std::size_t most, Work work);
  // Nothing may be submitted any more.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Never blocks.
  void submit(Connection& connection);
  // Whether a connection waits for a thread.
  bool has_waiting() const;

 private:
  using Threads = std::list<std::thread>;

  void start();
  void work(Threads::iterator self);
  bool wait_for_work(std::unique_lock<std::mutex>& lock);

  const std::size_t most_;
  const Work work_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::condition_variable ended_all_;
  std::deque<Connection*> waiting_;
  std::size_t idle_ = 0;
  bool stopping_ = false;
  Threads threads_;
  Threads ended_;  // have ended and must be joined
};

}  // namespace berth::api
