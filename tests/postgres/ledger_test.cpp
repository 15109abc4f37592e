// Movements of points on PostgreSQL, where any statement of a write may collide.
#include "controller/domain/ledger/ledger.h"

#include <catch2/catch.hpp>
#include <thread>

#include "controller/db/postgres/database.h"
#include "controller/domain/ledger/days.h"
#include "controller/domain/ledger/ledger_audit.h"
#include "tests/postgres/one_fault.h"
#include "tests/store.h"

namespace berth::test {
namespace {

using db::postgres::Fault;

const ledger::Account user = ledger::user_account("u"), app = ledger::app_account("a");

struct Fixture {
  explicit Fixture(db::postgres::FaultOf fault = {})
      : opened({.address = database.address(), .password_file = {}}, clock,
               {.fault = std::move(fault)}) {
    opened.write([](db::Tx& tx) {
      for (const auto& account : {ledger::treasury(), ledger::issuance(), user, app})
        ledger::open_account(tx, account);
      ledger::mint(tx, user, 1'000, "test");
    });
  }
  void spend() {
    const auto id = opened.write([](db::Tx& tx) {
      return ledger::post(tx,
                          {.kind = "spend", .from = user, .to = app, .amount = 2, .memo = "a hat"});
    });
    REQUIRE(id);
  }
  std::int64_t balance(const ledger::Account& account) {
    return opened.read([&](db::Tx& tx) { return ledger::balance(tx, account); });
  }
  // The checks of the audit that fail.
  std::vector<std::string> broken() {
    std::vector<std::string> names;
    for (const auto& check : opened.read([](db::Tx& tx) { return ledger::audit(tx); }))
      if (!check.ok) names.push_back(check.name + ": " + check.detail);
    return names;
  }

  TestDatabase database{TestDatabase::Content::schema};
  Clock clock = Clock::standing_at(*parse_iso8601("2026-01-31T12:00:00Z"));
  db::postgres::Database opened;
};

TEST_CASE("a spend whose nth statement fails is posted once, for each n") {
  OneFault one{GENERATE(Fault::collision, Fault::lost_before, Fault::lost_after)};
  CAPTURE(int(one.fault));
  Fixture f(one.function());
  int spends = 0;
  do {
    one.left = ++spends;
    one.has_come = false;
    f.spend();
  } while (one.has_come);
  one.left = 0;
  CHECK(spends > 5);
  CHECK(f.balance(app) == 2 * spends);
  CHECK(f.balance(user) == 1'000 - 2 * spends);
  CHECK(f.broken().empty());
}

TEST_CASE("sums of days are right where another berthd's clock has reached the next day first") {
  Fixture f;
  const Clock ahead = Clock::standing_at(f.clock.now() + std::chrono::hours(24));
  db::postgres::Database other({.address = f.database.address(), .password_file = {}}, ahead);
  const ledger::Account friend_of_user = ledger::user_account("friend");
  f.opened.write([&](db::Tx& tx) { ledger::open_account(tx, friend_of_user); });
  const auto give = [&](db::Database& database, std::int64_t amount) {
    database.write([&](db::Tx& tx) {
      REQUIRE(ledger::post(
          tx,
          {.kind = "gift", .from = user, .to = friend_of_user, .amount = amount, .memo = "a hat"}));
    });
  };
  give(other, 3);
  give(f.opened, 5);
  give(other, 7);
  CHECK(f.broken().empty());
  CHECK(f.balance(friend_of_user) == 15);
  const auto days = f.opened.read([&](db::Tx& tx) {
    const std::int64_t today = utc_day(f.clock.now());
    return ledger::history(tx, friend_of_user, today, today + 1);
  });
  REQUIRE(days.size() == 2);
  CHECK(days[0].balance == 0);
  CHECK(days[1].credited == 15);
  CHECK(days[1].balance == 15);
}

TEST_CASE("spends from one account at the same time are posted once each") {
  constexpr int threads = 8, rounds = 10;
  Fixture f;
  {
    std::vector<std::jthread> all;
    for (int i = 0; i < threads; ++i)
      all.emplace_back([&] {
        for (int round = 0; round < rounds; ++round) f.spend();
      });
  }
  CHECK(f.balance(app) == 2 * threads * rounds);
  CHECK(f.broken().empty());
}

}  // namespace
}  // namespace berth::test
