// The number of containers that the autoscaler wants: when there is one, its limits, and its log.
#include "controller/domain/deployments/scales.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/domain/world.h"

namespace {

using namespace berth;
using namespace berth::test;
using deployments::ContainerSpec;
using deployments::Scale;
using deployments::Status;

constexpr Scale one_to_three = {.min = 1, .max = 3, .in_flight = 20};

struct Fixture {
  World world;
  accounts::User ada = world.verified_user("ada");
  apps::App app = world.approved_app(ada, {Scope::deploy_manage});

  std::string deploy(const std::optional<Scale>& scale) {
    deployments::Order wanted = order();
    wanted.container.scale = scale;
    const auto row = world.deploy(app, wanted);
    observe(row.id, Status::running);
    return row.id;
  }
  void observe(const std::string& id, Status status) {
    deployments::Observation seen;
    seen.status = status;
    world.record(id, world.find_deployment(id).generation, seen);
  }
  void scale(const std::string& id, const std::optional<Scale>& scale) {
    deployments::Change change;
    change.set(&ContainerSpec::scale, scale);
    world.write([&](db::Tx& tx) {
      deployments::change(tx, world.actor(app), id, change, world.rules, world.keys.data);
    });
  }
  std::vector<deployments::scales::Scaled> all() {
    return world.read([](db::Tx& tx) { return deployments::scales::all(tx); });
  }
  bool set(const std::string& id, int from, int to, std::optional<int> logged_from = {}) {
    return world.write([&](db::Tx& tx) {
      return deployments::scales::set(tx, {.deployment_id = id,
                                           .process = deployments::web_process,
                                           .from = from,
                                           .replicas = to,
                                           .in_flight = 41.6,
                                           .logged_from = logged_from});
    });
  }
  std::optional<int> scaled_to(const std::string& id) {
    return world.find_deployment(id).scaled_to;
  }
  std::map<std::string, int> desired(const std::string& id) {
    return world.read(
        [&](db::Tx& tx) { return deployments::desired_state(tx, id, world.keys.data)->scaled; });
  }
  std::int64_t rows() {
    return world.read(
        [](db::Tx& tx) { return tx.number("SELECT count(*) FROM deployment_scales"); });
  }
};

}  // namespace

TEST_CASE("a deployment with scale begins with the least number, and without it has none") {
  Fixture f;
  const std::string id = f.deploy(Scale{.min = 2, .max = 3, .in_flight = 20});
  CHECK(f.scaled_to(id) == 2);
  CHECK(f.desired(id) == std::map<std::string, int>{{"web", 2}});
  REQUIRE(f.all().size() == 1);
  CHECK(f.all().front().deployment_id == id);
  CHECK(f.all().front().app_id == f.app.id);
  CHECK(f.all().front().scale == Scale{.min = 2, .max = 3, .in_flight = 20});
  f.scale(id, std::nullopt);
  CHECK(f.scaled_to(id) == std::nullopt);
  CHECK(f.desired(id).empty());
  CHECK(f.all().empty());
  CHECK(f.rows() == 0);
}

TEST_CASE("containers that run stay when they get a scale") {
  Fixture f;
  deployments::Order wanted = order();
  wanted.container.replicas = 2;
  const std::string id = f.world.deploy(f.app, wanted).id;
  f.observe(id, Status::running);
  f.scale(id, one_to_three);
  CHECK(f.scaled_to(id) == 2);
  f.scale(id, std::nullopt);
  f.scale(id, Scale{.min = 3, .max = 3, .in_flight = 20});
  CHECK(f.scaled_to(id) == 3);
}

TEST_CASE("the number is kept within limits that change") {
  Fixture f;
  const std::string id = f.deploy(one_to_three);
  CHECK(f.set(id, 1, 3));
  CHECK(f.scaled_to(id) == 3);
  f.scale(id, Scale{.min = 1, .max = 2, .in_flight = 20});
  CHECK(f.scaled_to(id) == 2);
  f.scale(id, one_to_three);
  CHECK(f.scaled_to(id) == 2);
  f.scale(id, Scale{.min = 3, .max = 3, .in_flight = 20});
  CHECK(f.scaled_to(id) == 3);
}

TEST_CASE("the scale of web among other processes counts, and no other") {
  Fixture f;
  const std::string id = f.deploy(one_to_three);
  deployments::Change change;
  deployments::Processes processes;
  processes["web"].scale = Scale{.min = 2, .max = 2, .in_flight = 5};
  processes["worker"].command = deployments::Texts{"./worker"};
  change.set(&ContainerSpec::processes, processes);
  f.world.write([&](db::Tx& tx) {
    deployments::change(tx, f.world.actor(f.app), id, change, f.world.rules, f.world.keys.data);
  });
  CHECK(f.scaled_to(id) == 2);
  CHECK(f.all().front().scale.in_flight == 5);
}

TEST_CASE("only what runs is scaled, and a change raises no generation") {
  Fixture f;
  const std::string id = f.deploy(one_to_three);
  const auto generation = f.world.find_deployment(id).generation;
  CHECK(f.set(id, 1, 2));
  CHECK_FALSE(f.set(id, 1, 2));  // it has that number already
  CHECK(f.world.find_deployment(id).generation == generation);
  CHECK(f.world.find_deployment(id).status == Status::running);
  f.world.stop(f.app, id);
  CHECK_FALSE(f.set(id, 2, 3));
  CHECK(f.scaled_to(id) == 2);
}

TEST_CASE("the log says a change if it is to, with what it was decided by") {
  Fixture f;
  const std::string id = f.deploy(one_to_three);
  const auto before = f.world.logs(id).size();
  f.set(id, 1, 2);
  CHECK(f.world.logs(id).size() == before);
  f.set(id, 2, 3, 1);
  REQUIRE(f.world.logs(id).size() == before + 1);
  const auto entry = f.world.logs(id).back();
  CHECK(entry.action == deployments::LogAction::deploy);
  CHECK(entry.status == deployments::LogStatus::info);
  CHECK_FALSE(entry.initiated_by);
  CHECK(nlohmann::json::parse(*entry.details) ==
        nlohmann::json{
            {"kind", "scale"}, {"process", "web"}, {"from", 1}, {"to", 3}, {"in_flight", 42}});
  // Nothing is stored, but the log is brought up to date.
  CHECK(f.set(id, 3, 3, 2));
  CHECK(f.world.logs(id).size() == before + 2);
}

TEST_CASE("a deleted deployment has no number") {
  Fixture f;
  const std::string id = f.deploy(one_to_three);
  f.world.destroy(f.app, id);
  CHECK(f.rows() == 0);
}
