// What admins take back.
#include "controller/domain/points/claw_backs.h"

#include <catch2/catch.hpp>

#include "controller/domain/points/refunds.h"
#include "tests/domain/points/spends_world.h"

namespace {

using namespace berth;
using namespace berth::test;

struct Fixture : SpendsWorld {
  std::string mint(const ledger::Account& to, std::int64_t points) {
    return world.write([&](db::Tx& tx) { return ledger::mint(tx, to, points, "test"); });
  }
  std::string refund(const std::string& spend_id, std::int64_t amount) {
    return world
        .write([&](db::Tx& tx) {
          return points::refund(
              tx, {.spend_id = spend_id, .amount = amount, .reason = "", .app_id = app.id});
        })
        .id;
  }
  points::ClawBack take(const std::string& transaction_id, std::int64_t amount) {
    return world.write([&](db::Tx& tx) {
      return points::claw_back(
          tx,
          {.transaction_id = transaction_id, .amount = amount, .reason = "twice", .admin = "root"});
    });
  }
  std::string refused(const std::string& transaction_id, std::int64_t amount) {
    return refusal([&] { take(transaction_id, amount); });
  }
  std::int64_t of(const ledger::Account& account) { return world.balance(account); }
};

TEST_CASE("a refund is taken back to the app, in parts, and never more than it was") {
  Fixture f;
  const ledger::Account bob = ledger::user_account(f.bob.id);
  const ledger::Account app = ledger::app_account(f.app.id);
  f.mint(bob, 100);
  const std::string refund = f.refund(f.spend(f.bob, 60), 50);
  CHECK(f.of(bob) == 90);
  const auto first = f.take(refund, 20);
  CHECK(first.taken_back == 20);
  CHECK(first.left == 30);
  CHECK(f.of(bob) == 70);
  CHECK(f.of(app) == 30);
  CHECK(f.refused(refund, 31) == "422 validation_failed");
  CHECK(f.take(refund, 30).left == 0);
  CHECK(f.refused(refund, 1) == "422 validation_failed");
  // The app has earned the whole spend after all.
  CHECK(f.world.read([&](db::Tx& tx) { return points::analytics(tx, f.app.id, 30); }).earnings ==
        60);
  CHECK(f.of(bob) == 40);
  CHECK(f.of(app) == 60);
}

TEST_CASE("what was minted goes to the treasury, and the supply stays") {
  Fixture f;
  const std::string minted = f.mint(ledger::app_account(f.app.id), 100);
  const std::int64_t supply = f.of(ledger::issuance());
  f.take(minted, 100);
  CHECK(f.of(ledger::app_account(f.app.id)) == 0);
  CHECK(f.of(ledger::treasury()) == 100);
  CHECK(f.of(ledger::issuance()) == supply);
}

TEST_CASE("no balance goes below zero") {
  Fixture f;
  const std::string minted = f.mint(ledger::user_account(f.bob.id), 100);
  f.spend(f.bob, 60);
  CHECK(f.refused(minted, 41) == "422 insufficient_balance");
  CHECK(f.of(ledger::user_account(f.bob.id)) == 40);
  CHECK(f.take(minted, 40).left == 60);
  CHECK(f.of(ledger::user_account(f.bob.id)) == 0);
}

TEST_CASE("points that are held for what runs by the hour aren't taken back") {
  Fixture f;
  const ledger::Account app = ledger::app_account(f.app.id);
  const std::string minted = f.mint(app, 100);
  f.world.write([&](db::Tx& tx) { return ledger::set_held(tx, app, 60); });
  CHECK_THROWS_WITH(f.take(minted, 41), Catch::Contains("60 of its points are held"));
  CHECK(f.take(minted, 40).left == 60);
}

TEST_CASE("what people have given each other, and what was spent, isn't taken back") {
  Fixture f;
  f.mint(ledger::user_account(f.bob.id), 100);
  CHECK(f.refused(f.spend(f.bob, 10), 1) == "404 not_found");
  const auto back = f.take(f.mint(ledger::user_account(f.bob.id), 5), 5);
  CHECK(f.refused(back.id, 1) == "404 not_found");
  CHECK(f.refused("01936f5e-7c1a-7000-8000-000000000007", 1) == "404 not_found");
}

TEST_CASE("both sides see in their histories what was taken back, with the reason") {
  Fixture f;
  f.mint(ledger::user_account(f.bob.id), 100);
  const auto back = f.take(f.refund(f.spend(f.bob, 60), 50), 50);
  for (const ledger::Account& account :
       {ledger::user_account(f.bob.id), ledger::app_account(f.app.id)}) {
    const auto entries = f.world.read([&](db::Tx& tx) {
      return points::history(tx, account,
                             {.kind = "claw_back", .direction = {}, .from = {}, .until = {}}, {});
    });
    REQUIRE(entries.items.size() == 1);
    CHECK(entries.items[0].transaction_id == back.id);
    CHECK(entries.items[0].description == "twice");
  }
}

TEST_CASE("bonus points that a refund gave go back as a bonus") {
  Fixture f;
  const ledger::Account bob = ledger::user_account(f.bob.id);
  f.world.write([&](db::Tx& tx) {
    ledger::mint(tx, ledger::treasury(), 100, "test");
    rewards::give(tx, {.kind = rewards::Kind::signup,
                       .user_id = f.bob.id,
                       .app_owner_id = {},
                       .amount = 100,
                       .memo = ""});
  });
  const std::string refund = f.refund(f.spend(f.bob, 60), 60);
  f.take(refund, 60);
  f.world.read([&](db::Tx& tx) {
    CHECK(ledger::bonus(tx, bob) == 40);
    CHECK(ledger::bonus(tx, ledger::app_account(f.app.id)) == 60);
  });
}

TEST_CASE("the audit compares claw-backs with what was posted and given") {
  Fixture f;
  const std::string minted = f.mint(ledger::user_account(f.bob.id), 100);
  const std::string other = f.mint(ledger::user_account(f.ada.id), 100);
  const auto first = f.take(minted, 30);
  f.take(minted, 70);
  const auto broken_after = [&](const std::string& change, const std::string& undo) {
    std::string names;
    f.world.write([&](db::Tx& tx) { tx.execute(change); });
    for (const auto& check : f.world.read([](db::Tx& tx) { return ledger::audit(tx); }))
      if (!check.ok) names += check.name + "; ";
    f.world.write([&](db::Tx& tx) { tx.execute(undo); });
    return names;
  };
  const std::string of_claw_backs =
      "each claw-back is its transaction and takes no more than was given; ";
  const std::string that = " WHERE id = '" + first.id + "'";
  CHECK(broken_after("UPDATE claw_backs SET amount = 29" + that,
                     "UPDATE claw_backs SET amount = 30" + that) == of_claw_backs);
  // Another account has got the points of that transaction.
  CHECK(broken_after("UPDATE claw_backs SET transaction_id = '" + other + "'" + that,
                     "UPDATE claw_backs SET transaction_id = '" + minted + "'" + that) ==
        of_claw_backs);
  // One more than was given.
  CHECK(broken_after("INSERT INTO claw_backs (id, transaction_id, amount, inserted_at) VALUES ('" +
                         other + "', '" + minted + "', 1, 0)",
                     "DELETE FROM claw_backs WHERE id = '" + other + "'") == of_claw_backs);
  const std::string row = "(id, transaction_id, amount, inserted_at) VALUES ('" + first.id +
                          "', '" + minted + "', 30, 0)";
  CHECK(broken_after("DELETE FROM claw_backs" + that, "INSERT INTO claw_backs " + row) ==
        "each transaction of a charge, a refund or a claw-back is one of these; ");
}

TEST_CASE("owners move points to their apps, and to no others") {
  Fixture f;
  f.mint(ledger::user_account(f.ada.id), 100);
  const auto top_up = [&](const accounts::User& user, std::int64_t amount) {
    return f.world.write([&](db::Tx& tx) {
      return points::top_up(tx, {.user_id = user.id, .grant_id = {}}, f.app.id, amount, "hosting");
    });
  };
  const auto moved = top_up(f.ada, 30);
  CHECK(moved.balance == 70);
  CHECK(moved.app_balance == 30);
  CHECK(refusal([&] { top_up(f.ada, 71); }) == "422 insufficient_balance");
  CHECK(refusal([&] { top_up(f.bob, 1); }) == "403 forbidden");
  CHECK(f.of(ledger::app_account(f.app.id)) == 30);
}

}  // namespace
