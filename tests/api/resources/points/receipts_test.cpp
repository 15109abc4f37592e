// Who gets receipts, and what berthd publishes for those who check them.
#include <catch2/catch.hpp>

#include "controller/base/jws.h"
#include "controller/base/receipt.h"
#include "controller/domain/deployments/billing/period.h"
#include "controller/domain/ledger/closed_days.h"
#include "tests/api/gate_world.h"
#include "tests/domain/ledger/fold_all.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;
using receipt::Verdict;

struct Fixture {
  GateWorld g;
  accounts::User owner = g.world.verified_user("owner");
  accounts::User bob = g.world.verified_user("bob");
  accounts::User eve = g.world.verified_user("eve");
  apps::App app = g.world.new_app(owner).app;
  std::string id;

  Fixture() {
    g.world.mint(ledger::user_account(bob.id), 100);
    g.world.write([&](db::Tx& tx) {
      id = *ledger::post(tx, ledger::Movement{.kind = "spend",
                                              .from = ledger::user_account(bob.id),
                                              .to = ledger::app_account(app.id),
                                              .amount = 5,
                                              .memo = "a hat"});
      berth::test::fold_all(tx);
    });
  }
  Answered get(const accounts::User& user) {
    return g.ask("GET", "/api/points/receipts/" + id, {bearer(g.world.jwt(user))});
  }
  void close() {
    g.world.clock.advance(48h);
    while (const auto day = g.world.read([](db::Tx& tx) { return ledger::next_to_close(tx); }))
      g.world.write([&](db::Tx& tx) {
        ledger::begin_closing(tx, *day);
        ledger::DayWalk walk(tx, *day);
        ledger::finish(tx, walk);
        ledger::end_closing(tx, walk);
      });
  }
  receipt::Keys keys() {
    return receipt::parse_keys(g.ask("GET", "/.well-known/berth-receipts.json").text);
  }
  receipt::Judgement judge(const std::string& receipt) {
    receipt::Ledger ledger;
    ledger.add(g.ask("GET", "/.well-known/berth-ledger?from=2026-01-01").text, keys());
    return receipt::judge(receipt, keys(), ledger);
  }
};

TEST_CASE("the parties of a transaction get its receipt, and others learn nothing of it") {
  Fixture f;
  for (const accounts::User& user : {f.bob, f.owner}) {
    const auto answer = f.get(user);
    REQUIRE(answer.status == 200);
    CHECK(answer.body.at("proven") == false);
    CHECK(f.judge(answer.body.at("receipt")).verdict == Verdict::signed_only);
  }
  CHECK(f.get(f.eve).error() == "404 not_found");
  CHECK(f.g.ask("GET", "/api/points/receipts/" + f.id).status == 401);
  CHECK(f.g.ask("GET", "/api/internal/points/receipts/" + f.id, f.g.admin).status == 200);
  CHECK(f.g.ask("GET", "/api/internal/points/receipts/" + f.id, {bearer(f.g.world.jwt(f.bob))})
            .status >= 401);
  for (const char* none : {"01936f5e-7c1a-7000-8000-000000000007", "no-id"}) {
    f.id = none;
    CHECK(f.get(f.bob).error() == "404 not_found");
  }
}

TEST_CASE("once the day is closed, the receipt stands in the ledger that berthd publishes") {
  Fixture f;
  const std::string before = f.get(f.bob).body.at("receipt");
  f.close();
  const auto answer = f.get(f.bob);
  CHECK(answer.body.at("proven") == true);
  CHECK(f.judge(answer.body.at("receipt")).verdict == Verdict::stands);
  CHECK(f.judge(before).verdict == Verdict::signed_only);
  const auto rotated = f.g.ask("POST", "/api/internal/receipt-keys/rotate", f.g.admin, "");
  REQUIRE(rotated.status == 200);
  CHECK(f.keys().by_id.contains(rotated.body.at("kid").get<std::string>()));
  CHECK(f.judge(answer.body.at("receipt")).verdict == Verdict::stands);
  CHECK(f.judge(f.get(f.owner).body.at("receipt")).verdict == Verdict::stands);
}

TEST_CASE("the published ledger has the days that are asked for, in pages") {
  Fixture f;
  const auto days = [&](const std::string& query) {
    return f.g.ask("GET", "/.well-known/berth-ledger" + query).body.at("days").size();
  };
  CHECK(days("?from=2026-01-01") == 0);
  f.close();
  CHECK(days("?from=2026-01-31&to=2026-01-31") == 1);
  CHECK(days("?from=2026-02-01") == 0);
  CHECK(days("?page_size=1&from=2026-01-01") == 1);
  CHECK(f.g.ask("GET", "/.well-known/berth-ledger?from=2026-02-02&to=2026-02-01").error() ==
        "422 validation_failed");
}

TEST_CASE(
    "the receipt of a deployment's charge says which deployment, and the time that was paid") {
  Fixture f;
  World& world = f.g.world;
  const apps::App host = world.approved_app(f.owner, {Scope::deploy_manage});
  world.mint(ledger::app_account(host.id), 150);
  world.write([&](db::Tx& tx) { apps::promote(tx, host.id, "basic", "root"); });
  const auto row = world.deploy(host, berth::test::order("shop", "basic"));
  f.id = world.read([&](db::Tx& tx) {
    auto rows =
        tx.query("SELECT transaction_id FROM deployment_charges WHERE deployment_id = $1", row.id);
    REQUIRE(rows.next());
    return rows.text("transaction_id");
  });
  const json payload = jws::parse(f.get(f.owner).body.at("receipt").get<std::string>())->payload;
  CHECK(payload.at("kind") == "deployment");
  CHECK(payload.at("amount") == 100);
  CHECK(payload.at("cause").at("deployment_id") == row.id);
  CHECK(payload.at("interval").at("from") == to_iso8601(row.inserted_at));
  CHECK(payload.at("interval").at("until") == to_iso8601(row.inserted_at + billing::period_length));
  CHECK(f.get(f.bob).error() == "404 not_found");
}

}  // namespace
