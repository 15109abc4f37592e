// Writes that wait for the rows of others instead of colliding (Database::write_with_row_locks).
#include <catch2/catch.hpp>
#include <thread>

#include "controller/db/postgres/database.h"
#include "controller/domain/ledger/days.h"
#include "controller/domain/ledger/ledger_audit.h"
#include "controller/domain/ledger/pending.h"
#include "tests/store.h"

namespace berth::test {
namespace {

using std::chrono::days;

const ledger::Account user = ledger::user_account("u"), other = ledger::user_account("o");

struct Fixture {
  Fixture() {
    today.write([](db::Tx& tx) {
      ledger::open_account(tx, ledger::issuance());
      for (const auto& account : {user, other}) ledger::mint(tx, account, 1'000, "test");
    });
  }
  static void pay(db::Tx& tx, std::int64_t amount) {
    const ledger::Movement payment = {
        .kind = "transfer", .from = user, .to = other, .amount = amount, .memo = ""};
    if (!ledger::post(tx, payment)) throw std::logic_error("too few points");
  }
  // Waits until a transaction waits for a row that another one has changed.
  void wait_until_one_waits() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (today.read([](db::Tx& tx) {
      return tx.number(R"(
          SELECT count(*)
          FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock')");
    }) == 0)
      if (std::chrono::steady_clock::now() > until) throw std::logic_error("nobody waits");
  }
  db::postgres::Database open(const Clock& its_clock) {
    return db::postgres::Database({.address = database.address(), .password_file = {}}, its_clock);
  }

  TestDatabase database{TestDatabase::Content::schema};
  const Clock clock = Clock::standing_at(*parse_iso8601("2026-01-31T12:00:00Z"));
  const Clock clock_ahead = Clock::standing_at(clock.now() + days(1));
  db::postgres::Database today = open(clock), tomorrow = open(clock_ahead);
};

TEST_CASE("a write that was overtaken is undone and runs again") {
  Fixture f;
  const auto collisions = f.today.collisions();
  int runs = 0;
  f.today.write_with_row_locks([&](db::Tx& tx) {
    Fixture::pay(tx, 10);
    if (++runs == 1) throw db::Overtaken("test");
  });
  CHECK(runs == 2);
  CHECK(f.today.collisions() == collisions + 1);
  CHECK(f.today.read([](db::Tx& tx) { return ledger::balance(tx, user); }) == 990);
}

TEST_CASE("of two writes that change one row, the later one sees what the earlier one made of it") {
  Fixture f;
  const auto collisions = f.today.collisions();
  std::jthread second;
  std::int64_t seen = 0;
  f.today.write_with_row_locks([&](db::Tx& tx) {
    ledger::lock(tx, user);
    second = std::jthread([&] {
      f.today.write_with_row_locks([&](db::Tx& tx_of_second) {
        ledger::lock(tx_of_second, user);
        seen = ledger::balance(tx_of_second, user);
      });
    });
    f.wait_until_one_waits();
    Fixture::pay(tx, 10);
  });
  second.join();
  CHECK(seen == 990);
  CHECK(f.today.collisions() == collisions);
}

TEST_CASE("who waited for a berthd whose clock is ahead posts on its day") {
  Fixture f;
  std::jthread second;
  f.tomorrow.write_with_row_locks([&](db::Tx& tx) {
    Fixture::pay(tx, 10);
    second = std::jthread(
        [&] { f.today.write_with_row_locks([](db::Tx& later) { Fixture::pay(later, 20); }); });
    f.wait_until_one_waits();
  });
  second.join();
  const std::int64_t day = utc_day(f.clock.now());
  const auto history =
      f.today.read([&](db::Tx& tx) { return ledger::history(tx, user, day, day + 1); });
  CHECK(history.at(0).debited == 0);
  CHECK(history.at(1).debited == 30);
  for (const auto& check : f.today.read([](db::Tx& tx) { return ledger::audit(tx); })) {
    INFO(check.name << ": " << check.detail);
    CHECK(check.ok);
  }
}

TEST_CASE("who finds too few points while another one adds the pending credits sees them then") {
  Fixture f;
  const ledger::Account app = ledger::app_account("a");
  f.today.write([&](db::Tx& tx) {
    ledger::open_account(tx, app);
    ledger::mint(tx, app, 100, "test");
  });
  REQUIRE(f.today.read([](db::Tx& tx) { return ledger::count_pending(tx); }) == 1);
  std::jthread second;
  bool is_paid = false;
  f.today.write_with_row_locks([&](db::Tx& tx) {
    ledger::fold(tx);
    second = std::jthread([&] {
      f.today.write_with_row_locks([&](db::Tx& later) {
        is_paid =
            ledger::post(later,
                         {.kind = "transfer", .from = app, .to = user, .amount = 100, .memo = ""})
                .has_value();
      });
    });
    f.wait_until_one_waits();
  });
  second.join();
  CHECK(is_paid);
  CHECK(f.today.read([&](db::Tx& tx) { return ledger::balance(tx, app); }) == 0);
}

}  // namespace
}  // namespace berth::test
