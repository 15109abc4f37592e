#include "controller/domain/ledger/holds.h"

#include <catch2/catch.hpp>

#include "controller/domain/ledger/ledger_audit.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

const ledger::Account source = ledger::campaign_account("c");
const ledger::Account held = ledger::reservation_account(source);
const ledger::Account other = ledger::app_account("a");

struct Fixture {
  World world;
  Fixture() {
    world.write([](db::Tx& tx) {
      for (const auto& account : {source, other}) ledger::open_account(tx, account);
    });
    world.mint(source, 100);
  }
  ~Fixture() {
    for (const auto& check : world.read([](db::Tx& tx) { return ledger::audit(tx); })) {
      INFO(check.name << ": " << check.detail);
      CHECK(check.ok);
    }
  }
  std::optional<holds::Hold> place(std::int64_t amount) {
    return world.write([&](db::Tx& tx) {
      return holds::place(
          tx, {.source = source, .amount = amount, .purpose = "impression", .life = 60s});
    });
  }
  bool post(const std::string& id) {
    return world.write([&](db::Tx& tx) {
      return holds::post(tx, *holds::find(tx, id), other, "impression", "").has_value();
    });
  }
  bool release(const std::string& id) {
    return world.write([&](db::Tx& tx) { return holds::void_hold(tx, id); });
  }
  std::string balances() {
    return std::to_string(world.balance(source)) + " " + std::to_string(world.balance(held)) + " " +
           std::to_string(world.balance(other));
  }
};

TEST_CASE("a hold reserves points, and is posted once") {
  Fixture f;
  const auto hold = f.place(30);
  REQUIRE(hold);
  CHECK(f.balances() == "70 30 0");
  CHECK(f.world.read(holds::count_open) == 1);
  CHECK(f.post(hold->id));
  CHECK(f.world.read(holds::count_open) == 0);
  CHECK(f.balances() == "70 0 30");
  CHECK_FALSE(f.post(hold->id));
  CHECK_FALSE(f.release(hold->id));
  CHECK(f.balances() == "70 0 30");
}

TEST_CASE("a hold needs enough points") {
  Fixture f;
  CHECK_FALSE(f.place(101));
  CHECK(f.balances() == "100 0 0");
  CHECK(f.place(100));
  CHECK_FALSE(f.place(1));
}

TEST_CASE("voiding a hold returns its points, once") {
  Fixture f;
  const auto hold = f.place(30);
  CHECK(f.release(hold->id));
  CHECK(f.balances() == "100 0 0");
  CHECK_FALSE(f.release(hold->id));
  CHECK_FALSE(f.post(hold->id));
  CHECK_FALSE(f.release("unknown"));
  CHECK(f.balances() == "100 0 0");
}

TEST_CASE("an expired hold can't be posted, and the loop returns its points") {
  Fixture f;
  const auto first = f.place(30);
  f.world.clock.advance(59s);
  const auto second = f.place(10);
  f.world.clock.advance(1s);
  CHECK_FALSE(f.post(first->id));
  CHECK(f.world.read([](db::Tx& tx) { return holds::is_any_due(tx); }));
  CHECK(f.world.write([](db::Tx& tx) { return holds::expire(tx, 10); }) == 1);
  CHECK(f.balances() == "90 10 0");
  CHECK_FALSE(f.world.read([](db::Tx& tx) { return holds::is_any_due(tx); }));
  CHECK(f.post(second->id));
}

TEST_CASE("all holds of a source can be voided together") {
  Fixture f;
  const auto posted = f.place(1);
  f.post(posted->id);
  f.place(2);
  f.place(3);
  CHECK(f.world.write([](db::Tx& tx) { return holds::void_all(tx, source); }) == 5);
  CHECK(f.balances() == "99 0 1");
}

TEST_CASE("a transaction of several movements is posted whole or not at all") {
  Fixture f;
  const auto third = ledger::user_account("u");
  f.world.write([&](db::Tx& tx) { ledger::open_account(tx, third); });
  const auto post = [&](std::vector<ledger::Leg> legs) {
    return f.world.write([&](db::Tx& tx) {
      return ledger::post(tx, ledger::Transaction{.kind = "test", .legs = legs, .memo = ""})
          .has_value();
    });
  };
  CHECK(post({{source, other, 60}, {other, third, 50}}));
  CHECK(f.balances() == "40 0 10");
  CHECK(f.world.balance(third) == 50);
  CHECK_FALSE(post({{source, other, 40}, {third, other, 51}}));
  CHECK(f.balances() == "40 0 10");
  CHECK(f.world.balance(third) == 50);
}

}  // namespace
