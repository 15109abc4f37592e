#include "controller/db/postgres/database.h"

#include <algorithm>
#include <random>
#include <thread>

#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/db/postgres/failure.h"
#include "controller/db/postgres/migrate.h"

namespace berth::db::postgres {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Before a write runs again. The longest pause is reached with the eighth.
constexpr milliseconds first_pause{1}, longest_pause{100};
// Of two writes that both found a key free, one may be refused by the constraint and not as a
// collision (PostgreSQL's manual, 13.5). When it runs again, it finds what the other one stored,
// and says so in its own words. Who then runs into a constraint again has a mistake.
constexpr unsigned runs_into_a_constraint = 3;
constexpr milliseconds pause_between_looks{20};  // at a server that doesn't answer

Error unavailable() {
  return Error(Code::unavailable,
               "the database accepts no writes at the moment; nothing was changed");
}
Error unknown_outcome() {
  return Error(Code::unavailable,
               "the connection to the database was lost, and it isn't known whether the change was "
               "stored; look before you try again, or use an Idempotency-Key");
}

// Half of a pause that doubles each time, and up to as much again by chance, so that two writes
// that collided don't collide again.
void pause(unsigned attempt) {
  const milliseconds most =
      std::min<milliseconds>(longest_pause, first_pause * (1 << std::min(attempt, 10U)));
  thread_local std::minstd_rand random(std::random_device{}());
  std::uniform_int_distribution<std::int64_t> micros(most.count() * 500, most.count() * 1'000);
  std::this_thread::sleep_for(std::chrono::microseconds(micros(random)));
}

// The statements that begin a transaction. For the time limits of the thread that waits for it.
std::string beginning(const char* kind, const std::optional<milliseconds>& statement_time) {
  std::string sql = std::string("BEGIN ISOLATION LEVEL ") + kind;
  if (statement_time)
    sql += "; SET LOCAL statement_timeout = " + std::to_string(statement_time->count());
  return sql;
}

}  // namespace

Database::Database(Server server, const Clock& clock, Options options)
    : server_(std::move(server)), clock_(clock), options_(std::move(options)) {
  readers_.at(size_t(Readers::ordinary)).most = options_.readers;
  readers_.at(size_t(Readers::heavy)).most = options_.heavy_readers;
  writers_.most = options_.writers;
  writers_.max_waiting = options_.max_waiting;
  Connection connection(server_);
  migrate(connection, clock.now());
}

std::unique_ptr<Connection> Database::connect() const {
  return std::make_unique<Connection>(server_, options_.fault);
}

Database::Lease::Lease(Database& database, Pool& pool, std::optional<milliseconds> most)
    : database_(database), pool_(pool) {
  std::unique_lock lock(database.pools_mutex_);
  const auto is_one_free = [&] { return !pool.idle.empty() || pool.open < pool.most; };
  if (!is_one_free() && pool.waiting >= pool.max_waiting) throw unavailable();
  ++pool.waiting;
  const bool found = most ? pool.is_free.wait_for(lock, *most, is_one_free)
                          : (pool.is_free.wait(lock, is_one_free), true);
  --pool.waiting;
  if (!found) throw too_slow("all connections to the database were busy for too long");
  if (!pool.idle.empty()) {
    connection_ = std::move(pool.idle.back());
    pool.idle.pop_back();
    return;
  }
  ++pool.open;
  lock.unlock();
  try {
    connection_ = database.connect();
  } catch (...) {
    lock.lock();
    --pool.open;
    pool.is_free.notify_one();
    throw;
  }
}

Database::Lease::~Lease() {
  std::unique_ptr<Connection> lost;
  {
    const std::lock_guard lock(database_.pools_mutex_);
    if (connection_->is_lost() || connection_->is_in_transaction()) {
      --pool_.open;
      lost = std::move(connection_);
    } else {
      pool_.idle.push_back(std::move(connection_));
    }
  }
  pool_.is_free.notify_one();
}

void Database::run_read(const TxWork& work) {
  const auto until = steady_clock::now() + options_.patience;
  std::string why;
  while (!try_read(work, why)) {
    if (steady_clock::now() >= until) {
      log::error("the database can't be reached", {{"error", why}});
      throw Error(Code::unavailable, "the database can't be reached at the moment");
    }
    std::this_thread::sleep_for(pause_between_looks);
  }
}

// Returns false if the server doesn't even begin a transaction. `work` runs at most once, because
// what reads appends to lists of its caller.
bool Database::try_read(const TxWork& work, std::string& why) {
  const auto limit = RequestLimits::statement_time_of_thread();
  Pool& pool = readers_.at(size_t(RequestLimits::readers_of_thread()));
  std::optional<Lease> lease;
  try {
    lease.emplace(*this, pool, limit ? std::optional(RequestLimits::reader_wait) : std::nullopt);
    (*lease)->forget_failures();
    (**lease).run(beginning("REPEATABLE READ READ ONLY", limit));
  } catch (const Unusable& failure) {
    why = failure.what();
    return false;
  }
  Connection& connection = **lease;
  try {
    Tx tx(connection, clock_.now(), limit);
    work(tx);
  } catch (...) {
    if (connection.is_lost())
      throw Error(Code::unavailable, "the connection to the database was lost");
    connection.send("ROLLBACK");
    throw;
  }
  connection.send("COMMIT");
  return true;
}

void Database::run_write(const TxWork& work) {
  const auto until = steady_clock::now() + options_.write_time;
  std::string why;
  unsigned violations = 0;
  for (unsigned attempt = 1;; ++attempt) {
    try {
      if (try_write(work, why)) return;
    } catch (const ConstraintViolated& violation) {
      if (++violations >= runs_into_a_constraint) throw;
      ++collisions_;
      why = violation.what();
    }
    if (attempt >= options_.attempts || steady_clock::now() >= until) {
      log::error("a write was given up", {{"attempts", attempt}, {"error", why}});
      count_failed_commit();
      throw unavailable();
    }
    pause(attempt);
  }
}

// Returns false if nothing was stored and the write should run again.
bool Database::try_write(const TxWork& work, std::string& why) {
  Transaction transaction;
  Outcome outcome = Outcome::undone;
  try {
    const Lease connection(*this, writers_, options_.write_time);
    outcome = run_and_commit(*connection, work, transaction);
  } catch (const Unusable& failure) {
    why = failure.what();
    return false;
  }
  if (outcome == Outcome::unanswered) outcome = outcome_of(transaction);
  if (outcome == Outcome::undone) {
    why = "it collided with other writes";
    return false;
  }
  if (outcome != Outcome::stored) {
    count_failed_commit();
    throw unknown_outcome();
  }
  count_commit(1);
  const std::lock_guard lock(subscribers_mutex_);
  tell(transaction.notes);
  return true;
}

// Throws Unusable if the connection was lost before COMMIT.
Database::Outcome Database::run_and_commit(Connection& connection, const TxWork& work,
                                           Transaction& transaction) {
  const auto limit = RequestLimits::statement_time_of_thread();
  std::exception_ptr failure;
  try {
    connection.forget_failures();
    transaction.incarnation = connection.incarnation();
    // The transaction's number must be known when COMMIT is sent, and costs no round trip here.
    transaction.id =
        connection.text(beginning("SERIALIZABLE", limit) + "; SELECT pg_current_xact_id()");
    Tx tx(connection, clock_.now(), limit);
    work(tx);
    transaction.notes = tx.take_notes();
  } catch (...) {
    failure = std::current_exception();
  }
  // Whatever `work` made of such a failure, it runs again.
  if (connection.is_lost()) throw Unusable("the connection was lost");
  if (connection.has_collided()) {
    ++collisions_;
    connection.run("ROLLBACK");
    return Outcome::undone;
  }
  // A statement failed, and `work` went on as if it hadn't.
  if (!failure) failure = connection.failure();
  if (failure) {
    connection.run("ROLLBACK");
    std::rethrow_exception(failure);
  }
  return commit(connection, limit.has_value());
}

Database::Outcome Database::commit(Connection& connection, bool has_limit) {
  connection.forget_failures();
  try {
    // A COMMIT that waits for a standby must not be stopped.
    const Result done =
        connection.run(has_limit ? "SET LOCAL statement_timeout = 0; COMMIT" : "COMMIT");
    if (std::string_view(PQcmdStatus(done.get())) != "COMMIT")
      throw std::logic_error("COMMIT was answered by " + std::string(PQcmdStatus(done.get())));
  } catch (const Collision&) {
    ++collisions_;
    if (connection.is_in_transaction()) connection.run("ROLLBACK");
    return Outcome::undone;
  } catch (const Unusable&) {
    return connection.was_warned() ? Outcome::unknown : Outcome::unanswered;
  }
  // The server has stored it, but stopped waiting for its standby, which may not have it.
  return connection.was_warned() ? Outcome::unknown : Outcome::stored;
}

// Looks what became of a transaction whose COMMIT wasn't answered.
Database::Outcome Database::outcome_of(const Transaction& transaction) {
  const auto until = steady_clock::now() + options_.patience;
  const std::string id = "'" + transaction.id + "'::xid8";
  do {
    try {
      Connection connection(server_);
      // Another server, or the same one after a crash, may have given the number out again.
      if (connection.incarnation() != transaction.incarnation) return Outcome::unknown;
      const std::string status = connection.text("SELECT pg_xact_status(" + id + ")");
      if (status == "committed") return Outcome::stored;
      if (status == "aborted") return Outcome::undone;
      if (status != "in progress") return Outcome::unknown;
      // The server hasn't noticed that the connection is lost, and COMMIT may never arrive.
      connection.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_xid = " +
                     id + "::xid");
    } catch (const std::runtime_error& failure) {
      log::warning("the outcome of a write can't be asked for", {{"error", failure.what()}});
    }
    std::this_thread::sleep_for(pause_between_looks);
  } while (steady_clock::now() < until);
  return Outcome::unknown;
}

}  // namespace berth::db::postgres
