#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "controller/base/clock.h"
#include "controller/base/requester.h"
#include "controller/db/engine.h"
#include "controller/db/request_limits.h"

namespace berth::db {

// What a committed change was about; see Tx::notify(). `deployment` means that the desired state
// changed, `deployment_seen` that the observed state did; their ids and that of `custom_domain` are
// ids of deployments. `build` has the id of a build, `run` that of a run. `app_balance` means that
// the app with the id was credited. `chat` has the id of a channel.
enum class Topic {
  deployment,
  deployment_seen,
  custom_domain,
  app_balance,
  webhook,
  campaign,
  chat,
  build,
  run
};
using Note = std::pair<Topic, std::string>;

// The rows of a statement, whose values are read by the names of their columns. The statement is
// reset when this object is destroyed, which has to happen before the transaction ends.
class Query {
 public:
  // Takes an unused prepared statement for this text from the connection, or prepares one. If
  // `most` is set, next() and run() throw TooSlow once the query is older than that.
  Query(Connection& connection, std::string_view sql,
        const std::optional<std::chrono::milliseconds>& most = {});
  ~Query();
  Query(Query&&) noexcept = default;
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  // Moves to the next row. Returns false after the last one.
  bool next() { return statement_->next(deadline_); }
  // Runs a statement that returns no rows. Returns the number of rows that it changed.
  int run() { return statement_->run(deadline_); }

  // Values of the present row. NULL reads as 0, false or "", except in the ..._or_null functions.
  // A name that the statement doesn't return, and a number that isn't an integer of 64 bits (such
  // as a sum that is too large), are programming errors and throw std::logic_error. Reading the
  // columns in the order in which the statement names them costs one comparison each.
  std::int64_t integer(std::string_view column) const { return integer(index_of(column)); }
  bool flag(std::string_view column) const { return flag(index_of(column)); }
  std::string text(std::string_view column) const { return text(index_of(column)); }
  Instant instant(std::string_view column) const { return instant(index_of(column)); }
  bool null(std::string_view column) const { return null(index_of(column)); }
  std::optional<std::int64_t> integer_or_null(std::string_view column) const;
  std::optional<std::string> text_or_null(std::string_view column) const;
  std::optional<Instant> instant_or_null(std::string_view column) const;

  // Binds `value` to the placeholder `$<number>`. A statement without that placeholder is a
  // programming error and throws an exception of the engine, now or when it runs.
  void bind(int number, std::int64_t value) { statement_->bind(number, value); }
  void bind(int number, int value) { bind(number, std::int64_t(value)); }
  void bind(int number, bool value) { bind(number, std::int64_t(value)); }
  void bind(int number, std::string_view value) { statement_->bind(number, value); }
  void bind(int number, const std::string& value) { bind(number, std::string_view(value)); }
  void bind(int number, const char* value) { bind(number, std::string_view(value)); }
  void bind(int number, Instant value) { bind(number, to_millis(value)); }
  void bind(int number, std::nullopt_t) { statement_->bind_null(number, ValueKind::unknown); }
  template <typename T>
  void bind(int number, const std::optional<T>& value) {
    if (value)
      bind(number, *value);
    else
      statement_->bind_null(number, std::is_convertible_v<T, std::string_view>
                                        ? ValueKind::text
                                        : ValueKind::integer);
  }

 private:
  friend class Tx;
  // The same by the number of the column, counted from 0.
  std::int64_t integer(int column) const { return statement_->integer(column); }
  bool flag(int column) const { return integer(column) != 0; }
  std::string text(int column) const { return statement_->text(column); }
  Instant instant(int column) const { return from_millis(integer(column)); }
  bool null(int column) const { return statement_->null(column); }
  std::optional<std::int64_t> integer_or_null(int column) const;
  std::optional<std::string> text_or_null(int column) const;
  std::optional<Instant> instant_or_null(int column) const;

  void may_wait(Wanted wanted) { statement_->may_wait(deadline_, wanted); }
  int index_of(std::string_view column) const;
  Deadline deadline_;
  Connection::Statements& idle_;
  std::unique_ptr<Statement> statement_;
  mutable size_t next_column_ = 0;  // where the search for the next name begins
};

// What a transaction may rely on: a read, which changes nothing; a write whose reads stay true
// until it is stored; or a write into which others may commit (Database::write_with_row_locks).
enum class Isolation { read, serializable, row_locks };

// An open transaction. Domain functions receive it by reference and must not keep it.
class Tx {
 public:
  // `statement_time` is the time that each statement may take; if it is empty, there is no limit.
  // Without an isolation it has the connection for itself, as the programs' maintenance does.
  Tx(Connection& connection, Instant now,
     const std::optional<std::chrono::milliseconds>& statement_time = {},
     Isolation isolation = Isolation::serializable)
      : connection_(connection),
        now_(now),
        statement_time_(statement_time),
        isolation_(isolation) {}
  Tx(const Tx&) = delete;
  Tx& operator=(const Tx&) = delete;

  // The time of the transaction, which is the same throughout.
  Instant now() const { return now_; }

  Isolation isolation() const { return isolation_; }
  // Functions begin with this that read, decide, and then write without a condition that would find
  // a change by others. Throws std::logic_error in a read and in a write with row locks, on SQLite
  // too, where nothing could come between, so that tests of either engine find the mistake.
  void require_serializable() const {
    if (isolation_ != Isolation::serializable) throw_unserializable();
  }

  // How many rows statements of this connection have changed so far, since it was opened. The
  // difference says whether something in a transaction has changed any; of statements that wait, it
  // is only known that they may have.
  std::int64_t changes() const { return connection_.changes(); }
  // The request for which a write runs; null if it runs for none, and in reads.
  Requester* requester() const { return requester_; }

  // For a module that stores the same in two ways because one is faster with many writers: it
  // chooses the way in one place (ledger/crediting.h, kernel/idempotency_keys.cpp).
  Writers writers() const { return connection_.writers(); }

  // Starts a statement whose placeholders are $1, $2 and so on. Each distinct text stays prepared
  // on the connection, so texts must not contain values.
  template <typename... Values>
  Query query(std::string_view sql, const Values&... values) {
    Query query(connection_, sql, statement_time_);
    int number = 0;
    (query.bind(++number, values), ...);
    return query;
  }
  // Runs a statement that returns no rows. Returns the number of rows that it changed.
  template <typename... Values>
  int execute(std::string_view sql, const Values&... values) {
    return query(sql, values...).run();
  }

  // The three functions below do the same, but the statement may wait: PostgreSQL gets it together
  // with the next statement of the transaction, or with its end, in one round trip, and what it
  // throws is then thrown by that one. SQLite runs what changes rows at once.
  //
  // Runs a statement that returns no rows, and on whose outcome nothing depends.
  template <typename... Values>
  void execute_later(std::string_view sql, const Values&... values) {
    query(sql, values...).may_wait(Wanted::nothing);
  }
  // Runs a statement that has to change exactly one row, which its WHERE describes as it was read.
  // Throws Overtaken if it doesn't: the row was changed by another write since. An UPDATE, a DELETE
  // or an INSERT with ON CONFLICT, without RETURNING.
  template <typename... Values>
  void require_change(std::string_view sql, const Values&... values) {
    query(sql, values...).may_wait(Wanted::one_change);
  }
  // Starts a statement whose rows, or whose number of changed rows, are asked for after other
  // statements. It runs at any moment until then, so none of those may change what it finds; nor
  // does it run for certain if nobody asks.
  template <typename... Values>
  Query query_later(std::string_view sql, const Values&... values) {
    Query later = query(sql, values...);
    later.may_wait(Wanted::rows);
    return later;
  }
  // Runs an UPDATE that changes nothing, so that other writes wait for its row, or give way, until
  // the end of this one. Where one write runs at a time, there is nothing to do.
  template <typename... Values>
  void lock(std::string_view sql, const Values&... values) {
    if (writers() == Writers::many) execute(sql, values...);
  }
  // The first column of the first row as a number; 0 if there is no row.
  template <typename... Values>
  std::int64_t number(std::string_view sql, const Values&... values) {
    Query rows = query(sql, values...);
    return rows.next() ? rows.integer(0) : 0;
  }

  // Runs `work()`. If it throws, only its own changes are rolled back, and the exception is passed
  // on.
  template <typename Work>
  auto nested(Work&& work) -> std::invoke_result_t<Work> {
    const size_t notes_before = notes_.size();
    // Each savepoint has a name of its own, so that a rollback to one also ends the nested ones
    // whose RELEASE still waits.
    const std::string name = " nested" + std::to_string(++depth_);
    const std::string begin = "SAVEPOINT" + name, end = "RELEASE" + name;
    try {
      run_or_later(begin);
    } catch (...) {
      --depth_;
      throw;
    }
    try {
      if constexpr (std::is_void_v<std::invoke_result_t<Work>>) {
        work();
        run_or_later(end);
        --depth_;
      } else {
        auto result = work();
        run_or_later(end);
        --depth_;
        return result;
      }
    } catch (...) {
      --depth_;
      notes_.resize(notes_before);
      connection_.forget_waiting_statements(begin);
      // If the whole transaction is lost, these statements fail and the engine notices.
      execute("ROLLBACK TO" + name);
      execute(end);
      throw;
    }
  }

  // Lets others have the rows that this write has changed before it is on the disk, if the engine
  // can. For writes of which many change one row, each of which would otherwise wait until the disk
  // has the one before. The write is answered once it is on the disk, as any other, and so are
  // those that have seen its rows and change or lock any. But a read, or a write that does neither,
  // may show for some milliseconds what a crash of the server then undoes.
  void release_rows_early() { releases_rows_early_ = true; }
  // Undoes that, whichever of the two comes first, because what is written must not be seen by
  // anybody and then be undone.
  void keep_rows_until_stored() { keeps_rows_ = true; }
  bool releases_rows_early() const { return releases_rows_early_ && !keeps_rows_; }

  // Tells the subscribers about `id` once the transaction is on disk. If it fails, they aren't
  // told, unless it isn't known whether it is on disk.
  void notify(Topic topic, std::string id) { notes_.emplace_back(topic, std::move(id)); }
  // For the engines: what notify() was called with.
  std::vector<Note> take_notes() { return std::move(notes_); }

 private:
  // For SAVEPOINT and RELEASE, which don't fail by themselves. They may wait, but not behind a
  // waiting statement that may fail, because its failure has to be thrown on its own side of them.
  void run_or_later(std::string_view sql) {
    if (connection_.has_waiting_statements())
      execute(sql);
    else
      execute_later(sql);
  }

  [[noreturn]] static void throw_unserializable();

  friend class Database;

  Connection& connection_;
  Instant now_;
  std::optional<std::chrono::milliseconds> statement_time_;
  Isolation isolation_;
  std::vector<Note> notes_;
  unsigned depth_ = 0;  // how many calls of nested() are open
  Requester* requester_ = nullptr;
  bool releases_rows_early_ = false, keeps_rows_ = false;
};

// The store: SQLite (controller/db/sqlite) or PostgreSQL (controller/db/postgres). What was
// answered is on disk. Thread-safe.
class Database {
 public:
  Database() = default;
  virtual ~Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Runs `work(Tx&)` on a snapshot and returns its result. Waits while all readers are busy. The
  // limits of the thread apply (RequestLimits).
  template <typename Work>
  auto read(Work&& work) -> std::invoke_result_t<Work, Tx&> {
    return result_of(work, [this](const TxWork& run) { run_read(run, View::snapshot); });
  }
  // Does what read() does, but without a snapshot: a statement may see a commit that the statement
  // before it didn't see. For frequent reads that look up a few rows one after the other, such as a
  // token and what it is for: PostgreSQL runs them without BEGIN and COMMIT.
  template <typename Work>
  auto read_committed(Work&& work) -> std::invoke_result_t<Work, Tx&> {
    return result_of(work, [this](const TxWork& run) { run_read(run, View::committed); });
  }

  // Runs `work(Tx&)` in a transaction and returns its result once that is on disk. If `work`
  // throws, only its own changes are rolled back and the exception is thrown here. Throws Error
  // `unavailable` if nothing was stored, such as because the disk or the queue is full.
  //
  // `work` may run several times, and all but its last run are rolled back: apart from the
  // transaction it must change nothing but what each run sets anew. It must be quick, must not wait
  // for anything and must not call the Database. It runs on a thread of the engine's choice, but
  // the time limit of the calling thread's statements applies (RequestLimits).
  template <typename Work>
  auto write(Work&& work) -> std::invoke_result_t<Work, Tx&> {
    return result_of(
        work, [this](const TxWork& run) { write_for_requester(run, Isolation::serializable); });
  }
  // Does what write() does, but READ COMMITTED where the engine is PostgreSQL: each statement sees
  // what is committed when it begins, and waits for rows that others are changing. So whatever
  // `work` decides has to follow from rows that it has changed, and thereby locked, before, or from
  // the condition of the statement that changes them (Tx::require_change). Functions that need more
  // throw std::logic_error here (Tx::require_serializable). In return such a write hardly ever has
  // a serialization failure, and many of them can change one row one after the other, where of
  // serializable writes one succeeds and the others are retried.
  template <typename Work>
  auto write_with_row_locks(Work&& work) -> std::invoke_result_t<Work, Tx&> {
    return result_of(work,
                     [this](const TxWork& run) { write_for_requester(run, Isolation::row_locks); });
  }

  // Calls `subscriber` after each commit, before the write is answered, and never from two threads
  // at once. It must be quick and must not throw. Subscribe before the first write.
  void subscribe(std::function<void(Topic, const std::string&)> subscriber);

  // Whether a write would be stored at this moment: the last commit succeeded, or a probe that is
  // made now does.
  bool takes_writes();

  // The number of commits so far, and the number of writes in them.
  std::uint64_t commits() const { return commits_; }
  std::uint64_t writes() const { return writes_; }

 protected:
  using TxWork = std::function<void(Tx&)>;
  enum class View { snapshot, committed };  // what the statements of a read see
  virtual void run_read(const TxWork& work, View view) = 0;
  virtual void run_write(const TxWork& work, Isolation isolation) = 0;
  // Counts a commit with this number of writes.
  void count_commit(std::uint64_t writes);
  // Counts a commit that failed, for takes_writes() and failed_commits().
  void count_failed_commit();
  bool last_commit_failed() const { return last_commit_failed_; }
  // Tells the subscribers. An engine never calls this from two threads at once.
  void tell(const std::vector<Note>& notes) const;

 private:
  // Does what run_write() does. Tells the calling thread's requester what the write was.
  void write_for_requester(const TxWork& work, Isolation isolation);
  template <typename Work, typename Run>
  static auto result_of(Work& work, Run&& run) -> std::invoke_result_t<Work, Tx&> {
    using Result = std::invoke_result_t<Work, Tx&>;
    if constexpr (std::is_void_v<Result>) {
      run([&](Tx& tx) { work(tx); });
    } else {
      std::optional<Result> result;
      run([&](Tx& tx) { result.emplace(work(tx)); });
      return std::move(*result);
    }
  }

  std::function<void(Topic, const std::string&)> subscriber_;
  std::atomic<bool> last_commit_failed_ = false;
  std::atomic<std::uint64_t> commits_ = 0;
  std::atomic<std::uint64_t> writes_ = 0;
};

// The row of `meta` that takes_writes() writes, and that an engine may write to see whether it can.
inline constexpr const char* write_probe = R"(
    INSERT INTO meta (key, value)
    VALUES ('write_probe', $1)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value)";

}  // namespace berth::db
