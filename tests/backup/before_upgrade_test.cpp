// The copy of the database that a newer berthd makes before it upgrades the schema.
#include "controller/berthd/backup/before_upgrade.h"

#include <catch2/catch.hpp>
#include <set>

#include "controller/db/sqlite/migrate.h"
#include "tests/backup/archive_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using backup::CopyFirst;
namespace fs = std::filesystem;

std::string last_migration(size_t from_end) {
  const auto& files = db::sqlite::migrations::files();
  return std::string(files[files.size() - from_end].name);
}

std::string copy_of(const std::string& migration) {
  return "before-" + migration.substr(0, migration.size() - 4) + ".db";
}

struct Fixture : ArchiveWorld {
  fs::path upgrades = data.path() / backup::upgrades_name;

  // As an older berthd leaves it, which knew all but the newest `count` migrations.
  void forget(size_t count) {
    database->write([&](db::Tx& tx) {
      for (size_t i = 1; i <= count; ++i)
        tx.execute("DELETE FROM schema_migrations WHERE name = $1", last_migration(i));
    });
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
  f.forget(2);
  backup::prepare_upgrade(f.data, CopyFirst::yes);
  const std::string copy = copy_of(last_migration(2));
  CHECK(f.copies() == std::set<std::string>{copy});
  CHECK(fs::status(f.upgrades).permissions() == fs::perms::owner_all);
  CHECK(fs::status(f.upgrades / copy).permissions() ==
        (fs::perms::owner_read | fs::perms::owner_write));
  SQLite::Database opened((f.upgrades / copy).string(), SQLite::OPEN_READONLY);
  CHECK(opened.execAndGet("SELECT count(*) FROM meta WHERE key LIKE 'row %'").getInt() == 100);
  CHECK(db::sqlite::pending_migrations(opened).names.size() == 2);
}

TEST_CASE("nothing is copied where nothing is upgraded, or nobody wants it") {
  Fixture f;
  SECTION("the schema is that of this version") {
    f.database.reset();
    backup::prepare_upgrade(f.data, CopyFirst::yes);
  }
  SECTION("there is no database yet") {
    f.database.reset();
    fs::remove(f.data.database_file());
    backup::prepare_upgrade(f.data, CopyFirst::yes);
  }
  SECTION("it is switched off") {
    f.forget(1);
    backup::prepare_upgrade(f.data, CopyFirst::no);
  }
  CHECK(f.copies().empty());
}

TEST_CASE("a start that is tried again replaces its own copy") {
  Fixture f;
  f.forget(1);
  for (int i = 0; i < 3; ++i) backup::prepare_upgrade(f.data, CopyFirst::yes);
  CHECK(f.copies() == std::set<std::string>{copy_of(last_migration(1))});
}

TEST_CASE("the copies are bounded, and nothing else is removed") {
  Fixture f;
  f.forget(1);
  fs::create_directory(f.upgrades);
  const std::set<std::string> older = {copy_of(last_migration(5)), copy_of(last_migration(4)),
                                       copy_of(last_migration(3)), copy_of(last_migration(2))};
  const std::set<std::string> others = {"before-0001_mine.db", "notes", "berth.db",
                                        copy_of(last_migration(2)) + ".old"};
  for (const auto& names : {older, others})
    for (const std::string& name : names) f.write("data/upgrades/" + name, "x");
  backup::prepare_upgrade(f.data, CopyFirst::yes);
  std::set<std::string> expected = others;
  for (size_t i = 1; i <= backup::copies_kept; ++i) expected.insert(copy_of(last_migration(i)));
  CHECK(f.copies() == expected);
}

TEST_CASE("a database of a newer berthd is neither copied nor changed") {
  Fixture f;
  f.database->write([&](db::Tx& tx) {
    tx.execute("DELETE FROM schema_migrations WHERE name = $1", last_migration(1));
    tx.execute(
        "INSERT INTO schema_migrations (name, sha256, applied_at) VALUES ('9999_x.sql', '', 0)");
  });
  f.database.reset();
  CHECK_THROWS_WITH(backup::prepare_upgrade(f.data, CopyFirst::yes),
                    Catch::Contains("newer berthd"));
  CHECK(f.copies().empty());
}
