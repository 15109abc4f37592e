#include <catch2/catch.hpp>

#include "controller/base/id.h"
#include "controller/domain/deployments/deployments.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using deployments::Order;
using deployments::Status;

struct Fixture {
  World world;
  accounts::User ada = world.verified_user("ada");
  apps::App app = world.approved_app(ada, {Scope::deploy_manage});

  std::string create(const Order& order) {
    return refusal([&] { world.deploy(app, order); });
  }
  std::int64_t rows() {
    return world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM deployments"); });
  }
};

TEST_CASE("a new deployment is pending, with what was ordered and its tier's size") {
  Fixture f;
  std::vector<std::string> heard;
  f.world.db.subscribe([&](db::Topic, const std::string& id) { heard.push_back(id); });
  Order wanted = order("shop", "free");
  wanted.container.port = 8080;
  wanted.container.health_path = "/health";
  wanted.secrets.env = {{"B", "2"}, {"A", "1"}};
  const auto row = f.world.deploy(f.app, wanted);
  CHECK(is_uuid(row.id));
  CHECK(row.app_id == f.app.id);
  CHECK(row.owner_id == f.ada.id);
  CHECK(row.tier_slug == "free");
  CHECK(row.name == "shop");
  CHECK(row.container.image == wanted.container.image);
  CHECK(row.container.port == 8080);
  CHECK(row.container.health_path == "/health");
  CHECK(row.env_keys == std::vector<std::string>{"A", "B"});
  CHECK(row.memory_limit_mb == 512);
  CHECK(row.cpu_limit_millicores == 500);
  CHECK(row.status == Status::pending);
  CHECK(row.generation == 1);
  CHECK(row.rollout == 0);
  CHECK(row.billing_status == billing::Status::exempt);
  CHECK(row.request_id == "request-1");
  CHECK(row.inserted_at == f.world.clock.now());
  CHECK_FALSE(row.deployed_at);
  CHECK_FALSE(row.destroyed_at);
  CHECK(f.world.history(row.id) == "create succeeded");
  CHECK(f.world.logs(row.id)[0].initiated_by == f.ada.id);
  CHECK(heard == std::vector<std::string>{row.id});
}

TEST_CASE(
    "variables and credentials are stored encrypted, and decrypted only for the reconcilers") {
  Fixture f;
  Order wanted = order();
  wanted.secrets.env = {{"PASSWORD", "hunter2"}, {"EMPTY", ""}};
  wanted.secrets.registry_credentials = {.username = "robot", .password = "s3cret"};
  const auto row = f.world.deploy(f.app, wanted);
  f.world.read([&](db::Tx& tx) {
    const auto state = deployments::desired_state(tx, row.id, f.world.keys.data);
    CHECK(state->secrets.env == wanted.secrets.env);
    CHECK(state->secrets.registry_credentials->username == "robot");
    CHECK(state->secrets.registry_credentials->password == "s3cret");
    CHECK(state->deployment.id == row.id);
    CHECK_THROWS_AS(deployments::desired_state(tx, row.id, std::string(32, 'x')),
                    std::runtime_error);
    CHECK_FALSE(deployments::desired_state(tx, "unknown", f.world.keys.data));
    for (const char* secret : {"hunter2", "s3cret", "aHVudGVyMg", "czNjcmV0"}) {
      CHECK(tx.number("SELECT count(*) FROM deployments WHERE replace(env_sealed || "
                      "credentials_sealed, $1, '') <> env_sealed || credentials_sealed",
                      secret) == 0);
      CHECK(tx.number("SELECT count(*) FROM deploy_logs WHERE replace(details, $1, '') <> details",
                      secret) == 0);
    }
  });
}

TEST_CASE("an encrypted value can't be moved to another deployment or column") {
  Fixture f;
  Order wanted = order("one");
  wanted.secrets.env = {{"A", "1"}};
  wanted.secrets.registry_credentials = {.username = "robot", .password = "s3cret"};
  const auto one = f.world.deploy(f.app, wanted), two = f.world.deploy(f.app, order("two"));
  const auto opens = [&](const std::string& id) {
    try {
      return f.world.read([&](db::Tx& tx) {
        return deployments::desired_state(tx, id, f.world.keys.data).has_value();
      });
    } catch (const std::runtime_error&) {
      return false;
    }
  };
  f.world.write([&](db::Tx& tx) {
    tx.execute(
        "UPDATE deployments SET env_sealed = (SELECT env_sealed FROM deployments WHERE id = $2) "
        "WHERE id = $1",
        two.id, one.id);
  });
  CHECK(opens(one.id));
  CHECK_FALSE(opens(two.id));
  f.world.write([&](db::Tx& tx) {
    tx.execute("UPDATE deployments SET credentials_sealed = env_sealed WHERE id = $1", one.id);
  });
  CHECK_FALSE(opens(one.id));
}

TEST_CASE("refusals have the documented order of precedence, and leave no row") {
  Fixture f;
  f.world.mint(ledger::app_account(f.app.id), 100);
  f.world.write([&](db::Tx& tx) { apps::promote(tx, f.app.id, "basic", "root"); });
  const auto first = f.world.deploy(f.app, order("shop", "basic"));
  f.world.write([&](db::Tx& tx) { tx.execute("UPDATE apps SET promoted_tier = NULL"); });
  const auto balance = f.world.balance(ledger::app_account(f.app.id));
  REQUIRE(balance == 0);

  // Everything is wrong at first. Each line fixes what was refused before.
  Order wanted = order("shop", "gold");
  wanted.container.image = "quay.io/acme/web";
  wanted.container.port = 0;
  CHECK(f.create(wanted) == "422 validation_failed");
  wanted.container.port = 3000;
  CHECK(f.create(wanted) == "422 unsupported_registry");
  wanted.container.image = "ghcr.io/acme/web";
  CHECK(f.create(wanted) == "422 unknown_tier");
  wanted.tier = "basic";
  CHECK(f.create(wanted) == "403 tier_not_allowed");
  f.world.write([&](db::Tx& tx) { apps::promote(tx, f.app.id, "basic", "root"); });
  CHECK(f.create(wanted) == "409 subdomain_taken");
  wanted.name = "shop2";
  CHECK(f.create(wanted) == "429 deployment_limit_reached");
  f.world.destroy(f.app, first.id);
  CHECK(f.create(wanted) == "422 insufficient_balance");
  CHECK(f.rows() == 1);
  CHECK(f.world.read([](db::Tx& tx) { return tx.number("SELECT count(*) FROM deploy_logs"); }) ==
        2);
  f.world.mint(ledger::app_account(f.app.id), 100);
  CHECK(f.create(wanted) == "");
  CHECK(f.rows() == 2);
}

TEST_CASE("a tier that is paid in bitcoin is refused") {
  Fixture f;
  CHECK(f.create(order("shop", "sats")) == "422 payment_method_unsupported");
}

TEST_CASE("a custom domain isn't available on the free tier") {
  Fixture f;
  Order wanted = order("shop", "free");
  wanted.custom_domain = "shop.example.com";
  CHECK(f.create(wanted) == "422 validation_failed");
  CHECK(details([&] { f.world.deploy(f.app, wanted); }).contains("custom_domain"));
}

TEST_CASE("an unknown app is refused") {
  Fixture f;
  apps::App nobody = f.app;
  nobody.id = "unknown";
  CHECK(refusal([&] { f.world.deploy(nobody, order()); }) == "404 app_not_found");
}

TEST_CASE("a paid tier charges the app's account for its first period") {
  Fixture f;
  f.world.mint(ledger::app_account(f.app.id), 150);
  f.world.write([&](db::Tx& tx) { apps::promote(tx, f.app.id, "basic", "root"); });
  const auto row = f.world.deploy(f.app, order("shop", "basic"));
  CHECK(row.billing_status == billing::Status::current);
  CHECK(f.world.balance(ledger::app_account(f.app.id)) == 50);
  CHECK(f.world.balance(ledger::treasury()) == 100);
  CHECK(f.world.read([&](db::Tx& tx) {
    return tx.number(
        "SELECT count(*) FROM deployment_charges WHERE deployment_id = $1 AND amount = 100",
        row.id);
  }) == 1);
  // Nothing is refunded.
  f.world.destroy(f.app, row.id);
  CHECK(f.world.balance(ledger::app_account(f.app.id)) == 50);
}

TEST_CASE("one point too few is refused and moves nothing") {
  Fixture f;
  f.world.mint(ledger::app_account(f.app.id), 99);
  f.world.write([&](db::Tx& tx) { apps::promote(tx, f.app.id, "basic", "root"); });
  CHECK(f.create(order("shop", "basic")) == "422 insufficient_balance");
  CHECK(f.rows() == 0);
  CHECK(f.world.balance(ledger::app_account(f.app.id)) == 99);
  CHECK(f.world.balance(ledger::treasury()) == 0);
}

TEST_CASE("a name belongs to one deployment of all operators until that is destroyed") {
  Fixture f;
  const auto bob = f.world.verified_user("bob");
  const auto other = f.world.approved_app(bob, {Scope::deploy_manage});
  const auto row = f.world.deploy(f.app, order());
  CHECK(refusal([&] { f.world.deploy(other, order()); }) == "409 subdomain_taken");
  f.world.stop(f.app, row.id);
  CHECK(refusal([&] { f.world.deploy(other, order()); }) == "409 subdomain_taken");
  f.world.destroy(f.app, row.id);
  const auto next = f.world.deploy(other, order());
  f.world.read([&](db::Tx& tx) {
    CHECK(deployments::holder_of_name(tx, "shop") == next.id);
    CHECK_FALSE(deployments::holder_of_name(tx, "other"));
  });
}

TEST_CASE("limits count what isn't destroyed, over all apps of the owner") {
  Fixture f;
  const auto second_app = f.world.approved_app(f.ada, {Scope::deploy_manage});
  const auto bob = f.world.verified_user("bob");
  const auto bobs_app = f.world.approved_app(bob, {Scope::deploy_manage});
  const auto row = f.world.deploy(f.app, order("one", "free"));
  CHECK(refusal([&] { f.world.deploy(second_app, order("two", "free")); }) ==
        "429 deployment_limit_reached");
  CHECK(refusal([&] { f.world.deploy(bobs_app, order("three", "free")); }) == "");
  CHECK(refusal([&] { f.world.deploy(second_app, order("four", "wide")); }) == "");
  f.world.stop(f.app, row.id);
  CHECK(refusal([&] { f.world.deploy(second_app, order("two", "free")); }) ==
        "429 deployment_limit_reached");
  f.world.destroy(f.app, row.id);
  CHECK(refusal([&] { f.world.deploy(second_app, order("two", "free")); }) == "");
}

TEST_CASE("the sandbox status tells whether one more free deployment is possible") {
  Fixture f;
  const auto allowance = [&] {
    return f.world.read([&](db::Tx& tx) { return deployments::sandbox_allowance(tx, f.app.id); });
  };
  CHECK(allowance().eligible);
  CHECK(allowance().tier == "free");
  CHECK(allowance().used == 0);
  CHECK(allowance().most == 1);
  f.world.deploy(f.app, order("one", "free"));
  CHECK_FALSE(allowance().eligible);
  CHECK(allowance().used == 1);
  CHECK(allowance().reasons == std::vector<std::string>{"deployment_limit_reached"});
  // Another app of the same owner is told which deployment, of which app, uses the cap up.
  const auto second_app = f.world.new_app(f.world.find_user(f.app.owner_id)).app;
  const auto seen =
      f.world.read([&](db::Tx& tx) { return deployments::sandbox_allowance(tx, second_app.id); });
  REQUIRE(seen.uses.size() == 1);
  CHECK(seen.uses[0].name == "one");
  CHECK(seen.uses[0].app_id == f.app.id);
  CHECK(seen.uses[0].app_name == f.app.app_name);
  CHECK(seen.uses[0].status == deployments::Status::pending);
  f.world.write([](db::Tx& tx) { tx.execute("UPDATE deploy_tiers SET auto_approve = 0"); });
  CHECK_FALSE(allowance().eligible);
  CHECK(allowance().reasons == std::vector<std::string>{"tier_not_found"});
}

}  // namespace
