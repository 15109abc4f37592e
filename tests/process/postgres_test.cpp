// berthd on PostgreSQL: what keeps it from starting, what it does while the server is away, and
// that nothing tells the password. tests/postgres/run starts the server.
#include <catch2/catch.hpp>
#include <fstream>
#include <thread>

#include "controller/db/migrations.h"
#include "controller/db/postgres/connection.h"
#include "tests/process/client.h"
#include "tests/process/database_proxy.h"
#include "tests/process/raw.h"

using namespace berth::process;
using berth::test::TestDatabase;
using Catch::Contains;
using Mode = DatabaseProxy::Mode;
using Content = TestDatabase::Content;

namespace {

constexpr int refused_database = 7;
constexpr const char* secret = "Geheim-7391";

std::string ops(const Berthd& berthd, const std::string& path) {
  const Raw connection(berthd.metrics_port());
  connection.send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  return connection.receive_all();
}

bool is_ready(const Berthd& berthd) { return ops(berthd, "/readyz").starts_with("HTTP/1.1 200"); }

void run_sql(const TestDatabase& database, const std::string& sql) {
  const std::string address = database.address() + " target_session_attrs=any";
  berth::db::postgres::Connection({.address = address}).run(sql);
}

Ended start_on(const std::string& url, Flags more = {}) {
  Flags flags = {"--database", url};
  flags.insert(flags.end(), more.begin(), more.end());
  Ended ended = run_to_end(flags);
  CHECK_THAT(ended.output, !Contains(secret));
  return ended;
}

void check_refused(const Ended& ended, const std::string& why) {
  INFO(ended.output);
  CHECK(ended.code == refused_database);
  CHECK_THAT(ended.output, Contains(why));
}

// The longest time that a probe may take, whatever the database does.
constexpr std::chrono::milliseconds quick{1'000};

template <typename Work>
void check_quick(Work&& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  CHECK(std::chrono::steady_clock::now() - began < quick);
}

// A berthd whose server is behind a proxy.
struct Behind {
  TestDatabase database{Content::schema};
  DatabaseProxy proxy;
  Berthd berthd{{"--database", database.url("127.0.0.1", proxy.port())}};
  Client client{berthd};

  // Registers a user, once berthd takes writes: for a moment, it may take a server on a machine
  // that is busy with other tests for one that hangs.
  User registered() {
    check_writes("first");
    try {
      return register_verified_user(berthd, "ada");
    } catch (const std::exception& failure) {
      throw std::runtime_error(failure.what() + ("\n" + berthd.log_text()));
    }
  }
  void check_away() {
    REQUIRE(eventually([&] { return !is_ready(berthd); }));
    check_quick([&] { CHECK_THAT(ops(berthd, "/readyz"), Contains("[-]database failed")); });
    check_quick([&] { CHECK_THAT(ops(berthd, "/livez"), Contains("200 OK")); });
    check_quick([&] { CHECK(client.get("/health").body["status"] == "degraded"); });
    CHECK_THAT(ops(berthd, "/metrics"), Contains("berth_database_reachable 0"));
  }
  void check_refuses(const Answer& answer) {
    INFO(answer.text);
    CHECK(answer.status == 503);
    CHECK_THAT(answer.text, Contains("\"unavailable\""));
    CHECK(answer.has_header("Retry-After"));
  }
  void check_back() {
    check_writes("back");
    CHECK(eventually([&] { return client.get("/health").body["status"] == "ok"; }));
  }
  // Ready once isn't ready for good: a commit of a loop that the outage broke off may fail only
  // now, and then requests are refused until berthd has looked again.
  void check_writes(const std::string& name) {
    REQUIRE(eventually([&] { return is_ready(berthd); }));
    REQUIRE(eventually(
        [&] { return client.post("/api/auth/register", registration(name)).status == 201; }));
  }
  json registration(const std::string& name = "nobody") {
    return {{"email", name + "@example.org"},
            {"username", name},
            {"password", "a password of somebody 17"}};
  }
};

}  // namespace

TEST_CASE("a database that can't be used keeps berthd from starting, with a sentence",
          "[.postgres]") {
  TestDatabase database(Content::nothing);
  SECTION("no server is there") {
    const DatabaseProxy proxy;
    const int port = proxy.port() == 1 ? 2 : 1;
    check_refused(start_on("postgresql://ada:" + std::string(secret) +
                           "@127.0.0.1:" + std::to_string(port) + "/berth"),
                  "Connection refused");
  }
  SECTION("there is no such database") {
    std::string url = database.url();
    url.replace(url.find(database.name()), database.name().size(), "nowhere");
    check_refused(start_on(url), "\"nowhere\" does not exist");
  }
  SECTION("it is somebody else's") {
    run_sql(database, "CREATE TABLE pictures (id bigint)");
    check_refused(start_on(database.url()), "isn't berth's: it has the table pictures");
  }
  SECTION("a newer berthd wrote it") {
    TestDatabase newer(Content::nothing);
    Berthd({"--database", newer.url()}).terminate();
    run_sql(newer, "INSERT INTO schema_migrations VALUES ('9999_later.sql', 'x', 0)");
    check_refused(start_on(newer.url()), "newer berthd: it has migration 9999_later.sql");
  }
  SECTION("another instance wrote it") {
    TestDatabase other(Content::schema);
    Berthd({"--database", other.url()}).terminate();
    check_refused(start_on(other.url()), "belongs to another instance");
  }
  SECTION("it takes no writes") {
    run_sql(database,
            "ALTER DATABASE " + database.name() + " SET default_transaction_read_only = on");
    check_refused(start_on(database.url()), "session is read-only");
  }
}

TEST_CASE("the password comes from the address or from a file, and is never told", "[.postgres]") {
  TestDatabase database(Content::nothing);
  run_sql(database, "DROP ROLE IF EXISTS berth_secret");
  run_sql(database, "CREATE ROLE berth_secret LOGIN PASSWORD '" + std::string(secret) + "'");
  run_sql(database, "ALTER DATABASE " + database.name() + " OWNER TO berth_secret");
  std::string url = database.url();
  const size_t name = std::string_view("postgresql://").size();
  url.replace(name, url.find('@') - name, "berth_secret");
  std::string with_password = url;
  with_password.insert(url.find('@'), std::string(":") + secret);

  SECTION("from the address") {
    Berthd berthd({"--database", with_password});
    CHECK_THAT(ops(berthd, "/metrics"), Contains("berth_database_reachable 1"));
    CHECK_THAT(Client(berthd).get("/health").text, !Contains(secret));
    CHECK(berthd.terminate() == 0);
    CHECK_THAT(berthd.log_text(), !Contains(secret));
    CHECK_THAT(run_to_end({"config", "--database", with_password}).output, !Contains(secret));
  }
  SECTION("from a file, which may be replaced") {
    const TempDir dir;
    const std::string file = dir.write("password", std::string(secret) + "\n").string();
    Berthd berthd({"--database", url, "--database-password-file", file});
    CHECK(berthd.terminate() == 0);
    dir.write("password", "wrong\n");
    const Ended ended = run_to_end({"--database", url, "--database-password-file", file});
    check_refused(ended, "authentication failed");
  }
  SECTION("none") { check_refused(start_on(url), "no password supplied"); }
}

TEST_CASE("while no server answers, berthd answers 503 and recovers by itself", "[.postgres]") {
  Behind f;
  const User ada = f.registered();
  f.proxy.become(Mode::refuses);
  f.check_away();
  check_quick([&] { f.check_refuses(f.client.post("/api/auth/register", f.registration())); });
  check_quick([&] { f.check_refuses(Client(f.berthd, ada.jwt).get("/api/auth/me")); });
  f.proxy.become(Mode::passes);
  f.check_back();
  CHECK(f.berthd.terminate() == 0);
}

TEST_CASE("a server that hangs is noticed, and berthd ends although it hangs", "[.postgres]") {
  Behind f;
  const User ada = f.registered();
  f.proxy.become(Mode::hangs);
  f.check_away();
  check_quick([&] { f.check_refuses(f.client.post("/api/auth/register", f.registration())); });
  SECTION("and comes back") {
    f.proxy.become(Mode::passes);
    f.check_back();
  }
  CHECK(f.berthd.terminate() == 0);
}

TEST_CASE("a server that takes no writes is read from", "[.postgres]") {
  Behind f;
  const User ada = f.registered();
  const auto set = [&](const std::string& change) {
    run_sql(f.database, "ALTER SYSTEM " + change);
    run_sql(f.database, "SELECT pg_reload_conf()");
  };
  set("SET default_transaction_read_only = on");
  CHECK(eventually([&] { return !is_ready(f.berthd); }));
  f.check_refuses(f.client.post("/api/auth/register", f.registration()));
  for (int i = 0; i < 10; ++i) {  // berthd looks at the server several times meanwhile
    CHECK(Client(f.berthd, ada.jwt).get("/api/auth/me").status == 200);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  set("RESET default_transaction_read_only");
  f.check_back();
}

TEST_CASE("a database from before version 1.0.0 of the schema is refused, whatever opens it",
          "[.postgres]") {
  const TestDatabase old(Content::nothing);
  Berthd berthd({"--database", old.url()});
  CHECK(berthd.terminate() == 0);
  run_sql(old,
          "UPDATE schema_migrations SET name = '0059_schema.sql' WHERE name = '0001_schema.sql'");
  const std::vector<std::pair<Flags, int>> commands = {
      {{"--database", old.url()}, refused_database},
      {{"verify", "--database", old.url()}, 1},
      {{"doctor", "--database", old.url()}, 1},
      {{"migrate", "--from", old.url()}, refused_database}};
  for (auto [command, code] : commands) {
    command.insert(command.end(), {"--data-dir", berthd.data_dir().string()});
    const Ended ended = run_to_end(command);
    INFO(ended.output);
    CHECK(ended.code == code);
    CHECK_THAT(ended.output, Contains(std::string("the last commit of berth that can read it is ") +
                                      berth::db::last_commit_before_schema));
  }
}

TEST_CASE("verify checks a PostgreSQL", "[.postgres]") {
  Berthd berthd;
  Client client(berthd);
  register_user(berthd, "ada");
  const std::string url = berthd.database()->url();
  const Ended sound = run_to_end({"verify", "--database", url});
  INFO(sound.output);
  CHECK(sound.code == 0);
  CHECK_THAT(sound.output, Contains("ok    schema") && Contains("ok    ledger: ") &&
                               Contains("ok    audit log: "));
  run_sql(*berthd.database(),
          "SET session_replication_role = replica; "
          "UPDATE ledger_accounts SET balance = balance + 1 "
          "WHERE kind = 'treasury'");
  const Ended unsound = run_to_end({"verify", "--database", url});
  CHECK(unsound.code == 1);
  CHECK_THAT(unsound.output, Contains("FAIL  ledger: "));
}
