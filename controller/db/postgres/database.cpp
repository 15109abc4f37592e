#include "controller/db/postgres/database.h"

#include <pthread.h>

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

// The pauses before a write is retried. The eighth retry has the longest.
constexpr milliseconds first_pause{1}, longest_pause{100};
// If two concurrent writes both find a key free, PostgreSQL may refuse one of them for the unique
// constraint instead of with a serialization failure (PostgreSQL's manual, 13.5). A retry finds
// what the other write has stored, and answers with the proper error. A write that violates a
// constraint this many times has a mistake.
constexpr unsigned runs_into_a_constraint = 3;
constexpr milliseconds pause_between_looks{20};  // while the server doesn't answer

// The Retry-After of a request that the server's state stopped. A standby takes over within some
// seconds.
constexpr std::chrono::seconds retry_after{5};

// How long the server may take to answer the smallest statement before it counts as away.
constexpr milliseconds time_of_look{2'000};
// The statement that checks the server. A standby and a server that was set to read-only answer
// "on".
constexpr const char* look_sql = "SHOW transaction_read_only";
// The check after a commit that failed, for example because the disk is full. It writes one row,
// and commits at once so that the row isn't locked for long.
constexpr const char* look_by_writing = R"(
    BEGIN;
    SET LOCAL statement_timeout = '1s';
    INSERT INTO meta (key, value) VALUES ('write_probe', now()::text)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value;
    COMMIT;
    SHOW transaction_read_only)";

Error refusal(const char* why) {
  Error error(Code::unavailable, why);
  error.retry_after = retry_after;
  return error;
}
Error unavailable() {
  return refusal("the database accepts no writes at the moment; nothing was changed");
}
Error unreachable() { return refusal("the database can't be reached at the moment"); }
Error unknown_outcome() {
  return refusal(
      "the connection to the database was lost, and it isn't known whether the change was stored; "
      "look before you try again, or use an Idempotency-Key");
}

Deadline deadline_of(const std::optional<milliseconds>& limit) {
  return limit ? steady_clock::now() + *limit : Deadline::max();
}

// Waits before a retry: for between half and all of a time that doubles with each attempt. The
// random part keeps two writes that had a conflict from having it again (exponential back-off with
// jitter).
void pause(unsigned attempt) {
  const milliseconds most =
      std::min<milliseconds>(longest_pause, first_pause * (1 << std::min(attempt, 10U)));
  thread_local std::minstd_rand random(std::random_device{}());
  std::uniform_int_distribution<std::int64_t> micros(most.count() * 500, most.count() * 1'000);
  std::this_thread::sleep_for(std::chrono::microseconds(micros(random)));
}

// The transaction's number must be known when COMMIT is sent, and costs no round trip here.
constexpr const char* number_sql = "SELECT pg_current_xact_id()";
// Used for writes whose callers get an answer. A commit waits for the synchronous standby only if
// its transaction has written to the log. A transaction that only found what another one stored,
// such as the answer to an Idempotency-Key, may have written nothing, and what it found may be
// missing on the standby: the server shows it as soon as the other commit is canceled while it
// waits. So each of these transactions writes a message to the log, which nobody reads.
constexpr const char* number_and_message_sql =
    "SELECT pg_current_xact_id(), pg_logical_emit_message(true, 'berth', '')";

void roll_back(Connection& connection, Deadline deadline) {
  connection.forget_waiting_statements();
  if (connection.is_in_transaction()) connection.run("ROLLBACK", deadline);
}

}  // namespace

unsigned writers_for(unsigned processors) { return std::clamp(processors * 4, 8U, 16U); }

Database::Database(Server server, const Clock& clock, Options options)
    : server_(std::move(server)), clock_(clock), options_(std::move(options)) {
  Pool& ordinary = readers_.at(size_t(Readers::ordinary));
  ordinary.use = "read";
  ordinary.most = options_.readers;
  Pool& heavy = readers_.at(size_t(Readers::heavy));
  heavy.use = "heavy_read";
  heavy.most = options_.heavy_readers;
  writers_.use = "write";
  writers_.read_only = false;
  writers_.most = options_.writers;
  writers_.max_waiting = options_.max_waiting;
  {
    Connection connection(server_);
    migrate(connection, clock.now());
  }
  if (options_.look_interval.count() == 0) return;
  thread_ = std::jthread([this](const std::stop_token& stop) { look_until(stop); });
  pthread_setname_np(thread_.native_handle(), "database");
}

Database::~Database() = default;

std::unique_ptr<Connection> Database::connect() {
  auto connection = std::make_unique<Connection>(server_, options_.fault, newest());
  const std::lock_guard lock(newest_mutex_);
  if (connection->history().is_before(newest_)) throw Unusable(replaced);
  if (connection->history().timeline != 0) newest_ = connection->history();
  return connection;
}

History Database::newest() const {
  const std::lock_guard lock(newest_mutex_);
  return newest_;
}

bool Database::is_outdated(const Connection& connection) const {
  const std::lock_guard lock(newest_mutex_);
  return connection.history().is_before(newest_);
}

Database::Lease::Lease(Database& database, Pool& pool, std::optional<milliseconds> most)
    : database_(database), pool_(pool) {
  std::vector<std::unique_ptr<Connection>> outdated;  // closed after the lock is given back
  std::unique_lock lock(database.pools_mutex_);
  const auto is_one_free = [&] { return !pool.idle.empty() || pool.open < pool.most; };
  if (!is_one_free() && pool.waiting >= pool.max_waiting) throw unavailable();
  ++pool.waiting;
  const bool found = most ? pool.is_free.wait_for(lock, *most, is_one_free)
                          : (pool.is_free.wait(lock, is_one_free), true);
  --pool.waiting;
  if (!found) throw too_slow("all connections to the database were busy for too long");
  while (!pool.idle.empty() && database.is_outdated(*pool.idle.back())) {
    outdated.push_back(std::move(pool.idle.back()));
    pool.idle.pop_back();
    --pool.open;
  }
  if (!pool.idle.empty()) {
    connection_ = std::move(pool.idle.back());
    pool.idle.pop_back();
    pool.used.insert(connection_.get());
    return;
  }
  ++pool.open;
  lock.unlock();
  try {
    connection_ = database.connect();
    // read_committed() begins no transaction that could be declared read-only, so the connection
    // is.
    if (pool.read_only) connection_->set("default_transaction_read_only = on");
  } catch (...) {
    lock.lock();
    --pool.open;
    pool.is_free.notify_one();
    throw;
  }
  lock.lock();
  pool.used.insert(connection_.get());
}

Database::Lease::~Lease() {
  std::unique_ptr<Connection> lost;
  {
    const std::lock_guard lock(database_.pools_mutex_);
    pool_.used.erase(connection_.get());
    if (connection_->is_lost() || connection_->is_in_transaction()) {
      --pool_.open;
      lost = std::move(connection_);
    } else {
      pool_.idle.push_back(std::move(connection_));
    }
  }
  pool_.is_free.notify_one();
}

void Database::run_read(const TxWork& work, View view) {
  const auto until = steady_clock::now() + options_.patience;
  std::string why;
  require_well(State::read_only);
  while (!try_read(work, view, why)) {
    require_well(State::read_only);
    if (steady_clock::now() >= until) {
      log::error("the database can't be reached", {{"error", why}});
      throw unreachable();
    }
    std::this_thread::sleep_for(pause_between_looks);
  }
}

// Returns false if the server doesn't answer. Once `work` has got an answer, it isn't run again,
// because reads append to lists of their callers.
bool Database::try_read(const TxWork& work, View view, std::string& why) {
  const auto limit = RequestLimits::statement_time_of_thread();
  Pool& pool = readers_.at(size_t(RequestLimits::readers_of_thread()));
  std::optional<Lease> lease;
  try {
    lease.emplace(*this, pool, limit ? std::optional(RequestLimits::reader_wait) : std::nullopt);
    (*lease)->limit_statements(limit);
    if (view == View::snapshot)
      (*lease)->begin({"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"});
    else
      (*lease)->begin({});
  } catch (const Unusable& failure) {
    why = failure.what();
    return false;
  }
  Connection& connection = **lease;
  try {
    Tx tx(connection, clock_.now(), limit, Isolation::read);
    work(tx);
    if (is_outdated(connection)) throw refusal(replaced);
    answered();
  } catch (...) {
    if (connection.is_lost() && !connection.has_begun()) {
      why = "the connection was lost";
      return false;
    }
    if (connection.is_lost()) throw refusal("the connection to the database was lost");
    if (view == View::snapshot) connection.send("ROLLBACK");
    throw;
  }
  if (view == View::snapshot) connection.send("COMMIT");
  return true;
}

void Database::run_write(const TxWork& work, Isolation isolation) {
  const auto until = steady_clock::now() + options_.write_time;
  std::string why;
  unsigned violations = 0;
  for (unsigned attempt = 1;; ++attempt) {
    require_well(State::well);
    try {
      if (try_write(work, isolation, why)) return;
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

// Returns false if nothing was stored and the write should be retried.
bool Database::try_write(const TxWork& work, Isolation isolation, std::string& why) {
  Transaction transaction;
  Outcome outcome = Outcome::undone;
  try {
    const Lease connection(*this, writers_, options_.write_time);
    outcome = run_and_commit(*connection, work, isolation, transaction);
  } catch (const Unusable& failure) {
    ++lost_connections_;
    why = failure.what();
    return false;
  }
  if (outcome == Outcome::unanswered) outcome = outcome_of(transaction);
  // The connection is free for the next write meanwhile.
  if (outcome == Outcome::stored && transaction.releases_rows_early &&
      !log_flush_.wait(transaction.incarnation, options_.write_time))
    outcome = Outcome::unknown;
  if (outcome == Outcome::undone) {
    why = "it collided with other writes";
    return false;
  }
  WriteMeter::add(transaction.written);
  if (outcome == Outcome::stored) {
    count_commit(1);
  } else {
    count_failed_commit();
    ++unknown_outcomes_;
  }
  // Subscribers are notified even if the outcome is unknown, because they read what is stored.
  if (notices_) notices_->send(transaction.notes);
  {
    const std::lock_guard lock(subscribers_mutex_);
    tell(transaction.notes);
  }
  if (outcome != Outcome::stored) throw unknown_outcome();
  return true;
}

// Throws Unusable if the connection was lost before COMMIT.
Database::Outcome Database::run_and_commit(Connection& connection, const TxWork& work,
                                           Isolation isolation, Transaction& transaction) {
  const auto limit = RequestLimits::statement_time_of_thread();
  const char* begin = isolation == Isolation::serializable ? "BEGIN ISOLATION LEVEL SERIALIZABLE"
                                                           : "BEGIN ISOLATION LEVEL READ COMMITTED";
  std::exception_ptr failure;
  bool is_overtaken = false;
  try {
    transaction.incarnation = connection.incarnation();
    connection.limit_statements(limit);
    connection.begin({begin, limit ? number_and_message_sql : number_sql});
    Tx tx(connection, clock_.now(), limit, isolation);
    connection.take_written();
    work(tx);
    transaction.written = connection.take_written();
    transaction.notes = tx.take_notes();
    transaction.releases_rows_early = tx.releases_rows_early();
    if (!connection.has_begun()) connection.run_waiting(deadline_of(limit));
    transaction.id = connection.begun();
    answered();
  } catch (const Overtaken&) {
    is_overtaken = true;
  } catch (...) {
    failure = std::current_exception();
  }
  // A write is retried even if `work` has caught the failure and thrown or returned something else.
  if (connection.is_lost()) throw Unusable("the connection was lost");
  if (connection.has_collided() || is_overtaken) {
    ++collisions_;
    roll_back(connection, deadline_of(limit));
    return Outcome::undone;
  }
  // A statement failed, and `work` went on as if it hadn't.
  if (!failure) failure = connection.failure();
  if (failure) {
    roll_back(connection, deadline_of(limit));
    std::rethrow_exception(failure);
  }
  if (is_outdated(connection)) throw Unusable(replaced);
  return commit(connection, limit.has_value(), transaction.releases_rows_early);
}

Database::Outcome Database::commit(Connection& connection, bool has_limit,
                                   bool releases_rows_early) {
  connection.forget_warnings();
  try {
    if (releases_rows_early) connection.run_later("SET LOCAL synchronous_commit = off");
    // The server mustn't stop a COMMIT that waits for a standby, but a request doesn't wait for
    // ever.
    if (has_limit) connection.run_later("SET LOCAL statement_timeout = 0");
    const Result done = connection.run(
        "COMMIT", has_limit ? steady_clock::now() + options_.write_time : Deadline::max());
    if (std::string_view(PQcmdStatus(done.get())) != "COMMIT")
      throw std::logic_error("COMMIT was answered by " + std::string(PQcmdStatus(done.get())));
  } catch (const Collision&) {
    ++collisions_;
    roll_back(connection, Deadline::max());
    return Outcome::undone;
  } catch (const Overtaken&) {  // by a statement that waited until now
    ++collisions_;
    roll_back(connection, Deadline::max());
    return Outcome::undone;
  } catch (const Unusable&) {
    return connection.was_warned() ? Outcome::unknown : Outcome::unanswered;
  } catch (...) {  // a queued statement, which was sent together with COMMIT, has failed
    roll_back(connection, Deadline::max());
    throw;
  }
  // The server has stored it, but stopped waiting for its standby, which may not have it.
  return connection.was_warned() ? Outcome::unknown : Outcome::stored;
}

// Finds out whether a transaction whose COMMIT got no answer was committed.
Database::Outcome Database::outcome_of(const Transaction& transaction) {
  const auto until = steady_clock::now() + options_.patience;
  const std::string id = "'" + transaction.id + "'::xid8";
  bool was_ended = false;
  do {
    try {
      Connection connection(server_);
      // Another server, or the same one after a crash, may have given the number out again.
      if (connection.incarnation() != transaction.incarnation) return Outcome::unknown;
      const std::string status = connection.text("SELECT pg_xact_status(" + id + ")", until);
      // A COMMIT that was terminated while it waited for a standby is stored on this server, but
      // maybe not on the standby.
      if (status == "committed") return was_ended ? Outcome::unknown : Outcome::stored;
      if (status == "aborted") return Outcome::undone;
      if (status != "in progress") return Outcome::unknown;
      // The server hasn't noticed that the connection is lost, and COMMIT may never arrive.
      connection.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_xid = " +
                         id + "::xid",
                     until);
      was_ended = true;
    } catch (const std::runtime_error& failure) {
      log::warning("the outcome of a write can't be asked for", {{"error", failure.what()}});
    }
    std::this_thread::sleep_for(pause_between_looks);
  } while (steady_clock::now() < until);
  return Outcome::unknown;
}

void Database::require_well(State least) const {
  if (RequestLimits::of_thread() == nullptr || state_ <= least) return;
  throw least == State::well ? unavailable() : unreachable();
}

void Database::exchange_notices(std::function<void()> missed) {
  notices_ = std::make_unique<Notices>(
      server_, Notices::Calls{.heard =
                                  [this](const std::vector<Note>& notes) {
                                    const std::lock_guard lock(subscribers_mutex_);
                                    tell(notes);
                                  },
                              .missed = std::move(missed)});
}

std::int64_t Database::bytes() {
  return read(
      [](Tx& tx) { return tx.number(R"(SELECT pg_database_size(current_database()) AS bytes)"); });
}

std::vector<Database::Connections> Database::connections() const {
  const std::lock_guard lock(pools_mutex_);
  std::vector<Connections> all;
  for (const Pool* pool : {&readers_[0], &readers_[1], &writers_})
    all.push_back({.use = pool->use,
                   .open = pool->open,
                   .idle = unsigned(pool->idle.size()),
                   .waiting = pool->waiting});
  return all;
}

void Database::look_until(const std::stop_token& stop) {
  std::unique_ptr<Connection> connection;
  while (!stop.stop_requested()) {
    std::string why;
    try {
      become(look(stop, connection, why), why);
    } catch (const std::exception& failure) {
      connection.reset();
      // The words are libpq's (fe-connect.c), for a server that isn't the one for writes.
      const bool is_read_only = std::string_view(failure.what()).contains("session is read-only");
      become(is_read_only ? State::read_only : State::away, failure.what());
    }
    std::unique_lock lock(looking_mutex_);
    looking_.wait_for(lock, stop, options_.look_interval, [] { return false; });
  }
}

// Asks on a connection of its own, which is made when there is none. Throws Unusable if the server
// can't be reached.
Database::State Database::look(const std::stop_token& stop, std::unique_ptr<Connection>& connection,
                               std::string& why) {
  if (connection && is_outdated(*connection)) connection.reset();
  if (!connection) connection = connect();
  const bool by_writing = last_commit_failed();
  connection->send(by_writing ? look_by_writing : look_sql);
  const auto sent = steady_clock::now();
  while (!connection->is_answered(pause_between_looks)) {
    if (stop.stop_requested()) return State::away;
    const auto now = steady_clock::now();
    // A busy server may be slow on one connection while it answers on others. The others only show
    // that transactions can begin, though, and not that a commit can end.
    const auto silence = now - (by_writing ? sent : std::max(sent, last_answered_.load()));
    if (silence >= time_of_look) become(State::away, "the server doesn't answer");
    if (now - sent < time_of_look + options_.patience) continue;
    if (silence < time_of_look) {  // only this connection hangs
      connection.reset();
      return state_;
    }
    // Requests that wait for an answer fail now, and their retries may find another server.
    cut_all();
    throw Unusable("the server hangs");
  }
  why = "the server takes no writes";
  try {
    const Result answer = connection->answer();
    if (std::string_view(PQgetvalue(answer.get(), 0, 0)) != "on") {
      if (by_writing) count_commit(1);
      return State::well;
    }
  } catch (const std::runtime_error& failure) {
    if (!by_writing) throw;
    why = failure.what();
  }
  connection.reset();  // the next one may find another server
  return State::read_only;
}

void Database::become(State state, const std::string& why) {
  if (state_.exchange(state) == state) return;
  if (state == State::well) {
    log::info("the database takes writes again");
  } else {
    count_failed_commit();  // makes takes_writes() return false
    log::error("the database can't be used", {{"error", why}});
  }
}

void Database::cut_all() {
  const std::lock_guard lock(pools_mutex_);
  for (const Pool* pool : {&readers_[0], &readers_[1], &writers_})
    for (const Connection* connection : pool->used) connection->cut();
}

}  // namespace berth::db::postgres
