#include "berthd/backup/verify.h"

#include <sqlite3.h>
#include <stdlib.h>  // for mkdtemp

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <ostream>
#include <thread>
#include <vector>

#include "controller/db/database.h"
#include "controller/db/postgres/connection.h"
#include "controller/db/postgres/migrate.h"
#include "controller/db/sqlite/connection.h"
#include "controller/db/sqlite/copy.h"
#include "controller/db/sqlite/migrate.h"
#include "controller/domain/kernel/audit_chain.h"
#include "controller/domain/ledger/ledger_audit.h"

namespace berth::backup {
namespace {

namespace fs = std::filesystem;

constexpr unsigned most_threads = 8;

class Report {
 public:
  explicit Report(std::ostream& out) : out_(out) {}
  void line(bool ok, const std::string& name, const std::string& detail) {
    if (!ok) verdict_ = Verdict::unsound;
    out_ << (ok ? "ok    " : "FAIL  ") << name << (detail.empty() ? "" : ": ") << detail << "\n";
  }
  void problems(const std::string& name, const std::vector<std::string>& found) {
    if (found.empty()) line(true, name, "");
    for (const std::string& problem : found) line(false, name, problem);
  }
  Verdict verdict() const { return verdict_; }

 private:
  std::ostream& out_;
  Verdict verdict_ = Verdict::sound;
};

void report_schema(SQLite::Database& database, Report& report) {
  try {
    db::sqlite::check_migrations(database);
    const int count = database.execAndGet(R"(SELECT count(*) FROM schema_migrations)").getInt();
    report.line(true, "schema", std::to_string(count) + " migrations");
  } catch (const std::exception& failure) {
    report.line(false, "schema", failure.what());
  }
}

// Reads all entries of the audit log, in steps.
void report_audit_log(db::Tx& tx, Report& report) {
  std::int64_t entries = 0, after = 0;
  std::vector<std::string> violations;
  audit::Check part;
  do {
    part = audit::check(tx, after);
    if (part.last > 0) entries += part.last - std::max(after, part.first - 1);
    after = part.last;
    for (std::string& violation : part.violations) violations.push_back(std::move(violation));
  } while (!part.is_end);
  if (violations.empty())
    report.line(true, "audit log", std::to_string(entries) + " entries in the chain");
  for (const std::string& violation : violations) report.line(false, "audit log", violation);
}

// A piece of work that any thread can do.
struct Task {
  std::int64_t weight = 1;
  std::function<void()> run;
};

// Runs the tasks on `threads` threads. Reports the progress after each task.
void run_all(const std::vector<Task>& tasks, unsigned threads, const Progress& progress) {
  std::int64_t all = 0, done = 0;
  for (const Task& task : tasks) all += task.weight;
  std::mutex mutex;
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < tasks.size(); i = next++) {
      tasks[i].run();
      const std::lock_guard lock(mutex);
      done += tasks[i].weight;
      progress(std::uint64_t(done), std::uint64_t(all));
    }
  };
  std::vector<std::jthread> helpers;
  for (unsigned i = 1; i < threads; ++i) helpers.emplace_back(work);
  work();
}

// A connection that only reads, and a transaction in it.
class Snapshot {
 public:
  explicit Snapshot(const fs::path& file)
      : connection_(file, SQLite::OPEN_READONLY, ""), tx_(connection_, Clock().now()) {
    connection_.raw().exec("PRAGMA wal_autocheckpoint = 0");
    tx_.execute("BEGIN");
  }
  db::Tx& tx() { return tx_; }
  SQLite::Database& raw() { return connection_.raw(); }

 private:
  db::sqlite::Connection connection_;
  db::Tx tx_;
};

// The parts of the ledger's audit as tasks, and what they find. Each part has a snapshot of its
// own, so it doesn't matter if berthd writes meanwhile.
class LedgerAudit {
 public:
  explicit LedgerAudit(const fs::path& file) : file_(file) {
    try {
      Snapshot snapshot(file_);
      if (const auto pending = db::sqlite::pending_migrations(snapshot.raw());
          !pending.names.empty()) {
        failure_ = "is of an older berthd, which lacks " + pending.names.front() +
                   " and what follows; check it with that berthd";
        return;
      }
      parts_ = ledger::audit_parts(snapshot.tx());
      findings_.resize(parts_.size());
    } catch (const std::exception& failure) {
      failure_ = failure.what();
    }
  }

  // Whether the file has the schema that the checks can read.
  bool can_read() const { return failure_.empty(); }
  std::int64_t weight() const {
    std::int64_t sum = 1;
    for (const ledger::AuditPart& part : parts_) sum += part.weight;
    return sum;
  }
  void add_to(std::vector<Task>& tasks) {
    for (size_t i = 0; i < parts_.size(); ++i)
      tasks.push_back({.weight = parts_[i].weight, .run = [this, i] { run(i); }});
  }
  void report(Report& report) const {
    if (!failure_.empty()) return report.line(false, "ledger", failure_);
    for (const ledger::Check& check : ledger::checks_of(parts_, findings_))
      report.line(check.ok, "ledger: " + check.name, check.detail);
  }

 private:
  void run(size_t i) {
    try {
      Snapshot snapshot(file_);
      findings_[i] = parts_[i].run(snapshot.tx());
    } catch (const SQLite::Exception& failure) {
      const std::lock_guard lock(mutex_);
      failure_ = failure.what();
    }
  }

  const fs::path file_;
  std::vector<ledger::AuditPart> parts_;
  std::vector<ledger::Finding> findings_;
  std::mutex mutex_;
  std::string failure_;
};

// A directory that only this user can read, and that is removed when this object is destroyed.
class PrivateTempDir {
 public:
  PrivateTempDir() : path_((fs::temp_directory_path() / "berthd-verify-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), path_);
  }
  ~PrivateTempDir() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  PrivateTempDir(const PrivateTempDir&) = delete;
  PrivateTempDir& operator=(const PrivateTempDir&) = delete;
  fs::path path() const { return path_; }

 private:
  std::string path_;
};

// Brings an archive of an older version to the present schema, as a restore would, so that the
// checks can read it.
void bring_up_to_date(const fs::path& file) {
  try {
    SQLite::Database database(file.string(), SQLite::OPEN_READWRITE);
    if (db::sqlite::pending_migrations(database).names.empty()) return;
    if (!db::sqlite::examine(file, [] { return true; }).sound()) return;
    db::sqlite::migrate(database, Clock().now());
  } catch (const std::exception&) {
    // The file is damaged, or this berthd can't use its schema: the checks will say so.
  }
}

}  // namespace

Verdict verify_database(const fs::path& file, std::ostream& out, const Progress& progress) {
  // Others may be using the file, whose processors and disk the check mustn't take.
  const bool is_in_use = fs::exists(file.string() + "-shm");
  const unsigned threads =
      is_in_use ? 1 : std::clamp(std::thread::hardware_concurrency(), 1U, most_threads);
  LedgerAudit audit(file);
  db::sqlite::Soundness found;
  std::exception_ptr failure;
  std::vector<Task> tasks = {{.weight = audit.weight() / 2, .run = [&] {
                                try {
                                  found = db::sqlite::examine(file, [] { return true; });
                                } catch (...) {
                                  failure = std::current_exception();
                                }
                              }}};
  audit.add_to(tasks);
  run_all(tasks, threads, progress);
  if (failure) std::rethrow_exception(failure);
  Report report(out);
  report.problems("integrity", found.integrity);
  report.problems("foreign keys", found.foreign_keys);
  db::sqlite::Connection connection(file, SQLite::OPEN_READONLY, "");
  report_schema(connection.raw(), report);
  audit.report(report);
  if (audit.can_read()) try {
      Snapshot snapshot(file);
      report_audit_log(snapshot.tx(), report);
    } catch (const std::exception& damage) {
      report.line(false, "audit log", damage.what());
    }
  return report.verdict();
}

Verdict verify_archive(const fs::path& file, const std::string& passphrase, std::ostream& out,
                       const Progress& progress) {
  const PrivateTempDir dir;
  const Manifest manifest =
      unpack(file, passphrase, dir.path(), [](std::uint64_t, std::uint64_t) {});
  out << "ok    archive: made at " << to_iso8601(manifest.made_at) << " by berthd "
      << manifest.version << "\n";
  const fs::path database = dir.path() / "berth.db";
  bring_up_to_date(database);
  return verify_database(database, out, progress);
}

Verdict verify_server(const db::postgres::Server& server, std::ostream& out,
                      const Progress& progress) {
  db::postgres::Connection connection(server);
  connection.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  return verify_open(connection, out, progress);
}

Verdict verify_open(db::postgres::Connection& connection, std::ostream& out,
                    const Progress& progress) {
  Report report(out);
  db::Tx tx(connection, Clock().now());
  try {
    const size_t count = db::postgres::check_migrations(connection, tx.now());
    report.line(true, "schema", std::to_string(count) + " migrations");
  } catch (const std::runtime_error& failure) {
    report.line(false, "schema", failure.what());
    return report.verdict();
  }
  const std::vector<ledger::AuditPart> parts = ledger::audit_parts(tx);
  std::vector<ledger::Finding> findings(parts.size());
  std::vector<Task> tasks;
  tasks.reserve(parts.size());
  for (size_t i = 0; i < parts.size(); ++i)
    tasks.push_back({.weight = parts[i].weight, .run = [&, i] { findings[i] = parts[i].run(tx); }});
  run_all(tasks, 1, progress);
  for (const ledger::Check& check : ledger::checks_of(parts, findings))
    report.line(check.ok, "ledger: " + check.name, check.detail);
  report_audit_log(tx, report);
  return report.verdict();
}

}  // namespace berth::backup
