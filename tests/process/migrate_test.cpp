// berthd migrate, as an operator uses it. tests/postgres/run starts the server.
#include <SQLiteCpp/SQLiteCpp.h>

#include <catch2/catch.hpp>

#include "controller/db/postgres/connection.h"
#include "tests/process/client.h"
#include "tests/process/random.h"
#include "tests/programs.h"

using namespace berth::process;
using berth::test::TestDatabase;
using Catch::Contains;
using Content = TestDatabase::Content;
namespace fs = std::filesystem;

namespace {

constexpr int refused_data_dir = 3;
constexpr int refused_database = 7;
constexpr int refused_as_moved = 8;

Ended migrate(const char* direction, const Berthd& berthd, const TestDatabase& database) {
  return run_to_end(
      {"migrate", direction, database.url(), "--data-dir", berthd.data_dir().string()});
}

void check_moves(const char* direction, const Berthd& berthd, const TestDatabase& database) {
  const Ended ended = migrate(direction, berthd, database);
  INFO(ended.output);
  CHECK(ended.code == 0);
  CHECK_THAT(ended.output, Contains("equal on both sides"));
  CHECK_THAT(ended.output, Contains("ok    ledger: each transaction's postings sum to 0: "));
  CHECK_THAT(ended.output, Contains("ok    moved to "));
}

void check_refused(const Ended& ended, int code, const std::string& why) {
  INFO(ended.output);
  CHECK(ended.code == code);
  CHECK_THAT(ended.output, Contains(why));
}

// Starts berthd on a data directory and a database, which may be empty for the SQLite file.
Ended start(const Berthd& berthd, const std::string& url) {
  return run_to_end({"--data-dir", berthd.data_dir().string(), "--database", url});
}

std::string ask(const TestDatabase& database, const std::string& sql) {
  return berth::db::postgres::Connection({.address = database.address()}).text(sql);
}

// A berthd on SQLite whose database has some rows of most tables, and texts that are hard to copy.
struct Filled {
  static Flags flags() {
    Flags flags = roomy_tier();
    flags.insert(flags.end(), {"--rate-limits", "off", "--database", ""});
    return flags;
  }
  Berthd berthd{flags()};
  Operator ada = operator_with_token(berthd, "ada");
  std::string deployment;

  Filled() {
    deployment = deploy(ada.api, order("shop"));
    wait_until_status(ada.api, deployment, "running");
    register_user(berthd, "bob");
    CHECK(berthd.terminate() == 0);
    SQLite::Database file(path(), SQLite::OPEN_READWRITE);
    SQLite::Statement insert(file, "INSERT INTO meta (key, value) VALUES ('hard', $1)");
    insert.bind(1, hard);
    insert.exec();
    insert.reset();
    insert.bind(1, "\\N");
    file.exec("UPDATE meta SET key = 'harder' WHERE key = 'hard'");
    insert.exec();
  }
  static inline const std::string hard = "tab\t line\n return\r back\\slash \\. \b\f\v \\N ä 🎲";
  std::string path() const { return (berthd.data_dir() / "berth.db").string(); }

  // Everything works, and nobody had to log in again.
  void check_serves() {
    berthd.start();
    Client api(berthd, ada.tokens.access_token);
    CHECK(expect(200, Client(berthd, ada.user.jwt).get("/api/auth/me")).body.dump().find("ada") !=
          std::string::npos);
    wait_until_status(api, deployment, "running");
    // New rows get new numbers.
    wait_until_status(api, deploy(api, order("shop" + std::to_string(++shops))), "running");
    CHECK(berthd.terminate() == 0);
  }
  int shops = 1;
};

}  // namespace

TEST_CASE("a database moves to PostgreSQL and back, and each berthd serves what it had",
          "[.postgres]") {
  Filled filled;
  Berthd& berthd = filled.berthd;
  TestDatabase database(Content::nothing);
  check_moves("--to", berthd, database);
  CHECK(ask(database, "SELECT value FROM meta WHERE key = 'harder'") == Filled::hard);
  CHECK(ask(database, "SELECT value FROM meta WHERE key = 'hard'") == "\\N");
  CHECK(ask(database, "SELECT count(*) FROM pg_constraint WHERE contype = 'f'") != "0");
  CHECK(ask(database, "SELECT count(*) FROM pg_trigger WHERE tgenabled = 'D'") == "0");
  check_refused(start(berthd, ""), refused_as_moved, "was moved to the PostgreSQL database");
  const Ended again = migrate("--to", berthd, database);
  CHECK(again.code == 0);
  CHECK_THAT(again.output, Contains("already"));

  berthd.use_database(database.url());
  filled.check_serves();
  berthd.start();  // another session key, which is in the database
  expect(200,
         Client(berthd).post("/api/internal/session-keys/rotate", json::object(), admin(berthd)));
  filled.ada.user = log_in(berthd, filled.ada.user);
  fs::remove(filled.path());
  check_refused(run_to_end({"migrate", "--from", database.url(), "--data-dir",
                            (berthd.data_dir() / "nowhere").string()}),
                refused_data_dir, "there is no keys.json");
  CHECK(berthd.terminate() == 0);
  check_moves("--from", berthd, database);
  check_refused(start(berthd, database.url()), refused_as_moved, "was moved to the data directory");
  CHECK(SQLite::Database(filled.path())
            .execAndGet("SELECT value FROM meta WHERE key = 'harder'")
            .getString() == Filled::hard);
  berthd.use_database("");
  filled.check_serves();
}

TEST_CASE("a migration is refused where it could lose or mix rows", "[.postgres]") {
  Filled filled;
  Berthd& berthd = filled.berthd;
  TestDatabase database(Content::nothing);
  SECTION("the data directory is in use") {
    berthd.start();
    check_refused(migrate("--to", berthd, database), refused_data_dir, "another berthd uses");
  }
  SECTION("the target has tables") {
    ask(database, "CREATE TABLE pictures (id bigint)");
    check_refused(migrate("--to", berthd, database), refused_database, "it has the table pictures");
  }
  SECTION("the target is a berthd's") {
    Berthd({"--database", database.url()}).terminate();
    check_refused(migrate("--to", berthd, database), refused_database, "isn't empty");
  }
  SECTION("a foreign key is broken") {
    SQLite::Database file(filled.path(), SQLite::OPEN_READWRITE);
    file.exec("PRAGMA foreign_keys = OFF");
    file.exec("UPDATE apps SET owner_id = 'nobody'");
    const Ended ended = migrate("--to", berthd, database);
    check_refused(ended, 1, "foreign key");
    CHECK(ask(database, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == "0");
  }
  SECTION("the ledger isn't sound") {
    SQLite::Database file(filled.path(), SQLite::OPEN_READWRITE);
    file.exec("UPDATE ledger_accounts SET balance = balance + 1 WHERE kind = 'treasury'");
    check_refused(migrate("--to", berthd, database), 1, "isn't sound; nothing was moved");
  }
  SECTION("PostgreSQL can't store a text") {
    SQLite::Database file(filled.path(), SQLite::OPEN_READWRITE);
    file.exec("INSERT INTO meta (key, value) VALUES ('bad', CAST(x'ff00' AS TEXT))");
    check_refused(migrate("--to", berthd, database), 1, "the table meta can't be moved");
  }
  SECTION("a berthd is connected, the data directory has a database, or other keys") {
    check_moves("--to", berthd, database);
    check_refused(migrate("--from", berthd, database), refused_data_dir, "there is already");
    fs::remove(filled.path());
    berthd.use_database(database.url());
    berthd.start();
    const TestDatabase& moved = database;
    Berthd other({"--database", ""});
    CHECK(other.terminate() == 0);
    fs::remove(other.data_dir() / "berth.db");
    check_refused(migrate("--from", other, moved), refused_database, "a berthd is connected");
    CHECK(berthd.terminate() == 0);
    check_refused(migrate("--from", other, moved), refused_database, "other keys");
    check_moves("--from", berthd, moved);
  }
}

TEST_CASE("a migration that is killed at any moment is run again, and loses nothing",
          "[.postgres]") {
  const unsigned chosen = seed();
  WARN("BERTH_SEED=" << chosen);
  Random random = random_of(chosen);
  Filled filled;
  Berthd& berthd = filled.berthd;
  TestDatabase database(Content::nothing);
  const fs::path log = berthd.data_dir() / "migrate.log";
  const auto kill_some = [&](const char* direction) {
    for (int round = 0; round < 6; ++round) {
      Process process(
          berth::test::berthd_program,
          {"migrate", direction, database.url(), "--data-dir", berthd.data_dir().string()}, log);
      process.wait(up_to(random, 1'500));
    }  // kills it with SIGKILL
  };
  const auto ends = [&](const char* direction) {
    const Ended ended = migrate(direction, berthd, database);
    INFO(ended.output);
    CHECK(ended.code == 0);
  };
  kill_some("--to");
  ends("--to");
  check_refused(start(berthd, ""), refused_as_moved, "was moved");
  berthd.use_database(database.url());
  filled.check_serves();
  fs::remove(filled.path());
  kill_some("--from");
  ends("--from");
  CHECK_FALSE(fs::exists(berthd.data_dir() / "migrate.partial"));
  check_refused(start(berthd, database.url()), refused_as_moved, "was moved");
  berthd.use_database("");
  filled.check_serves();
}

TEST_CASE("a berthd whose database is moved under it ends", "[.postgres]") {
  TestDatabase database(Content::nothing);
  Berthd berthd({"--database", database.url()});
  ask(database, "INSERT INTO meta (key, value) VALUES ('moved_to', 'id the data directory /d')");
  CHECK(eventually(
      [&] { return berthd.log_text().find("\"msg\":\"stopped\"") != std::string::npos; }));
  CHECK_THAT(berthd.log_text(), Contains("was moved to the data directory /d"));
}

TEST_CASE("between the mark and the commit neither database is served", "[.postgres]") {
  Filled filled;
  Berthd& berthd = filled.berthd;
  TestDatabase database(Content::nothing);
  SECTION("to PostgreSQL: the mark is there, the rows aren't") {
    check_moves("--to", berthd, database);
    ask(database, "DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    check_refused(start(berthd, ""), refused_as_moved, "was moved");
    check_refused(start(berthd, database.url()), refused_as_moved, "run `berthd migrate` again");
    TestDatabase another(Content::nothing);
    check_refused(migrate("--to", berthd, another), refused_as_moved, "already");
    check_moves("--to", berthd, database);
    berthd.use_database(database.url());
  }
  SECTION("to SQLite: the file is complete, but not in its place") {
    check_moves("--to", berthd, database);
    fs::remove(filled.path());
    check_moves("--from", berthd, database);
    const fs::path partial = berthd.data_dir() / "migrate.partial";
    fs::create_directory(partial);
    fs::rename(filled.path(), partial / "berth.db");
    check_refused(start(berthd, ""), refused_as_moved, "run `berthd migrate` again");
    check_refused(start(berthd, database.url()), refused_as_moved, "was moved");
    CHECK(migrate("--from", berthd, database).code == 0);
    berthd.use_database("");
  }
  filled.check_serves();
}
