#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <functional>
#include <string>
#include <vector>

#include "berthd/move/rows.h"
#include "controller/db/postgres/connection.h"

// The tables of both engines, and the streams of their rows.
namespace berth::move {

struct Table {
  std::string name;
  std::vector<std::string> columns;  // in PostgreSQL's order
  std::string identity;  // the column whose values the engine generates; empty for most tables
};

// The keys of `meta` that belong to one copy of the database and aren't moved with it.
namespace meta_key {
inline constexpr const char* moved_from = "moved_from";  // the id of the move that made this copy
inline constexpr const char* moved_to = "moved_to";      // the same id, and where the rows went
}  // namespace meta_key

// All tables of berth but the list of migrations.
std::vector<Table> tables_of(db::postgres::Connection& connection);

// Throws std::runtime_error if SQLite's tables aren't the same: other columns, or a further table
// that has rows.
void require_same_tables(SQLite::Database& database, const std::vector<Table>& tables);

// Returns the number of rows, which is counted in an index.
std::int64_t rows_of(SQLite::Database& database, const Table& table);
std::int64_t rows_of(db::postgres::Connection& connection, const Table& table);

// Called with the number of rows that were moved since the last call.
using Moved = std::function<void(std::int64_t rows)>;

// Copies a table's rows and returns what they were. The table at the other side must be empty.
// Needs memory for some rows, whatever the size of the table.
Digest copy_rows(SQLite::Database& from, db::postgres::Connection& to, const Table& table,
                 const Moved& moved);
Digest copy_rows(db::postgres::Connection& from, SQLite::Database& to, const Table& table,
                 const Moved& moved);

// Reads a table.
Digest digest_of(SQLite::Database& database, const Table& table, const Moved& moved);
Digest digest_of(db::postgres::Connection& connection, const Table& table, const Moved& moved);

// Returns the last value that the engine has generated for the identity; 0 if there is none.
std::int64_t last_identity(SQLite::Database& database, const Table& table);
std::int64_t last_identity(db::postgres::Connection& connection, const Table& table);
void set_last_identity(SQLite::Database& database, const Table& table, std::int64_t value);
void set_last_identity(db::postgres::Connection& connection, const Table& table,
                       std::int64_t value);

// Both take a new database's triggers, foreign keys and first rows away, so that rows can come in
// any order and change nothing else. restore() puts triggers and foreign keys back. PostgreSQL then
// checks all rows; SQLite leaves that to the caller.
// A transaction has to be open, in which the tables were made.
class BarePostgres {
 public:
  BarePostgres(db::postgres::Connection& connection, const std::vector<Table>& tables);
  void restore();

 private:
  db::postgres::Connection& connection_;
  const std::vector<Table>& tables_;
  std::vector<std::string> foreign_keys_;  // the statements that add them
};
class BareSqlite {
 public:
  BareSqlite(SQLite::Database& database, const std::vector<Table>& tables);
  void restore();

 private:
  SQLite::Database& database_;
  std::vector<std::string> triggers_;  // the statements that create them
};

}  // namespace berth::move
