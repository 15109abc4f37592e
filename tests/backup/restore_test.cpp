#include "berthd/backup/restore.h"

#include <catch2/catch.hpp>
#include <random>

#include "controller/base/error.h"
#include "controller/db/migrations.h"
#include "controller/db/sqlite/database.h"
#include "tests/backup/archive_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using Catch::Contains;
namespace fs = std::filesystem;

constexpr size_t whole_chunk = sealed_file::chunk_bytes + sealed_file::tag_bytes;

TEST_CASE("a restore brings back everything, including the keys") {
  ArchiveWorld world;
  world.fill(1'000);
  REQUIRE(world.restore(world.archive()) == "");
  CHECK(world.restored_rows() == world.database->read(all));
  CHECK(world.read(world.target() / keys_name) == world.read(world.data.path() / keys_name));
  CHECK((fs::status(world.target()).permissions() & fs::perms::all) == fs::perms::owner_all);
  for (const char* name : {keys_name, database_name})
    CHECK(fs::status(world.target() / name).permissions() ==
          (fs::perms::owner_read | fs::perms::owner_write));
  CHECK_FALSE(fs::exists(world.target() / partial_restore_name));
  // Another berthd can work in the restored directory.
  const DataDir opened(world.target());
  CHECK(opened.keys().data == world.keys.data);
  db::sqlite::Database database(opened.database_file(), world.clock);
  CHECK(database.takes_writes());
}

TEST_CASE("the manifest says who made the archive and when") {
  ArchiveWorld world;
  const auto file = world.write("archive", world.archive());
  const backup::Manifest manifest = backup::restore(file, passphrase, world.target(), silent);
  CHECK(manifest.version == "1.2.3");
  CHECK(manifest.made_at > world.clock.now() - std::chrono::minutes(1));
}

TEST_CASE("with a flipped bit anywhere, nothing is restored or left behind") {
  ArchiveWorld world;
  world.fill(200);
  const std::string good = world.archive();
  std::mt19937 random(std::random_device{}());
  // Chooses each region with the same probability: the header, the first chunk, the others.
  const size_t starts[] = {0, sealed_file::header_bytes, sealed_file::header_bytes + whole_chunk,
                           good.size()};
  for (size_t region = 0; region < 3; ++region)
    for (int round = 0; round < 3; ++round) {
      const size_t at =
          std::uniform_int_distribution<size_t>(starts[region], starts[region + 1] - 1)(random);
      const int bit = std::uniform_int_distribution<int>(0, 7)(random);
      INFO("bit " << bit << " of byte " << at);
      std::string bad = good;
      bad[at] = char(bad[at] ^ (1 << bit));
      CHECK(world.restore(bad) != "");
      CHECK_FALSE(fs::exists(world.target()));
    }
}

TEST_CASE("if the archive is cut off at or near any chunk, nothing is restored or left behind") {
  ArchiveWorld world;
  world.fill(100);
  const std::string good = world.archive();
  REQUIRE(good.size() > 2 * whole_chunk);
  for (size_t end = sealed_file::header_bytes; end < good.size(); end += whole_chunk)
    for (const size_t length : {end, end + 1}) {
      INFO(length << " of " << good.size());
      CHECK(world.restore(good.substr(0, length)) != "");
      CHECK_FALSE(fs::exists(world.target()));
    }
  CHECK_THAT(world.restore(good + "more"), Contains("damaged"));
}

TEST_CASE("the wrong passphrase restores nothing and says so") {
  ArchiveWorld world;
  CHECK_THAT(world.restore(world.archive(), "another passphrase"), Contains("passphrase is wrong"));
  CHECK_FALSE(fs::exists(world.target()));
}

TEST_CASE("a directory with contents is refused and stays as it is") {
  ArchiveWorld world;
  const std::string archive = world.archive();
  fs::create_directory(world.target());
  world.write("restored/notes.txt", "mine");
  CHECK_THAT(world.restore(archive), Contains("contains files (notes.txt)"));
  CHECK(world.read(world.target() / "notes.txt") == "mine");
  CHECK_FALSE(fs::exists(world.target() / "lock"));
  fs::remove(world.target() / "notes.txt");
  fs::create_directory(world.target() / "lost+found");  // as on a new disk
  CHECK(world.restore(archive) == "");
  CHECK_THAT(world.restore(archive), Contains("contains files"));
  CHECK_THROWS_AS(backup::restore(world.dir / "archive", passphrase, world.data.path(), silent),
                  DataDirError);
}

TEST_CASE("a directory that a berthd is just beginning to use is refused") {
  ArchiveWorld world;
  const std::string archive = world.archive();
  const DirLock somebody(world.target());
  CHECK_THAT(world.restore(archive), Contains("another berthd uses"));
}

TEST_CASE("a database of a newer berthd is refused, and its unknown migration is named") {
  ArchiveWorld world;
  world.database->write([](db::Tx& tx) {
    tx.execute("INSERT INTO schema_migrations VALUES ('9999_future.sql', 'x', 0)");
  });
  CHECK_THAT(world.restore(world.archive()), Contains("9999_future.sql"));
  CHECK_FALSE(fs::exists(world.target()));
}

TEST_CASE("a database from before version 1.0.0 of the schema is refused, with its last commit") {
  ArchiveWorld world;
  world.database->write([](db::Tx& tx) {
    tx.execute(
        "UPDATE schema_migrations SET name = '0001_accounts.sql' "
        "WHERE name = '0001_schema.sql'");
  });
  CHECK_THAT(world.restore(world.archive()), Contains(db::last_commit_before_schema));
  CHECK_FALSE(fs::exists(world.target()));
}

// For what a kill leaves at each point of a restore: berthd refuses to start, and the next restore
// completes it.
TEST_CASE("after a restore that was killed, berthd refuses and the next restore works") {
  ArchiveWorld world;
  world.fill(10);
  const std::string archive = world.archive();
  const fs::path partial = world.target() / partial_restore_name;
  const auto refused = [&] {
    try {
      const DataDir opened(world.target());
      return false;
    } catch (const DataDirError&) {
      return true;
    }
  };
  SECTION("before anything was unpacked") { fs::create_directories(partial); }
  SECTION("while it was unpacked") {
    fs::create_directories(partial);
    world.write("restored/restore.partial/keys.json", "{}");
    world.write("restored/restore.partial/berth.db", "half");
  }
  SECTION("between the keys' move and the database's") {
    fs::create_directories(partial);
    world.write("restored/keys.json", "{}");
    world.write("restored/restore.partial/berth.db", "whole");
  }
  CHECK(refused());
  REQUIRE(world.restore(archive) == "");
  CHECK_FALSE(refused());
  CHECK(world.restored_rows() == world.database->read(all));
}

TEST_CASE("a restore that was killed after its last move is complete") {
  ArchiveWorld world;
  REQUIRE(world.restore(world.archive()) == "");
  fs::create_directories(world.target() / partial_restore_name);
  const DataDir opened(world.target());
  CHECK_NOTHROW(opened.keys());
  CHECK_FALSE(fs::exists(world.target() / partial_restore_name));
}

TEST_CASE("only one archive is made at a time, and the next is possible however the first ends") {
  ArchiveWorld world;
  const std::string key(sealed_file::key_bytes, 'k');
  {
    const auto first = world.maker.begin(key);
    CHECK_THROWS_AS(world.maker.begin(key), Error);
    // The copy has no name any more.
    CHECK_FALSE(fs::exists(world.data.path() / database_copy_name));
  }
  CHECK_NOTHROW(world.maker.begin(key));
  world.maker.stop();
  CHECK_THROWS_AS(world.maker.begin(key), Error);
  CHECK_FALSE(fs::exists(world.data.path() / database_copy_name));
}

TEST_CASE("a damaged database is not given out") {
  ArchiveWorld world;
  SQLite::Database raw(world.data.database_file().string(), SQLite::OPEN_READWRITE);
  raw.exec(
      "INSERT INTO email_tokens (token_hash, user_id, purpose, expires_at) VALUES ('h', 'nobody', "
      "'verify_email', 0)");
  CHECK_THROWS_WITH(world.maker.begin(std::string(sealed_file::key_bytes, 'k')),
                    Contains("damaged"));
  CHECK_FALSE(fs::exists(world.data.path() / database_copy_name));
}

}  // namespace
