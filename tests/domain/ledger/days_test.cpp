#include "controller/domain/ledger/days.h"

#include <catch2/catch.hpp>

#include "controller/domain/ledger/ledger_audit.h"
#include "tests/domain/ledger/fold_all.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using std::chrono::days;

struct Fixture {
  World world;
  ledger::Account user = ledger::user_account("u");
  ledger::Account app = ledger::app_account("a");
  std::int64_t today = utc_day(world.clock.now());
  Fixture() {
    world.write([&](db::Tx& tx) {
      ledger::open_account(tx, user);
      ledger::open_account(tx, app);
    });
  }
  ~Fixture() {
    for (const auto& check : world.read([](db::Tx& tx) { return ledger::audit(tx); })) {
      INFO(check.name << ": " << check.detail);
      CHECK(check.ok);
    }
  }
  bool spend(std::int64_t amount) {
    return world
        .write([&](db::Tx& tx) {
          return ledger::post(
              tx, {.kind = "spend", .from = user, .to = app, .amount = amount, .memo = ""});
        })
        .has_value();
  }
  // Each day as "credited-debited=balance".
  std::string history(const ledger::Account& account, std::int64_t first, std::int64_t last) {
    std::string text;
    for (const auto& day :
         world.read([&](db::Tx& tx) { return ledger::history(tx, account, first, last); })) {
      CHECK(day.day == first++);
      text += (text.empty() ? "" : " ") + std::to_string(day.credited) + "-" +
              std::to_string(day.debited) + "=" + std::to_string(day.balance);
    }
    return text;
  }
  ledger::Totals totals(const ledger::Account& account) {
    return world.read([&](db::Tx& tx) { return ledger::totals(tx, account); });
  }
};

TEST_CASE("of more rows than may be read, those of the newest days are read") {
  Fixture f;
  f.world.mint(f.app, 10);
  f.world.clock.advance(days(1));
  f.world.mint(f.app, 20);
  f.world.write(fold_all);
  const auto read = [&](std::int64_t most) {
    std::vector<std::int64_t> credited;
    const bool is_all = f.world.read([&](db::Tx& tx) {
      return ledger::each_account_day(tx, f.today, f.today + 1, most,
                                      [&](const ledger::AccountDay& day) {
                                        if (day.account_id == f.app.id())
                                          credited.push_back(day.credited);
                                      });
    });
    return std::pair(is_all, credited);
  };
  // A mint has a row of each of its two accounts.
  CHECK(read(4) == std::pair(true, std::vector<std::int64_t>{20, 10}));
  CHECK(read(2) == std::pair(false, std::vector<std::int64_t>{20}));
}

TEST_CASE("the history of an account has each day, with the balance at its end") {
  Fixture f;
  f.world.mint(f.user, 10);
  REQUIRE(f.spend(3));
  f.world.clock.advance(days(2));
  REQUIRE(f.spend(4));
  f.world.mint(f.user, 1);
  CHECK(f.history(f.user, f.today - 1, f.today + 3) == "0-0=0 10-3=7 0-0=7 1-4=4 0-0=4");
  CHECK(f.history(f.user, f.today + 1, f.today + 1) == "0-0=7");
  CHECK(f.history(f.app, f.today, f.today + 2) == "3-0=3 0-0=3 4-0=7");
  CHECK(f.history(ledger::user_account("nobody"), f.today, f.today) == "0-0=0");
  CHECK(f.history(ledger::issuance(), f.today, f.today + 2) == "0-10=-10 0-0=-10 0-1=-11");
  CHECK_THROWS_AS(f.history(f.user, 0, ledger::max_history_days), std::logic_error);
}

TEST_CASE("what was ever posted on an account is kept, and refused movements don't count") {
  Fixture f;
  f.world.mint(f.user, 10);
  REQUIRE(f.spend(3));
  CHECK_FALSE(f.spend(8));
  CHECK(f.totals(f.user) == ledger::Totals{.credited = 10, .debited = 3});
  // The second leg has too few points, so the first one is taken back.
  f.world.write([&](db::Tx& tx) {
    CHECK_FALSE(ledger::post(
        tx, ledger::Transaction{.kind = "test",
                                .legs = {{f.user, f.app, 5}, {f.user, ledger::treasury(), 5}},
                                .memo = ""}));
  });
  CHECK(f.totals(f.user) == ledger::Totals{.credited = 10, .debited = 3});
  CHECK(f.totals(f.app) == ledger::Totals{.credited = 3, .debited = 0});
}

TEST_CASE("a transaction that passes points on counts for each account that it touches") {
  Fixture f;
  f.world.mint(f.user, 10);
  f.world.write([&](db::Tx& tx) {
    CHECK(ledger::post(
        tx, ledger::Transaction{.kind = "test",
                                .legs = {{f.user, f.app, 8}, {f.app, ledger::treasury(), 6}},
                                .memo = ""}));
  });
  CHECK(f.history(f.app, f.today, f.today) == "8-6=2");
  CHECK(f.history(ledger::treasury(), f.today, f.today) == "6-0=6");
}

TEST_CASE("points of apps and of the treasury are also summed up by kind") {
  Fixture f;
  f.world.mint(f.user, 10);
  f.world.mint(f.app, 100);
  REQUIRE(f.spend(3));
  REQUIRE(f.spend(2));
  f.world.clock.advance(days(1));
  REQUIRE(f.spend(1));
  const auto sum = [&](const char* kind, std::int64_t first, std::int64_t last) {
    return f.world.read(
        [&](db::Tx& tx) { return ledger::sum_of_kind(tx, f.app, kind, first, last); });
  };
  CHECK(sum("spend", f.today, f.today).postings == 2);
  CHECK(sum("spend", f.today, f.today + 1).credited == 6);
  CHECK(sum("mint", f.today, f.today + 1).credited == 100);
  CHECK(sum("mint", f.today + 1, f.today + 1).postings == 0);
  const auto sums = f.world.read(
      [&](db::Tx& tx) { return ledger::sums_of_kinds(tx, f.app, f.today, f.today + 1); });
  REQUIRE(sums.size() == 2);
  CHECK(sums.at("spend") == sum("spend", f.today, f.today + 1));
  CHECK(sums.at("mint") == sum("mint", f.today, f.today + 1));
  const auto kinds =
      f.world.read([&](db::Tx& tx) { return ledger::kinds(tx, f.app, f.today, f.today + 1); });
  REQUIRE(kinds.size() == 3);
  CHECK(kinds[0].kind == "mint");
  CHECK(kinds[1].kind == "spend");
  CHECK(kinds[2].day == f.today + 1);
}

TEST_CASE("an account can't get more points than its sums can count") {
  Fixture f;
  f.world.mint(f.user, 1);
  f.world.write([&](db::Tx& tx) {
    tx.execute("UPDATE ledger_accounts SET credited = $1 WHERE id = 'app:a'", std::int64_t(1)
                                                                                  << 62);
  });
  CHECK(refusal([&] { f.spend(1); }) == "422 validation_failed");
  CHECK(f.world.balance(f.user) == 1);
  f.world.write([&](db::Tx& tx) {
    tx.execute("UPDATE ledger_accounts SET credited = 0 WHERE id = 'app:a'");
  });
}

}  // namespace
