// The copy of the database that a newer berthd makes before it upgrades the schema.
#include "berthd/backup/before_upgrade.h"

#include <array>
#include <catch2/catch.hpp>
#include <set>

#include "controller/db/sqlite/migrate.h"
#include "tests/backup/archive_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using backup::CopyFirst;
namespace fs = std::filesystem;

// What later versions could bring.
constexpr std::array later = std::to_array<EmbeddedFile>({
    {.name = "0002_a.sql", .text = "CREATE TABLE a (n INTEGER) STRICT;"},
    {.name = "0003_b.sql", .text = "CREATE TABLE b (n INTEGER) STRICT;"},
    {.name = "0004_c.sql", .text = "CREATE TABLE c (n INTEGER) STRICT;"},
    {.name = "0005_d.sql", .text = "CREATE TABLE d (n INTEGER) STRICT;"},
    {.name = "0006_e.sql", .text = "CREATE TABLE e (n INTEGER) STRICT;"},
});

std::vector<EmbeddedFile> files_with(size_t count) {
  std::vector<EmbeddedFile> files = db::sqlite::migrations::files();
  files.insert(files.end(), later.begin(), later.begin() + std::ptrdiff_t(count));
  return files;
}

struct Fixture : ArchiveWorld {
  fs::path upgrades = data.path() / backup::upgrades_name;

  // Brings the database to the schema of a berthd with so many of the later migrations.
  void upgrade(size_t count) {
    database.reset();
    SQLite::Database file(data.database_file().string(), SQLite::OPEN_READWRITE);
    db::sqlite::migrate(file, clock.now(), files_with(count));
  }
  void change(const char* sql) {
    database->write([&](db::Tx& tx) { tx.execute(sql); });
    database.reset();
  }
  std::set<std::string> copies() const {
    std::set<std::string> names;
    if (fs::exists(upgrades))
      for (const auto& entry : fs::directory_iterator(upgrades))
        names.insert(entry.path().filename());
    return names;
  }
};

}  // namespace

TEST_CASE("an upgrade begins with a copy of the database") {
  Fixture f;
  f.fill(100);
  f.upgrade(1);
  backup::prepare_upgrade(f.data, CopyFirst::yes, files_with(3));
  const std::string copy = "before-0003_b.db";
  CHECK(f.copies() == std::set{copy});
  CHECK(fs::status(f.upgrades).permissions() == fs::perms::owner_all);
  CHECK(fs::status(f.upgrades / copy).permissions() ==
        (fs::perms::owner_read | fs::perms::owner_write));
  SQLite::Database opened((f.upgrades / copy).string(), SQLite::OPEN_READONLY);
  CHECK(opened.execAndGet("SELECT count(*) FROM meta WHERE key LIKE 'row %'").getInt() == 100);
  CHECK(db::sqlite::pending_migrations(opened, files_with(3)).names.size() == 2);
}

TEST_CASE("nothing is copied where nothing is upgraded, or nobody wants it") {
  Fixture f;
  f.database.reset();
  SECTION("the schema is that of this version") { backup::prepare_upgrade(f.data, CopyFirst::yes); }
  SECTION("there is no database yet") {
    fs::remove(f.data.database_file());
    backup::prepare_upgrade(f.data, CopyFirst::yes, files_with(1));
  }
  SECTION("it is switched off") { backup::prepare_upgrade(f.data, CopyFirst::no, files_with(1)); }
  CHECK(f.copies().empty());
}

TEST_CASE("a start that is tried again replaces its own copy") {
  Fixture f;
  f.database.reset();
  for (int i = 0; i < 3; ++i) backup::prepare_upgrade(f.data, CopyFirst::yes, files_with(2));
  CHECK(f.copies() == std::set<std::string>{"before-0002_a.db"});
}

TEST_CASE("the copies are bounded, and nothing else is removed") {
  Fixture f;
  const std::set<std::string> others = {"before-0001_mine.db", "notes", "berth.db",
                                        "before-0005_d.db.old"};
  fs::create_directory(f.upgrades);
  for (const std::string& name : others) f.write("data/upgrades/" + name, "x");
  for (size_t count = 0; count < later.size(); ++count) {
    f.upgrade(count);
    backup::prepare_upgrade(f.data, CopyFirst::yes, files_with(count + 1));
  }
  std::set<std::string> expected = others;
  for (const char* name : {"before-0004_c.db", "before-0005_d.db", "before-0006_e.db"})
    expected.insert(name);
  REQUIRE(expected.size() == others.size() + backup::copies_kept);
  CHECK(f.copies() == expected);
}

TEST_CASE("a database that this berthd can't use is neither copied nor changed") {
  Fixture f;
  SECTION("a newer one wrote it") {
    f.change(
        "INSERT INTO schema_migrations (name, sha256, applied_at) VALUES ('9999_x.sql', '', 0)");
    CHECK_THROWS_WITH(backup::prepare_upgrade(f.data, CopyFirst::yes, files_with(1)),
                      Catch::Contains("newer berthd"));
  }
  SECTION("it is from before the schema") {
    f.change(
        "UPDATE schema_migrations SET name = '0001_accounts.sql' "
        "WHERE name = '0001_schema.sql'");
    CHECK_THROWS_AS(backup::prepare_upgrade(f.data, CopyFirst::yes, files_with(1)),
                    db::SchemaTooOld);
  }
  CHECK(f.copies().empty());
}
