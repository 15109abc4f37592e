#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "controller/db/database.h"
#include "controller/db/postgres/connection.h"
#include "controller/db/postgres/log_flush.h"
#include "controller/db/postgres/notices.h"

namespace berth::db::postgres {

// How many connections write at the same time by default: four for each processor, from 8 to 16.
// Each has a process on the server, so more of them than the processors can use only make those
// take turns; fewer would wait for the network and for the server's disk.
unsigned writers_for(unsigned processors);

struct Options {
  unsigned readers = 8;        // connections that read() can use at the same time
  unsigned heavy_readers = 2;  // further ones, for Readers::heavy
  // Connections that write() can use at the same time.
  unsigned writers = writers_for(std::thread::hardware_concurrency());
  size_t max_waiting = 10'000;  // writes that wait for a connection; further ones are refused
  // How often a write is run at most if it collides with others or loses its connection, and for
  // how long it is retried.
  unsigned attempts = 50;
  std::chrono::milliseconds write_time{10'000};
  // How long a read looks for a server that answers, and how long a write whose COMMIT wasn't
  // answered tries to find out its outcome.
  std::chrono::milliseconds patience{5'000};
  // How often a thread checks whether the server takes writes. With 0 none does, and only writes
  // that fail show that it doesn't.
  std::chrono::milliseconds look_interval{500};
  FaultOf fault = {};  // for tests
};

// A PostgreSQL database, which any number of berthd processes may share. Thread-safe.
//
// A read is a REPEATABLE READ READ ONLY transaction, or none (read_committed()). A write is a
// SERIALIZABLE transaction on the caller's thread. It is retried after a serialization failure, a
// deadlock, or a violated constraint that a concurrent write may have caused. A write of a thread
// with RequestLimits ends when everything that it has read and written is on the synchronous
// standby, if the server has one.
//
// Connections are made when they are needed, and kept. A thread checks at intervals
// (Options::look_interval) whether the server answers and takes writes. While it doesn't, reads and
// writes of threads with RequestLimits throw Error `unavailable` at once. If it hangs for longer
// than Options::patience, all connections to it are cut.
class Database final : public db::Database {
 public:
  // Migrates the database to the newest schema. Throws std::runtime_error, with a sentence for the
  // operator, if the server can't be reached or used; see migrate().
  Database(Server server, const Clock& clock, Options options = {});

  ~Database() override;

  // Begins to exchange notifications with the other berthd processes on the database: the
  // subscribers are told of their commits as of this process's own. `missed` is called, on a thread
  // of its own, when notifications may have been lost. Call it once, after subscribe().
  void exchange_notices(std::function<void()> missed);
  // Ends the exchange. When it returns, neither subscribers nor `missed` are called for the commits
  // of others any more. No write may be running.
  void end_notices() { notices_.reset(); }

  // Whether the server answered when it was last looked at.
  bool is_reachable() const { return state_ != State::away; }
  // The size of the database. Throws as read() does.
  std::int64_t bytes();

  // How often a write was retried because of another one: after a serialization failure, a
  // deadlock, Overtaken, or a constraint that both of them met.
  std::uint64_t collisions() const { return collisions_; }
  // How often a write was retried because its connection was lost or none could be made.
  std::uint64_t lost_connections() const { return lost_connections_; }
  // How often it couldn't be found out whether a write was stored.
  std::uint64_t unknown_outcomes() const { return unknown_outcomes_; }
  // The connections for one use: "read", "heavy_read" or "write".
  struct Connections {
    const char* use;
    unsigned open, idle;
    size_t waiting;  // reads or writes that wait for one
  };
  std::vector<Connections> connections() const;

 private:
  // The connections of one kind.
  struct Pool {
    const char* use = "";
    unsigned most = 0;
    bool read_only = true;
    unsigned open = 0;  // idle, in use, or being made
    size_t waiting = 0;
    size_t max_waiting = std::numeric_limits<size_t>::max();
    std::vector<std::unique_ptr<Connection>> idle;
    std::unordered_set<const Connection*> used;
    std::condition_variable is_free;
  };
  // `read_only`: the server answers, but it takes no writes.
  enum class State { well, read_only, away };

  // A connection that is taken from its pool as long as this object lives.
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
    Written written;
    bool releases_rows_early = false;
  };
  // `unanswered`: the connection was lost after COMMIT was sent.
  enum class Outcome { stored, undone, unanswered, unknown };

  void run_read(const TxWork& work, View view) override;
  void run_write(const TxWork& work, Isolation isolation) override;
  // `why` is set to what went wrong if they return false.
  bool try_read(const TxWork& work, View view, std::string& why);
  bool try_write(const TxWork& work, Isolation isolation, std::string& why);
  Outcome run_and_commit(Connection& connection, const TxWork& work, Isolation isolation,
                         Transaction& transaction);
  Outcome commit(Connection& connection, bool has_limit, bool releases_rows_early);
  Outcome outcome_of(const Transaction& transaction);
  std::unique_ptr<Connection> connect();
  // Whether another server has taken over from the connection's.
  bool is_outdated(const Connection& connection) const;
  History newest() const;
  // Throws Error `unavailable` if the calling thread has RequestLimits and the server's state is
  // worse than `least`, so that no request waits for it.
  void require_well(State least) const;
  void look_until(const std::stop_token& stop);
  State look(const std::stop_token& stop, std::unique_ptr<Connection>& connection,
             std::string& why);
  void become(State state, const std::string& why);
  void answered() { last_answered_ = std::chrono::steady_clock::now(); }
  void cut_all();

  const Server server_;
  const Clock& clock_;
  const Options options_;
  mutable std::mutex pools_mutex_;
  std::array<Pool, 2> readers_;  // by Readers
  Pool writers_;
  std::mutex subscribers_mutex_;
  std::atomic<std::uint64_t> collisions_ = 0;
  std::atomic<std::uint64_t> lost_connections_ = 0;
  std::atomic<std::uint64_t> unknown_outcomes_ = 0;
  std::atomic<State> state_ = State::well;
  // The history of the newest server so far. A server that hung until another one took over answers
  // again when it goes on, and may show old rows until somebody stops it.
  History newest_;
  mutable std::mutex newest_mutex_;
  LogFlush log_flush_{[this] { return connect(); },
                      [this](const Connection& connection) { return is_outdated(connection); }};
  std::unique_ptr<Notices> notices_;  // null until exchange_notices()
  std::mutex looking_mutex_;
  std::condition_variable_any looking_;
  // When the server last answered a read or a write.
  std::atomic<std::chrono::steady_clock::time_point> last_answered_{};
  std::jthread thread_;  // last: joined before the members that it uses are destroyed
};

}  // namespace berth::db::postgres
