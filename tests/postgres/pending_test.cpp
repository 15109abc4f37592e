// Credits that are added to their account later, on PostgreSQL, where writes run side by side.
#include "controller/domain/ledger/pending.h"

#include <catch2/catch.hpp>
#include <condition_variable>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "controller/base/error.h"
#include "controller/db/postgres/database.h"
#include "controller/domain/kernel/idempotency_keys.h"
#include "controller/domain/ledger/days.h"
#include "controller/domain/ledger/ledger_audit.h"
#include "controller/domain/ledger/numbers.h"
#include "controller/domain/ledger/running_audit.h"
#include "reconcilers/loops/ledger.h"
#include "tests/store.h"

namespace berth::test {
namespace {

using std::chrono::days;
using std::chrono::seconds;

const ledger::Account app = ledger::app_account("a");

ledger::Account user(int number) { return ledger::user_account("u" + std::to_string(number)); }

struct Fixture {
  explicit Fixture(int users = 2) {
    opened.write([&](db::Tx& tx) {
      for (const auto& account : {ledger::treasury(), ledger::issuance(), app})
        ledger::open_account(tx, account);
      for (int i = 0; i < users; ++i) ledger::mint(tx, user(i), 1'000, "test");
    });
  }
  bool post(const ledger::Account& from, const ledger::Account& to, std::int64_t amount,
            std::string_view kind = "spend") {
    return opened
        .write([&](db::Tx& tx) {
          return ledger::post(tx,
                              {.kind = kind, .from = from, .to = to, .amount = amount, .memo = ""});
        })
        .has_value();
  }
  int fold() {
    return opened.write_with_row_locks([](db::Tx& tx) { return ledger::fold(tx); });
  }
  std::int64_t balance(const ledger::Account& account) {
    return opened.read([&](db::Tx& tx) { return ledger::balance(tx, account); });
  }
  std::int64_t number(std::string_view sql) {
    return opened.read([&](db::Tx& tx) { return tx.number(sql); });
  }
  std::int64_t pending() { return number("SELECT count(*) FROM ledger_pending"); }
  // The checks of both audits that fail.
  std::vector<std::string> broken() {
    std::vector<std::string> names;
    const auto look = [&](auto&& audit) {
      for (const auto& check : opened.read(audit))
        if (!check.ok) names.push_back(check.name + ": " + check.detail);
    };
    look([](db::Tx& tx) { return ledger::audit(tx); });
    look([](db::Tx& tx) { return ledger::running_audit(tx); });
    return names;
  }
  // All that somebody can see of the app's account.
  std::string seen() {
    return opened.read([&](db::Tx& tx) {
      const std::int64_t today = utc_day(tx.now());
      const ledger::Totals totals = ledger::totals(tx, app);
      std::string text = std::to_string(ledger::balance(tx, app)) + " " +
                         std::to_string(totals.credited) + "-" + std::to_string(totals.debited);
      for (const auto& day : ledger::history(tx, app, today - 2, today))
        text += "\n" + std::to_string(day.credited) + "-" + std::to_string(day.debited) + "=" +
                std::to_string(day.balance);
      for (const auto& [day, kind, sum] : ledger::kinds(tx, app, today - 2, today))
        text += "\n" + std::to_string(day) + " " + kind + " " + std::to_string(sum.postings) + " " +
                std::to_string(sum.credited) + "-" + std::to_string(sum.debited);
      const ledger::KindSum spends = ledger::sum_of_kind(tx, app, "spend", today - 1, today);
      if (const auto sums = ledger::sums_of_kinds(tx, app, today - 1, today);
          sums.contains("spend"))
        CHECK(sums.at("spend") == spends);
      return text + "\n" + std::to_string(spends.postings) + " " + std::to_string(spends.credited);
    });
  }
  db::postgres::Database open() {
    return db::postgres::Database({.address = database.address(), .password_file = {}}, clock);
  }

  TestDatabase database{TestDatabase::Content::schema};
  Clock clock = Clock::standing_at(*parse_iso8601("2026-01-31T12:00:00Z"));
  db::postgres::Database opened{{.address = database.address(), .password_file = {}}, clock};
};

// Lets one thread wait until another one is done, but not for ever.
struct Latch {
  std::mutex mutex;
  std::condition_variable opens;
  bool is_open = false;
  void open() {
    const std::lock_guard lock(mutex);
    is_open = true;
    opens.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex);
    return opens.wait_for(lock, seconds(5), [&] { return is_open; });
  }
};

TEST_CASE("two users spend into one app at the same time, and neither write runs again") {
  Fixture f;
  f.post(user(0), app, 1);  // so that kinds and the day's rows are there
  f.post(user(1), app, 1);
  f.fold();
  const auto collisions = f.opened.collisions();
  const auto spend = [](db::Tx& tx, int who) {
    const idempotency_keys::Slot slot = {.principal = "p" + std::to_string(who),
                                         .method = "POST",
                                         .path = "/",
                                         .key = "k",
                                         .request_hash = ""};
    CHECK_FALSE(idempotency_keys::find_or_reserve(tx, slot));
    ledger::post(tx, {.kind = "spend", .from = user(who), .to = app, .amount = 5, .memo = "a hat"});
    idempotency_keys::keep(tx, slot, 200, "{}");
  };
  Latch posted, overtaken;
  {
    const std::jthread first([&] {
      f.opened.write([&](db::Tx& tx) {
        spend(tx, 0);
        posted.open();
        CHECK(overtaken.wait());
      });
    });
    CHECK(posted.wait());
    f.opened.write([&](db::Tx& tx) { spend(tx, 1); });
    f.fold();
    overtaken.open();
  }
  CHECK(f.opened.collisions() == collisions);
  CHECK(f.balance(app) == 12);
  CHECK(f.broken() == std::vector<std::string>{});
}

TEST_CASE("an app can spend what isn't yet in its account's row, and no more") {
  Fixture f;
  for (int i = 0; i < 5; ++i) REQUIRE(f.post(user(0), app, 10));
  CHECK(f.number("SELECT balance FROM ledger_accounts WHERE id = 'app:a'") == 0);
  CHECK(f.balance(app) == 50);
  CHECK_FALSE(f.post(app, user(1), 51));
  CHECK(f.post(app, user(1), 50));
  CHECK(f.balance(app) == 0);
  CHECK(f.broken() == std::vector<std::string>{});
}

TEST_CASE("an app that has enough in its account's row spends without adding what is pending") {
  Fixture f;
  REQUIRE(f.post(user(0), app, 10));
  REQUIRE(f.fold() == 1);
  REQUIRE(f.post(user(0), app, 10));
  CHECK(f.post(app, user(1), 10));
  CHECK(f.pending() == 1);
  CHECK(f.broken() == std::vector<std::string>{});
}

TEST_CASE("a transaction passes on what one of its movements brings to an app") {
  Fixture f;
  const auto passed_on = [&](std::int64_t amount) {
    return f.opened.write([&](db::Tx& tx) {
      return ledger::post(tx, ledger::Transaction{.kind = "purchase",
                                                  .legs = {{user(0), app, 10},
                                                           {user(0), ledger::treasury(), 1},
                                                           {app, user(1), amount}},
                                                  .memo = ""});
    });
  };
  CHECK_FALSE(passed_on(11));
  CHECK(f.pending() == 0);
  CHECK(f.balance(user(0)) == 1'000);
  CHECK(passed_on(10));
  CHECK(f.balance(user(1)) == 1'010);
  CHECK(f.balance(ledger::treasury()) == 1);
  CHECK(f.broken() == std::vector<std::string>{});
}

TEST_CASE("what is pending outlasts the berthd that stored it") {
  Fixture f;
  {
    auto other = f.open();
    other.write([](db::Tx& tx) {
      ledger::post(tx, {.kind = "spend", .from = user(0), .to = app, .amount = 7, .memo = ""});
    });
  }
  CHECK(f.pending() == 1);
  CHECK(f.balance(app) == 7);
  CHECK(f.fold() == 1);
  CHECK(f.balance(app) == 7);
  CHECK(f.broken() == std::vector<std::string>{});
}

TEST_CASE("of two berthd processes that add pending credits at once, one adds each") {
  constexpr int rounds = 20, credits = 40;
  Fixture f;
  auto other = f.open();
  for (int round = 1; round <= rounds; ++round) {
    f.opened.write([](db::Tx& tx) {
      for (int i = 0; i < credits; ++i)
        ledger::post(tx, {.kind = "spend", .from = user(0), .to = app, .amount = 1, .memo = ""});
    });
    int added = 0;
    {
      std::jthread racer(
          [&] { added = other.write_with_row_locks([](db::Tx& tx) { return ledger::fold(tx); }); });
      const int own = f.fold();
      racer.join();
      CHECK(own + added == credits);
    }
    CHECK(f.pending() == 0);
    CHECK(f.balance(app) == round * credits);
  }
  CHECK(f.broken() == std::vector<std::string>{});
}

TEST_CASE("spends into an app, payments by it and folding at the same time keep every sum right") {
  constexpr int threads = 8, rounds = 25;
  Fixture f(threads);
  auto other = f.open();
  std::atomic<int> paid = 0;
  {
    const auto fold_on = [](db::postgres::Database& database) {
      return [&](const std::stop_token& stop) {
        while (!stop.stop_requested())
          database.write_with_row_locks([](db::Tx& tx) { return ledger::fold(tx); });
      };
    };
    const std::jthread folding(fold_on(f.opened)), folding_too(fold_on(other));
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i)
      all.emplace_back([&, i] {
        for (int round = 0; round < rounds; ++round) {
          CHECK(f.post(user(i), app, 2));
          if (round % 5 == 0 && f.post(app, user(i), 1)) ++paid;
        }
      });
    for (auto& thread : all) thread.join();
  }
  CHECK(paid > 0);
  CHECK(f.balance(app) == 2 * threads * rounds - paid);
  CHECK(f.broken() == std::vector<std::string>{});
  while (f.fold() > 0) {
  }
  CHECK(f.balance(app) == 2 * threads * rounds - paid);
  CHECK(f.broken() == std::vector<std::string>{});
}

TEST_CASE("nobody sees whether credits are pending") {
  std::mt19937 random(7);
  Fixture f;
  std::int64_t balance = 0;
  for (int step = 0; step < 150; ++step) {
    const std::int64_t amount = 1 + std::int64_t(random() % 9);
    switch (random() % 6) {
      case 0:
        f.clock.advance(std::chrono::hours(random() % 20));
        break;
      case 1:
        if (f.post(app, user(1), amount, "payout")) balance -= amount;
        break;
      case 2:
        f.opened.write([&](db::Tx& tx) { ledger::mint(tx, app, amount, "award"); });
        balance += amount;
        break;
      case 3: {
        const std::string before = f.seen();
        f.fold();
        CHECK(f.seen() == before);
        break;
      }
      default:
        if (f.post(user(random() % 2), app, amount)) balance += amount;
    }
    CHECK(f.balance(app) == balance);
  }
  CHECK(f.broken() == std::vector<std::string>{});
  const std::string before = f.seen();
  while (f.fold() > 0) {
  }
  CHECK(f.seen() == before);
  CHECK(f.broken() == std::vector<std::string>{});
}

TEST_CASE("a credit of yesterday is added to yesterday, though there are rows of today") {
  Fixture f;
  REQUIRE(f.post(user(0), app, 10));
  REQUIRE(f.fold() == 1);
  REQUIRE(f.post(user(0), app, 20));
  f.clock.advance(days(1));
  REQUIRE(f.post(app, user(1), 5));
  CHECK(f.broken() == std::vector<std::string>{});
  const std::string before = f.seen();
  REQUIRE(f.fold() == 1);
  CHECK(f.seen() == before);
  CHECK(f.broken() == std::vector<std::string>{});
}

TEST_CASE("a day is closed after what was pending of it was added to its rows") {
  Fixture f;
  REQUIRE(f.post(user(0), app, 10));
  f.clock.advance(days(1));
  REQUIRE(f.post(user(0), app, 20));
  REQUIRE(f.pending() == 2);
  reconcilers::LedgerLoop loop;
  Round round(f.opened);
  int rounds = 0;
  for (bool is_idle = false; !is_idle;) {
    round.run([&](Round& running) { is_idle = !loop.run_once(running); });
    REQUIRE(++rounds < 100);
  }
  CHECK(f.number("SELECT count(*) FROM ledger_closed_days WHERE hash IS NOT NULL") == 1);
  CHECK(f.pending() == 0);
  CHECK(f.broken() == std::vector<std::string>{});
}

TEST_CASE("the loop adds what is pending while it is its turn") {
  Fixture f;
  Replicas own(f.opened), others(f.opened);
  Round mine(f.opened, &own, "pending_credits");
  Round theirs(f.opened, &others, "pending_credits");
  const auto run = [](Round& of) {
    int added = 0;
    of.run([&](Round& round) { added = ledger::fold_pending(round); });
    return added;
  };
  own.beat();
  others.beat();
  CHECK(run(mine) == 0);
  REQUIRE(f.post(user(0), app, 10));
  REQUIRE(run(mine) == 1);
  REQUIRE(f.post(user(0), app, 10));
  CHECK(run(theirs) == 0);
  own.leave();
  others.beat();
  CHECK(run(theirs) == 1);
  CHECK(f.broken() == std::vector<std::string>{});
}

TEST_CASE("both audits find pending credits that were lost, forged or changed") {
  Fixture f;
  REQUIRE(f.post(user(0), app, 10));
  REQUIRE(f.post(user(0), app, 20));
  REQUIRE(f.broken().empty());
  const char* harm = GENERATE(
      "DELETE FROM ledger_pending WHERE amount = 10",
      "UPDATE ledger_pending SET amount = amount + 1 WHERE amount = 10",
      "UPDATE ledger_pending SET amount = 30 - amount", "UPDATE ledger_pending SET leg = leg + 7",
      "INSERT INTO ledger_pending SELECT account_number, transaction_number, leg + 1, kind, amount "
      "FROM ledger_pending WHERE amount = 10",
      "INSERT INTO ledger_pending SELECT 999, transaction_number, leg, kind, amount "
      "FROM ledger_pending WHERE amount = 10");
  CAPTURE(harm);
  f.opened.write([&](db::Tx& tx) { tx.execute(harm); });
  const auto found = [&](auto&& audit) {
    const auto checks = f.opened.read(audit);
    return std::ranges::any_of(checks, [](const auto& check) { return !check.ok; });
  };
  CHECK(found([](db::Tx& tx) { return ledger::audit(tx); }));
  CHECK(found([](db::Tx& tx) { return ledger::running_audit(tx); }));
}

TEST_CASE("an account to which nearly all points ever possible came is credited directly") {
  Fixture f;
  constexpr std::int64_t most = std::int64_t(1) << 62;
  REQUIRE(f.post(user(0), app, 10));
  const auto credited = [&](std::int64_t so_much) {
    f.opened.write([&](db::Tx& tx) {
      tx.execute("UPDATE ledger_accounts SET credited = $1 WHERE id = 'app:a'", so_much);
    });
  };
  credited(most - 2 * ledger::max_points - 1);
  REQUIRE(f.post(user(0), app, 1));
  CHECK(f.pending() == 2);
  REQUIRE(f.post(user(0), app, 2));
  CHECK(f.pending() == 0);
  credited(most - 1);
  CHECK(f.post(user(0), app, 1));
  CHECK_THROWS_AS(f.post(user(0), app, 1), Error);
}

TEST_CASE("transactions of one millisecond are in the order in which they were posted") {
  Fixture f;
  std::vector<std::string> ids;
  for (size_t i = 0; i < 10; ++i)
    f.opened.write([&](db::Tx& tx) {
      if (i == 0) ids.clear();
      ids.resize(2 * i);
      for (int twice = 0; twice < 2; ++twice)
        ids.push_back(*ledger::post(
            tx, {.kind = "spend", .from = user(0), .to = app, .amount = 1, .memo = ""}));
    });
  std::vector<std::string> ordered;
  std::int64_t first = 0;
  f.opened.read([&](db::Tx& tx) {
    auto rows = tx.query(R"(
        SELECT t.number, t.id_high, t.id_low
        FROM ledger_transactions t
        JOIN ledger_kinds k ON k.number = t.kind AND k.kind = 'spend'
        ORDER BY t.number)");
    while (rows.next()) {
      if (first == 0) first = rows.integer("number");
      ordered.push_back(
          ledger::id_of_parts({.high = rows.integer("id_high"), .low = rows.integer("id_low")}));
    }
  });
  CHECK(ordered == ids);
  CHECK(ledger::time_of_number(first) == f.clock.now());
}

}  // namespace
}  // namespace berth::test
