// berthd backup and restore with the database on PostgreSQL. tests/postgres/run starts the server.
#include <catch2/catch.hpp>
#include <fstream>

#include "controller/db/postgres/connection.h"
#include "tests/process/client.h"
#include "tests/programs.h"

using namespace berth::process;
using berth::test::TestDatabase;
using Catch::Contains;
using Content = TestDatabase::Content;
namespace fs = std::filesystem;

namespace {

constexpr int refused_data_dir = 3;
constexpr int refused_database = 7;

void check_works(const Ended& ended, const std::string& says) {
  INFO(ended.output);
  CHECK(ended.code == 0);
  CHECK_THAT(ended.output, Contains(says));
}

void check_refused(const Ended& ended, int code, const std::string& why) {
  INFO(ended.output);
  CHECK(ended.code == code);
  CHECK_THAT(ended.output, Contains(why));
}

// bob has registered after the archive was made.
bool has_bob(const TestDatabase& database) {
  return berth::db::postgres::Connection({.address = database.address()})
             .text("SELECT count(*) FROM users WHERE username = 'bob'") == "1";
}

// A berthd on PostgreSQL with a user and a deployment, and an archive of it.
struct Archived {
  TestDatabase first{Content::nothing};
  Berthd berthd{flags()};
  Operator ada = operator_with_token(berthd, "ada");
  std::string deployment = deploy(ada.api, order("shop"));
  TempDir dir;
  std::string archive = (dir.path() / "berth.backup").string();
  std::string passphrase = dir.write("passphrase", "correct horse battery staple\n").string();

  Archived() {
    wait_until_status(ada.api, deployment, "running");
    CHECK(age().is_null());
    check_works(run_to_end({"backup", archive, "--passphrase-file", passphrase, "--data-dir",
                            berthd.data_dir().string(), "--database", first.url()}),
                "wrote " + archive);
    CHECK(age().is_number());
    register_user(berthd, "bob");
    CHECK(berthd.terminate() == 0);
  }
  Flags flags() const {
    Flags flags = roomy_tier();
    flags.insert(flags.end(), {"--rate-limits", "off", "--database", first.url()});
    return flags;
  }
  json age() {
    Client client(berthd);
    return expect(200, client.get("/api/internal/fleet", admin(berthd)))
        .body.at("backup")
        .at("age_seconds");
  }
  Ended restore(const fs::path& data_dir, const std::string& url) const {
    return run_to_end({"restore", archive, "--passphrase-file", passphrase, "--data-dir",
                       data_dir.string(), "--database", url});
  }
};

}  // namespace

TEST_CASE("an archive of a PostgreSQL is restored to another one, and to a SQLite file",
          "[.postgres]") {
  Archived made;
  check_works(run_to_end({"verify", made.archive, "--passphrase-file", made.passphrase}),
              "ok    ledger: ");
  const fs::path data_dir = made.dir.path() / "restored";
  const TestDatabase second(Content::nothing);
  check_works(made.restore(data_dir, second.url()), "the database was restored to its state of ");
  CHECK_FALSE(has_bob(second));
  CHECK(fs::exists(data_dir / "keys.json"));
  CHECK_FALSE(fs::exists(data_dir / "berth.db"));
  CHECK_FALSE(fs::exists(data_dir / "restore.unpacked"));
  check_works(run_to_end({"verify", "--database", second.url()}), "ok    ledger: ");

  made.berthd.use_database(second.url());
  made.berthd.start();
  expect(200, Client(made.berthd, made.ada.user.jwt).get("/api/auth/me"));
  Client api(made.berthd, made.ada.tokens.access_token);
  wait_until_status(api, made.deployment, "running");
  wait_until_status(api, deploy(api, order("another")), "running");
  CHECK(made.berthd.terminate() == 0);

  const fs::path on_sqlite = made.dir.path() / "sqlite";
  check_works(made.restore(on_sqlite, ""), "was restored to its state of ");
  check_works(run_to_end({"verify", "--data-dir", on_sqlite.string()}), "ok    ledger: ");
}

TEST_CASE("a restore to a PostgreSQL that can't be done changes nothing, and can be repeated",
          "[.postgres]") {
  const Archived made;
  const fs::path data_dir = made.dir.path() / "restored";
  check_refused(made.restore(data_dir, made.first.url()), refused_database, "isn't empty");
  CHECK(has_bob(made.first));
  CHECK_FALSE(fs::exists(data_dir / "keys.json"));
  CHECK_FALSE(fs::exists(data_dir / "restore.unpacked"));

  const TestDatabase second(Content::nothing);
  fs::copy_file(made.berthd.data_dir() / "keys.json", data_dir / "keys.json");
  check_works(made.restore(data_dir, second.url()), "the database was restored to its state of ");

  const TestDatabase third(Content::nothing);
  const Berthd stranger;
  const fs::path others = made.dir.path() / "others";
  fs::create_directory(others);
  fs::copy_file(stranger.data_dir() / "keys.json", others / "keys.json");
  check_refused(made.restore(others, third.url()), refused_data_dir, "other keys");
  std::ofstream(others / "berth.db") << "a database";
  check_refused(made.restore(others, third.url()), refused_data_dir, "name another data directory");
}
