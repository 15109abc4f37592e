#include "controller/db/sqlite/copy.h"

#include <sys/stat.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <fstream>
#include <optional>
#include <thread>

#include "controller/db/sqlite/database.h"
#include "tests/db/rows.h"
#include "tests/temp_dir.h"

namespace {

using namespace berth;
using namespace berth::test;

const db::sqlite::GoOn always = [] { return true; };

struct Fixture {
  TempDir dir;
  std::filesystem::path file = dir / "berth.db";
  std::filesystem::path target = dir / "copy.db";
  Clock clock = Clock::standing_at(from_millis(1'000'000));
  std::optional<db::sqlite::Database> opened{std::in_place, file, clock,
                                             db::sqlite::Options{.readers = 2, .vfs = {}}};
  db::Database& database() { return *opened; }
  void fill(int rows) {
    database().write([&](db::Tx& tx) {
      for (int i = 0; i < rows; ++i) put(tx, std::to_string(i), std::string(1'000, 'x'));
    });
  }
};

int mode_of(const std::filesystem::path& file) {
  struct stat info {};
  return ::stat(file.c_str(), &info) == 0 ? int(info.st_mode & 0777) : -1;
}

// Overwrites bytes in the middle of a file.
void damage(const std::filesystem::path& file, long at, const std::string& bytes) {
  std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
  out.seekp(at);
  out << bytes;
}

TEST_CASE("a copy holds what was committed, in one private file") {
  Fixture f;
  f.fill(3'000);
  db::sqlite::copy(f.file, f.target, always);
  CHECK(db::sqlite::examine(f.target, always).sound());
  CHECK(seen_from_outside(f.target) == f.database().read(all));
  CHECK(mode_of(f.target) == 0600);
  CHECK_FALSE(std::filesystem::exists(f.target.string() + "-wal"));
  CHECK_FALSE(std::filesystem::exists(f.target.string() + "-journal"));
}

TEST_CASE(
    "a copy shows one moment, however much is written meanwhile, and writers don't wait for it") {
  Fixture f;
  f.fill(4'000);
  // Two rows that always change together. The copy must never contain one change without the other.
  std::atomic<int> written = 0;
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int i = 1; !stop; ++i) {
      f.database().write([&](db::Tx& tx) {
        put(tx, "left", std::to_string(i));
        put(tx, "right", std::to_string(i));
      });
      written = i;
    }
  });
  while (written < 3) std::this_thread::yield();
  for (int round = 0; round < 5; ++round) {
    const int before = written;
    // More is committed in the middle of the copy, and the writer isn't held up.
    bool held_up = false;
    int asked = 0;
    db::sqlite::copy(f.file, f.target, [&] {
      const int now = written;
      if (++asked == 2) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (written < now + 2 && !held_up) held_up = std::chrono::steady_clock::now() > end;
      }
      return true;
    });
    CHECK(asked >= 2);
    CHECK_FALSE(held_up);
    CHECK(db::sqlite::examine(f.target, always).sound());
    const Rows rows = seen_from_outside(f.target);
    CHECK(rows.at("left") == rows.at("right"));
    CHECK(std::stoi(rows.at("left")) >= before);
  }
  stop = true;
  writer.join();
}

TEST_CASE("a copy that is told to stop leaves nothing") {
  Fixture f;
  f.fill(3'000);
  int asked = 0;
  CHECK_THROWS_AS(db::sqlite::copy(f.file, f.target, [&] { return ++asked < 2; }),
                  db::sqlite::Stopped);
  CHECK_FALSE(std::filesystem::exists(f.target));
  db::sqlite::copy(f.file, f.target, always);
  CHECK_THROWS_AS(db::sqlite::examine(f.target, [] { return false; }), db::sqlite::Stopped);
}

TEST_CASE("the remains of a killed copy don't prevent the next one") {
  Fixture f;
  f.fill(10);
  std::ofstream(f.target) << std::string(10'000, 'x');
  db::sqlite::copy(f.file, f.target, always);
  CHECK(db::sqlite::examine(f.target, always).sound());
}

TEST_CASE("damage is found: pages, foreign keys, no database at all") {
  Fixture f;
  f.fill(3'000);
  db::sqlite::copy(f.file, f.target, always);
  {
    SQLite::Database raw(f.target.string(), SQLite::OPEN_READWRITE);
    raw.exec("PRAGMA foreign_keys = OFF");
    raw.exec(
        "INSERT INTO email_tokens (token_hash, user_id, purpose, expires_at) VALUES ('h', "
        "'nobody', "
        "'verify_email', 0)");
  }
  const db::sqlite::Soundness found = db::sqlite::examine(f.target, always);
  CHECK(found.integrity.empty());
  REQUIRE(found.foreign_keys.size() == 1);
  CHECK(found.foreign_keys[0].find("email_tokens") != std::string::npos);

  db::sqlite::copy(f.file, f.target, always);
  damage(f.target, 200L * 4096, std::string(4096, '\x7f'));
  CHECK_FALSE(db::sqlite::examine(f.target, always).integrity.empty());
  damage(f.target, 0, "no database here");
  CHECK_FALSE(db::sqlite::examine(f.target, always).integrity.empty());
}

TEST_CASE("only the owner can read the database, its WAL and its index") {
  Fixture f;
  f.fill(1);
  for (const char* suffix : {"", "-wal", "-shm"}) {
    INFO(suffix);
    CHECK(mode_of(f.file.string() + suffix) == 0600);
    ::chmod((f.file.string() + suffix).c_str(), 0644);
  }
  f.opened.reset();
  ::chmod(f.file.c_str(), 0644);  // as an older berthd left it
  f.opened.emplace(f.file, f.clock, db::sqlite::Options{.readers = 2, .vfs = {}});
  f.fill(2);
  for (const char* suffix : {"", "-wal", "-shm"}) CHECK(mode_of(f.file.string() + suffix) == 0600);
}

}  // namespace
