// The disk fails at each write and at each sync of a sequence of movements. What was answered is
// stored, what wasn't isn't, nothing is half done, and it works again once the disk does.
#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <map>

#include "controller/db/sqlite/database.h"
#include "controller/domain/ledger/holds.h"
#include "controller/domain/ledger/ledger_audit.h"
#include "tests/db/fault_vfs.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;

constexpr int accounts_of_a_run = 4;
constexpr int movements_of_a_run = 3;
// More operations than a run has. In the last rounds no operation fails, which ends the test.
constexpr int most_operations = 400;

struct Fault {
  const char* what;
  FaultVfs::Operation operation;
  int code;
};
constexpr Fault faults[] = {{"the disk is full", FaultVfs::Operation::write, SQLITE_FULL},
                            {"a write fails", FaultVfs::Operation::write, SQLITE_IOERR_WRITE},
                            {"a sync fails", FaultVfs::Operation::sync, SQLITE_IOERR_FSYNC}};

ledger::Account account(int number) {
  return ledger::user_account("account" + std::to_string(number));
}

using Balances = std::map<std::string, std::int64_t>;

// A ledger, and the balances that it must have according to the answers.
class Run {
 public:
  explicit Run(FaultVfs& disk) : disk_(disk) {
    open();
    database_->write([](db::Tx& tx) {
      for (int i = 0; i < accounts_of_a_run; ++i) {
        ledger::open_account(tx, account(i));
        ledger::mint(tx, account(i), 1'000, "start");
      }
    });
    for (int i = 0; i < accounts_of_a_run; ++i) expected_[account(i).id()] = 1'000;
  }
  ~Run() { disk_.heal(); }

  // Makes movements, one of which fails. Returns how many were refused with 503.
  int go() {
    int refused = 0;
    for (int i = 0; i < movements_of_a_run; ++i) {
      try {
        i % 3 == 2 ? hold_and_post(i) : move(i);
      } catch (const Error& error) {
        REQUIRE(error.code == Code::unavailable);
        ++refused;
      }
    }
    return refused;
  }

  void check() {
    CHECK(balances() == expected_);
    for (const auto& check : database_->read([](db::Tx& tx) { return ledger::audit(tx); })) {
      INFO(check.name << ": " << check.detail);
      CHECK(check.ok);
    }
  }
  void recovers() {
    disk_.heal();
    REQUIRE(database_->takes_writes());
    CHECK(go() == 0);
    check();
    open();  // what a new process sees
    check();
  }

 private:
  void open() {
    database_.reset();
    provide_sqlite_file(dir_ / "berth.db");
    database_.emplace(dir_ / "berth.db", clock_,
                      db::sqlite::Options{.readers = 1, .vfs = disk_.name()});
  }
  void move(int i) {
    const auto from = account(i % accounts_of_a_run), to = account((i + 1) % accounts_of_a_run);
    database_->write([&](db::Tx& tx) {
      ledger::post(tx, {.kind = "test", .from = from, .to = to, .amount = i + 1, .memo = ""});
    });
    expected_[from.id()] -= i + 1;
    expected_[to.id()] += i + 1;
  }
  // Three transactions of the ledger in one transaction of the database.
  void hold_and_post(int i) {
    const auto from = account(i % accounts_of_a_run), to = account((i + 2) % accounts_of_a_run);
    database_->write([&](db::Tx& tx) {
      const auto hold = holds::place(
          tx, {.source = from, .amount = i + 1, .purpose = "test", .life = std::chrono::hours(1)});
      holds::post(tx, *hold, to, "test", "");
    });
    expected_[from.id()] -= i + 1;
    expected_[to.id()] += i + 1;
  }
  Balances balances() {
    return database_->read([](db::Tx& tx) {
      Balances found;
      for (int i = 0; i < accounts_of_a_run; ++i)
        found[account(i).id()] = ledger::balance(tx, account(i));
      return found;
    });
  }

  FaultVfs& disk_;
  TempDir dir_;
  Clock clock_ = Clock::standing_at(from_millis(1'000'000'000));
  std::optional<db::sqlite::Database> database_;
  Balances expected_;
};

void fail_at_each(const Fault& fault, FaultVfs::Lasting lasting) {
  FaultVfs disk;
  int rounds_with_a_refusal = 0;
  for (int nth = 1; nth <= most_operations; ++nth) {
    INFO(fault.what << " at operation " << nth);
    Run run(disk);
    disk.fail(fault.operation, nth, fault.code, lasting);
    const int refused = run.go();
    const bool failed = disk.failures() > 0;
    CHECK((refused > 0) == failed);
    run.check();
    run.recovers();
    rounds_with_a_refusal += refused > 0;
    if (!failed) break;
    REQUIRE(nth < most_operations);
  }
  CHECK(rounds_with_a_refusal >= movements_of_a_run);
}

TEST_CASE("if the disk fails once, at any operation, nothing is lost or half done", "[sqlite]") {
  for (const Fault& fault : faults) fail_at_each(fault, FaultVfs::Lasting::once);
}

TEST_CASE("if the disk keeps failing, from any operation on, nothing is lost or half done",
          "[sqlite]") {
  for (const Fault& fault : faults) fail_at_each(fault, FaultVfs::Lasting::until_healed);
}

}  // namespace
