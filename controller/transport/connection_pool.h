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

#include "controller/transport/connection_table.h"
#include "controller/transport/socket.h"

namespace berth::api {

// Runs each open connection on a thread of its own. Threads are started when connections arrive,
// and end after some idle time, except for a few. All functions may be called from any thread.
class ConnectionPool {
 public:
  using Connection = std::unique_ptr<ConnectionTable::Entry>;
  using Serve = std::function<void(Connection connection)>;

  // `serve` is called on a thread of the pool, returns when its connection is over, and throws
  // nothing.
  explicit ConnectionPool(Serve serve);
  // Waits until every connection is over.
  ~ConnectionPool();
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;

  // Hands a connection to a thread. Never blocks. Returns false, and leaves `connection` as it is,
  // if the system can't start another thread. The ConnectionTable limits how many connections there
  // are.
  bool submit(Connection& connection);

  // Waits until no connection is left. Returns false if some are left at the deadline.
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
  Threads ended_;  // have ended and must be joined
};

}  // namespace berth::api
