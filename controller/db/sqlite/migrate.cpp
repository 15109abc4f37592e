#include "controller/db/sqlite/migrate.h"

#include <string>

#include "controller/base/crypto.h"
#include "controller/base/log.h"
#include "controller/db/migrations.h"

namespace berth::db::sqlite {
namespace {

Applied applied(SQLite::Database& database) {
  Applied hashes;
  SQLite::Statement rows(database, R"(SELECT name, sha256 FROM schema_migrations)");
  while (rows.executeStep())
    hashes[rows.getColumn("name").getString()] = rows.getColumn("sha256").getString();
  return hashes;
}

void apply(SQLite::Database& database, const EmbeddedFile& file, const std::string& hash,
           Instant now) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  database.exec(std::string(file.text));
  SQLite::Statement record(
      database, R"(INSERT INTO schema_migrations (name, sha256, applied_at) VALUES ($1, $2, $3))");
  record.bind(1, std::string(file.name));
  record.bind(2, hash);
  record.bind(3, to_millis(now));
  record.exec();
  transaction.commit();
}

}  // namespace

void check_migrations(SQLite::Database& database, const std::vector<EmbeddedFile>& files) {
  check_applied(applied(database), files);
}

Pending pending_migrations(SQLite::Database& database, const std::vector<EmbeddedFile>& files) {
  Pending result;
  const bool has_run = database.tableExists("schema_migrations");
  if (has_run) check_migrations(database, files);
  const auto known = has_run ? applied(database) : Applied();
  if (!known.empty()) result.newest = known.rbegin()->first;
  for (const EmbeddedFile& file : files)
    if (const std::string name(file.name); !known.contains(name)) result.names.push_back(name);
  return result;
}

void migrate(SQLite::Database& database, Instant now, const std::vector<EmbeddedFile>& files) {
  database.exec(
      R"(
      CREATE TABLE IF NOT EXISTS schema_migrations (
        name       TEXT PRIMARY KEY,
        sha256     TEXT NOT NULL,
        applied_at INTEGER NOT NULL
      ) STRICT)");
  check_migrations(database, files);
  const auto known = applied(database);
  for (const EmbeddedFile& file : files) {
    const std::string name(file.name);
    if (known.contains(name)) continue;
    if (!known.empty())
      log::info("changing the database, which may take minutes if it is large",
                {{"migration", name}});
    try {
      apply(database, file, hex(sha256(file.text)), now);
    } catch (const SQLite::Exception& failure) {
      throw SQLite::Exception("migration " + name + ": " + failure.what(), failure.getErrorCode());
    }
  }
}

}  // namespace berth::db::sqlite
