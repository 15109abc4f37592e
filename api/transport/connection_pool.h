#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "api/transport/connection_table.h"
#include "api/transport/socket.h"

namespace berth::api {

// One thread for each open connection. Threads are made when connections come and end when they
// had nothing to do for a while, but for a few. All functions may be called from any thread.
class ConnectionPool {
 public:
  using Connection = std::unique_ptr<ConnectionTable::Entry>;
  using Serve = std::function<void(Connection connection)>;

  // `serve` runs on a thread of the pool until its connection is over, and throws nothing.
  explicit ConnectionPool(Serve serve);
  // Waits until every connection is over.
  ~ConnectionPool();
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;

  // Never blocks. False, and `connection` untouched, where the system has no thread left. How many
  // there may be is the ConnectionTable's to say.
  bool submit(Connection& connection);

  // Waits until no connection is left; false when some are at the deadline.
  bool wait_until_empty(Deadline deadline);

 private:
  using Threads = std::list<std::thread>;

  void work(Threads::iterator self);
  bool wait_for_connection(std::unique_lock<std::mutex>& lock);
  static void join(Threads threads);

  const Serve serve_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::condition_variable emptied_;
  std::deque<Connection> waiting_;
  std::size_t serving_ = 0;
  bool stopping_ = false;
  Threads threads_;
  Threads ended_;  // to be joined
};

}  // namespace berth::api
