// What happens if the disk accepts no more: SQLite rolls back whole transactions in spite of
// savepoints.
#include <catch2/catch.hpp>

#include "controller/db/failed_commits.h"
#include "controller/db/sqlite/database.h"
#include "tests/db/fault_vfs.h"
#include "tests/db/groups.h"
#include "tests/db/rows.h"
#include "tests/temp_dir.h"

namespace {

using namespace berth;
using namespace berth::test;

constexpr size_t more_than_the_page_cache =
    6'000'000;  // SQLite keeps 2,000 KiB in memory and writes the rest

struct Fixture {
  FaultVfs disk;
  TempDir dir;
  std::filesystem::path file = dir / "berth.db";
  Clock clock = Clock::standing_at(from_millis(1'000'000));
  std::optional<db::sqlite::Database> opened;
  std::vector<std::string> heard;

  Fixture() { open(); }
  ~Fixture() {
    disk.heal();
    opened.reset();
  }
  void open() {
    opened.emplace(file, clock, db::sqlite::Options{.readers = 2, .vfs = disk.name()});
    opened->subscribe([&](db::Topic, const std::string& id) { heard.push_back(id); });
  }
  db::Database& database() { return *opened; }

  // Returns the rows that a new process would find if this one were killed now.
  Rows after_a_crash() {
    const auto copy = dir / "copy.db";
    for (const char* suffix : {"", "-wal"}) {
      const std::filesystem::path from = file.string() + suffix;
      std::filesystem::remove(copy.string() + suffix);
      if (std::filesystem::exists(from)) std::filesystem::copy_file(from, copy.string() + suffix);
    }
    std::filesystem::remove(copy.string() + "-shm");
    return seen_from_outside(copy);
  }
};

struct Fault {
  const char* what;
  FaultVfs::Operation operation;
  int code;
};
constexpr Fault faults[] = {
    {"the disk is full", FaultVfs::Operation::write, SQLITE_FULL},
    {"a write fails", FaultVfs::Operation::write, SQLITE_IOERR_WRITE},
    {"a sync fails", FaultVfs::Operation::sync, SQLITE_IOERR_FSYNC},
};

void store(db::Tx& tx, const std::string& key) {
  put(tx, key);
  tx.notify(db::Topic::deployment, key);
}

TEST_CASE("if a commit fails, nothing of its group is stored and each caller is told so") {
  for (const Fault& fault : faults) {
    INFO(fault.what);
    bool met = false;
    for (int attempt = 0; attempt < 20 && !met; ++attempt) {
      Fixture f;
      f.database().write([](db::Tx& tx) { store(tx, "before"); });
      const auto commits_before = f.database().commits();
      const auto failed_before = db::failed_commits();
      std::vector<std::function<void(db::Tx&)>> jobs;
      for (int i = 0; i < 4; ++i)
        jobs.emplace_back([i](db::Tx& tx) { store(tx, std::to_string(i)); });
      // A write that fails by itself keeps its own error, because it would have been refused
      // anyway.
      jobs.emplace_back([](db::Tx&) { throw invalid_field("name", "is wrong"); });
      const auto outcomes =
          together(f.database(), jobs, [&] { f.disk.fail(fault.operation, 1, fault.code); });
      // There is one failure for the group; and another one if the commit may be in the log and has
      // to be overwritten there.
      const int failures_of_one_group = fault.code == SQLITE_FULL ? 1 : 2;
      met = f.disk.failures() == failures_of_one_group;
      CHECK(f.disk.failures() >= failures_of_one_group);
      for (size_t i = 0; i < 4; ++i) CHECK(outcomes[i].refused == Code::unavailable);
      CHECK(outcomes[4].refused == Code::validation_failed);
      CHECK(f.heard == std::vector<std::string>{"before"});
      // One more commit belongs to the write that held the writer; it changed nothing, so nothing
      // was written.
      CHECK(f.database().commits() == commits_before + 1);
      CHECK(f.database().read(all) == Rows{{"before", "x"}});
      CHECK(f.after_a_crash() == Rows{{"before", "x"}});

      CHECK(db::failed_commits() == failed_before + 1);
      CHECK_FALSE(f.database().takes_writes());
      CHECK(outcome_of(f.database(), [](db::Tx& tx) { store(tx, "still broken"); }).refused ==
            Code::unavailable);
      f.disk.heal();
      CHECK(f.database().takes_writes());
      f.database().write([](db::Tx& tx) { store(tx, "after"); });
      f.opened.reset();
      CHECK(seen_from_outside(f.file) == Rows{{"before", "x"}, {"after", "x"}});
      f.open();
      CHECK(f.database().read(all) == Rows{{"before", "x"}, {"after", "x"}});
      CHECK(f.heard == std::vector<std::string>{"before", "after"});
    }
    CHECK(met);
  }
}

TEST_CASE("it doesn't matter at which of its writes a commit fails") {
  for (int nth = 1; nth <= 12; ++nth) {
    INFO("write " << nth);
    Fixture f;
    f.database().write([](db::Tx& tx) { store(tx, "before"); });
    f.disk.fail(FaultVfs::Operation::write, nth, SQLITE_FULL, FaultVfs::Lasting::once);
    const auto outcome = outcome_of(f.database(), [](db::Tx& tx) {
      for (int i = 0; i < 40; ++i) put(tx, "many" + std::to_string(i), std::string(500, 'x'));
    });
    REQUIRE(f.disk.failures() == 1);
    CHECK(outcome.refused == Code::unavailable);
    CHECK(f.after_a_crash() == Rows{{"before", "x"}});
    CHECK(f.database().takes_writes());
    f.database().write([](db::Tx& tx) { store(tx, "after"); });
    CHECK(f.after_a_crash() == Rows{{"before", "x"}, {"after", "x"}});
  }
}

TEST_CASE("a commit that failed in its sync doesn't come back after a crash") {
  for (const auto lasting : {FaultVfs::Lasting::once, FaultVfs::Lasting::until_healed}) {
    Fixture f;
    f.database().write([](db::Tx& tx) { put(tx, "before"); });
    f.disk.fail(FaultVfs::Operation::sync, 1, SQLITE_IOERR_FSYNC, lasting);
    CHECK(outcome_of(f.database(), [](db::Tx& tx) { put(tx, "lost"); }).refused ==
          Code::unavailable);
    CHECK(f.disk.failures() > 0);
    CHECK(f.after_a_crash() == Rows{{"before", "x"}});
  }
}

TEST_CASE("a write that fills the disk while it runs undoes only the earlier ones of its group") {
  for (const Fault& fault : faults) {
    if (fault.operation == FaultVfs::Operation::sync)
      continue;  // nothing is synced before the commit
    INFO(fault.what);
    Fixture f;
    const auto large = [&](db::Tx& tx) {
      f.disk.fail(fault.operation, 1, fault.code);
      put(tx, "large", std::string(more_than_the_page_cache, 'x'));
      for (int i = 0; i < 100; ++i) put(tx, "large" + std::to_string(i), std::string(50'000, 'x'));
    };
    CHECK(outcome_of(f.database(), large).refused == Code::unavailable);
    CHECK(f.disk.failures() > 0);
    f.disk.heal();
    CHECK(f.database().takes_writes());
    CHECK(f.database().read(all).empty());
  }
}

TEST_CASE("a write that hides the disk's fault is refused all the same") {
  for (const bool swallow : {true, false}) {
    Fixture f;
    const auto outcome = outcome_of(f.database(), [&](db::Tx& tx) {
      put(tx, "outer");
      f.disk.fail(FaultVfs::Operation::write, 1, SQLITE_FULL);
      try {
        tx.nested([&] {
          for (int i = 0; i < 100; ++i)
            put(tx, "large" + std::to_string(i), std::string(50'000, 'x'));
        });
      } catch (const std::exception&) {
        if (!swallow) throw;
        f.disk.heal();
        CHECK_THROWS(put(tx, "alone"));
        CHECK_THROWS(tx.nested([&] { put(tx, "nested alone"); }));
      }
    });
    CHECK(f.disk.failures() > 0);
    CHECK(outcome.refused == Code::unavailable);
    f.disk.heal();
    CHECK(f.database().takes_writes());
    CHECK(f.database().read(all).empty());
  }
}

TEST_CASE("reads go on while the disk takes no writes") {
  Fixture f;
  f.database().write([](db::Tx& tx) { put(tx, "a"); });
  f.disk.fail(FaultVfs::Operation::write, 1, SQLITE_FULL);
  CHECK(outcome_of(f.database(), [](db::Tx& tx) { put(tx, "b"); }).refused == Code::unavailable);
  CHECK(f.database().read(all) == Rows{{"a", "x"}});
  CHECK_FALSE(f.database().takes_writes());
}

}  // namespace
