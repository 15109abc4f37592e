#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "controller/db/postgres/connection.h"

namespace berth::db::postgres {

// Group commit. A write whose rows are released early (Tx::release_rows_early) is committed without
// waiting for the disk (PostgreSQL's manual, 30.4, asynchronous commit), and then waits here until
// the server's log is on the disk, and on the synchronous standby, as far as it goes: one flush
// serves all that wait. The log has one order, so what a write has seen is on the disk before it.
// Thread-safe.
class LogFlush {
 public:
  using Connect = std::function<std::unique_ptr<Connection>()>;
  // `connect` makes a connection for writes, and throws Unusable. `is_outdated` says whether
  // another server has taken over from a connection's.
  LogFlush(Connect connect, std::function<bool(const Connection&)> is_outdated)
      : connect_(std::move(connect)), is_outdated_(std::move(is_outdated)) {}

  // Waits until all that was committed before the call is stored for good. Returns false if that
  // isn't known: the server has begun another run than `incarnation` (Connection::incarnation), has
  // stopped waiting for its standby, or doesn't answer within `most`.
  bool wait(const std::string& incarnation, std::chrono::milliseconds most);

 private:
  struct Waiter {
    const std::string incarnation;
    std::optional<bool> is_stored = {};
    bool has_given_up = false;  // its thread has returned
  };
  // What one flush has shown: the run of the server, and whether its standby has the log, too.
  struct Flushed {
    std::string incarnation;
    bool is_whole = false;
  };
  std::optional<Flushed> flush(Deadline deadline);

  const Connect connect_;
  const std::function<bool(const Connection&)> is_outdated_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Waiter>> waiting_;  // those whom the next flush serves
  bool is_flushing_ = false;                      // one of the waiting threads uses what follows
  bool is_failing_ = false;                       // what went wrong is logged once
  std::unique_ptr<Connection> connection_;
};

}  // namespace berth::db::postgres
