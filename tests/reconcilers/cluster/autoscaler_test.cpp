// The loop that sets numbers of containers by the requests in flight.
#include "reconcilers/cluster/autoscaler.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "manifests/manifests.h"
#include "reconcilers/cluster/usage.h"
#include "tests/domain/world.h"
#include "tests/reconcilers/cluster/cluster.h"
#include "tests/reconcilers/cluster/world.h"

namespace {

using namespace berth;
using namespace berth::reconcilers;
using namespace std::chrono_literals;
using deployments::Scale;
using deployments::Status;

constexpr Scale one_to_three = {.min = 1, .max = 3, .in_flight = 20};

std::string service_of(const deployments::Deployment& row) {
  return traefik_service(manifests::namespace_of(row.app_id), manifests::object_name(row.id),
                         service_port);
}

// An ingress controller whose load a test sets, and a clock that it moves.
struct Load {
  std::map<std::string, double, std::less<>> in_flight;
  bool answers = true;
  bool is_complete = true;
  int looks = 0;
  LoadTime now{};

  LoadSource source() {
    return [this](const std::set<std::string>&, LoadTime) -> std::optional<RequestLoad> {
      ++looks;
      if (!answers) return std::nullopt;
      return RequestLoad{.in_flight = in_flight, .is_complete = is_complete};
    };
  }
};

struct Fixture {
  berth::test::World world;
  accounts::User ada = world.verified_user("ada");
  apps::App app = world.approved_app(ada, {Scope::deploy_manage});
  Load load;
  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
  std::unique_ptr<Autoscaler> autoscaler;
  std::unique_ptr<Round> round;
  std::string id = deploy("shop");

  Fixture() { begin(); }

  // As a berthd that was just started.
  void begin() {
    registry = std::make_shared<prometheus::Registry>();
    autoscaler = std::make_unique<Autoscaler>(Autoscaler::Parts{
        .load = load.source(), .registry = registry, .now = [this] { return load.now; }});
    round = std::make_unique<Round>(world.db);
  }
  std::string deploy(const std::string& name) {
    deployments::Order wanted = berth::test::order(name);
    wanted.container.scale = one_to_three;
    const std::string made = world.deploy(app, wanted).id;
    observe(made, Status::running);
    return made;
  }
  void observe(const std::string& deployment, Status status) {
    deployments::Observation seen;
    seen.status = status;
    world.record(deployment, world.find_deployment(deployment).generation, seen);
  }
  void set(double in_flight) { load.in_flight[service_of(world.find_deployment(id))] = in_flight; }
  void look(std::chrono::seconds after = 2s) {
    load.now += after;
    round->run([&](Round& running) { autoscaler->run_once(running); });
  }
  void pass(std::chrono::seconds time) {
    for (auto passed = 0s; passed < time; passed += 2s) look();
  }
  int number() { return world.find_deployment(id).scaled_to.value(); }
  std::size_t logged() {
    std::size_t entries = 0;
    for (const auto& entry : world.logs(id))
      if (entry.details && nlohmann::json::parse(*entry.details).value("kind", "") == "scale")
        ++entries;
    return entries;
  }
  double metric(const std::string& name, const std::string& label = "") {
    for (const auto& family : registry->Collect()) {
      if (family.name != name) continue;
      for (const auto& each : family.metric)
        if (label.empty() || each.label.front().value == label)
          return each.counter.value + each.gauge.value;
    }
    return -1;
  }
};

}  // namespace

TEST_CASE("a spike gets containers at once, and they go after five quiet minutes") {
  Fixture f;
  f.look();
  CHECK(f.number() == 1);
  f.set(55);
  f.look();
  CHECK(f.number() == 3);
  CHECK(f.autoscaler->in_flight(f.id) == 55);
  f.set(30);
  f.pass(298s);
  CHECK(f.number() == 3);
  f.pass(4s);
  CHECK(f.number() == 2);
  f.set(0);
  f.pass(298s);
  CHECK(f.number() == 2);
  f.pass(4s);
  CHECK(f.number() == 1);
  CHECK(f.metric("berth_autoscaler_changes_total", "up") == 1);
  CHECK(f.metric("berth_autoscaler_changes_total", "down") == 2);
}

TEST_CASE("a load that flaps costs few writes, and its log a line a minute at most") {
  Fixture f;
  for (int i = 0; i < 600; ++i) {
    f.set(i % 2 == 0 ? 60 : 0);
    f.look();
  }
  CHECK(f.number() == 3);
  CHECK(f.metric("berth_autoscaler_changes_total", "up") == 1);
  CHECK(f.metric("berth_autoscaler_changes_total", "down") == 0);
  CHECK(f.logged() == 1);
}

TEST_CASE("a load that grows step by step has its end in the log") {
  Fixture f;
  f.set(30);
  f.look();
  f.set(50);
  f.look();
  CHECK(f.number() == 3);
  CHECK(f.logged() == 1);
  f.pass(60s);
  REQUIRE(f.logged() == 2);
  const auto details = nlohmann::json::parse(*f.world.logs(f.id).back().details);
  CHECK(details.at("from") == 2);
  CHECK(details.at("to") == 3);
  f.pass(120s);
  CHECK(f.logged() == 2);
}

TEST_CASE("a load that isn't known changes nothing, and is no quiet time") {
  Fixture f;
  f.set(55);
  f.look();
  REQUIRE(f.number() == 3);
  f.set(0);
  f.pass(200s);
  f.load.answers = false;
  f.pass(600s);
  CHECK(f.number() == 3);
  CHECK_FALSE(f.autoscaler->in_flight(f.id));
  CHECK(f.metric("berth_autoscaler_looks_total", "missing") == 300);
  f.load.answers = true;
  f.pass(298s);
  CHECK(f.number() == 3);
  f.pass(6s);
  CHECK(f.number() == 1);
}

TEST_CASE("what only a part of the ingress controller says can bring containers, but take none") {
  Fixture f;
  f.load.is_complete = false;
  f.set(55);
  f.look();
  CHECK(f.number() == 3);
  f.set(0);
  f.pass(600s);
  CHECK(f.number() == 3);
  f.load.is_complete = true;
  f.pass(306s);
  CHECK(f.number() == 1);
}

TEST_CASE("a berthd that begins keeps the stored number for a quiet time") {
  Fixture f;
  f.set(55);
  f.look();
  f.set(0);
  f.pass(290s);
  f.begin();
  f.pass(298s);
  CHECK(f.number() == 3);
  f.pass(6s);
  CHECK(f.number() == 1);
}

TEST_CASE("a rollout keeps its containers, and what is stopped isn't scaled") {
  Fixture f;
  f.set(30);
  f.look();
  REQUIRE(f.number() == 2);
  f.set(0);
  f.observe(f.id, Status::deploying);
  f.pass(400s);
  CHECK(f.number() == 2);
  f.set(55);
  f.look();
  CHECK(f.number() == 3);
  f.world.stop(f.app, f.id);
  f.set(0);
  f.pass(400s);
  CHECK(f.number() == 3);
  CHECK_FALSE(f.autoscaler->in_flight(f.id));
  f.world.restart(f.app, f.id);
  f.observe(f.id, Status::running);
  f.pass(298s);
  CHECK(f.number() == 3);
  f.pass(6s);
  CHECK(f.number() == 1);
}

TEST_CASE("nobody is asked for a load while nothing has scale, or nothing counts requests") {
  Fixture f;
  f.look();
  CHECK(f.load.looks == 1);
  CHECK(f.metric("berth_autoscaler_deployments") == 1);
  f.world.destroy(f.app, f.id);
  f.pass(10s);
  CHECK(f.load.looks == 1);
  CHECK(f.metric("berth_autoscaler_deployments") == 0);

  f.id = f.deploy("other");
  auto registry = std::make_shared<prometheus::Registry>();
  Autoscaler without({.load = {}, .registry = registry, .now = [&] { return f.load.now; }});
  Round round(f.world.db);
  CHECK(round.run([&](Round& running) { without.run_once(running); }));
  CHECK(f.number() == 1);
}

TEST_CASE("the deployments that need all they may have are counted") {
  Fixture f;
  f.set(60);
  f.look();
  CHECK(f.metric("berth_autoscaler_at_maximum") == 1);
  f.set(10);
  f.look();
  CHECK(f.metric("berth_autoscaler_at_maximum") == 0);
}

TEST_CASE("a slow look is followed by a long pause") {
  Fixture f;
  auto slow = std::make_unique<Autoscaler>(
      Autoscaler::Parts{.load =
                            [&](const std::set<std::string>& services, LoadTime now) {
                              f.load.now += 1s;
                              return f.load.source()(services, now);
                            },
                        .registry = f.registry = std::make_shared<prometheus::Registry>(),
                        .now = [&] { return f.load.now; }});
  f.autoscaler = std::move(slow);
  f.look();
  f.pass(8s);
  CHECK(f.load.looks == 1);
  f.pass(4s);
  CHECK(f.load.looks == 2);
}

TEST_CASE("however slow looks are, containers that aren't needed go") {
  Fixture f;
  f.set(55);
  f.look();
  REQUIRE(f.number() == 3);
  f.set(0);
  f.autoscaler = std::make_unique<Autoscaler>(
      Autoscaler::Parts{.load =
                            [&](const std::set<std::string>& services, LoadTime now) {
                              f.load.now += 8s;
                              return f.load.source()(services, now);
                            },
                        .registry = f.registry = std::make_shared<prometheus::Registry>(),
                        .now = [&] { return f.load.now; }});
  f.pass(400s);
  CHECK(f.number() == 1);
}

TEST_CASE("the simulated cluster gets the containers that its load needs") {
  embedded::Cluster cluster(reconcilers::test::quick());
  reconcilers::test::World world(reconcilers::test::config_of(cluster));
  world.wake();
  const std::string id = world.deploy(world.new_app());
  REQUIRE(reconcilers::test::eventually([&] { return world.is(id, Status::running); }));
  deployments::Change change;
  change.set(&deployments::ContainerSpec::scale, one_to_three);
  const deployments::Deployment row = world.row(id);
  world.database().write([&](db::Tx& tx) {
    deployments::change(tx, {row.owner_id, row.app_id, "request-2"}, id, change, world.rules,
                        std::string(32, 'k'));
  });
  Autoscaler autoscaler({.load = [&](const auto&, LoadTime) -> std::optional<RequestLoad> {
                           const auto told = cluster.in_flight();
                           return RequestLoad{.in_flight = {told->begin(), told->end()}};
                         },
                         .registry = std::make_shared<prometheus::Registry>()});
  cluster.set_in_flight(std::map<std::string, double>{{service_of(row), 50}});
  const auto generation = world.row(id).generation;
  Round round(world.database());
  round.run([&](Round& running) { autoscaler.run_once(running); });
  CHECK(world.row(id).scaled_to == 3);
  CHECK(reconcilers::test::eventually(
      [&] { return world.object(kube::deployments, id).at("spec").value("replicas", 0) == 3; }));
  CHECK(world.row(id).generation == generation);
}
