#include "berthd/move/move.h"

#include <fcntl.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <sstream>

#include "berthd/backup/files.h"
#include "berthd/backup/verify.h"
#include "berthd/data_dir.h"
#include "berthd/exit_codes.h"
#include "berthd/move/marks.h"
#include "berthd/move/tables.h"
#include "berthd/open_database.h"
#include "berthd/shared_keys.h"
#include "controller/base/crypto.h"
#include "controller/db/postgres/connection.h"
#include "controller/db/postgres/migrate.h"
#include "controller/db/sqlite/connection.h"
#include "controller/db/sqlite/migrate.h"
#include "controller/db/sqlite/private_file.h"

namespace berth::move {
namespace {

namespace fs = std::filesystem;
using db::postgres::Connection;
using Digests = std::map<std::string, Digest>;

constexpr size_t id_bytes = 16;
constexpr const char* nothing_moved = "; nothing was moved";

// Overrides the limits that an administrator may have set for the role or the database.
constexpr const char* no_limits =
    "SET statement_timeout = 0; SET lock_timeout = 0; SET idle_in_transaction_session_timeout = 0";

// Rows are read twice: to copy them and to compare them.
class RowCounter {
 public:
  RowCounter(std::int64_t rows, const backup::Progress& progress)
      : all_(std::uint64_t(rows) * 2), progress_(progress) {}
  Moved moved() {
    return [this](std::int64_t rows) {
      done_ += std::uint64_t(rows);
      progress_(std::min(done_, all_), all_);
    };
  }

 private:
  const std::uint64_t all_;
  std::uint64_t done_ = 0;
  const backup::Progress& progress_;
};

template <typename Source>
std::int64_t all_rows(Source& source, const std::vector<Table>& tables) {
  std::int64_t rows = 0;
  for (const Table& table : tables) rows += rows_of(source, table);
  return rows;
}

template <typename From, typename To>
Digests copy_all(From& from, To& to, const std::vector<Table>& tables, const Moved& moved) {
  Digests digests;
  for (const Table& table : tables) {
    digests[table.name] = copy_rows(from, to, table, moved);
    if (!table.identity.empty()) set_last_identity(to, table, last_identity(from, table));
  }
  return digests;
}

template <typename To>
void compare_all(To& to, const std::vector<Table>& tables, const Digests& wanted,
                 const Moved& moved, std::ostream& out) {
  std::int64_t rows = 0;
  for (const Table& table : tables) {
    const Digest& sent = wanted.at(table.name);
    const Digest found = digest_of(to, table, moved);
    if (found != sent)
      throw std::runtime_error("the table " + table.name + " has " + std::to_string(found.rows()) +
                               " rows that aren't the " + std::to_string(sent.rows()) +
                               " rows that were sent" + nothing_moved);
    rows += found.rows();
  }
  out << "ok    rows: " << rows << " in " << tables.size() << " tables, equal on both sides\n";
}

void require_sound(backup::Verdict verdict) {
  if (verdict != backup::Verdict::sound)
    throw std::runtime_error(std::string("the moved database isn't sound") + nothing_moved);
}

void require_newest_schema(SQLite::Database& file, const fs::path& name) {
  try {
    if (db::sqlite::pending_migrations(file).names.empty()) return;
  } catch (const db::UnusableSchema& failure) {
    throw DataDirError(name.string() + ": " + failure.what());
  }
  throw DataDirError(name.string() + ": is of an older berthd; start this one on it first");
}

Connection connected(const db::postgres::Server& server) {
  try {
    return Connection(server);
  } catch (const std::runtime_error& failure) {
    throw StartError(exit_database, std::string("database: ") + failure.what());
  }
}

// The configuration of a berthd on the data directory's file, for messages.
Config of_sqlite(Config config) {
  config.database.reset();
  return config;
}

// Whether an earlier move from this file to the same place is complete.
enum class Earlier { none, complete };
Earlier earlier_move(Connection& target, db::Tx& rows, const std::optional<Mark>& mark,
                     const std::string& place) {
  const bool has_schema = db::postgres::has_schema(target);
  if (mark && has_schema && moved_from(rows) == mark->id) return Earlier::complete;
  if (mark && mark->place != place)
    throw StartError(exit_moved, "the database was moved to " + mark->place + " already");
  if (has_schema)
    throw StartError(exit_database, place + " isn't empty: it has a database of berth's");
  return Earlier::none;
}

void say_complete(std::ostream& out, const std::string& place) {
  out << "the database was moved to " << place << " already\n";
}

}  // namespace

void to_postgres(const Config& config, std::ostream& out, const backup::Progress& progress) {
  if (!fs::exists(config.data_dir / database_name))
    throw DataDirError(config.data_dir.string() + ": there is no " + database_name);
  const DataDir data(config.data_dir);
  const Instant now = Clock().now();
  const std::string place = place_of(*config.database);
  db::sqlite::Connection source(data.database_file(), SQLite::OPEN_READWRITE, "");
  SQLite::Database& file = source.raw();
  file.exec("PRAGMA synchronous = FULL");
  require_newest_schema(file, data.database_file());
  // Keeps every other process from writing until the mark is in the file.
  file.exec("BEGIN IMMEDIATE");
  db::Tx from(source, now);
  require_own_keys(from, of_sqlite(config), data, data.keys());

  Connection target = connected(*config.database);
  db::Tx to(target, now);
  target.run(no_limits);
  db::postgres::lock_schema(target);
  target.run("BEGIN");
  if (earlier_move(target, to, find_mark(from), place) == Earlier::complete)
    return say_complete(out, place);
  try {
    db::postgres::create_schema(target, now);
  } catch (const std::runtime_error& failure) {
    throw StartError(exit_database, std::string("database: ") + failure.what());
  }
  const std::vector<Table> tables = tables_of(target);
  require_same_tables(file, tables);
  RowCounter counter(all_rows(file, tables), progress);
  {
    BarePostgres bare(target, tables);
    const Digests digests = copy_all(file, target, tables, counter.moved());
    bare.restore();
    compare_all(target, tables, digests, counter.moved(), out);
  }
  target.run("ANALYZE");
  require_sound(backup::verify_open(target, out, [](std::uint64_t, std::uint64_t) {}));

  // If the process is killed between the two commits, the file is marked as moved and the server is
  // empty. berthd serves neither, and the next move starts from the beginning.
  const Mark mark = {.id = hex(random_bytes(id_bytes)), .place = place};
  put_moved_from(to, mark.id);
  put_mark(from, mark);
  file.exec("COMMIT");
  try {
    target.run("COMMIT");
  } catch (const std::runtime_error& failure) {
    throw std::runtime_error(std::string("it isn't known whether the server has stored the rows; "
                                         "run the same command again: ") +
                             failure.what());
  }
  out << "ok    moved to " << place << "\n";
}

namespace {

// Throws if another berthd process is connected. A process that connects later waits for the locks,
// and then finds the mark.
void require_alone(Connection& connection) {
  const std::string others = connection.text(
      "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
      "AND pid <> pg_backend_pid() AND application_name = current_setting('application_name')");
  if (others != "0")
    throw StartError(exit_database, "a berthd is connected to the database (" + others +
                                        " connections); end it first");
}

std::string lock_all(const std::vector<Table>& tables) {
  std::string names;
  for (const Table& table : tables) names += (names.empty() ? "" : ", ") + table.name;
  return "LOCK TABLE " + names + " IN SHARE MODE";
}

void require_newest_schema(Connection& source, Instant now) {
  try {
    db::postgres::check_migrations(source, now);
  } catch (const std::runtime_error& failure) {
    throw StartError(exit_database, std::string("database: ") + failure.what());
  }
}

// The id of the move that made the file; nothing if there is none, or it isn't complete.
std::optional<std::string> id_of(const fs::path& file) {
  if (!fs::exists(file)) return std::nullopt;
  try {
    db::sqlite::Connection connection(file, SQLite::OPEN_READONLY, "");
    db::Tx tx(connection, Clock().now());
    return moved_from(tx);
  } catch (const SQLite::Exception&) {
    return std::nullopt;
  }
}

// The database that is being made, and what is in it.
class Partial {
 public:
  explicit Partial(const DataDir& data) : data_(data) {}
  fs::path directory() const { return data_.path() / partial_name; }
  fs::path file() const { return directory() / database_name; }

  void begin() const {
    fs::remove_all(directory());
    fs::create_directory(directory());
    fs::permissions(directory(), fs::perms::owner_all);
    backup::sync_directory(data_.path());
  }
  void finish() const {
    backup::rename_lasting(file(), data_.database_file());
    fs::remove_all(directory());
  }

 private:
  const DataDir& data_;
};

// Makes a SQLite file with the rows of the snapshot; `last` may add to them. The file isn't synced,
// because a crash before it is complete discards it.
void fill(const fs::path& to, Connection& source, const std::vector<Table>& tables,
          const Moved& moved, std::ostream& out, const std::function<void(db::Tx&)>& last) {
  db::sqlite::make_private(to);
  db::sqlite::Connection target(to, SQLite::OPEN_READWRITE, "");
  SQLite::Database& file = target.raw();
  file.exec("PRAGMA synchronous = OFF");
  file.exec("PRAGMA journal_mode = OFF");
  db::sqlite::migrate(file, Clock().now());
  require_same_tables(file, tables);
  BareSqlite bare(file, tables);
  file.exec("BEGIN");
  const Digests digests = copy_all(source, file, tables, moved);
  bare.restore();
  db::Tx tx(target, Clock().now());
  last(tx);
  file.exec("COMMIT");
  compare_all(file, tables, digests, moved, out);
}

void make_lasting(const Partial& partial) {
  const backup::OpenFile written(partial.file(), O_RDWR);
  backup::sync(written.get());
  backup::sync_directory(partial.directory());
}

}  // namespace

void to_sqlite(const Config& config, std::ostream& out, const backup::Progress& progress) {
  if (!fs::exists(config.data_dir / keys_name))
    throw DataDirError(config.data_dir.string() + ": there is no " + keys_name +
                       "; the database's rows can't be read without its own");
  const DataDir data(config.data_dir);
  const Partial partial(data);
  Keys keys = data.keys();
  Connection source = connected(*config.database);
  source.run(no_limits);
  db::postgres::lock_schema(source);
  const std::vector<Table> tables = tables_of(source);
  if (tables.empty() || !db::postgres::has_schema(source))
    throw StartError(exit_database, "the database isn't berth's, or is empty");
  // The locks come before the snapshot, so that nothing is written between them.
  source.run("BEGIN ISOLATION LEVEL REPEATABLE READ; " + lock_all(tables));
  db::Tx from(source, Clock().now());
  require_alone(source);
  if (const auto mark = find_mark(from)) {
    const bool is_in_place = id_of(data.database_file()) == mark->id;
    if (!is_in_place && id_of(partial.file()) != mark->id) require_not_moved(from);
    if (!is_in_place) partial.finish();
    return say_complete(out, data.path().string());
  }
  if (fs::exists(data.database_file()))
    throw DataDirError(data.path().string() + ": there is already a " + database_name +
                       "; move it away first, with its -wal and -shm");
  require_newest_schema(source, from.now());
  require_own_keys(from, config, data, keys);

  RowCounter counter(all_rows(source, tables), progress);
  const Mark mark = {.id = hex(random_bytes(id_bytes)),
                     .place = "the data directory " + fs::absolute(data.path()).string()};
  partial.begin();
  fill(partial.file(), source, tables, counter.moved(), out,
       [&](db::Tx& tx) { put_moved_from(tx, mark.id); });
  require_sound(backup::verify_database(partial.file(), out, [](std::uint64_t, std::uint64_t) {}));
  make_lasting(partial);
  // On SQLite the session keys are those of keys.json.
  if (const auto session = stored_session_keys(from, keys.data)) {
    keys.session.replace(*session);
    data.write(keys_name, text_of(keys));
  }
  // If the process is killed after the server's COMMIT, the server's database is marked as moved
  // and the new file is complete. The next move then only puts the file in its place.
  put_mark(from, mark);
  try {
    source.run("COMMIT");
  } catch (const std::runtime_error& failure) {
    throw std::runtime_error(std::string("it isn't known whether the server has stored that the "
                                         "database was moved; run the same command again: ") +
                             failure.what());
  }
  partial.finish();
  out << "ok    moved to " << data.path().string() << "\n";
}

void copy_to_file(const db::postgres::Server& server, const fs::path& file,
                  const db::sqlite::GoOn& go_on) {
  Connection source(server);
  source.run(no_limits);
  source.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  const std::vector<Table> tables = tables_of(source);
  db::Tx from(source, Clock().now());
  require_not_moved(from);
  std::ostringstream unread;
  fill(
      file, source, tables,
      [&](std::int64_t) {
        if (!go_on()) throw db::sqlite::Stopped();
      },
      unread, [](db::Tx&) {});
}

}  // namespace berth::move
