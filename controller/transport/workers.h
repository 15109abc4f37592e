#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>

#include "controller/base/thread_crew.h"

namespace berth::api {

struct Connection;

// Threads that work for the connections which are submitted to them, in their order. Threads are
// started when they are needed, and end when there has been nothing to do for a while. All
// functions may be called from any thread.
class Workers {
 public:
  // Called on a thread of the pool, which has the connection for itself. Throws nothing.
  using Work = std::function<void(Connection&)>;

  // Whether the first thread is started at once and never ends, so that whatever is submitted is
  // done even if the system can't start others.
  enum class First { stays, ends };
  // There are `most` threads of this name at most. Throws std::system_error if the first can't be
  // started.
  Workers(std::string name, std::size_t most, First first, Work work);
  // Nothing may be submitted any more.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Never blocks. Returns false, and doesn't take the connection, if there is no thread and the
  // system can't start one; never if the first one stays.
  bool submit(Connection& connection);
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
