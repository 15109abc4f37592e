#include "controller/db/sqlite/database.h"

#include <pthread.h>
#include <sqlite3.h>

#include <stdexcept>

#include "controller/base/error.h"
#include "controller/base/lent_claimant.h"
#include "controller/base/log.h"
#include "controller/db/sqlite/busy_timeout.h"
#include "controller/db/sqlite/migrate.h"
#include "controller/db/sqlite/private_file.h"

namespace berth::db::sqlite {
namespace {

// About 16 MB of WAL, four times SQLite's default. Pages that every write changes, such as those of
// a busy account, are therefore copied to the database file a quarter as often.
constexpr int checkpoint_pages = 4'000;

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

// If a sync fails, all pages of the commit may be in the WAL, and only our memory knows that the
// commit doesn't count: after a crash, recovery would consider it committed. The next write starts
// at the same position in the WAL. So a small commit, even one whose sync fails again, breaks the
// chain of checksums of the failed one (fileformat2.html, section 4.3).
void overwrite_wal_end(SQLite::Database& writer, Instant now) {
  try {
    SQLite::Statement statement(writer, write_probe);
    statement.bind("$1", to_iso8601(now));
    statement.exec();
  } catch (const SQLite::Exception& failure) {
    log::error("what a failed commit left in the WAL couldn't be overwritten",
               {{"error", failure.what()}});
  }
}

}  // namespace

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
  pthread_setname_np(thread_.native_handle(), "writer");
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
    : database_(database), pool_(database.pools_.at(size_t(RequestLimits::readers_of_thread()))) {
  std::unique_lock lock(database.readers_mutex_);
  const auto is_one_free = [&] { return !pool_.idle.empty(); };
  if (RequestLimits::of_thread() == nullptr)
    pool_.is_free.wait(lock, is_one_free);
  else if (!pool_.is_free.wait_for(lock, RequestLimits::reader_wait, is_one_free))
    throw too_slow("all connections to the database were busy for too long");
  reader_ = std::move(pool_.idle.back());
  pool_.idle.pop_back();
  lock.unlock();
  try {
    tx_.emplace(reader_->connection, database.clock_.now(),
                RequestLimits::statement_time_of_thread(), Isolation::read);
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

void Database::run_read(const TxWork& work, View /*a snapshot costs nothing*/) {
  Reader reader(*this);
  work(reader.tx());
}

// There is one writer, so the isolation matters to those alone who ask for it.
void Database::run_write(const TxWork& work, Isolation isolation) {
  // The request for which the caller writes learns its user or app within the work, as at a login.
  const TxWork for_claimant = [&work, claimant = LentClaimant::of_thread()](Tx& tx) {
    const LentClaimant lent(claimant);
    work(tx);
  };
  Job job{.work = for_claimant,
          .statement_time = RequestLimits::statement_time_of_thread(),
          .isolation = isolation,
          .notes = {},
          .failure = {},
          .written = {}};
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
  WriteMeter::add(job.written);
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
    if (!last_commit_failed() && wal_pages_ >= checkpoint_pages) checkpoint();
  }
}

bool Database::group_is_lost() { return sqlite3_get_autocommit(writer_->raw().getHandle()) != 0; }

void Database::roll_back() {
  if (!group_is_lost())
    sqlite3_exec(writer_->raw().getHandle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

// Runs one write in its savepoint. Returns false if SQLite rolled back the whole transaction.
bool Database::run_job(Job& job, Instant now) {
  Tx tx(*writer_, now, job.statement_time, job.isolation);
  bool was_too_slow = false;
  try {
    tx.execute("SAVEPOINT job");
    writer_->take_written();
    job.work(tx);
    job.written = writer_->take_written();
    tx.execute("RELEASE job");
    job.notes = tx.take_notes();
    return true;
  } catch (const SQLite::Exception& failure) {
    log::error("a write failed in SQLite",
               {{"error", failure.what()}, {"code", failure.getExtendedErrorCode()}});
    job.failure =
        is_environmental(failure.getErrorCode()) ? unavailable() : std::current_exception();
  } catch (const TooSlow&) {
    job.failure = std::current_exception();
    was_too_slow = true;
  } catch (const ConstraintViolated& failure) {
    log::error("a write failed in SQLite", {{"error", failure.what()}});
    job.failure = std::current_exception();
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
    {
      const Connection::NeedsTransaction needed(*writer_);
      while (whole && ran < jobs.size()) whole = run_job(*jobs[ran++], now);
    }
    if (whole) {
      Query(*writer_, "COMMIT").run();
      stored = true;
    }
  } catch (const SQLite::Exception& failure) {
    log::error("a commit failed",
               {{"error", failure.what()}, {"code", failure.getExtendedErrorCode()}});
    // BEGIN has failed, so each of the jobs would fail in the same way.
    if (ran == 0) ran = jobs.size();
    if ((failure.getErrorCode() & 0xff) == SQLITE_IOERR) commit_may_be_in_wal = true;
  }
  if (stored) {
    count_commit(ran);
    begin_epoch();
  } else {
    count_failed_commit();
    roll_back();
    if (commit_may_be_in_wal) overwrite_wal_end(writer_->raw(), clock_.now());
  }
  for (Job* job : jobs.first(ran)) {
    if (!stored && !job->failure) job->failure = unavailable();
    if (stored && !job->failure) tell(job->notes);
  }
  return ran;
}

}  // namespace berth::db::sqlite
