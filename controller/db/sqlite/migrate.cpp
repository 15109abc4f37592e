#include "controller/db/sqlite/migrate.h"

#include <string>

#include "controller/base/crypto.h"

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
  const Applied known = database.tableExists("schema_migrations") ? applied(database) : Applied();
  if (!known.empty()) result.newest = known.rbegin()->first;
  for (const EmbeddedFile& file : missing(known, files)) result.names.emplace_back(file.name);
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
  const Applied known = applied(database);
  for (const EmbeddedFile& file : missing(known, files)) {
    log_migration(known, file);
    try {
      apply(database, file, hex(sha256(file.text)), now);
    } catch (const SQLite::Exception& failure) {
      throw SQLite::Exception("migration " + std::string(file.name) + ": " + failure.what(),
                              failure.getErrorCode());
    }
  }
}

}  // namespace berth::db::sqlite
