#include "controller/db/sqlite/migrate.h"

#include <catch2/catch.hpp>

namespace {

using namespace berth;

const Instant now = from_millis(1'000);
const EmbeddedFile first = {"0001_first.sql",
                            "CREATE TABLE a (x INTEGER) STRICT; INSERT INTO a VALUES (1);"};
const EmbeddedFile second = {"0002_second.sql",
                             "ALTER TABLE a ADD COLUMN y TEXT; UPDATE a SET y = 'second';"};

struct Fixture {
  SQLite::Database database{":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE};
  std::int64_t number(const char* sql) { return database.execAndGet(sql).getInt64(); }
};

std::string refusal(SQLite::Database& database, const std::vector<EmbeddedFile>& files) {
  try {
    db::sqlite::migrate(database, now, files);
    return "";
  } catch (const std::runtime_error& failure) {
    return failure.what();
  }
}

TEST_CASE("migrations run once, in their order") {
  Fixture f;
  db::sqlite::migrate(f.database, now, {first, second});
  db::sqlite::migrate(f.database, now, {first, second});
  CHECK(f.number("SELECT count(*) FROM a WHERE y = 'second'") == 1);
  CHECK(f.number("SELECT count(*) FROM schema_migrations WHERE applied_at = 1000") == 2);
}

TEST_CASE("a newer program goes on where the older one stopped") {
  Fixture f;
  db::sqlite::migrate(f.database, now, {first});
  f.database.exec("INSERT INTO a VALUES (2)");
  db::sqlite::migrate(f.database, now, {first, second});
  CHECK(f.number("SELECT count(*) FROM a WHERE y = 'second'") == 2);
}

TEST_CASE("an older program refuses a newer database and names the unknown migration") {
  Fixture f;
  db::sqlite::migrate(f.database, now, {first, second});
  CHECK(refusal(f.database, {first}).find("0002_second.sql") != std::string::npos);
}

TEST_CASE("a database from before the first migration is refused, and its last commit is named") {
  Fixture f;
  const EmbeddedFile old = {"0001_accounts.sql", "CREATE TABLE a (x INTEGER) STRICT;"};
  db::sqlite::migrate(f.database, now, {old});
  CHECK_THAT(refusal(f.database, {first, second}),
             Catch::Contains("before version 1.0.0 of the schema") &&
                 Catch::EndsWith(std::string(" ") + db::last_commit_before_schema));
  CHECK_THROWS_AS(db::sqlite::migrate(f.database, now), db::SchemaTooOld);
  CHECK_THROWS_AS(db::sqlite::pending_migrations(f.database), db::SchemaTooOld);
  CHECK_THROWS_AS(db::sqlite::check_migrations(f.database), db::SchemaTooOld);
  CHECK(f.number("SELECT count(*) FROM schema_migrations") == 1);
}

TEST_CASE("a migration that has changed since it ran is refused, and nothing runs after it") {
  Fixture f;
  db::sqlite::migrate(f.database, now, {first});
  const EmbeddedFile changed = {first.name, "CREATE TABLE a (x TEXT) STRICT;"};
  CHECK(refusal(f.database, {changed, second}).find("0001_first.sql has changed") !=
        std::string::npos);
  CHECK(f.number("SELECT count(*) FROM schema_migrations") == 1);
}

TEST_CASE("a failing migration leaves nothing, and those before it stay") {
  Fixture f;
  const EmbeddedFile broken = {"0002_broken.sql",
                               "CREATE TABLE b (x INTEGER); INSERT INTO nowhere VALUES (1);"};
  CHECK(refusal(f.database, {first, broken}).find("0002_broken.sql") != std::string::npos);
  CHECK(f.number("SELECT count(*) FROM sqlite_schema WHERE name = 'b'") == 0);
  CHECK(f.number("SELECT count(*) FROM schema_migrations") == 1);
  db::sqlite::migrate(f.database, now, {first, second});
  CHECK(f.number("SELECT count(*) FROM a WHERE y = 'second'") == 1);
}

TEST_CASE("the migrations begin with the schema, and their numbers rise") {
  int number = 0;
  CHECK(db::sqlite::migrations::files().front().name == "0001_schema.sql");
  for (const EmbeddedFile& file : db::sqlite::migrations::files()) {
    INFO(file.name);
    const int next = std::stoi(std::string(file.name.substr(0, 4)));
    CHECK(next > number);
    number = next;
    CHECK(file.name.ends_with(".sql"));
  }
  CHECK(number > 0);
}

TEST_CASE("a deployment of version 1.0.0 of the schema is still there after all migrations") {
  Fixture f;
  const auto files = db::sqlite::migrations::files();
  db::sqlite::migrate(f.database, now, {files.front()});
  f.database.exec(R"(
      INSERT INTO deployments
        (id, app_id, owner_id, tier_id, name, image, port, health_path, env_keys, env_sealed,
         memory_limit_mb, cpu_limit_millicores, status, request_id, inserted_at, updated_at)
      VALUES ('d1', 'a1', 'u1', 't1', 'shop', 'i', 80, '/up', '["A"]', 'x', 1, 1, 'running', 'r', 1, 1);
      INSERT INTO deployment_revisions
        (deployment_id, generation, kind, image, port, env_keys, env_sealed, started_at)
      VALUES ('d1', 1, 'create', 'i', 80, '["A"]', 'x', 1))");
  db::sqlite::migrate(f.database, now, files);
  CHECK(f.number(R"(
      SELECT count(*)
      FROM deployments d
      JOIN deployment_revisions r ON r.deployment_id = d.id AND r.env_sealed = d.env_sealed
      WHERE d.name = 'shop' AND d.image = 'i' AND d.health_path = '/up' AND d.port = 80)") == 1);
  CHECK(f.number("SELECT count(*) FROM schema_migrations") == std::int64_t(files.size()));
}

TEST_CASE("a user of version 1.0.0 of the schema gets English mails") {
  Fixture f;
  const auto files = db::sqlite::migrations::files();
  db::sqlite::migrate(f.database, now, {files.front()});
  f.database.exec(R"(
      INSERT INTO users (id, email, email_key, username, username_key, password_hash, referral_code,
                         registration_number, signup_multiplier, created_at, updated_at)
      VALUES ('u1', 'a', 'a', 'a', 'a', 'h', 'r', 1, 1, 1, 1))");
  db::sqlite::migrate(f.database, now, files);
  CHECK(f.number("SELECT count(*) FROM users WHERE language = 'en'") == 1);
}

TEST_CASE("all tables are STRICT") {
  Fixture f;
  db::sqlite::migrate(f.database, now);
  CHECK(f.number("SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'table' "
                 "AND strict = 0 "
                 "AND name NOT LIKE 'sqlite_%'") == 0);
}

}  // namespace
