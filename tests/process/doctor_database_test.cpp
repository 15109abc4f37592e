// berthd doctor --database. tests/postgres/run starts the server.
#include <catch2/catch.hpp>

#include "controller/db/postgres/connection.h"
#include "tests/process/berthd.h"

using namespace berth::process;
using berth::test::TestDatabase;
using Catch::Contains;
using Content = TestDatabase::Content;

namespace {

void run_sql(const TestDatabase& database, const std::string& sql) {
  berth::db::postgres::Connection({.address = database.address()}).run(sql);
}

Ended doctor(const std::string& url) { return run_to_end({"doctor", "--database", url}); }

void check(const Ended& ended, int code, const std::string& finding, const std::string& advice) {
  INFO(ended.output);
  CHECK(ended.code == code);
  CHECK_THAT(ended.output, Contains(finding));
  CHECK_THAT(ended.output, Contains(advice));
}

}  // namespace

TEST_CASE("berthd doctor --database says what keeps berthd from working, and what to do",
          "[.postgres]") {
  TestDatabase database(Content::nothing);
  const std::string alter = "ALTER DATABASE " + database.name() + " SET ";
  SECTION("an empty database is fit") {
    check(doctor(database.url()), 0, "berthd makes its tables when it is started", "TLS");
  }
  SECTION("one with its schema is, too, also named by the key") {
    TestDatabase made(Content::schema);
    check(run_to_end({"--database", made.url(), "doctor", "--database"}), 0, " migrations",
          "clock");
  }
  SECTION("what commits isn't kept") {
    run_sql(database, alter + "synchronous_commit = off");
    check(doctor(database.url()), 1, "synchronous_commit is off", "Set it to on for the role");
  }
  SECTION("it takes no writes") {
    run_sql(database, alter + "default_transaction_read_only = on");
    check(doctor(database.url()), 1, "session is read-only", "Check the address");
  }
  SECTION("statements have a limit of time") {
    run_sql(database, alter + "statement_timeout = '30s'");
    check(doctor(database.url()), 0, "statement_timeout is 30s", "Set it to 0 for the role");
  }
  SECTION("the role may not make tables") {
    run_sql(database, "DROP ROLE IF EXISTS berth_weak; CREATE ROLE berth_weak LOGIN");
    std::string url = database.url();
    const size_t name = std::string_view("postgresql://").size();
    url.replace(name, url.find('@') - name, "berth_weak");
    check(doctor(url), 1, "berth_weak may not create tables", "Make the role the database's owner");
    run_sql(database, "ALTER ROLE berth_weak CONNECTION LIMIT 20");
    check(doctor(url), 1, "20 allowed", "raise max_connections");
    run_sql(database, "DROP ROLE berth_weak");
  }
  SECTION("it is somebody else's") {
    run_sql(database, "CREATE TABLE pictures (id bigint)");
    check(doctor(database.url()), 1, "it has the table pictures", "Create a database of berth's");
  }
  SECTION("it was moved, or a newer berthd wrote it") {
    TestDatabase made(Content::schema);
    run_sql(made, "INSERT INTO meta (key, value) VALUES ('moved_to', 'id the data directory /d')");
    check(doctor(made.url()), 1, "was moved to the data directory /d", "Use the database there");
    run_sql(made, "DELETE FROM meta; INSERT INTO schema_migrations VALUES ('9999.sql', 'x', 0)");
    check(doctor(made.url()), 1, "a newer berthd", "Install the berthd");
    run_sql(made, "DELETE FROM schema_migrations WHERE name = '9999.sql'");
  }
}

TEST_CASE("berthd doctor asks for one of cluster and database") {
  CHECK(run_to_end({"doctor"}).code == 2);
  CHECK(run_to_end({"doctor", "--database"}).code == 2);
  CHECK(run_to_end({"doctor", "--cluster", "--database"}).code == 2);
}
