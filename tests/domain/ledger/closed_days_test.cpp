#include "controller/domain/ledger/closed_days.h"

#include <catch2/catch.hpp>

#include "controller/base/id.h"
#include "controller/base/receipt.h"
#include "controller/domain/ledger/numbers.h"
#include "controller/domain/ledger/running_audit.h"
#include "tests/domain/ledger/fold_all.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using std::chrono::days;

constexpr const char* of_closed_days = "each closed day is what it was closed with";
constexpr const char* of_open_days = "the open days' postings, sums and balances agree";
constexpr const char* of_chain = "closed days are chained";
constexpr const char* of_balances = "each account's points in and out give its balance";

// Spends on three days, from 2026-01-31 to 2026-02-02, of which the first two are closed.
struct Fixture {
  World world;
  ledger::Account user = ledger::user_account("u");
  ledger::Account app = ledger::app_account("a");
  std::int64_t first = utc_day(world.clock.now());
  Fixture() {
    world.write([&](db::Tx& tx) {
      ledger::open_account(tx, user);
      ledger::open_account(tx, app);
    });
    world.mint(user, 100);
    for (int i = 0; i < 3; ++i) {
      if (i > 0) world.clock.advance(days(1));
      spend(10);
      spend(1);
    }
    close_due();
  }

  void spend(std::int64_t amount) {
    world.write([&](db::Tx& tx) {
      REQUIRE(ledger::post(
          tx, {.kind = "spend", .from = user, .to = app, .amount = amount, .memo = "a hat"}));
      fold_all(tx);
    });
  }
  std::optional<std::int64_t> next_to_close() {
    return world.read([](db::Tx& tx) { return ledger::next_to_close(tx); });
  }
  void close(std::int64_t day) {
    world.write([&](db::Tx& tx) {
      ledger::begin_closing(tx, day);
      ledger::DayWalk walk(tx, day);
      ledger::finish(tx, walk);
      CHECK(walk.finding().broken == 0);
      CHECK_FALSE(ledger::end_closing(tx, walk).empty());
    });
  }
  void close_due() {
    while (const auto day = next_to_close()) close(*day);
  }
  // Runs all passes that are due.
  void pass() {
    ledger::DaysPass pass;
    const auto due = [](db::Tx& tx) { return ledger::is_days_pass_due(tx); };
    while (world.read(due)) {
      world.read([&](db::Tx& tx) { ledger::read_days(tx, pass); });
      world.write([&](db::Tx& tx) { ledger::store(tx, pass); });
    }
    while (const auto step = world.read([](db::Tx& tx) { return ledger::read_others(tx); }))
      world.write([&](db::Tx& tx) { ledger::store(tx, *step); });
  }
  // A statement that changes the postings of the transaction that was made as number `count`, from
  // 0 for the minting.
  static std::string postings_of(int count, const std::string& set) {
    return "UPDATE ledger_postings " + set +
           " WHERE transaction_number = (SELECT number FROM ledger_transactions ORDER BY number "
           "LIMIT 1 OFFSET " +
           std::to_string(count) + ")";
  }
  void change(std::string_view sql) {
    world.write([&](db::Tx& tx) {
      allow_tampering(tx);
      tx.execute(sql);
    });
  }
  // The checks that fail in the audit of a ledger in use, with their details.
  std::map<std::string, std::string> broken() {
    std::map<std::string, std::string> found;
    for (const auto& check : world.read([](db::Tx& tx) { return ledger::running_audit(tx); }))
      if (!check.ok) found[check.name] = check.detail;
    return found;
  }
  std::vector<std::string> broken_by_full_audit() {
    std::vector<std::string> found;
    for (const auto& check : world.read([](db::Tx& tx) { return ledger::audit(tx); }))
      if (!check.ok) found.push_back(check.name);
    return found;
  }
};

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("a day is closed an hour after its end, and days without transactions have no row") {
  Fixture f;
  CHECK_FALSE(f.next_to_close());
  f.world.clock.advance(12h + 59min + 59s);  // it was 12:00
  CHECK_FALSE(f.next_to_close());
  f.world.clock.advance(1s);
  CHECK(f.next_to_close() == f.first + 2);
  f.close(f.first + 2);
  f.world.clock.advance(days(5));
  CHECK_FALSE(f.next_to_close());
  f.spend(1);
  f.world.clock.advance(days(2));
  CHECK(f.next_to_close() == f.first + 8);
  f.close_due();
  CHECK(f.world.read([](db::Tx& tx) { return ledger::check_chain(tx); }).checked == 4);
  f.pass();
  CHECK(f.broken().empty());
  CHECK(f.broken_by_full_audit().empty());
}

TEST_CASE("a day whose closing was interrupted is closed later, and nothing is posted on it") {
  Fixture f;
  f.world.clock.advance(days(1));
  f.world.write([&](db::Tx& tx) { ledger::begin_closing(tx, f.first + 2); });
  CHECK(f.next_to_close() == f.first + 2);
  f.spend(1);
  f.close_due();
  CHECK(f.broken().empty());
}

TEST_CASE(
    "while the clock is behind the newest closed day, postings have the first time after it") {
  Fixture f;
  f.world.clock.advance(days(1));
  f.close_due();
  f.world.write([&](db::Tx& tx) { ledger::begin_closing(tx, f.first + 4); });
  f.spend(5);
  const auto newest = f.world.read([](db::Tx& tx) {
    return ledger::time_of_number(tx.number("SELECT max(number) FROM ledger_transactions"));
  });
  CHECK(newest == Instant(days(f.first + 5)));
  f.close(f.first + 4);
  CHECK(f.broken().empty());
  CHECK(f.broken_by_full_audit().empty());
  f.world.clock.advance(days(7));
  f.close_due();
  f.pass();
  CHECK(f.broken().empty());
}

TEST_CASE("a changed posting of a closed day is found and named") {
  Fixture f;
  f.pass();
  CHECK(f.broken().empty());
  // Both postings of the day's spend of 1, so that the transaction still sums to 0.
  f.change(f.postings_of(2, "SET amount = amount * 2"));
  CHECK(f.broken().empty());  // it isn't read at once, but in the next pass
  f.world.clock.advance(ledger::pass_pause);
  f.pass();
  const auto broken = f.broken();
  REQUIRE(broken.contains(of_closed_days));
  CHECK(contains(broken.at(of_closed_days),
                 "2026-01-31: the sums of app:a are 11 in and 0 out, "
                 "and 12 in and 0 out was posted"));
  CHECK(f.broken_by_full_audit().size() >= 3);
  // The metric counts the violation until a pass has found nothing.
  const auto counted = [&] { return f.world.read(ledger::violations_found); };
  CHECK(counted() > 0);
  f.change(f.postings_of(2, "SET amount = amount / 2"));
  CHECK(counted() > 0);
  f.world.clock.advance(ledger::pass_pause);
  f.pass();
  CHECK(counted() == 0);
}

TEST_CASE("postings and sums that were changed together are found by the hash") {
  Fixture f;
  f.change(f.postings_of(2, "SET amount = amount * 2"));
  f.change(
      "UPDATE ledger_accounts SET balance = balance - 1, debited = debited + 1 "
      "WHERE id = 'user:u'");
  f.change(
      "UPDATE ledger_accounts SET balance = balance + 1, credited = credited + 1 "
      "WHERE id = 'app:a'");
  f.change("UPDATE ledger_days SET debited = debited + 1 WHERE account_id = 'user:u'");
  f.change("UPDATE ledger_days SET credited = credited + 1 WHERE account_id = 'app:a'");
  f.change(
      "UPDATE ledger_kind_days SET credited = credited + 1 "
      "WHERE account_id = 'app:a' AND day = (SELECT min(day) FROM ledger_days)");
  f.pass();
  const auto broken = f.broken();
  REQUIRE(broken.size() == 1);
  CHECK(contains(broken.at(of_closed_days),
                 "the first: 2026-01-31: its transactions aren't those "
                 "that it was closed with"));
  CHECK(f.broken_by_full_audit() == std::vector<std::string>{of_closed_days});
}

TEST_CASE("a transaction that was added to a closed day, or before all days, is found") {
  const auto at = GENERATE(*parse_iso8601("2026-01-31T00:00:00Z"), from_millis(0));
  Fixture f;
  const auto id = ledger::parts_of_id(new_uuid(at));
  const std::string number = std::to_string(ledger::first_number(at) + 1);
  f.change("INSERT INTO ledger_transactions (number, id_high, id_low, kind, memo) VALUES (" +
           number + ", " + std::to_string(id.high) + ", " + std::to_string(id.low) + ", 1, '')");
  f.change(
      "INSERT INTO ledger_postings "
      "(account_number, incoming, transaction_number, leg, kind, amount) "
      "SELECT number, CASE WHEN kind = 'app' THEN 1 ELSE 0 END, " +
      number + ", 0, 1, CASE WHEN kind = 'app' THEN 1 ELSE -1 END " +
      "FROM ledger_accounts WHERE id IN ('user:u', 'app:a')");
  f.pass();
  CHECK(contains(f.broken()[of_closed_days], "2026-01-31: "));
}

TEST_CASE("a changed row of sums of a closed day is found and named") {
  Fixture f;
  SECTION("of an account") {
    f.change(
        "UPDATE ledger_days SET credited = credited + 7 "
        "WHERE account_id = 'app:a' AND day = (SELECT min(day) + 1 FROM ledger_days)");
    f.pass();
    CHECK(contains(f.broken()[of_closed_days],
                   "2026-02-01: the sums of app:a are 18 in and 0 out, and 11 in and 0 out"));
    CHECK(f.broken_by_full_audit() ==
          std::vector<std::string>{"each day's sums of an account are its postings"});
  }
  SECTION("by kind") {
    f.change(
        "UPDATE ledger_kind_days SET postings = 3 "
        "WHERE account_id = 'app:a' AND day = (SELECT min(day) + 1 FROM ledger_days)");
    f.pass();
    CHECK(contains(f.broken()[of_closed_days], "2026-02-01: the sums of app:a for spend"));
    CHECK(f.broken_by_full_audit() ==
          std::vector<std::string>{"each day's sums by kind are its postings"});
  }
  SECTION("one that is missing") {
    f.change(
        "DELETE FROM ledger_days "
        "WHERE account_id = 'app:a' AND day = (SELECT min(day) + 1 FROM ledger_days)");
    f.pass();
    CHECK(contains(f.broken()[of_closed_days], "2026-02-01: there are no sums of app:a"));
    CHECK(f.broken_by_full_audit() ==
          std::vector<std::string>{"each day's sums of an account are its postings"});
  }
}

TEST_CASE("a changed row of a closed day is found at once and named") {
  const char* change = GENERATE("UPDATE ledger_closed_days SET hash = 'aa' WHERE day = ",
                                "UPDATE ledger_closed_days SET chain = 'aa' WHERE day = ",
                                "UPDATE ledger_closed_days SET root = 'aa' WHERE day = ",
                                "UPDATE ledger_closed_days SET root = NULL WHERE day = ",
                                "UPDATE ledger_closed_days SET moved = moved + 1 WHERE day = ");
  Fixture f;
  f.change(std::string(change) + std::to_string(f.first));
  const auto broken = f.broken();
  REQUIRE(broken.size() == 1);
  CHECK(contains(broken.at(of_chain), "the row of 2026-01-31, or the one before it, was changed"));
}

TEST_CASE("a changed row of a day that was closed long ago is found by the pass") {
  Fixture f;
  f.world.clock.advance(days(ledger::days_of_chain + 1));
  f.close_due();
  f.change("UPDATE ledger_closed_days SET chain = 'aa' WHERE day = " + std::to_string(f.first));
  CHECK(f.broken().empty());  // reading all rows for each answer would cost more with each year
  f.pass();
  CHECK(contains(f.broken()[of_closed_days],
                 "the row of 2026-01-31, or the one before it, was changed"));
}

TEST_CASE("days that were closed before there were trees are checked as they were closed") {
  Fixture f;
  f.world.write([](db::Tx& tx) {
    std::map<std::int64_t, receipt::Day> closed;
    {
      auto rows =
          tx.query("SELECT day, transactions, postings, moved, hash FROM ledger_closed_days");
      while (rows.next())
        closed[rows.integer("day")] = {.date = {},
                                       .transactions = rows.integer("transactions"),
                                       .postings = rows.integer("postings"),
                                       .moved = rows.integer("moved"),
                                       .hash = rows.text("hash"),
                                       .root = {},
                                       .chain = {}};
    }
    std::string chain;
    for (const auto& [day, sums] : closed) {
      chain = receipt::chain_after(chain, sums, day);
      tx.execute("UPDATE ledger_closed_days SET root = NULL, chain = $2 WHERE day = $1", day,
                 chain);
    }
  });
  f.pass();
  CHECK(f.broken().empty());
  CHECK(f.broken_by_full_audit().empty());
  // The days after them have trees.
  f.world.clock.advance(days(1));
  f.close_due();
  f.pass();
  CHECK(f.broken().empty());
  CHECK(f.world.read([](db::Tx& tx) {
    return tx.number("SELECT count(*) FROM ledger_closed_days WHERE root IS NOT NULL");
  }) == 1);
}

TEST_CASE("a changed tree of a closed day is found by the pass") {
  const char* change = GENERATE("UPDATE ledger_day_trees SET parts = 'aa' WHERE day = ",
                                "DELETE FROM ledger_day_trees WHERE day = ");
  Fixture f;
  f.change(std::string(change) + std::to_string(f.first));
  f.pass();
  CHECK(
      contains(f.broken()[of_closed_days], "2026-01-31: its tree isn't that of its transactions"));
  CHECK(f.broken_by_full_audit() == std::vector<std::string>{of_closed_days});
}

TEST_CASE("a closed day whose row is gone is found by the next row") {
  Fixture f;
  f.change("DELETE FROM ledger_closed_days WHERE day = " + std::to_string(f.first));
  CHECK(contains(f.broken()[of_chain], "the row of 2026-02-01, or the one before it, was changed"));
}

TEST_CASE("what is wrong with open days and balances is found at once") {
  Fixture f;
  SECTION("a posting") {
    f.change(f.postings_of(5, "SET amount = -9") + " AND incoming = 0");
    CHECK(contains(f.broken()[of_open_days], "is off by 1"));
  }
  SECTION("an account whose balance was changed") {
    f.change("UPDATE ledger_accounts SET balance = balance + 1 WHERE id = 'user:u'");
    CHECK(contains(f.broken()[of_balances], "user:u is off by 1"));
  }
  SECTION("an account that was changed with its points in") {
    f.change(
        "UPDATE ledger_accounts SET balance = balance + 1, credited = credited + 1 "
        "WHERE id = 'user:u'");
    CHECK(
        contains(f.broken()[of_open_days], "the account user:u differs from its sums of the day"));
  }
}

TEST_CASE("the audit passes while the day before isn't closed yet") {
  Fixture f;
  f.world.clock.advance(12h + 30min);  // from 12:00 to half past midnight
  f.spend(1);
  CHECK(f.broken().empty());
  f.world.clock.advance(1h);
  REQUIRE(f.next_to_close() == f.first + 2);
  CHECK(f.broken().empty());
}

TEST_CASE("what is wrong with an open day is found beside another open day") {
  Fixture f;
  f.world.clock.advance(12h + 30min);
  f.spend(3);
  SECTION("the older one") {
    f.change(Fixture::postings_of(5, "SET amount = amount + 1"));
    CHECK(contains(f.broken()[of_open_days], "2026-02-02: "));
  }
  SECTION("the newer one") {
    f.change(Fixture::postings_of(7, "SET amount = amount + 1"));
    CHECK(contains(f.broken()[of_open_days], "2026-02-03: "));
  }
}

TEST_CASE("emptying a memo, as for deleted users, changes no closed day") {
  Fixture f;
  f.world.write([](db::Tx& tx) { tx.execute("UPDATE ledger_transactions SET memo = ''"); });
  f.pass();
  CHECK(f.broken().empty());
}

TEST_CASE("a walk finds the same in steps of any size") {
  Fixture f;
  const auto whole = f.world.read([&](db::Tx& tx) {
    ledger::DayWalk walk(tx, f.first);
    ledger::finish(tx, walk);
    return walk.sums();
  });
  CHECK(whole.transactions == 3);
  CHECK(whole.postings == 6);
  CHECK(whole.moved == 111);
  for (const int size : {1, 2, 3, 4, 100}) {
    INFO(size);
    std::optional<ledger::DayWalk> walk;
    f.world.read([&](db::Tx& tx) { walk.emplace(tx, f.first); });
    int steps = 0;
    for (bool is_over = false; !is_over; ++steps) {
      REQUIRE(steps < 100);
      is_over = f.world.read([&](db::Tx& tx) {
        int left = size;
        return walk->step(tx, left);
      });
    }
    CHECK(walk->sums() == whole);
    CHECK(walk->finding().broken == 0);
  }
}

}  // namespace
