#include "berthd/move/tables.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "controller/base/text.h"
#include "controller/db/postgres/failure.h"

namespace berth::move {
namespace {

using db::postgres::Connection;
using db::postgres::Result;

constexpr size_t bytes_at_once = 256 * 1024;
// Progress is reported after this many rows.
constexpr std::int64_t rows_between = 1'000;

constexpr const char* columns_sql =
    "SELECT c.relname, a.attname, a.attidentity "
    "FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid "
    "WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace "
    "AND a.attnum > 0 AND NOT a.attisdropped AND c.relname <> 'schema_migrations' "
    "ORDER BY c.relname, a.attnum";

constexpr const char* foreign_keys_sql =
    "SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname), "
    "format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, "
    "pg_get_constraintdef(oid)) FROM pg_constraint "
    "WHERE contype = 'f' AND connamespace = current_schema()::regnamespace";

// Each row and value of a result, by their numbers.
std::string value(const Result& result, int row, int column) {
  return PQgetvalue(result.get(), row, column);
}

std::string name_in_sql(const std::string& name) { return "\"" + name + "\""; }

// Whether SQLite remembers the last value of the table's identity. Of the others, a trigger takes
// the largest value plus one.
bool is_autoincrement(SQLite::Database& database, const Table& table) {
  SQLite::Statement rows(
      database, "SELECT 1 FROM sqlite_schema WHERE name = $1 AND sql LIKE '%AUTOINCREMENT%'");
  rows.bind(1, table.name);
  return rows.executeStep();
}

std::string columns_in_sql(const Table& table) {
  std::string list;
  for (const std::string& column : table.columns)
    list += (list.empty() ? "" : ", ") + name_in_sql(column);
  return list;
}

// Returns the condition that follows the table's name. It leaves out rows that belong to one copy
// of the database. Session keys are stored in the database on PostgreSQL alone, so the move copies
// them separately.
std::string moved_rows(const Table& table) {
  if (table.name != "meta") return "";
  return std::string(" WHERE \"key\" NOT IN ('session_keys', 'write_probe', '") +
         meta_key::moved_from + "', '" + meta_key::moved_to + "')";
}

std::string select(const Table& table) {
  return "SELECT " + columns_in_sql(table) + " FROM " + name_in_sql(table.name) + moved_rows(table);
}

std::string count(const Table& table) {
  return "SELECT count(*) FROM " + name_in_sql(table.name) + moved_rows(table);
}

[[noreturn]] void fail(const Table& table, const std::string& what) {
  throw std::runtime_error("the table " + table.name + " can't be moved: " + what);
}

// Reads a table of SQLite as lines.
class Reader {
 public:
  Reader(SQLite::Database& database, const Table& table) : rows_(database, select(table)) {}
  // Sets `line`, without a newline. Returns false after the last row.
  bool next(std::string& line) {
    if (is_over_ || !rows_.executeStep()) {
      is_over_ = true;
      return false;
    }
    line.clear();
    for (int i = 0; i < rows_.getColumnCount(); ++i) {
      const SQLite::Column column = rows_.getColumn(i);
      if (column.isNull()) {
        append_value(line, i == 0, std::nullopt);
        continue;
      }
      const char* text = column.getText();
      append_value(line, i == 0, std::string_view(text, size_t(column.getBytes())));
    }
    return true;
  }

 private:
  SQLite::Statement rows_;
  bool is_over_ = false;
};

class Progress {
 public:
  explicit Progress(const Moved& moved) : moved_(moved) {}
  ~Progress() { moved_(since_); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void row() {
    if (++since_ < rows_between) return;
    moved_(since_);
    since_ = 0;
  }

 private:
  const Moved& moved_;
  std::int64_t since_ = 0;
};

std::set<std::string> columns_of(SQLite::Database& database, const std::string& table) {
  std::set<std::string> columns;
  SQLite::Statement rows(database, "SELECT name FROM pragma_table_info($1)");
  rows.bind(1, table);
  while (rows.executeStep()) columns.insert(rows.getColumn(0).getString());
  return columns;
}

}  // namespace

std::vector<Table> tables_of(Connection& connection) {
  const Result rows = connection.run(columns_sql);
  std::vector<Table> tables;
  for (int row = 0; row < PQntuples(rows.get()); ++row) {
    if (tables.empty() || tables.back().name != value(rows, row, 0))
      tables.push_back({.name = value(rows, row, 0), .columns = {}, .identity = {}});
    tables.back().columns.push_back(value(rows, row, 1));
    if (!value(rows, row, 2).empty()) tables.back().identity = value(rows, row, 1);
  }
  return tables;
}

void require_same_tables(SQLite::Database& database, const std::vector<Table>& tables) {
  std::set<std::string> left;
  SQLite::Statement names(database,
                          "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE "
                          "'sqlite_%' AND name <> 'schema_migrations'");
  while (names.executeStep()) left.insert(names.getColumn(0).getString());
  for (const Table& table : tables) {
    const std::set<std::string> columns(table.columns.begin(), table.columns.end());
    if (left.erase(table.name) == 0 || columns_of(database, table.name) != columns)
      fail(table, "both engines have it in different forms");
  }
  for (const std::string& name : left)
    if (const Table table = {.name = name, .columns = {}, .identity = {}};
        rows_of(database, table) > 0)
      fail(table, "PostgreSQL has no such table");
}

std::int64_t rows_of(SQLite::Database& database, const Table& table) {
  return database.execAndGet(count(table)).getInt64();
}

std::int64_t rows_of(Connection& connection, const Table& table) {
  return parse_number<std::int64_t>(connection.text(count(table))).value_or(0);
}

Digest copy_rows(SQLite::Database& from, Connection& to, const Table& table, const Moved& moved) {
  Reader reader(from, table);
  Digest digest;
  Progress progress(moved);
  std::string line;
  const auto more = [&](std::string& lines) {
    while (lines.size() < bytes_at_once && reader.next(line)) {
      digest.add(line);
      progress.row();
      lines.append(line).append(1, '\n');
    }
    return !lines.empty();
  };
  try {
    // Frozen rows spare the server a later vacuum of the table.
    to.copy_in("COPY " + name_in_sql(table.name) + " (" + columns_in_sql(table) +
                   ") FROM STDIN WITH (FREEZE)",
               more);
  } catch (const db::ConstraintViolated& failure) {
    fail(table, failure.what());
  } catch (const db::postgres::Failure& failure) {
    fail(table, failure.what());
  }
  return digest;
}

Digest copy_rows(Connection& from, SQLite::Database& to, const Table& table, const Moved& moved) {
  std::string places;
  for (size_t i = 1; i <= table.columns.size(); ++i)
    places += (i == 1 ? "$" : ", $") + std::to_string(i);
  SQLite::Statement insert(to, "INSERT INTO " + name_in_sql(table.name) + " (" +
                                   columns_in_sql(table) + ") VALUES (" + places + ")");
  Digest digest;
  Progress progress(moved);
  from.copy_out("COPY (" + select(table) + ") TO STDOUT", [&](std::string_view line) {
    const auto values = parse_line(line);
    if (values.size() != table.columns.size()) fail(table, "a row has another number of columns");
    // SQLite turns a text into an integer where the column is one.
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i])
        insert.bindNoCopy(int(i + 1), *values[i]);
      else
        insert.bind(int(i + 1));
    }
    insert.exec();
    insert.reset();
    digest.add(line);
    progress.row();
  });
  return digest;
}

Digest digest_of(SQLite::Database& database, const Table& table, const Moved& moved) {
  Reader reader(database, table);
  Digest digest;
  Progress progress(moved);
  for (std::string line; reader.next(line); progress.row()) digest.add(line);
  return digest;
}

Digest digest_of(Connection& connection, const Table& table, const Moved& moved) {
  Digest digest;
  Progress progress(moved);
  connection.copy_out("COPY (" + select(table) + ") TO STDOUT", [&](std::string_view line) {
    digest.add(line);
    progress.row();
  });
  return digest;
}

std::int64_t last_identity(SQLite::Database& database, const Table& table) {
  if (!is_autoincrement(database, table)) {
    return database
        .execAndGet("SELECT coalesce(max(" + name_in_sql(table.identity) + "), 0) FROM " +
                    name_in_sql(table.name))
        .getInt64();
  }
  SQLite::Statement rows(database, "SELECT seq FROM sqlite_sequence WHERE name = $1");
  rows.bind(1, table.name);
  return rows.executeStep() ? rows.getColumn(0).getInt64() : 0;
}

std::int64_t last_identity(Connection& connection, const Table& table) {
  const std::string sequence = connection.text("SELECT pg_get_serial_sequence('" + table.name +
                                               "', '" + table.identity + "')");
  return parse_number<std::int64_t>(
             connection.text("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM " +
                             sequence))
      .value_or(0);
}

void set_last_identity(SQLite::Database& database, const Table& table, std::int64_t value) {
  if (!is_autoincrement(database, table)) return;
  SQLite::Statement remove(database, "DELETE FROM sqlite_sequence WHERE name = $1");
  remove.bind(1, table.name);
  remove.exec();
  SQLite::Statement insert(database, "INSERT INTO sqlite_sequence (name, seq) VALUES ($1, $2)");
  insert.bind(1, table.name);
  insert.bind(2, value);
  insert.exec();
}

void set_last_identity(Connection& connection, const Table& table, std::int64_t value) {
  if (value == 0) return;  // a new sequence begins at 1
  connection.run("SELECT setval(pg_get_serial_sequence('" + table.name + "', '" + table.identity +
                 "'), " + std::to_string(value) + ")");
}

BarePostgres::BarePostgres(Connection& connection, const std::vector<Table>& tables)
    : connection_(connection), tables_(tables) {
  const Result keys = connection.run(foreign_keys_sql);
  for (int row = 0; row < PQntuples(keys.get()); ++row) {
    connection.run(value(keys, row, 0));
    foreign_keys_.push_back(value(keys, row, 1));
  }
  for (const Table& table : tables)
    connection.run("TRUNCATE " + name_in_sql(table.name) + "; ALTER TABLE " +
                   name_in_sql(table.name) + " DISABLE TRIGGER USER");
}

void BarePostgres::restore() {
  for (const Table& table : tables_)
    connection_.run("ALTER TABLE " + name_in_sql(table.name) + " ENABLE TRIGGER USER");
  for (const std::string& statement : foreign_keys_) connection_.run(statement);
}

BareSqlite::BareSqlite(SQLite::Database& database, const std::vector<Table>& tables)
    : database_(database) {
  database.exec("PRAGMA foreign_keys = OFF");
  std::vector<std::string> names;
  {
    // Triggers are created again in their original order.
    SQLite::Statement rows(
        database, "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid");
    while (rows.executeStep()) {
      names.push_back(rows.getColumn("name").getString());
      triggers_.push_back(rows.getColumn("sql").getString());
    }
  }
  for (const std::string& name : names) database.exec("DROP TRIGGER " + name_in_sql(name));
  for (const Table& table : tables) database.exec("DELETE FROM " + name_in_sql(table.name));
}

void BareSqlite::restore() {
  for (const std::string& statement : triggers_) database_.exec(statement);
}

}  // namespace berth::move
