#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "controller/db/database.h"
#include "controller/db/postgres/connection.h"

namespace berth::db::postgres {

struct Options {
  unsigned readers = 8;         // connections that read() can use at the same time
  unsigned heavy_readers = 2;   // further ones, for Readers::heavy
  unsigned writers = 16;        // connections that write() can use at the same time
  size_t max_waiting = 10'000;  // writes that wait for a connection; further ones are refused
  // How often a write is run that collides with others or whose connection is lost, and for how
  // long it is run again.
  unsigned attempts = 50;
  std::chrono::milliseconds write_time{10'000};
  // How long a read looks for a server that answers, and a write whose COMMIT wasn't answered for
  // its outcome.
  std::chrono::milliseconds patience{5'000};
  FaultOf fault = {};  // for tests
};

// A PostgreSQL database, with any number of berthd on it. A read is a transaction of REPEATABLE
// READ READ ONLY. A write is one of SERIALIZABLE on the caller's thread, and runs again if it
// collides with another one, also if that shows as a violated constraint. Connections are made when
// they are needed and kept. Thread-safe.
class Database final : public db::Database {
 public:
  // Migrates the database to the newest schema. Throws std::runtime_error, with a sentence for the
  // operator, if the server can't be reached or used; see migrate().
  Database(Server server, const Clock& clock, Options options = {});

  // How often a write was run again because it collided with another one.
  std::uint64_t collisions() const { return collisions_; }

 private:
  // The connections of one kind.
  struct Pool {
    unsigned most = 0;
    unsigned open = 0;  // idle, in use, or being made
    size_t waiting = 0;
    size_t max_waiting = std::numeric_limits<size_t>::max();
    std::vector<std::unique_ptr<Connection>> idle;
    std::condition_variable is_free;
  };

  // The use of a connection.
  class Lease {
   public:
    // Waits for a connection, or makes one. Throws TooSlow after `most`, Error `unavailable` if too
    // many wait already, and Unusable if the server can't be reached.
    Lease(Database& database, Pool& pool, std::optional<std::chrono::milliseconds> most);
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Connection& operator*() const { return *connection_; }
    Connection* operator->() const { return connection_.get(); }

   private:
    Database& database_;
    Pool& pool_;
    std::unique_ptr<Connection> connection_;
  };

  struct Transaction {
    std::string id, incarnation;
    std::vector<Note> notes;
  };
  // `unanswered`: the connection was lost behind COMMIT.
  enum class Outcome { stored, undone, unanswered, unknown };

  void run_read(const TxWork& work) override;
  void run_write(const TxWork& work) override;
  // `why` is set to what went wrong if they return false.
  bool try_read(const TxWork& work, std::string& why);
  bool try_write(const TxWork& work, std::string& why);
  Outcome run_and_commit(Connection& connection, const TxWork& work, Transaction& transaction);
  Outcome commit(Connection& connection, bool has_limit);
  Outcome outcome_of(const Transaction& transaction);
  std::unique_ptr<Connection> connect() const;

  const Server server_;
  const Clock& clock_;
  const Options options_;
  std::mutex pools_mutex_;
  std::array<Pool, 2> readers_;  // by Readers
  Pool writers_;
  std::mutex subscribers_mutex_;
  std::atomic<std::uint64_t> collisions_ = 0;
};

}  // namespace berth::db::postgres
