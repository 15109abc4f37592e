// What creating and changing deployments would do, without doing it.
#include "controller/domain/deployments/dry_run.h"

#include <catch2/catch.hpp>

#include "controller/domain/deployments/variables.h"
#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using deployments::Change;
using deployments::Operation;
using deployments::Outcome;

struct Fixture {
  World world;
  accounts::User ada = world.verified_user("ada");
  apps::App app = world.approved_app(ada, {Scope::deploy_manage});

  std::vector<Outcome> dry_run(const std::vector<Operation>& operations) {
    return world.write([&](db::Tx& tx) {
      return deployments::dry_run(tx, world.actor(app), operations, world.rules, world.keys.data);
    });
  }
  // The numbers of rows that a creation or a change writes.
  std::vector<std::int64_t> rows() {
    return world.read([](db::Tx& tx) {
      return std::vector<std::int64_t>{tx.number("SELECT count(*) FROM deployments"),
                                       tx.number("SELECT count(*) FROM deployment_labels"),
                                       tx.number("SELECT count(*) FROM deployment_revisions"),
                                       tx.number("SELECT count(*) FROM deploy_logs"),
                                       tx.number("SELECT count(*) FROM deployment_billing"),
                                       tx.number("SELECT count(*) FROM deployment_charges"),
                                       tx.number("SELECT count(*) FROM used_names"),
                                       tx.number("SELECT count(*) FROM audit_log"),
                                       tx.number("SELECT count(*) FROM ledger_postings")};
    });
  }
  void change(const std::string& id, const Change& wanted) {
    world.write([&](db::Tx& tx) {
      deployments::change(tx, world.actor(app), id, wanted, world.rules, world.keys.data);
    });
  }
  std::vector<deployments::Variable> variables(const std::string& id) {
    return world.read(
        [&](db::Tx& tx) { return deployments::variables(tx, app.id, id, world.keys.data); });
  }
};

Operation changes(const std::string& id, const Change& change) {
  return {.order = {}, .id = id, .change = change};
}

}  // namespace

TEST_CASE("a dry run tells what would change, and nothing is kept and nobody is told") {
  Fixture f;
  auto wanted = order("shop", "wide");
  wanted.secrets.env = {{"A", "1"}, {"B", "1"}};
  const auto row = f.world.deploy(f.app, wanted);
  const auto before = f.rows();
  std::vector<std::string> heard;
  f.world.db.subscribe([&](db::Topic, const std::string& id) { heard.push_back(id); });

  Change change;
  change.set(&deployments::ContainerSpec::port, 8080);
  change.env = {{"A", "2"}, {"B", std::nullopt}, {"C", "3"}};
  change.labels = deployments::Labels{{"stage", "test"}};
  auto labelled = order("forum", "wide");
  labelled.labels = {{"stage", "test"}};
  const auto outcomes = f.dry_run({changes(row.id, change),
                                   changes(row.id, change),
                                   {.order = labelled, .id = {}},
                                   {.order = labelled, .id = {}},
                                   changes("01936f5e-7c1a-7000-8000-000000000005", change)});
  REQUIRE(outcomes.size() == 5);
  CHECK(outcomes[0].fields ==
        std::vector<std::string>{"port", "env_vars.A", "env_vars.B", "env_vars.C", "labels"});
  CHECK(outcomes[0].replaces_container);
  CHECK(outcomes[0].deployment->container.port == 8080);
  CHECK(outcomes[1].fields.empty());  // the operation before it has done it
  CHECK(outcomes[0].effect == deployments::Effect::change);
  CHECK(outcomes[1].effect == deployments::Effect::nothing);
  CHECK(outcomes[2].effect == deployments::Effect::create);
  CHECK(outcomes[2].fields == std::vector<std::string>{"image", "port", "labels", "tier"});
  CHECK(outcomes[2].points == 0);
  REQUIRE(outcomes[3].refusal);
  CHECK(outcomes[3].refusal->code == Code::subdomain_taken);
  REQUIRE(outcomes[4].refusal);
  CHECK(outcomes[4].refusal->code == Code::deployment_not_found);
  CHECK_FALSE(outcomes[4].deployment);

  CHECK(f.rows() == before);
  CHECK(heard.empty());
  const auto now = f.world.find_deployment(row.id);
  CHECK(now.generation == row.generation);
  CHECK(now.container.port == row.container.port);
  CHECK(now.env_keys == row.env_keys);
}

TEST_CASE("a dry run that is refused for want of points says how many it takes") {
  Fixture f;
  f.world.write([&](db::Tx& tx) { apps::promote(tx, f.app.id, "basic", "root"); });
  const auto row = f.world.deploy(f.app, order("shop", "wide"));
  f.world.clock.advance(15 * 24h);
  Change change;
  change.tier = "basic";
  const std::vector<Operation> operations = {changes(row.id, change),
                                             {.order = order("forum", "basic"), .id = {}}};
  const auto refused = f.dry_run(operations);
  REQUIRE(refused[0].refusal);
  CHECK(refused[0].refusal->code == Code::insufficient_balance);
  CHECK(refused[0].points == 50);  // for half of a period
  REQUIRE(refused[1].refusal);
  CHECK(refused[1].refusal->code == Code::insufficient_balance);
  CHECK(refused[1].points == 100);

  f.world.mint(ledger::app_account(f.app.id), 50);
  const auto paid = f.dry_run(operations);
  CHECK_FALSE(paid[0].refusal);
  CHECK(paid[0].points == 50);
  REQUIRE(paid[1].refusal);
  CHECK(paid[1].refusal->code == Code::deployment_limit_reached);
  CHECK(paid[1].points == 0);
}

TEST_CASE("a variable's digest and time change with its value") {
  Fixture f;
  auto wanted = order("shop", "wide");
  wanted.secrets.env = {{"A", "1"}, {"B", "1"}};
  const auto row = f.world.deploy(f.app, wanted);
  const auto first = f.variables(row.id);
  REQUIRE(first.size() == 2);
  CHECK(first[0].name == "A");
  CHECK(first[0].digest.size() == 16);
  CHECK(first[0].digest != first[1].digest);
  CHECK(first[0].set_at == f.world.clock.now());

  f.world.clock.advance(1h);
  Change change;
  change.env = {{"A", "2"}, {"B", "1"}};
  f.change(row.id, change);
  const auto second = f.variables(row.id);
  CHECK(second[0].digest != first[0].digest);
  CHECK(second[0].set_at == f.world.clock.now());
  CHECK(second[1].digest == first[1].digest);
  CHECK(second[1].set_at == first[1].set_at);

  f.world.clock.advance(1h);
  change.env = {{"A", "1"}};
  f.change(row.id, change);
  CHECK(f.variables(row.id)[0].digest == first[0].digest);
  CHECK(f.variables(row.id)[0].set_at == f.world.clock.now());
  const auto other = f.world.deploy(f.app, order("forum", "wide"));
  CHECK(f.variables(other.id).empty());
}
