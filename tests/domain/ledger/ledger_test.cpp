#include "controller/domain/ledger/ledger.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <thread>

#include "tests/domain/ledger/fold_all.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using ledger::max_points;

const ledger::Account a = {"user", "a"}, b = {"app", "b"};

// Returns a description of a ledger invariant that doesn't hold; empty if all hold.
std::string broken_invariant(World& world) {
  world.write(fold_all);
  return world.read([](db::Tx& tx) -> std::string {
    if (tx.number("SELECT sum(balance) FROM ledger_accounts") != 0)
      return "balances don't sum to 0";
    if (tx.number("SELECT count(*) FROM (SELECT 1 FROM ledger_postings GROUP BY transaction_number "
                  "HAVING sum(amount) <> 0 OR count(*) <> 2) AS wrong") != 0)
      return "a transaction isn't balanced";
    if (tx.number("SELECT count(*) FROM ledger_accounts a WHERE balance <> (SELECT "
                  "coalesce(sum(amount), 0) FROM "
                  "ledger_postings p WHERE p.account_number = a.number)") != 0)
      return "a balance isn't the sum of its postings";
    if (tx.number(
            "SELECT count(*) FROM ledger_accounts WHERE balance < 0 AND kind <> 'issuance'") != 0)
      return "somebody owes";
    // PostgreSQL's columns have types.
    if (!on_postgres() &&
        tx.number("SELECT count(*) FROM ledger_accounts WHERE typeof(balance) <> 'integer'") != 0)
      return "a balance is no integer";
    if (tx.number("SELECT count(*) FROM ledger_transactions t WHERE NOT EXISTS (SELECT 1 FROM "
                  "ledger_postings p "
                  "WHERE p.transaction_number = t.number)") != 0)
      return "a transaction moves nothing";
    return "";
  });
}

struct Fixture {
  World world;
  Fixture() {
    world.write([](db::Tx& tx) {
      for (const auto& account : {a, b, ledger::treasury()}) ledger::open_account(tx, account);
    });
  }
  // Returns whether the points were moved.
  bool post(const ledger::Account& from, const ledger::Account& to, std::int64_t amount) {
    return world.write([&](db::Tx& tx) {
      return ledger::post(
                 tx, {.kind = "test", .from = from, .to = to, .amount = amount, .memo = "memo"})
          .has_value();
    });
  }
};

TEST_CASE("points are created by minting, and moved by posting") {
  Fixture f;
  f.world.mint(a, 100);
  CHECK(f.world.balance(ledger::issuance()) == -100);
  CHECK(f.post(a, b, 30));
  CHECK(f.world.balance(a) == 70);
  CHECK(f.world.balance(b) == 30);
  CHECK(f.world.balance({"user", "nobody"}) == 0);
  CHECK(broken_invariant(f.world) == "");
}

TEST_CASE("nobody can give more points than they have") {
  Fixture f;
  f.world.mint(a, 100);
  CHECK_FALSE(f.post(a, b, 101));
  CHECK_FALSE(f.post(b, a, 1));
  CHECK_FALSE(f.post({"user", "nobody"}, a, 1));
  CHECK(f.world.balance(a) == 100);
  CHECK(f.post(a, b, 100));
  CHECK(f.world.balance(a) == 0);
  CHECK_FALSE(f.post(a, b, 1));
  CHECK(broken_invariant(f.world) == "");
}

TEST_CASE("no balance exceeds 2^53-1, nor does the total of minted points") {
  Fixture f;
  f.world.mint(a, max_points - 1);
  f.world.mint(b, 1);
  CHECK(refusal([&] { f.world.mint(b, 1); }) == "422 validation_failed");
  CHECK(f.world.balance(ledger::issuance()) == -max_points);
  CHECK(f.post(b, a, 1));
  CHECK(f.world.balance(a) == max_points);
  CHECK(broken_invariant(f.world) == "");
}

TEST_CASE("a movement that would make the receiver exceed 2^53-1 changes nothing") {
  Fixture f;
  f.world.mint(a, max_points - 10);
  f.world.mint(b, 10);
  // Minting can't lead to such a balance. It stands for an error that must not grow.
  f.world.write([](db::Tx& tx) {
    fold_all(tx);
    tx.execute("UPDATE ledger_accounts SET balance = 11 WHERE id = 'app:b'");
  });
  CHECK(refusal([&] { f.post(b, a, 11); }) == "422 validation_failed");
  CHECK(f.world.balance(b) == 11);
  CHECK(f.world.balance(a) == max_points - 10);
}

TEST_CASE("a movement of 0, negative, too many points or to oneself is a programming error") {
  Fixture f;
  f.world.mint(a, 100);
  for (const std::int64_t amount :
       {std::int64_t(0), std::int64_t(-1), INT64_MIN, max_points + 1, INT64_MAX})
    CHECK_THROWS_AS(f.post(a, b, amount), std::logic_error);
  CHECK_THROWS_AS(f.post(a, a, 1), std::logic_error);
  CHECK(f.world.balance(a) == 100);
  CHECK(broken_invariant(f.world) == "");
}

TEST_CASE("postings and transactions can be neither changed nor removed") {
  Fixture f;
  f.world.mint(a, 100);
  for (const char* sql :
       {"UPDATE ledger_postings SET amount = 5", "DELETE FROM ledger_postings",
        "UPDATE ledger_transactions SET memo = 'other'", "DELETE FROM ledger_transactions"}) {
    INFO(sql);
    CHECK_THROWS_AS(f.world.write([&](db::Tx& tx) { tx.execute(sql); }), db::ConstraintViolated);
  }
  CHECK_THROWS_AS(f.world.write([](db::Tx& tx) {
    tx.execute("UPDATE ledger_accounts SET balance = -1 WHERE kind = 'user'");
  }),
                  db::ConstraintViolated);
}

TEST_CASE("opening an account again changes nothing") {
  Fixture f;
  f.world.mint(a, 100);
  f.world.write([](db::Tx& tx) { ledger::open_account(tx, a); });
  CHECK(f.world.balance(a) == 100);
}

TEST_CASE("whatever is posted, the ledger balances and agrees with a simple model") {
  Fixture f;
  const std::vector<ledger::Account> accounts = {a, b, ledger::treasury()};
  std::vector<std::int64_t> model(accounts.size());
  CHECK(rc::check([&] {
    const auto steps = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
        8, rc::gen::resize(rc::kNominalSize,
                           rc::gen::tuple(rc::gen::inRange(0, 4), rc::gen::inRange(0, 3),
                                          rc::gen::inRange(1, 200))));
    for (const auto& [from, to, amount] : steps) {
      const size_t receiver = size_t(to);
      if (from == 3) {
        f.world.mint(accounts[receiver], amount);
        model[receiver] += amount;
      } else if (from != to) {
        const bool enough = model[size_t(from)] >= amount;
        RC_ASSERT(f.post(accounts[size_t(from)], accounts[receiver], amount) == enough);
        if (enough) {
          model[size_t(from)] -= amount;
          model[receiver] += amount;
        }
      }
    }
    for (size_t i = 0; i < accounts.size(); ++i)
      RC_ASSERT(f.world.balance(accounts[i]) == model[i]);
    RC_ASSERT(broken_invariant(f.world) == "");
  }));
  // Makes sure that points were moved at all.
  CHECK(f.world.read(
            [](db::Tx& tx) { return tx.number("SELECT count(*) FROM ledger_transactions"); }) > 50);
}

TEST_CASE("simultaneous movements can't spend the same points twice") {
  Fixture f;
  f.world.mint(a, 100);
  std::atomic<int> moved = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int n = 0; n < 10; ++n)
          if (f.post(a, b, 7)) ++moved;
      });
  }
  CHECK(moved == 14);
  CHECK(f.world.balance(a) == 2);
  CHECK(f.world.balance(b) == 98);
  CHECK(broken_invariant(f.world) == "");
}

}  // namespace
