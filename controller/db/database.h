#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "controller/base/clock.h"
#include "controller/db/request_limits.h"

namespace berth::db {

// What a committed change was about; see Tx::notify(). `deployment` means that the desired state
// changed, `deployment_seen` that the observed state did; their ids and that of `custom_domain` are
// ids of deployments. `app_balance` means that the app with the id was credited. `chat` has the id
// of a channel.
enum class Topic {
  deployment,
  deployment_seen,
  custom_domain,
  app_balance,
  webhook,
  campaign,
  chat
};

// A prepared statement, with what is looked up once for all of its runs.
struct Statement {
  Statement(SQLite::Database& database, std::string_view sql);
  SQLite::Statement prepared;
  std::vector<std::string> columns;  // their names
  std::vector<int> parameters;       // SQLite's index of `$1`, `$2` and so on
};

// A connection with its prepared statements. Only one thread may use it at a time.
class Connection {
 public:
  // `vfs` is the name of a registered SQLite VFS; empty means SQLite's default.
  Connection(const std::filesystem::path& file, int sqlite_open_flags, const std::string& vfs);
  SQLite::Database& raw() { return database_; }
  // The prepared statements for this text that are unused at the moment. The reference stays valid.
  using Statements = std::vector<std::unique_ptr<Statement>>;
  Statements& statements(std::string_view sql);
  // SQLite stops the statement that runs at this time; max() means never.
  using Deadline = std::chrono::steady_clock::time_point;
  void set_deadline(Deadline deadline) { *deadline_ = deadline; }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unique_ptr<Deadline> deadline_;  // SQLite's progress handler has its address
  SQLite::Database database_;
  std::unordered_map<std::string, Statements, Hash, std::equal_to<>> idle_;
};

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
  bool next();
  // Runs a statement that returns no rows. Returns the number of rows that it changed.
  int run();

  // Values of the present row. NULL reads as 0, false or "", except in the ..._or_null functions.
  // A name that the statement doesn't return is a programming error and throws std::logic_error.
  // Reading the columns in the order in which the statement names them costs one comparison each.
  std::int64_t integer(std::string_view column) const { return integer(index_of(column)); }
  bool flag(std::string_view column) const { return flag(index_of(column)); }
  std::string text(std::string_view column) const { return text(index_of(column)); }
  Instant instant(std::string_view column) const { return instant(index_of(column)); }
  bool null(std::string_view column) const { return null(index_of(column)); }
  std::optional<std::int64_t> integer_or_null(std::string_view column) const;
  std::optional<std::string> text_or_null(std::string_view column) const;
  std::optional<Instant> instant_or_null(std::string_view column) const;

  // Binds `value` to the placeholder `$<number>`. A statement without that placeholder is a
  // programming error and throws SQLite::Exception.
  void bind(int number, std::int64_t value);
  void bind(int number, int value) { bind(number, std::int64_t(value)); }
  void bind(int number, bool value) { bind(number, std::int64_t(value)); }
  void bind(int number, std::string_view value);
  void bind(int number, const std::string& value) { bind(number, std::string_view(value)); }
  void bind(int number, const char* value) { bind(number, std::string_view(value)); }
  void bind(int number, Instant value) { bind(number, to_millis(value)); }
  void bind(int number, std::nullopt_t);
  template <typename T>
  void bind(int number, const std::optional<T>& value) {
    if (value)
      bind(number, *value);
    else
      bind(number, std::nullopt);
  }

 private:
  friend class Tx;
  // The same by the number of the column, counted from 0.
  std::int64_t integer(int column) const {
    return statement_->prepared.getColumn(column).getInt64();
  }
  bool flag(int column) const { return integer(column) != 0; }
  std::string text(int column) const { return statement_->prepared.getColumn(column).getString(); }
  Instant instant(int column) const { return from_millis(integer(column)); }
  bool null(int column) const { return statement_->prepared.isColumnNull(column); }
  std::optional<std::int64_t> integer_or_null(int column) const;
  std::optional<std::string> text_or_null(int column) const;
  std::optional<Instant> instant_or_null(int column) const;

  int index_of(std::string_view column) const;
  int parameter(int number) const;
  Connection& connection_;
  Connection::Deadline deadline_;
  Connection::Statements& idle_;
  std::unique_ptr<Statement> statement_;
  mutable size_t next_column_ = 0;  // where the search for the next name begins
};

// An open transaction. Domain functions receive it by reference and must not keep it.
class Tx {
 public:
  // `statement_time` is the time that each statement may take; if it is empty, there is no limit.
  Tx(Connection& connection, Instant now,
     const std::optional<std::chrono::milliseconds>& statement_time = {})
      : connection_(connection), now_(now), statement_time_(statement_time) {}
  Tx(const Tx&) = delete;
  Tx& operator=(const Tx&) = delete;

  // The time of the transaction, which is the same throughout.
  Instant now() const { return now_; }

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
  // The first column of the first row as a number; 0 if there is no row.
  template <typename... Values>
  std::int64_t number(std::string_view sql, const Values&... values) {
    Query rows = query(sql, values...);
    return rows.next() ? rows.integer(0) : 0;
  }

  // Runs `work()`. If it throws, only its own changes are undone, and the exception is passed on.
  template <typename Work>
  auto nested(Work&& work) -> std::invoke_result_t<Work> {
    const size_t notes_before = notes_.size();
    execute("SAVEPOINT nested");
    try {
      if constexpr (std::is_void_v<std::invoke_result_t<Work>>) {
        work();
        execute("RELEASE nested");
      } else {
        auto result = work();
        execute("RELEASE nested");
        return result;
      }
    } catch (...) {
      notes_.resize(notes_before);
      // If SQLite has rolled back the whole transaction, these statements fail and the writer
      // notices.
      execute("ROLLBACK TO nested");
      execute("RELEASE nested");
      throw;
    }
  }

  // Tells the subscribers about `id` once the transaction is on disk. If it fails, they aren't
  // told.
  void notify(Topic topic, std::string id) { notes_.emplace_back(topic, std::move(id)); }

 private:
  friend class Database;
  Connection& connection_;
  Instant now_;
  std::optional<std::chrono::milliseconds> statement_time_;
  std::vector<std::pair<Topic, std::string>> notes_;
};

struct Options {
  unsigned readers = 8;         // connections that read() can use at the same time
  unsigned heavy_readers = 2;   // further ones, for Readers::heavy
  size_t max_waiting = 10'000;  // writes in the queue; further ones are refused
  size_t max_group = 1'024;     // writes that share a commit
  // For tests: the name of a registered SQLite VFS; empty means SQLite's default.
  std::string vfs;
};

// The SQLite database. There are many readers, each of which sees a snapshot, and one writer
// thread. The writer runs all waiting writes in one transaction, each in a savepoint, and answers
// them after the commit (group commit: writes that arrive during a sync form the next group; there
// are no timers). With WAL and synchronous=FULL, everything that was answered is on disk.
// Thread-safe.
class Database {
 public:
  // Opens or creates `file` and migrates it to the newest schema. Throws std::runtime_error if the
  // file is damaged or was written by a newer berthd.
  Database(const std::filesystem::path& file, const Clock& clock, Options options = {});
  ~Database();  // runs the waiting writes first

  // Runs `work(Tx&)` on a snapshot and returns its result. Waits while all readers are busy. The
  // limits of the thread apply (RequestLimits).
  template <typename Work>
  auto read(Work&& work) -> std::invoke_result_t<Work, Tx&> {
    Reader reader(*this);
    return work(reader.tx());
  }

  // Runs `work(Tx&)` on the writer thread and returns its result once that is on disk. If `work`
  // throws, only its own changes are undone and the exception is thrown here. Throws Error
  // `unavailable` if the disk or the queue is full; then nothing was stored. `work` must be quick,
  // must not wait for anything and must not call the Database. The time limit of the calling
  // thread's statements applies (RequestLimits). SQLite rolls back the whole group with a changing
  // statement that is stopped; the group's other writes then throw `unavailable`.
  template <typename Work>
  auto write(Work&& work) -> std::invoke_result_t<Work, Tx&> {
    using Result = std::invoke_result_t<Work, Tx&>;
    if constexpr (std::is_void_v<Result>) {
      submit([&](Tx& tx) { work(tx); });
    } else {
      std::optional<Result> result;
      submit([&](Tx& tx) { result.emplace(work(tx)); });
      return std::move(*result);
    }
  }

  // Calls `subscriber` on the writer thread after each commit, before the writes are answered. It
  // must be quick and must not throw. Subscribe before the first write.
  void subscribe(std::function<void(Topic, const std::string&)> subscriber);

  // Whether a write would be stored at this moment: the last commit succeeded, or a probe that is
  // made now does.
  bool takes_writes();

  // The number of commits so far, and the number of writes in them.
  std::uint64_t commits() const { return commits_; }
  std::uint64_t writes() const { return writes_; }

 private:
  // A connection for reading, and the snapshot that it holds, if there is one.
  struct ReadConnection {
    Connection connection;
    std::optional<std::uint64_t> snapshot;  // the value of epoch_ before it was taken
    void begin(std::uint64_t epoch);
    void end();
  };
  // The connections of one kind of Readers.
  struct Pool {
    std::vector<std::unique_ptr<ReadConnection>> idle;
    std::condition_variable is_free;
  };

  // The use of a connection for one read. Its snapshot stays open afterwards for the next read,
  // until a commit makes it outdated. So most reads need no lock of the file and neither BEGIN nor
  // COMMIT.
  class Reader {
   public:
    explicit Reader(Database& database);
    ~Reader();
    Tx& tx() { return *tx_; }

   private:
    void give_back();
    Database& database_;
    Pool& pool_;
    std::unique_ptr<ReadConnection> reader_;
    std::optional<Tx> tx_;
  };

  struct Job {
    std::function<void(Tx&)> work;
    std::optional<std::chrono::milliseconds> statement_time;
    std::vector<std::pair<Topic, std::string>> notes;
    std::exception_ptr failure;
  };

  // Writes that are answered together, because waking all their threads then takes one system call.
  // Shared by the queue or the writer with the threads that wait for it.
  struct Group {
    // Guarded by queue_mutex_ while in the queue, then used by the writer only.
    std::vector<Job*> jobs;
    std::mutex mutex;
    std::condition_variable over_changed;
    bool over = false;
  };

  void open_readers(Readers which, unsigned count);
  void submit(std::function<void(Tx&)> work);
  void writer_loop();
  std::shared_ptr<Group> next_group();
  size_t run_jobs(std::span<Job* const> jobs);
  bool run_job(Job& job, Instant now);
  bool group_is_lost();
  void roll_back();
  void begin_epoch();
  void checkpoint();

  const std::filesystem::path file_;
  const Clock& clock_;
  const Options options_;
  std::unique_ptr<Connection> writer_;
  std::function<void(Topic, const std::string&)> subscriber_;

  std::mutex queue_mutex_;
  std::condition_variable queue_changed_;
  std::deque<std::shared_ptr<Group>> queue_;  // all groups but the last are full
  size_t waiting_ = 0;                        // writes in the queue
  bool stopping_ = false;
  std::atomic<bool> last_commit_failed_ = false;
  std::atomic<std::uint64_t> commits_ = 0;
  std::atomic<std::uint64_t> writes_ = 0;

  int wal_pages_ = 0;  // pages in the WAL after the newest commit; used by the writer thread only
  // Increases when snapshots that were taken earlier must not be used any more.
  std::atomic<std::uint64_t> epoch_ = 0;
  std::mutex readers_mutex_;
  std::array<Pool, 2> pools_;  // by Readers

  std::thread thread_;
};

}  // namespace berth::db
