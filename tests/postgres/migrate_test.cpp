#include "controller/db/postgres/migrate.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/store.h"

namespace berth::test {
namespace {

constexpr EmbeddedFile first{.name = "0001_first.sql",
                             .text = "CREATE TABLE a (n bigint); INSERT INTO a VALUES (1);"};
constexpr EmbeddedFile second{.name = "0002_second.sql", .text = "UPDATE a SET n = n + 1;"};
constexpr EmbeddedFile wrong{.name = "0002_wrong.sql",
                             .text = "UPDATE a SET n = 5; UPDATE b SET n = 1;"};

struct Fixture {
  TestDatabase database{TestDatabase::Content::nothing};
  db::postgres::Connection connection{{.address = database.address(), .password_file = {}}};
  void migrate(const std::vector<EmbeddedFile>& files) {
    db::postgres::migrate(connection, from_millis(0), files);
  }
  std::string number() { return connection.text("SELECT n FROM a"); }
};

TEST_CASE("each migration runs once, in order") {
  Fixture f;
  f.migrate({first});
  f.migrate({first, second});
  f.migrate({first, second});
  CHECK(f.number() == "2");
}

TEST_CASE("a migration that fails leaves nothing behind") {
  Fixture f;
  f.migrate({first});
  CHECK_THROWS_WITH(f.migrate({first, wrong}), Catch::Contains("migration 0002_wrong.sql: "));
  CHECK(f.number() == "1");
  f.migrate({first, second});
  CHECK(f.number() == "2");
}

TEST_CASE("a database that isn't berth's, or is newer, isn't touched") {
  Fixture f;
  SECTION("tables of others") {
    f.connection.run("CREATE TABLE others (n bigint)");
    CHECK_THROWS_WITH(f.migrate({first}),
                      Catch::Contains("isn't berth's: it has the table others"));
    CHECK(f.connection.text("SELECT count(*) FROM pg_class WHERE relname = 'schema_migrations'") ==
          "0");
  }
  SECTION("a newer berthd") {
    f.migrate({first, second});
    CHECK_THROWS_WITH(
        f.migrate({first}),
        Catch::Contains("was written by a newer berthd: it has migration 0002_second.sql"));
  }
  SECTION("from before version 1.0.0 of the schema") {
    f.migrate({{.name = "0059_schema.sql", .text = first.text}});
    CHECK_THROWS_WITH(f.migrate({first}),
                      Catch::EndsWith(std::string(" ") + db::last_commit_before_schema));
    CHECK_THROWS_AS(db::postgres::migrate(f.connection, from_millis(0)), db::SchemaTooOld);
    CHECK_THROWS_AS(db::postgres::check_migrations(f.connection, from_millis(0)), db::SchemaTooOld);
    CHECK(f.number() == "1");
  }
  SECTION("another text") {
    f.migrate({first});
    CHECK_THROWS_WITH(f.migrate({{.name = first.name, .text = "SELECT 1;"}}),
                      Catch::Contains("has changed since it ran"));
  }
  SECTION("another encoding") {
    f.connection.run("CREATE DATABASE " + f.database.name() +
                     "_ascii ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0");
    {
      db::postgres::Connection ascii(
          {.address = f.database.address() + "_ascii", .password_file = {}});
      CHECK_THROWS_WITH(db::postgres::migrate(ascii, from_millis(0), {first}),
                        Catch::Contains("encoding is SQL_ASCII"));
    }
    f.connection.run("DROP DATABASE " + f.database.name() + "_ascii");
  }
  SECTION("answers that could be lost") {
    f.connection.run("SET synchronous_commit = off");
    CHECK_THROWS_WITH(f.migrate({first}), Catch::Contains("synchronous_commit is off"));
  }
}

TEST_CASE("several that start at once migrate once") {
  Fixture f;
  std::vector<std::jthread> all;
  std::atomic<int> failed = 0;
  for (int i = 0; i < 4; ++i)
    all.emplace_back([&] {
      try {
        db::postgres::Connection connection({.address = f.database.address(), .password_file = {}});
        db::postgres::migrate(connection, from_millis(0), {first, second});
      } catch (const std::exception&) {
        ++failed;
      }
    });
  all.clear();
  CHECK(failed == 0);
  CHECK(f.number() == "2");
}

TEST_CASE("the real schema can be made, and is complete") {
  Fixture f;
  db::postgres::migrate(f.connection, from_millis(0));
  CHECK(f.connection.text("SELECT count(*) FROM ad_rates") == "5");
}

TEST_CASE("accounts are numbered behind those that a migration finds") {
  Fixture f;
  const auto& files = db::postgres::migrations::files();
  const auto numbers = std::ranges::find(files, "0003_account_numbers.sql", &EmbeddedFile::name);
  REQUIRE(numbers != files.end());
  f.migrate({files.begin(), numbers});
  f.connection.run(
      "INSERT INTO ledger_accounts (id, kind, owner, number) VALUES ('user:a', 'user', 'a', 41)");
  f.migrate(files);
  f.connection.run("INSERT INTO ledger_accounts (id, kind, owner) VALUES ('user:b', 'user', 'b')");
  CHECK(f.connection.text("SELECT number FROM ledger_accounts WHERE id = 'user:b'") == "42");
}

}  // namespace
}  // namespace berth::test
