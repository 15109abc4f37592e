// The texts of a deleted account are erased in batches.
#include "controller/domain/lifecycle/erasure.h"

#include <catch2/catch.hpp>

#include "controller/domain/ledger/ledger_audit.h"
#include "controller/domain/lifecycle/user_admin.h"
#include "controller/domain/points/points.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;

struct Fixture {
  World world;
  accounts::User ada = world.verified_user("ada"), bob = world.verified_user("bob");
  apps::App app = world.approved_app(ada, {Scope::deploy_manage});

  void erase() {
    world.write(
        [&](db::Tx& tx) { accounts::delete_account(tx, *accounts::find(tx, ada.id), world.keys); });
  }
  std::int64_t number(const std::string& sql) {
    return world.read([&](db::Tx& tx) { return tx.number(sql); });
  }
  bool is_due() {
    return world.read([](db::Tx& tx) { return erasure::is_due(tx); });
  }
  int erase_some(int limit) {
    return world.write([&](db::Tx& tx) { return erasure::erase_some(tx, limit); });
  }
};

TEST_CASE("erasing a small account leaves no work for later") {
  Fixture f;
  f.erase();
  CHECK_FALSE(f.is_due());
  CHECK(f.number("SELECT count(*) FROM erasures") == 0);
  CHECK(f.erase_some(10) == 0);
}

TEST_CASE("a large account's memos are erased in batches, and others' stay") {
  Fixture f;
  constexpr int transfers = 3 * erasure::first_batch;
  f.world.mint(ledger::user_account(f.ada.id), transfers);
  f.world.mint(ledger::user_account(f.bob.id), 10);
  const auto eve = f.world.verified_user("eve");
  f.world.write([&](db::Tx& tx) {
    const auto give = [&](const accounts::User& from, const accounts::User& to) {
      points::transfer(tx, {.user_id = from.id, .grant_id = {}}, {.user_id = to.id, .username = {}},
                       1, "for you");
    };
    for (int i = 0; i < transfers; ++i) give(f.ada, f.bob);
    give(f.bob, eve);
  });
  const auto memos = [&] {
    return f.number("SELECT count(*) FROM ledger_transactions WHERE memo = 'for you'");
  };
  REQUIRE(memos() == transfers + 1);
  f.erase();
  CHECK(memos() > transfers + 1 - erasure::first_batch - 1);  // not all of them in one transaction
  CHECK(memos() < transfers + 1);
  int rounds = 0;
  for (; f.is_due(); ++rounds) {
    constexpr int batch = 100;
    const auto before = memos();
    REQUIRE(f.erase_some(batch) > 0);
    REQUIRE(memos() >= before - batch);
  }
  CHECK(rounds >= 10);
  CHECK(memos() == 1);
  for (const auto& check : f.world.read([](db::Tx& tx) { return ledger::audit(tx); })) {
    INFO(check.name << ": " << check.detail);
    CHECK(check.ok);
  }
}

TEST_CASE("the ledger accepts emptying a memo, and no other change") {
  Fixture f;
  f.world.mint(ledger::user_account(f.ada.id), 10);
  const auto change = [&](const std::string& what) {
    return refusal([&] {
      try {
        f.world.write([&](db::Tx& tx) { tx.execute("UPDATE ledger_transactions SET " + what); });
      } catch (const db::ConstraintViolated&) {
        throw Error(Code::invalid_state, "refused");
      }
    });
  };
  for (const char* what : {"memo = 'other'", "kind = kind + 1", "number = 0", "id_low = 1",
                           "id_high = 1", "memo = '', number = number + 1"}) {
    INFO(what);
    CHECK(change(what) == "409 invalid_state");
  }
  CHECK(change("memo = ''") == "");
}

TEST_CASE("deployments keep their names until they are off the cluster") {
  Fixture f;
  const auto gone = f.world.deploy(f.app, order("gone")),
             stays = f.world.deploy(f.app, order("stays"));
  f.world.destroy(f.app, gone.id);
  f.world.write([&](db::Tx& tx) { deployments::mark_removed(tx, gone.id); });
  f.world.destroy(f.app, stays.id);
  f.erase();
  CHECK(f.world.find_deployment(gone.id).name.empty());
  CHECK(f.world.logs(gone.id).empty());
  CHECK(f.number("SELECT count(*) FROM app_events WHERE subject = '" + gone.id + "'") == 0);
  CHECK(f.world.find_deployment(stays.id).name == "stays");
  // The account is checked again, but not continuously.
  CHECK_FALSE(f.is_due());
  f.world.clock.advance(erasure::look_again_after);
  CHECK(f.is_due());
  CHECK(f.erase_some(10) > 0);
  CHECK_FALSE(f.is_due());
  CHECK(f.world.find_deployment(stays.id).name == "stays");
  f.world.write([&](db::Tx& tx) { deployments::mark_removed(tx, stays.id); });
  f.world.clock.advance(erasure::look_again_after);
  while (f.is_due()) REQUIRE(f.erase_some(1) > 0);
  const auto left = f.world.find_deployment(stays.id);
  CHECK(left.name.empty());
  CHECK(left.container.image.empty());
  CHECK(left.request_id.empty());
  CHECK(f.number("SELECT count(*) FROM erasures") == 0);
}

}  // namespace
