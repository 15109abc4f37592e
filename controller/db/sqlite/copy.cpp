#include "controller/db/sqlite/copy.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <memory>
#include <optional>

#include "controller/db/sqlite/busy_timeout.h"
#include "controller/db/sqlite/private_file.h"

namespace berth::db::sqlite {
namespace {

constexpr int pages_of_a_step = 256;  // 1 MiB
// SQLite's virtual-machine instructions between two calls of go_on.
constexpr int steps_of_sqlite = 1'000;

using Backup = std::unique_ptr<sqlite3_backup, decltype(&sqlite3_backup_finish)>;

// The pages are copied in steps, but from one snapshot, since the source's read transaction is
// open.
void copy_pages(SQLite::Database& from, SQLite::Database& to, const GoOn& go_on) {
  const Backup backup(sqlite3_backup_init(to.getHandle(), "main", from.getHandle(), "main"),
                      sqlite3_backup_finish);
  if (!backup) throw SQLite::Exception(to.getHandle());
  for (;;) {
    if (!go_on()) throw Stopped();
    const int code = sqlite3_backup_step(backup.get(), pages_of_a_step);
    if (code == SQLITE_DONE) return;
    if (code != SQLITE_OK) throw SQLite::Exception(sqlite3_errstr(code), code);
  }
}

void remove_copy(const std::filesystem::path& file) {
  std::error_code ignored;
  for (const char* suffix : {"", "-journal", "-wal", "-shm"})
    std::filesystem::remove(file.string() + suffix, ignored);
}

// Interrupts the connection's running statement as soon as `go_on` returns false.
class Watch {
 public:
  Watch(SQLite::Database& database, const GoOn& go_on) : handle_(database.getHandle()) {
    sqlite3_progress_handler(
        handle_, steps_of_sqlite,
        [](void* asked) { return (*static_cast<const GoOn*>(asked))() ? 0 : 1; },
        const_cast<GoOn*>(&go_on));
  }
  ~Watch() { sqlite3_progress_handler(handle_, 0, nullptr, nullptr); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  sqlite3* handle_;
};

std::vector<std::string> integrity_problems(SQLite::Database& database) {
  std::vector<std::string> problems;
  SQLite::Statement rows(database, "PRAGMA integrity_check(" + std::to_string(max_problems) + ")");
  while (rows.executeStep()) problems.push_back(rows.getColumn(0).getString());
  if (problems == std::vector<std::string>{"ok"}) problems.clear();
  return problems;
}

std::vector<std::string> foreign_key_problems(SQLite::Database& database) {
  std::vector<std::string> problems;
  SQLite::Statement rows(database, "PRAGMA foreign_key_check");
  while (int(problems.size()) < max_problems && rows.executeStep())
    problems.push_back("row " + rows.getColumn("rowid").getString() + " of " +
                       rows.getColumn("table").getString() + " refers to a row of " +
                       rows.getColumn("parent").getString() + " that doesn't exist");
  return problems;
}

}  // namespace

void copy(const std::filesystem::path& source, const std::filesystem::path& target,
          const GoOn& go_on) {
  remove_copy(target);
  make_private(target);
  try {
    SQLite::Database from(source.string(), SQLite::OPEN_READONLY, busy_timeout_ms);
    // Only the writer checkpoints; see Database.
    from.exec("PRAGMA wal_autocheckpoint = 0");
    from.exec("BEGIN");
    SQLite::Statement(from, R"(SELECT count(*) FROM sqlite_schema)").executeStep();
    SQLite::Database to(target.string(), SQLite::OPEN_READWRITE, busy_timeout_ms);
    to.exec("PRAGMA synchronous = OFF");  // a copy that a crash leaves behind is discarded
    copy_pages(from, to, go_on);
    // The header was copied too, and says that the file is in WAL mode.
    to.exec("PRAGMA journal_mode = DELETE");
  } catch (...) {
    remove_copy(target);
    throw;
  }
}

Soundness examine(const std::filesystem::path& file, const GoOn& go_on) {
  SQLite::Database database(file.string(), SQLite::OPEN_READONLY, busy_timeout_ms);
  database.exec("PRAGMA wal_autocheckpoint = 0");
  const Watch watch(database, go_on);
  try {
    return {.integrity = integrity_problems(database),
            .foreign_keys = foreign_key_problems(database)};
  } catch (const SQLite::Exception& failure) {
    if (failure.getErrorCode() == SQLITE_INTERRUPT) throw Stopped();
    // Some kinds of damage make the checks themselves fail.
    if (failure.getErrorCode() == SQLITE_CORRUPT || failure.getErrorCode() == SQLITE_NOTADB)
      return {.integrity = {failure.what()}, .foreign_keys = {}};
    throw;
  }
}

}  // namespace berth::db::sqlite
