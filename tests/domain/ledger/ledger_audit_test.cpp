#include "controller/domain/ledger/ledger_audit.h"

#include <catch2/catch.hpp>

#include "controller/domain/ledger/holds.h"
#include "tests/domain/ledger/fold_all.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;

// Returns the names of the checks that fail.
std::vector<std::string> broken(World& world) {
  std::vector<std::string> names;
  for (const ledger::Check& check : world.read([](db::Tx& tx) { return ledger::audit(tx); }))
    if (!check.ok) names.push_back(check.name);
  return names;
}

struct Fixture {
  World world;
  ledger::Account account = ledger::user_account("u");
  Fixture() {
    world.write([&](db::Tx& tx) { ledger::open_account(tx, account); });
    world.mint(ledger::treasury(), 1'000);
    world.mint(account, 5);
    world.write(fold_all);
  }
  void change(std::string_view sql) {
    world.write([&](db::Tx& tx) {
      allow_tampering(tx);
      tx.execute(sql);
    });
  }
};

TEST_CASE("a ledger with regular postings passes, and so does an empty one") {
  World empty;
  CHECK(broken(empty).empty());
  Fixture f;
  CHECK(broken(f.world).empty());
  const auto checks = f.world.read([](db::Tx& tx) { return ledger::audit(tx); });
  REQUIRE(checks.size() >= 5);
  CHECK(checks[0].detail == "3 accounts");
  CHECK(checks[1].detail == "2 transactions");
}

TEST_CASE("a changed balance is found") {
  Fixture f;
  f.change("UPDATE ledger_accounts SET balance = balance + 1 WHERE id = 'user:u'");
  const char* of_totals =
      "each account's points in and out are its newest day's and give its balance";
  CHECK(broken(f.world) == std::vector<std::string>{"all balances sum to 0",
                                                    "each balance is the sum of its postings",
                                                    of_totals});
  f.change("UPDATE ledger_accounts SET balance = balance - 1 WHERE id = 'treasury'");
  CHECK(broken(f.world) ==
        std::vector<std::string>{"each balance is the sum of its postings", of_totals});
  const auto checks = f.world.read([](db::Tx& tx) { return ledger::audit(tx); });
  CHECK(checks[2].detail == "2 of 3 accounts, the first: treasury is off by -1");
}

TEST_CASE("missing postings are found") {
  Fixture f;
  f.change(
      "DELETE FROM ledger_postings WHERE account_number = "
      "(SELECT number FROM ledger_accounts WHERE id = 'user:u')");
  CHECK(broken(f.world) == std::vector<std::string>{"each transaction's postings sum to 0",
                                                    "each balance is the sum of its postings",
                                                    "each transaction has postings",
                                                    "each day's sums of an account are its "
                                                    "postings"});
}

TEST_CASE("a hold whose points aren't reserved is found") {
  Fixture f;
  f.world.write([](db::Tx& tx) {
    holds::place(tx, {.source = ledger::treasury(),
                      .amount = 5,
                      .purpose = "test",
                      .life = std::chrono::seconds(60)});
  });
  CHECK(broken(f.world).empty());
  f.change("DELETE FROM ledger_holds");
  CHECK(broken(f.world) ==
        std::vector<std::string>{"each reservation is the sum of its open holds"});
}

}  // namespace
