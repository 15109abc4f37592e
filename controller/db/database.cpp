#include "controller/db/database.h"

#include <sqlite3.h>

#include <stdexcept>

#include "controller/base/error.h"
#include "controller/base/log.h"
#include "controller/db/busy_timeout.h"
#include "controller/db/failed_commits.h"
#include "controller/db/migrate.h"
#include "controller/db/private_file.h"

namespace berth::db {
namespace {

// About 16 MB of WAL, four times SQLite's default. Pages that every write changes, such as those of
// a busy account, are therefore copied to the database file a quarter as often.
constexpr int checkpoint_pages = 4'000;
constexpr size_t max_idle_statements = 4;  // for one text on one connection

// Whether an error is caused by the disk or the machine, as opposed to a mistake in our SQL.
bool is_environmental(int sqlite_code) {
  switch (sqlite_code & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
    case SQLITE_BUSY:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_INTERRUPT:
      return true;
    default:
      return false;
  }
}

// Has to run before the first connection is opened, and has no effect later. By default SQLite
// counts every allocation under one mutex for all threads (malloc.html, section 4.1). It also
// writes what a savepoint may have to restore into a temporary file, from 64 KiB on and then for
// every savepoint (c3ref/c_config_covering_index_scan.html, SQLITE_CONFIG_STMTJRNL_SPILL). Here
// that stays in memory, so a write that touches many pages needs as much memory as they do.
void configure_sqlite() {
  static const bool done = [] {
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite3_config(SQLITE_CONFIG_STMTJRNL_SPILL, -1);
    return true;
  }();
  static_cast<void>(done);
}

std::exception_ptr unavailable() {
  return std::make_exception_ptr(Error(
      Code::unavailable, "the database accepts no writes at the moment; nothing was changed"));
}

constexpr const char* probe = R"(
    INSERT INTO meta (key, value)
    VALUES ('write_probe', $1)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value)";

// If a sync fails, all pages of the commit may be in the WAL, and only our memory knows that the
// commit doesn't count: after a crash, recovery would consider it committed. The next write starts
// at the same position in the WAL. So a small commit, even one whose sync fails again, breaks the
// chain of checksums of the failed one (fileformat2.html, section 4.3).
void overwrite_wal_end(SQLite::Database& writer, Instant now) {
  try {
    SQLite::Statement statement(writer, probe);
    statement.bind("$1", to_iso8601(now));
    statement.exec();
  } catch (const SQLite::Exception& failure) {
    log::error("what a failed commit left in the WAL couldn't be overwritten",
               {{"error", failure.what()}});
  }
}

std::atomic<std::uint64_t> failed{0};
std::atomic<std::uint64_t> stopped{0};
thread_local const RequestLimits* limits = nullptr;

// How many instructions of a statement SQLite executes between two looks at the clock: some tens
// of microseconds.
constexpr int instructions_between_looks = 2'000;

TooSlow too_slow(const char* what) {
  ++stopped;
  return TooSlow(what);
}

// Returns what a statement that reached its deadline throws, and logs its text, which contains no
// values.
TooSlow stopped_statement(const std::string& sql) {
  log::warning("a statement took too long and was stopped", {{"sql", sql}});
  return too_slow("a statement took too long");
}

std::optional<std::chrono::milliseconds> statement_time_of_thread() {
  return limits == nullptr ? std::nullopt : std::optional(limits->statement_time);
}

bool was_stopped(const SQLite::Exception& failure, Connection::Deadline deadline) {
  return (failure.getErrorCode() & 0xff) == SQLITE_INTERRUPT &&
         deadline != Connection::Deadline::max();
}

// Returns what `step` does with the statement. Throws TooSlow if that was stopped at the deadline.
template <typename Step>
auto within(Connection& connection, Connection::Deadline deadline, SQLite::Statement& prepared,
            Step&& step) {
  connection.set_deadline(deadline);
  try {
    return step(prepared);
  } catch (const SQLite::Exception& failure) {
    if (was_stopped(failure, deadline)) throw stopped_statement(prepared.getQuery());
    throw;
  }
}

}  // namespace

std::uint64_t failed_commits() { return failed; }
std::uint64_t stopped_statements() { return stopped; }

RequestLimits::RequestLimits(Readers use, std::chrono::milliseconds most)
    : readers(use), statement_time(most), outer_(limits) {
  limits = this;
}
RequestLimits::~RequestLimits() { limits = outer_; }
const RequestLimits* RequestLimits::of_thread() { return limits; }

Connection::Connection(const std::filesystem::path& file, int sqlite_open_flags,
                       const std::string& vfs)
    : deadline_(std::make_unique<Deadline>(Deadline::max())),
      database_(file.string(), sqlite_open_flags, busy_timeout_ms, vfs) {
  sqlite3_progress_handler(
      database_.getHandle(), instructions_between_looks,
      [](void* deadline) {
        const Deadline at = *static_cast<const Deadline*>(deadline);
        return at != Deadline::max() && std::chrono::steady_clock::now() >= at ? 1 : 0;
      },
      deadline_.get());
}

Connection::Statements& Connection::statements(std::string_view sql) {
  const auto known = idle_.find(sql);
  return known != idle_.end() ? known->second : idle_[std::string(sql)];
}

Statement::Statement(SQLite::Database& database, std::string_view sql)
    : prepared(database, std::string(sql)) {
  for (int i = 0; i < prepared.getColumnCount(); ++i)
    columns.emplace_back(prepared.getColumnName(i));
  // By name, because SQLite numbers `$2` by the order of its appearance and not by its digit.
  for (int number = 1; number <= prepared.getBindParameterCount(); ++number)
    parameters.push_back(prepared.getIndex(("$" + std::to_string(number)).c_str()));
}

Query::Query(Connection& connection, std::string_view sql,
             const std::optional<std::chrono::milliseconds>& most)
    : connection_(connection),
      deadline_(most ? std::chrono::steady_clock::now() + *most : Connection::Deadline::max()),
      idle_(connection.statements(sql)) {
  if (idle_.empty()) {
    statement_ = std::make_unique<Statement>(connection.raw(), sql);
  } else {
    statement_ = std::move(idle_.back());
    idle_.pop_back();
  }
}

Query::~Query() {
  if (!statement_) return;
  statement_->prepared.tryReset();
  statement_->prepared.clearBindings();
  connection_.set_deadline(Connection::Deadline::max());
  if (idle_.size() < max_idle_statements) idle_.push_back(std::move(statement_));
}

bool Query::next() {
  return within(connection_, deadline_, statement_->prepared,
                [](SQLite::Statement& prepared) { return prepared.executeStep(); });
}

int Query::run() {
  return within(connection_, deadline_, statement_->prepared,
                [](SQLite::Statement& prepared) { return prepared.exec(); });
}

std::optional<std::int64_t> Query::integer_or_null(int column) const {
  return null(column) ? std::nullopt : std::optional(integer(column));
}
std::optional<std::string> Query::text_or_null(int column) const {
  return null(column) ? std::nullopt : std::optional(text(column));
}
std::optional<Instant> Query::instant_or_null(int column) const {
  return null(column) ? std::nullopt : std::optional(instant(column));
}
std::optional<std::int64_t> Query::integer_or_null(std::string_view column) const {
  return integer_or_null(index_of(column));
}
std::optional<std::string> Query::text_or_null(std::string_view column) const {
  return text_or_null(index_of(column));
}
std::optional<Instant> Query::instant_or_null(std::string_view column) const {
  return instant_or_null(index_of(column));
}

int Query::index_of(std::string_view column) const {
  const std::vector<std::string>& names = statement_->columns;
  for (size_t tried = 0; tried < names.size(); ++tried) {
    const size_t i = (next_column_ + tried) % names.size();
    if (names[i] != column) continue;
    next_column_ = i + 1;
    return int(i);
  }
  throw std::logic_error("the statement has no column " + std::string(column) + ": " +
                         statement_->prepared.getQuery());
}

// A number that the statement doesn't have gives an index that SQLite refuses.
int Query::parameter(int number) const {
  const std::vector<int>& parameters = statement_->parameters;
  return size_t(number) <= parameters.size() ? parameters[size_t(number) - 1] : 0;
}

void Query::bind(int number, std::int64_t value) {
  statement_->prepared.bind(parameter(number), value);
}
void Query::bind(int number, std::string_view value) {
  statement_->prepared.bind(parameter(number), std::string(value));
}
void Query::bind(int number, std::nullopt_t) { statement_->prepared.bind(parameter(number)); }

Database::Database(const std::filesystem::path& file, const Clock& clock, Options options)
    : file_(file), clock_(clock), options_(std::move(options)) {
  configure_sqlite();
  make_private(file);
  writer_ = std::make_unique<Connection>(
      file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_NOMUTEX, options_.vfs);
  SQLite::Database& raw = writer_->raw();
  raw.exec("PRAGMA journal_mode = WAL");
  raw.exec("PRAGMA synchronous = FULL");
  raw.exec("PRAGMA foreign_keys = ON");
  // What was deleted is overwritten with zeros, instead of standing in free pages until they are
  // used again. Debian builds SQLite so; others don't.
  raw.exec("PRAGMA secure_delete = ON");
  // Triggers of ours build JSON, and SQLite 3.40 doesn't count its JSON functions as innocuous.
  raw.exec("PRAGMA trusted_schema = ON");
  migrate(raw, clock.now());
  // Takes the place of SQLite's automatic checkpoint, which would run before the snapshots can end.
  sqlite3_wal_hook(
      raw.getHandle(),
      [](void* pages, sqlite3*, const char*, int count) {
        *static_cast<int*>(pages) = count;
        return SQLITE_OK;
      },
      &wal_pages_);
  open_readers(Readers::ordinary, options_.readers);
  open_readers(Readers::heavy, options_.heavy_readers);
  thread_ = std::thread([this] { writer_loop(); });
}

void Database::open_readers(Readers which, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    auto reader = std::make_unique<ReadConnection>(
        Connection(file_, SQLite::OPEN_READONLY | SQLite::OPEN_NOMUTEX, options_.vfs),
        std::nullopt);
    SQLite::Database& connection = reader->connection.raw();
    // Only the writer checkpoints: before SQLite 3.51.3, two connections that do so may damage the
    // file.
    connection.exec("PRAGMA wal_autocheckpoint = 0");
    connection.exec("PRAGMA query_only = ON");
    pools_.at(size_t(which)).idle.push_back(std::move(reader));
  }
}

Database::~Database() {
  {
    const std::lock_guard lock(queue_mutex_);
    stopping_ = true;
  }
  queue_changed_.notify_one();
  thread_.join();
  for (Pool& pool : pools_) pool.idle.clear();  // before the writer, which checkpoints at its end
}

void Database::ReadConnection::begin(std::uint64_t epoch) {
  Query(connection, "BEGIN").run();
  snapshot = epoch;
}

void Database::ReadConnection::end() {
  snapshot.reset();
  // Some errors have ended the transaction already.
  if (sqlite3_get_autocommit(connection.raw().getHandle()) != 0) return;
  try {
    Query(connection, "COMMIT").run();
  } catch (const std::exception& failure) {
    log::error("a read transaction couldn't be ended", {{"error", failure.what()}});
  }
}

Database::Reader::Reader(Database& database)
    : database_(database),
      pool_(database.pools_.at(size_t(limits == nullptr ? Readers::ordinary : limits->readers))) {
  std::unique_lock lock(database.readers_mutex_);
  const auto is_one_free = [&] { return !pool_.idle.empty(); };
  if (limits == nullptr)
    pool_.is_free.wait(lock, is_one_free);
  else if (!pool_.is_free.wait_for(lock, RequestLimits::reader_wait, is_one_free))
    throw too_slow("all connections to the database were busy for too long");
  reader_ = std::move(pool_.idle.back());
  pool_.idle.pop_back();
  lock.unlock();
  try {
    tx_.emplace(reader_->connection, database.clock_.now(), statement_time_of_thread());
    // The epoch is read before the snapshot is taken, so the snapshot may be newer than its epoch
    // but never older. Everything that was answered before this read began is in it.
    const std::uint64_t epoch = database.epoch_;
    if (reader_->snapshot != epoch) reader_->end();
    if (!reader_->snapshot) reader_->begin(epoch);
  } catch (...) {
    give_back();
    throw;
  }
}

Database::Reader::~Reader() { give_back(); }

void Database::Reader::give_back() {
  tx_.reset();
  const bool failed = sqlite3_get_autocommit(reader_->connection.raw().getHandle()) != 0;
  {
    const std::lock_guard lock(database_.readers_mutex_);
    // Under the lock, so that begin_epoch() finds all connections that are idle.
    if (failed || reader_->snapshot != database_.epoch_) reader_->end();
    pool_.idle.push_back(std::move(reader_));
  }
  // After the lock is released, because the thread that is woken takes the mutex at once.
  pool_.is_free.notify_one();
}

// Ends the snapshots that aren't in use; the others end when their connections are returned.
void Database::begin_epoch() {
  ++epoch_;
  const std::lock_guard lock(readers_mutex_);
  for (const Pool& pool : pools_)
    for (const auto& reader : pool.idle) reader->end();
}

// The WAL starts again at its beginning once all of it is in the database file and no snapshot
// needs it (wal.html, section 2.1). So the snapshots have to end before the checkpoint, and those
// that are taken meanwhile after it.
void Database::checkpoint() {
  begin_epoch();
  const int code = sqlite3_wal_checkpoint_v2(writer_->raw().getHandle(), nullptr,
                                             SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (code != SQLITE_OK) log::error("a checkpoint failed", {{"code", code}});
  begin_epoch();
}

void Database::subscribe(std::function<void(Topic, const std::string&)> subscriber) {
  subscriber_ = [before = std::move(subscriber_), next = std::move(subscriber)](
                    Topic topic, const std::string& id) {
    if (before) before(topic, id);
    next(topic, id);
  };
}

void Database::submit(std::function<void(Tx&)> work) {
  Job job{.work = std::move(work),
          .statement_time = statement_time_of_thread(),
          .notes = {},
          .failure = {}};
  std::shared_ptr<Group> group;
  {
    const std::lock_guard lock(queue_mutex_);
    if (stopping_ || waiting_ >= options_.max_waiting) std::rethrow_exception(unavailable());
    if (queue_.empty() || queue_.back()->jobs.size() >= options_.max_group)
      queue_.push_back(std::make_shared<Group>());
    group = queue_.back();
    group->jobs.push_back(&job);
    ++waiting_;
  }
  queue_changed_.notify_one();
  std::unique_lock lock(group->mutex);
  group->over_changed.wait(lock, [&] { return group->over; });
  if (job.failure) std::rethrow_exception(job.failure);
}

// Waits for the next group of writes. Returns null if there is none and the Database is closing.
std::shared_ptr<Database::Group> Database::next_group() {
  std::unique_lock lock(queue_mutex_);
  queue_changed_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
  if (queue_.empty()) return nullptr;
  auto group = std::move(queue_.front());
  queue_.pop_front();
  waiting_ -= group->jobs.size();
  return group;
}

void Database::writer_loop() {
  while (const auto group = next_group()) {
    std::span<Job* const> left = group->jobs;
    while (!left.empty()) left = left.subspan(run_jobs(left));
    {
      const std::lock_guard lock(group->mutex);
      group->over = true;
    }
    // After the lock is released, because the threads that are woken take the mutex at once.
    group->over_changed.notify_all();
    if (!last_commit_failed_ && wal_pages_ >= checkpoint_pages) checkpoint();
  }
}

bool Database::group_is_lost() { return sqlite3_get_autocommit(writer_->raw().getHandle()) != 0; }

void Database::roll_back() {
  if (!group_is_lost())
    sqlite3_exec(writer_->raw().getHandle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

// Runs one write in its savepoint. Returns false if SQLite rolled back the whole transaction.
bool Database::run_job(Job& job, Instant now) {
  Tx tx(*writer_, now, job.statement_time);
  bool was_too_slow = false;
  try {
    tx.execute("SAVEPOINT job");
    job.work(tx);
    tx.execute("RELEASE job");
    job.notes = std::move(tx.notes_);
    return true;
  } catch (const SQLite::Exception& failure) {
    log::error("a write failed in SQLite",
               {{"error", failure.what()}, {"code", failure.getExtendedErrorCode()}});
    job.failure =
        is_environmental(failure.getErrorCode()) ? unavailable() : std::current_exception();
  } catch (const TooSlow&) {
    job.failure = std::current_exception();
    was_too_slow = true;
  } catch (...) {
    job.failure = std::current_exception();
  }
  if (group_is_lost()) {
    // The work may have thrown another exception in place of SQLite's, but the cause is the disk.
    if (!was_too_slow) job.failure = unavailable();
    return false;
  }
  try {
    tx.execute("ROLLBACK TO job");
    tx.execute("RELEASE job");
    return true;
  } catch (const SQLite::Exception& failure) {
    log::error("a write couldn't be undone on its own", {{"error", failure.what()}});
    roll_back();
    return false;
  }
}

// Runs writes from the front of `jobs` in one transaction. Returns the number of writes whose
// outcome is known: all of them, or fewer if SQLite rolled back the transaction (SQLITE_FULL,
// SQLITE_IOERR and SQLITE_NOMEM do so despite savepoints, lang_transaction.html); the rest then
// need another transaction.
size_t Database::run_jobs(std::span<Job* const> jobs) {
  size_t ran = 0;
  bool stored = false;
  bool commit_may_be_in_wal = false;
  try {
    Query(*writer_, "BEGIN IMMEDIATE").run();
    const Instant now = clock_.now();
    bool whole = true;
    while (whole && ran < jobs.size()) whole = run_job(*jobs[ran++], now);
    if (whole) {
      Query(*writer_, "COMMIT").run();
      stored = true;
    }
  } catch (const SQLite::Exception& failure) {
    log::error("a commit failed",
               {{"error", failure.what()}, {"code", failure.getExtendedErrorCode()}});
    // The transaction couldn't even begin, so all of them would fail in the same way.
    if (ran == 0) ran = jobs.size();
    if ((failure.getErrorCode() & 0xff) == SQLITE_IOERR) commit_may_be_in_wal = true;
  }
  last_commit_failed_ = !stored;
  if (stored) {
    ++commits_;
    writes_ += ran;
    begin_epoch();
  } else {
    ++failed;
    roll_back();
    if (commit_may_be_in_wal) overwrite_wal_end(writer_->raw(), clock_.now());
  }
  for (Job* job : jobs.first(ran)) {
    if (!stored && !job->failure) job->failure = unavailable();
    if (stored && !job->failure && subscriber_)
      for (const auto& [topic, id] : job->notes) subscriber_(topic, id);
  }
  return ran;
}

bool Database::takes_writes() {
  if (!last_commit_failed_) return true;
  try {
    write([](Tx& tx) { tx.execute(probe, to_iso8601(tx.now())); });
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace berth::db
