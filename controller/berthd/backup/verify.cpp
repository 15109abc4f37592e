#include "controller/berthd/backup/verify.h"

#include <sqlite3.h>
#include <stdlib.h>  // for mkdtemp

#include <ostream>

#include "controller/berthd/backup/restore.h"
#include "controller/db/copy.h"
#include "controller/db/database.h"
#include "controller/db/migrate.h"
#include "controller/domain/ledger/ledger_audit.h"

namespace berth::backup {
namespace {

namespace fs = std::filesystem;

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
    db::check_migrations(database);
    const int count = database.execAndGet(R"(SELECT count(*) FROM schema_migrations)").getInt();
    report.line(true, "schema", std::to_string(count) + " migrations");
  } catch (const std::exception& failure) {
    report.line(false, "schema", failure.what());
  }
}

// All checks use one snapshot, so that it doesn't matter if berthd writes meanwhile.
void report_ledger(db::Connection& connection, Report& report) {
  try {
    db::Tx tx(connection, Clock().now());
    tx.execute("BEGIN");
    for (const ledger::Check& check : ledger::audit(tx))
      report.line(check.ok, "ledger: " + check.name, check.detail);
    tx.execute("COMMIT");
  } catch (const SQLite::Exception& failure) {
    report.line(false, "ledger", failure.what());
  }
}

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

}  // namespace

Verdict verify_database(const fs::path& file, std::ostream& out) {
  Report report(out);
  const db::Soundness found = db::examine(file, [] { return true; });
  report.problems("integrity", found.integrity);
  report.problems("foreign keys", found.foreign_keys);
  db::Connection connection(file, SQLite::OPEN_READONLY, "");
  connection.raw().exec("PRAGMA wal_autocheckpoint = 0");
  report_schema(connection.raw(), report);
  report_ledger(connection, report);
  return report.verdict();
}

Verdict verify_archive(const fs::path& file, const std::string& passphrase, std::ostream& out) {
  const PrivateTempDir dir;
  const Manifest manifest =
      unpack(file, passphrase, dir.path(), [](std::uint64_t, std::uint64_t) {});
  out << "ok    archive: made at " << to_iso8601(manifest.made_at) << " by berthd "
      << manifest.version << "\n";
  return verify_database(dir.path() / "berth.db", out);
}

}  // namespace berth::backup
