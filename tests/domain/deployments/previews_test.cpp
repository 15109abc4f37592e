// Copies of deployments for a limited time.
#include "controller/domain/deployments/previews.h"

#include <catch2/catch.hpp>

#include "controller/domain/deployments/metering/budgets.h"
#include "tests/domain/deployments/custom_domains/custom_domains_world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using deployments::Deployment;
using deployments::Status;

struct Fixture : DomainWorld {
  Deployment row = deploy(adas, [] {
    auto wanted = order("shop");
    wanted.secrets.env = {{"DATABASE", "postgres://secret"}};
    wanted.container.processes = {{"web", {}}, {"worker", {.replicas = 2}}};
    wanted.container.identity = true;
    wanted.container.crons = {
        {.name = "nightly", .schedule = "0 3 * * *", .command = {"./clean-up"}}};
    return wanted;
  }());

  previews::Preview make(const previews::Wanted& wanted) { return make_of(row.id, wanted); }
  previews::Preview make_of(const std::string& id, const previews::Wanted& wanted) {
    return write([&](db::Tx& tx) {
      return previews::create(tx, actor(adas), id, wanted, rules, keys.data);
    });
  }
  void end_due() {
    for (const auto& id : read([](db::Tx& tx) { return previews::expired(tx, 10); }))
      write([&](db::Tx& tx) { previews::end(tx, id); });
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a preview runs the same image without the variables",
                 "[previews_test]") {
  const auto preview =
      make({.name = "shop-2", .ttl = 2h, .image = {}, .env = {{"STAGE", "preview"}}, .budget = 50});
  CHECK(preview.deployment.container.image == row.container.image);
  CHECK(preview.deployment.env_keys == std::vector<std::string>{"STAGE"});
  CHECK(preview.deployment.container.crons.empty());
  CHECK_FALSE(preview.deployment.container.identity);  // a pull request's code isn't the owner's
  CHECK(deployments::most_replicas(preview.deployment.container) == 2);
  CHECK(preview.expires_at == clock.now() + 2h);
  const auto budgets = read([&](db::Tx& tx) { return metering::budgets(tx, adas.id); });
  REQUIRE(budgets.size() == 1);
  CHECK(budgets.front().deployment_id == preview.deployment.id);
  CHECK(budgets.front().limit == 50);
}

TEST_CASE_METHOD(Fixture, "a preview is deleted when its time is over, and not before",
                 "[previews_test]") {
  const auto preview = make({.name = "shop-2", .ttl = 2h, .image = {}, .env = {}, .budget = {}});
  clock.advance(2h - 1ms);
  end_due();
  CHECK(find_deployment(preview.deployment.id).status != Status::destroyed);
  clock.advance(1ms);
  end_due();
  CHECK(find_deployment(preview.deployment.id).status == Status::destroyed);
  CHECK(find_deployment(row.id).status != Status::destroyed);
  CHECK(read([&](db::Tx& tx) { return previews::list(tx, adas.id, row.id); }).empty());
}

TEST_CASE_METHOD(Fixture, "a preview ends with the deployment that it is of", "[previews_test]") {
  const auto preview = make({.name = "shop-2", .ttl = 2h, .image = {}, .env = {}, .budget = {}});
  write([&](db::Tx& tx) { deployments::destroy(tx, actor(adas), row.id); });
  end_due();
  CHECK(find_deployment(preview.deployment.id).status == Status::destroyed);
}

TEST_CASE_METHOD(Fixture, "previews are limited in time and number, and have none themselves",
                 "[previews_test]") {
  const auto preview = make({.name = "shop-0", .ttl = 2h, .image = {}, .env = {}, .budget = {}});
  const auto refused = [&](const std::string& id, Duration ttl) {
    return refusal(
        [&] { make_of(id, {.name = "other", .ttl = ttl, .image = {}, .env = {}, .budget = {}}); });
  };
  CHECK(refused(preview.deployment.id, 2h) == "409 invalid_state");
  CHECK(refused(row.id, 59s) == "422 validation_failed");
  CHECK(refused(row.id, std::chrono::days(30) + 1s) == "422 validation_failed");
  for (int i = 1; i < previews::max_of_deployment; ++i)
    make({.name = "shop-" + std::to_string(i), .ttl = 2h, .image = {}, .env = {}, .budget = {}});
  CHECK(refused(row.id, 2h) == "409 invalid_state");
  // One that is deleted makes room.
  write([&](db::Tx& tx) { deployments::destroy(tx, actor(adas), preview.deployment.id); });
  CHECK(refused(row.id, 2h).empty());
}

TEST_CASE_METHOD(Fixture, "what an admin has suspended has no previews", "[previews_test]") {
  write(
      [&](db::Tx& tx) { deployments::suspend(tx, {.admin = "root", .request_id = "r"}, row.id); });
  CHECK(refusal([&] {
          make({.name = "shop-2", .ttl = 2h, .image = {}, .env = {}, .budget = {}});
        }) == "403 deployment_suspended");
}

TEST_CASE_METHOD(Fixture, "a preview isn't charged if its budget would stop it at once",
                 "[previews_test]") {
  write([](db::Tx& tx) {
    tx.execute("UPDATE deploy_tiers SET monthly_cost_points = 50 WHERE slug = 'wide'");
  });
  mint(ledger::app_account(adas.id), 1'000);
  const auto before = balance(ledger::app_account(adas.id));
  const auto refused = [&](std::int64_t budget) {
    return refusal(
        [&] { make({.name = "shop-2", .ttl = 2h, .image = {}, .env = {}, .budget = budget}); });
  };
  CHECK(refused(100) == "409 budget_reached");  // two containers
  CHECK(balance(ledger::app_account(adas.id)) == before);
  CHECK(refused(101).empty());
  CHECK(balance(ledger::app_account(adas.id)) == before - 100);
}
