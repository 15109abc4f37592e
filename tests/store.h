#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "controller/base/clock.h"
#include "controller/db/database.h"

// The stores of tests are SQLite files, or databases of a PostgreSQL if the variable
// BERTH_TEST_POSTGRES has the address of a server (as libpq takes it, without a database) on which
// the tests may create databases. tests/postgres/run starts one. If BERTH_TEST_COLLISIONS is set,
// most writes of a Store collide once, at a statement chosen by chance, and run again: whatever is
// given to Database::write has to stand that. Cases that need a SQLite file are tagged [sqlite].
namespace berth::test {

bool on_postgres();

// The path of the server's Unix socket.
std::string socket_of_server();

// Lets the rest of the transaction change what triggers of the ledger protect.
void allow_tampering(db::Tx& tx);

// A database of PostgreSQL for one test. Those with the schema are emptied and used again by later
// tests of the process, which takes a tenth of the time that a new one does.
class TestDatabase {
 public:
  enum class Content { nothing, schema };
  explicit TestDatabase(Content content);
  ~TestDatabase();
  TestDatabase(const TestDatabase&) = delete;
  TestDatabase& operator=(const TestDatabase&) = delete;

  const std::string& name() const { return name_; }
  // For db::postgres::Server.
  std::string address() const;
  // The same as a URL, for the key `database`.
  std::string url() const;
  // The URL for a server at another place, which passes everything on to the real one.
  std::string url(const std::string& host, int port) const;

 private:
  const Content content_;
  std::string name_;
};

// Makes a SQLite file with the newest schema, unless there is one. It is copied, which takes a
// fraction of the time that all migrations do.
void provide_sqlite_file(const std::filesystem::path& file);

// An empty store with the newest schema.
class Store {
 public:
  // `file` is where SQLite's is created.
  Store(const std::filesystem::path& file, const Clock& clock);
  db::Database& operator*() const { return *opened_; }

 private:
  std::optional<TestDatabase> database_;  // outlives the connections
  std::unique_ptr<db::Database> opened_;
};

}  // namespace berth::test
