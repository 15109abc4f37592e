#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <atomic>
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

namespace berth::db {

// What a committed change was about; see Tx::notify.
// custom_domain: the id is that of the deployment, too. app_balance: an app's account was credited.
// chat: the id is that of the channel. deployment: what is wanted of it changed; deployment_seen:
// what was seen of it.
enum class Topic {
  deployment,
  deployment_seen,
  custom_domain,
  app_balance,
  webhook,
  campaign,
  chat
};

// One connection with its prepared statements. Used by one thread at a time.
class Connection {
 public:
  // `vfs`: the name of a registered SQLite VFS; empty: SQLite's own.
  Connection(const std::filesystem::path& file, int sqlite_open_flags, const std::string& vfs);
  SQLite::Database& raw() { return database_; }
  // The statements of this text that nobody uses right now; stays where it is.
  using Statements = std::vector<std::unique_ptr<SQLite::Statement>>;
  Statements& statements(std::string_view sql);

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  SQLite::Database database_;
  std::unordered_map<std::string, Statements, Hash, std::equal_to<>> idle_;
};

// The rows of a running statement; ends with it. Columns count from 0.
class Query {
 public:
  Query(Connection& connection, std::string_view sql);
  ~Query();
  Query(Query&&) noexcept = default;
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  bool next() { return statement_->executeStep(); }
  int run() { return statement_->exec(); }  // for statements without rows: how many it changed

  std::int64_t integer(int column) const { return statement_->getColumn(column).getInt64(); }
  bool flag(int column) const { return integer(column) != 0; }
  std::string text(int column) const { return statement_->getColumn(column).getString(); }
  Instant instant(int column) const { return from_millis(integer(column)); }
  bool null(int column) const { return statement_->isColumnNull(column); }
  std::optional<std::int64_t> integer_or_null(int column) const;
  std::optional<std::string> text_or_null(int column) const;
  std::optional<Instant> instant_or_null(int column) const;

  // Binds `value` to `$<number>`. A statement without that placeholder is a programming error.
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
  int index_of(int number) const;
  Connection::Statements& idle_;
  std::unique_ptr<SQLite::Statement> statement_;
};

// A transaction that is open. Domain functions take it by reference and keep nothing of it.
class Tx {
 public:
  Tx(Connection& connection, Instant now) : connection_(connection), now_(now) {}
  Tx(const Tx&) = delete;
  Tx& operator=(const Tx&) = delete;

  // One instant for the whole transaction.
  Instant now() const { return now_; }

  // The placeholders of `sql` are $1, $2, …; each text is kept prepared, so there are few of them.
  template <typename... Values>
  Query query(std::string_view sql, const Values&... values) {
    Query query(connection_, sql);
    int number = 0;
    (query.bind(++number, values), ...);
    return query;
  }
  // Runs a statement without rows and says how many rows it changed.
  template <typename... Values>
  int execute(std::string_view sql, const Values&... values) {
    return query(sql, values...).run();
  }
  // The first row's first column as a number; 0 where there is none.
  template <typename... Values>
  std::int64_t number(std::string_view sql, const Values&... values) {
    Query rows = query(sql, values...);
    return rows.next() ? rows.integer(0) : 0;
  }

  // Runs `work()` so that what it throws undoes its own changes alone.
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
      // Where SQLite gave up the whole transaction, these fail and the writer sees it.
      execute("ROLLBACK TO nested");
      execute("RELEASE nested");
      throw;
    }
  }

  // Tells the subscribers about `id` once the transaction is on disk, and not at all if it fails.
  void notify(Topic topic, std::string id) { notes_.emplace_back(topic, std::move(id)); }

 private:
  friend class Database;
  Connection& connection_;
  Instant now_;
  std::vector<std::pair<Topic, std::string>> notes_;
};

struct Options {
  unsigned readers = 8;         // connections for read()
  size_t max_waiting = 10'000;  // writes in the queue, above it they are refused
  size_t max_group = 1'024;     // writes that share one commit
  // For tests: the name of a registered SQLite VFS; empty: SQLite's own.
  std::string vfs;
};

// The SQLite file. Many readers, each with a snapshot of its own; one writer thread that runs what
// is waiting in one transaction, each write in a savepoint, and answers all after the commit (group
// commit: what queues during a sync is the next group; there are no timers). WAL and
// synchronous=FULL: what was answered is on disk. Thread-safe.
class Database {
 public:
  // Opens or creates `file` and brings it to the newest schema. Throws std::runtime_error where it
  // is damaged, or was written by a newer berthd.
  Database(const std::filesystem::path& file, const Clock& clock, Options options = {});
  ~Database();  // runs what is waiting first

  // Runs `work(Tx&)` on a snapshot and gives back what it returns. Waits while all readers are
  // busy.
  template <typename Work>
  auto read(Work&& work) -> std::invoke_result_t<Work, Tx&> {
    Reader reader(*this);
    return work(reader.tx());
  }

  // Runs `work(Tx&)` on the writer thread and returns what it returned, once it is on disk. What
  // it throws undoes its own changes alone and is thrown here. Throws Error unavailable where the
  // disk, or the queue, takes no more: then nothing of it was stored. `work` must be quick and must
  // not wait for anything; it must not call the Database.
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

  // `subscriber` is called on the writer thread after each commit, before the writes are answered;
  // it must be quick. Subscribe before the first write.
  void subscribe(std::function<void(Topic, const std::string&)> subscriber);

  // Whether a write would be stored right now: the last one was, or a probe just was.
  bool takes_writes();

  // How many commits there were, and how many writes were in them.
  std::uint64_t commits() const { return commits_; }
  std::uint64_t writes() const { return writes_; }

 private:
  // A connection for reading, and the snapshot that it holds, if any.
  struct ReadConnection {
    Connection connection;
    std::optional<std::uint64_t> snapshot;  // epoch_ before it was taken
    void begin(std::uint64_t epoch);
    void end();
  };

  // A reader's turn. The snapshot stays open behind it, for the next one, until a commit makes it
  // old: most reads then need no lock of the file and neither BEGIN nor COMMIT.
  class Reader {
   public:
    explicit Reader(Database& database);
    ~Reader();
    Tx& tx() { return *tx_; }

   private:
    void give_back();
    Database& database_;
    std::unique_ptr<ReadConnection> reader_;
    std::optional<Tx> tx_;
  };

  struct Job {
    std::function<void(Tx&)> work;
    std::vector<std::pair<Topic, std::string>> notes;
    std::exception_ptr failure;
  };

  // Writes that are answered together: to wake their threads takes one call of the system. Belongs
  // to the queue or the writer, and to those who wait for it.
  struct Group {
    std::vector<Job*> jobs;  // under queue_mutex_ while it is in the queue, then the writer's
    std::mutex mutex;
    std::condition_variable over_changed;
    bool over = false;
  };

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
  std::deque<std::shared_ptr<Group>> queue_;  // all but the last are full
  size_t waiting_ = 0;                        // writes in the queue
  bool stopping_ = false;
  std::atomic<bool> last_commit_failed_ = false;
  std::atomic<std::uint64_t> commits_ = 0;
  std::atomic<std::uint64_t> writes_ = 0;

  int wal_pages_ = 0;  // after the newest commit; the writer thread's
  // Goes on where a snapshot that was taken before must not be used any more.
  std::atomic<std::uint64_t> epoch_ = 0;
  std::mutex readers_mutex_;
  std::condition_variable reader_free_;
  std::vector<std::unique_ptr<ReadConnection>> idle_readers_;

  std::thread thread_;
};

}  // namespace berth::db
