#include "controller/db/postgres/migrate.h"

#include <stdexcept>

#include "controller/base/crypto.h"
#include "controller/base/text.h"
#include "controller/db/database.h"

namespace berth::db::postgres {
namespace {

constexpr int oldest_version = 15;
// Takes the advisory lock of migrations, whose number is "berth" in ASCII.
constexpr const char* lock = "SELECT pg_advisory_xact_lock(x'6265727468'::bigint)";
// The same lock, until the connection ends.
constexpr const char* lock_for_long = "SELECT pg_advisory_lock(x'6265727468'::bigint)";

void require_usable(Connection& connection) {
  const int version = parse_number<int>(connection.text("SHOW server_version_num")).value_or(0);
  if (version / 10'000 < oldest_version)
    throw std::runtime_error("berth needs PostgreSQL " + std::to_string(oldest_version) +
                             " or newer; the server is version " +
                             connection.text("SHOW server_version"));
  if (connection.text("SELECT pg_is_in_recovery()") == "t")
    throw std::runtime_error(
        "the database's server is a standby; the address must name the primary, or all servers");
  if (const std::string encoding = connection.text("SHOW server_encoding"); encoding != "UTF8")
    throw std::runtime_error("the database's encoding is " + encoding +
                             "; create it with ENCODING 'UTF8'");
  if (connection.text("SHOW synchronous_commit") == "off")
    throw std::runtime_error(
        "synchronous_commit is off, so what was answered could be lost; set it to on");
}

void require_empty(Connection& connection) {
  const std::string table = connection.text(
      "SELECT min(relname) FROM pg_class "
      "WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND relnamespace = "
      "current_schema()::regnamespace");
  if (!table.empty())
    throw std::runtime_error("the database isn't berth's: it has the table " + table +
                             " and no list of berth's migrations; berth needs one of its own");
}

Applied applied(Tx& tx) {
  Applied hashes;
  Query rows = tx.query(R"(SELECT name, sha256 FROM schema_migrations)");
  while (rows.next()) hashes[rows.text("name")] = rows.text("sha256");
  return hashes;
}

void run_missing(Connection& connection, Instant now, const std::vector<EmbeddedFile>& files) {
  Tx tx(connection, now);
  const Applied known = applied(tx);
  for (const EmbeddedFile& file : missing(known, files)) {
    const std::string name(file.name);
    log_migration(known, file);
    try {
      connection.run(std::string(file.text));
    } catch (const std::exception& failure) {
      throw std::runtime_error("migration " + name + ": " + failure.what());
    }
    tx.execute(R"(INSERT INTO schema_migrations (name, sha256, applied_at) VALUES ($1, $2, $3))",
               name, hex(sha256(file.text)), now);
  }
}

void create_list(Connection& connection) {
  connection.run(
      R"(
      CREATE TABLE schema_migrations (
        name       text COLLATE "C" PRIMARY KEY,
        sha256     text COLLATE "C" NOT NULL,
        applied_at bigint NOT NULL
      ))");
}

}  // namespace

bool has_schema(Connection& connection) {
  return connection.text("SELECT to_regclass('schema_migrations') IS NOT NULL") == "t";
}

void lock_schema(Connection& connection) { connection.run(lock_for_long); }

void create_schema(Connection& connection, Instant now) {
  require_usable(connection);
  require_empty(connection);
  create_list(connection);
  run_missing(connection, now, migrations::files());
}

void migrate(Connection& connection, Instant now, const std::vector<EmbeddedFile>& files) {
  require_usable(connection);
  connection.run("BEGIN");
  try {
    connection.run(lock);
    if (!has_schema(connection)) {
      require_empty(connection);
      create_list(connection);
    }
    run_missing(connection, now, files);
    connection.run("COMMIT");
  } catch (...) {
    if (!connection.is_lost()) connection.run("ROLLBACK");
    throw;
  }
}

size_t check_migrations(Connection& connection, Instant now) {
  if (!has_schema(connection)) throw std::runtime_error("the database isn't berth's, or is empty");
  Tx tx(connection, now);
  const Applied known = applied(tx);
  if (const auto left = missing(known, migrations::files()); !left.empty())
    throw LacksMigrations("the database is of an older berthd: it lacks " +
                          std::string(left.front().name));
  return known.size();
}

}  // namespace berth::db::postgres
