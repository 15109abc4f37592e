#include "tests/store.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <random>
#include <stdexcept>
#include <vector>

#include "controller/base/crypto.h"
#include "controller/base/url.h"
#include "controller/db/postgres/database.h"
#include "controller/db/postgres/migrate.h"
#include "controller/db/sqlite/database.h"
#include "controller/db/sqlite/migrate.h"
#include "tests/temp_dir.h"

namespace berth::test {
namespace {

std::string server() {
  const char* address = std::getenv("BERTH_TEST_POSTGRES");
  if (address == nullptr) throw std::runtime_error("BERTH_TEST_POSTGRES isn't set");
  return address;
}

std::string address_of(const std::string& database) { return server() + " dbname=" + database; }

// What the server's address says of a keyword, such as `host`.
std::string part_of_address(const char* keyword) {
  PQconninfoOption* options = PQconninfoParse(server().c_str(), nullptr);
  if (options == nullptr) throw std::runtime_error("BERTH_TEST_POSTGRES can't be read");
  std::string value;
  for (const PQconninfoOption* one = options; one->keyword != nullptr; ++one)
    if (std::string_view(one->keyword) == keyword && one->val != nullptr) value = one->val;
  PQconninfoFree(options);
  return value;
}

void on_server(const std::string& sql) {
  db::postgres::Connection({.address = address_of("postgres"), .password_file = {}}).run(sql);
}

std::string new_name() {
  static std::atomic<int> made = 0;
  return "berth_" + std::to_string(::getpid()) + "_" + std::to_string(++made);
}

// The databases with the schema that no test uses at the moment, and the one that others are
// copied from.
struct Shelf {
  std::mutex mutex;
  std::vector<std::string> names;
  std::string migrated;  // empty until it is needed
  ~Shelf() {
    for (const std::string& name : names) drop(name);
    if (!migrated.empty()) drop(migrated);
  }
  static void drop(const std::string& name) {
    try {
      on_server("DROP DATABASE " + name + " WITH (FORCE)");
    } catch (const std::exception&) {
      // The server is a temporary one.
    }
  }
};
Shelf& shelf() {
  static Shelf databases;
  return databases;
}

// Keeps a copy of the rows that the migrations have inserted.
constexpr const char* keep_first_rows = R"(
    CREATE SCHEMA kept;
    CREATE TABLE kept.ad_rates AS TABLE ad_rates;
    CREATE TABLE kept.suffix_positions AS TABLE suffix_positions;
    CREATE TABLE kept.chat_words_version AS TABLE chat_words_version)";

// Makes a database what it was. Without triggers and foreign keys, since they refuse that.
constexpr const char* empty = R"(
    BEGIN;
    SET LOCAL session_replication_role = replica;
    DO $$
    DECLARE one record; has_rows boolean;
    BEGIN
      FOR one IN SELECT tablename AS name FROM pg_tables
                 WHERE schemaname = 'public' AND tablename <> 'schema_migrations'
      LOOP
        EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I)', one.name) INTO has_rows;
        IF has_rows THEN EXECUTE format('DELETE FROM %I', one.name); END IF;
      END LOOP;
      FOR one IN SELECT sequencename AS name FROM pg_sequences WHERE last_value IS NOT NULL
      LOOP
        EXECUTE format('ALTER SEQUENCE %I RESTART', one.name);
      END LOOP;
    END $$;
    INSERT INTO ad_rates SELECT * FROM kept.ad_rates;
    INSERT INTO suffix_positions SELECT * FROM kept.suffix_positions;
    INSERT INTO chat_words_version SELECT * FROM kept.chat_words_version;
    COMMIT)";

// Has every other run of a write collide at one of its first statements, if it has so many. Cases
// that CHECK within a write fail then, because Catch2 counts the exception that ends the run.
db::postgres::Fault sometimes(std::string_view sql) {
  constexpr unsigned statements = 15;
  thread_local std::minstd_rand random;
  thread_local unsigned left = 0;
  thread_local bool has_collided = false;
  if (sql.starts_with("BEGIN")) {
    const bool is_write = sql.find("READ ONLY") == std::string_view::npos;
    left = is_write && !has_collided ? 1 + unsigned(random()) % statements : 0;
    has_collided = false;
    return db::postgres::Fault::none;
  }
  const bool comes_now = left == 1;
  if (left > 0) --left;
  if (sql.ends_with("COMMIT") || sql == "ROLLBACK") left = 0;
  if (!comes_now || sql == "ROLLBACK") return db::postgres::Fault::none;
  has_collided = true;
  return db::postgres::Fault::collision;
}

// Returns a SQLite file with the newest schema, which a store copies instead of running all
// migrations. The file is made once for each set of migrations and folder of temporary files, and
// is shared by all processes that use this folder.
const std::filesystem::path& sqlite_schema() {
  static const std::filesystem::path shared = [] {
    std::string texts;
    for (const EmbeddedFile& file : db::sqlite::migrations::files())
      texts.append(file.name).append(file.text);
    std::filesystem::path name =
        std::filesystem::temp_directory_path() / ("berth-schema-" + std::to_string(::getuid()) +
                                                  "-" + hex(sha256(texts)).substr(0, 16) + ".db");
    if (std::filesystem::exists(name)) return name;
    const TempDir own;
    db::sqlite::Database(own / "berth.db", Clock(), {.readers = 1, .vfs = {}});
    std::filesystem::rename(own / "berth.db", name);
    return name;
  }();
  return shared;
}

std::string new_migrated() {
  std::string name = new_name();
  on_server("CREATE DATABASE " + name);
  db::postgres::Connection made({.address = address_of(name), .password_file = {}});
  db::postgres::migrate(made, Clock().now());
  made.run(keep_first_rows);
  return name;
}

std::string with_schema() {
  // One at a time: a database that is being copied can't be copied again.
  const std::lock_guard lock(shelf().mutex);
  if (!shelf().names.empty()) {
    std::string name = std::move(shelf().names.back());
    shelf().names.pop_back();
    return name;
  }
  if (shelf().migrated.empty()) shelf().migrated = new_migrated();
  std::string name = new_name();
  on_server("CREATE DATABASE " + name + " TEMPLATE " + shelf().migrated);
  return name;
}

}  // namespace

std::string socket_of_server() {
  return part_of_address("host") + "/.s.PGSQL." + part_of_address("port");
}

bool on_postgres() { return std::getenv("BERTH_TEST_POSTGRES") != nullptr; }

void allow_tampering(db::Tx& tx) {
  if (on_postgres()) {
    tx.execute("SET LOCAL session_replication_role = replica");
    return;
  }
  for (const char* trigger :
       {"ledger_postings_stay", "ledger_postings_remain", "ledger_transactions_stay"})
    tx.execute("DROP TRIGGER IF EXISTS " + std::string(trigger));
}

TestDatabase::TestDatabase(Content content)
    : content_(content), name_(content == Content::schema ? with_schema() : new_name()) {
  if (content == Content::nothing) on_server("CREATE DATABASE " + name_);
}

TestDatabase::~TestDatabase() {
  if (content_ == Content::schema) try {
      db::postgres::Connection({.address = address(), .password_file = {}}).run(empty);
      const std::lock_guard lock(shelf().mutex);
      shelf().names.push_back(name_);
      return;
    } catch (const std::exception&) {
      // It is dropped instead.
    }
  Shelf::drop(name_);
}

std::string TestDatabase::address() const { return address_of(name_); }

std::string TestDatabase::url() const {
  return url(part_of_address("host"), std::stoi(part_of_address("port")));
}

std::string TestDatabase::url(const std::string& host, int port) const {
  return "postgresql://" + part_of_address("user") + "@/" + name_ +
         "?host=" + percent_encode(host) + "&port=" + std::to_string(port);
}

void provide_sqlite_file(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) std::filesystem::copy_file(sqlite_schema(), file);
}

Store::Store(const std::filesystem::path& file, const Clock& clock) {
  if (!on_postgres()) {
    provide_sqlite_file(file);
    opened_ = std::make_unique<db::sqlite::Database>(file, clock,
                                                     db::sqlite::Options{.readers = 2, .vfs = {}});
    return;
  }
  database_.emplace(TestDatabase::Content::schema);
  opened_ = std::make_unique<db::postgres::Database>(
      db::postgres::Server{.address = database_->address(), .password_file = {}}, clock,
      db::postgres::Options{.look_interval = {},
                            .fault = std::getenv("BERTH_TEST_COLLISIONS") == nullptr
                                         ? db::postgres::FaultOf()
                                         : sometimes});
}

}  // namespace berth::test
