#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

#include "controller/base/thread_crew.h"

namespace berth::api {

struct Connection;

// Threads that work for the connections which are submitted to them, in their order. Threads are
// started when they are needed, and end when there has been nothing to do for a while, except for
// one. All functions may be called from any thread.
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
  void work(ThreadCrew::Lock& lock);

  const Work work_;
  mutable std::mutex mutex_;
  std::deque<Connection*> waiting_;
  bool stopping_ = false;
  ThreadCrew crew_;
};

}  // namespace berth::api
