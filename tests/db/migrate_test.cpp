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

TEST_CASE("the migrations' numbers rise") {
  int number = 0;
  for (const EmbeddedFile& file : db::sqlite::migrations::files()) {
    INFO(file.name);
    const int next = std::stoi(std::string(file.name.substr(0, 4)));
    CHECK(next > number);
    number = next;
    CHECK(file.name.ends_with(".sql"));
  }
  CHECK(number > 0);
}

TEST_CASE("names from before the search index existed are in it") {
  Fixture f;
  std::vector<EmbeddedFile> before = db::sqlite::migrations::files();
  std::erase_if(before,
                [](const EmbeddedFile& file) { return file.name >= "0016_user_search.sql"; });
  db::sqlite::migrate(f.database, now, before);
  const std::string add =
      "INSERT INTO users (id, email, email_key, username, username_key, password_hash, "
      "referral_code, registration_number, signup_multiplier, suspended_at, created_at, "
      "updated_at) VALUES ";
  f.database.exec(add + "('1', '1', '1', 'Anna', 'anna', '', '1', 1, 1, NULL, 0, 0)");
  f.database.exec(add + "('2', '2', '2', 'Gone', 'gone', '', '2', 2, 1, 5, 0, 0)");
  db::sqlite::migrate(f.database, now);
  f.database.exec(add + "('3', '3', '3', 'Bob', 'bob', '', '3', 3, 1, NULL, 0, 0)");
  const auto rows = f.database.execAndGet(
      "SELECT group_concat(suffix || ' ' || user_id || ' ' || username, '; ') FROM "
      "(SELECT * FROM username_suffixes ORDER BY suffix)");
  CHECK(rows.getString() == "na 1 Anna; nna 1 Anna; ob 3 Bob");
}

TEST_CASE("all tables are STRICT") {
  Fixture f;
  db::sqlite::migrate(f.database, now);
  CHECK(f.number("SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'table' "
                 "AND strict = 0 "
                 "AND name NOT LIKE 'sqlite_%'") == 0);
}

TEST_CASE("rows of an older database get what the lists of a newer one read") {
  Fixture f;
  const auto& all = db::sqlite::migrations::files();
  std::vector<EmbeddedFile> older;
  for (const EmbeddedFile& file : all)
    if (file.name < "0048") older.push_back(file);
  db::sqlite::migrate(f.database, now, older);
  f.database.exec(R"(
      INSERT INTO ledger_transactions (id, kind, memo, at) VALUES ('t', 'mint', '', 77);
      INSERT INTO ledger_postings (transaction_id, account_id, amount)
      VALUES ('t', 'issuance', -5), ('t', 'user:u', 5);
      INSERT INTO deployments
        (id, app_id, owner_id, tier_id, name, image, port, env_keys, env_sealed, memory_limit_mb,
         cpu_limit_millicores, status, request_id, inserted_at, updated_at, labels)
      VALUES ('d', 'a', 'o', 'x', 'shop', 'i', 80, '[]', '', 1, 1, 'running', 'r', 88, 88,
              '{"stage":"test","team":"red"}'),
             ('gone', 'a', 'o', 'x', 'old', 'i', 80, '[]', '', 1, 1, 'destroyed', 'r', 88, 88,
              '{}');)");
  db::sqlite::migrate(f.database, now, all);
  CHECK(f.number("SELECT count(*) FROM ledger_postings_old WHERE kind = 'mint' AND at = 77") == 2);
  CHECK_THROWS(f.database.exec("UPDATE ledger_postings_old SET kind = 'spend'"));
  CHECK(f.number("SELECT postings - moved FROM ledger_old_rows") == 2);
  CHECK(f.number("SELECT count(*) FROM deployment_labels") == 2);
  CHECK(f.number("SELECT inserted_at FROM deployment_labels WHERE deployment_id = 'd' AND "
                 "app_id = 'a' AND label = 'team' AND value = 'red'") == 88);
}

TEST_CASE("what was deleted before loses what receipts don't need") {
  Fixture f;
  const auto& all = db::sqlite::migrations::files();
  std::vector<EmbeddedFile> older;
  for (const EmbeddedFile& file : all)
    if (file.name < "0069") older.push_back(file);
  db::sqlite::migrate(f.database, now, older);
  f.database.exec(R"(
      INSERT INTO apps
        (id, owner_id, app_name, app_description, logo_url, website_url, client_id,
         client_secret_hash, redirect_uris, allowed_scopes, approved_scopes, inserted_at,
         updated_at, deleted_at)
      VALUES ('lives', 'o', 'words', 'words', 'words', 'words', 'c1', 'h', '["words"]', '', '', 1,
              1, NULL),
             ('gone', 'o', 'words', 'words', 'words', 'words', 'c2', '', '["words"]', '', '', 1, 1,
              2);
      INSERT INTO deployments
        (id, app_id, owner_id, tier_id, name, image, port, health_path, env_keys, env_sealed,
         credentials_sealed, memory_limit_mb, cpu_limit_millicores, status, request_id, inserted_at,
         updated_at)
      VALUES ('d-lives', 'lives', 'o', 'x', 'shop', 'i', 80, '/words', '["words"]', 'words',
              'words', 1, 1, 'running', 'r', 1, 1),
             ('d-gone', 'lives', 'o', 'x', 'old', 'i', 80, '/words', '["words"]', 'words', 'words',
              1, 1, 'destroyed', 'r', 1, 1);
      INSERT INTO deployment_revisions
        (deployment_id, generation, kind, image, port, env_keys, env_sealed, started_at)
      VALUES ('d-lives', 1, 'create', 'i', 80, '["words"]', 'words', 1),
             ('d-gone', 1, 'create', 'i', 80, '["words"]', 'words', 1);)");
  db::sqlite::migrate(f.database, now, all);
  CHECK(f.number("SELECT count(*) FROM apps WHERE id = 'gone' AND app_name = '' AND "
                 "app_description = '' AND logo_url IS NULL AND website_url IS NULL AND "
                 "redirect_uris = '[]'") == 1);
  CHECK(f.number("SELECT count(*) FROM app_erasures WHERE app_id = 'gone'") == 1);
  CHECK(f.number("SELECT count(*) FROM deployments WHERE id = 'd-gone' AND name = 'old' AND "
                 "env_keys = '[]' AND env_sealed = '' AND credentials_sealed IS NULL AND "
                 "health_path IS NULL") == 1);
  CHECK(f.number("SELECT count(*) FROM deployment_revisions WHERE deployment_id = 'd-gone'") == 0);
  CHECK(f.number("SELECT count(*) FROM apps WHERE app_description = 'words'") == 1);
  CHECK(f.number("SELECT count(*) FROM deployments WHERE env_sealed = 'words'") == 1);
  CHECK(f.number("SELECT count(*) FROM deployment_revisions") == 1);
}

}  // namespace
