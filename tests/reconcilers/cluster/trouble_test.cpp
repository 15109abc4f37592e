#include <catch2/catch.hpp>

#include "tests/reconcilers/cluster/cluster.h"
#include "tests/reconcilers/cluster/world.h"

using namespace berth;
using namespace berth::reconcilers;
using namespace berth::reconcilers::test;
using deployments::Reason;
using deployments::Status;
using nlohmann::json;

// Trouble with a tenant's deployment; the simulated cluster has an image for each kind.

namespace {

struct Tenant {
  embedded::Cluster cluster{quick()};
  World world{config_of(cluster)};

  Tenant() { world.wake(); }

  bool has_reason(const std::string& id, Reason reason) {
    return eventually([&] { return world.row(id).reason == reason; });
  }
};

}  // namespace

TEST_CASE("each failing image has its reason") {
  struct Case {
    const char* image;
    Reason reason;
    const char* words;
  };
  const auto one =
      GENERATE(Case{"ghcr.io/acme/missing:1", Reason::image_pull_failed, "missing"},
               Case{"ghcr.io/acme/crash:1", Reason::crash_loop, "exited with code 1"},
               Case{"ghcr.io/acme/oom:1", Reason::out_of_memory, "128 MB"},
               Case{"ghcr.io/acme/wrong-port:1", Reason::port_not_listening, "port 3000"},
               Case{"ghcr.io/acme/needs-root:1", Reason::image_needs_root, "denied"},
               Case{"ghcr.io/acme/unschedulable:1", Reason::unschedulable, "nodes are available"});
  Tenant tenant;
  const std::string id = tenant.world.deploy(tenant.world.new_app(), {.image = one.image});
  CHECK(eventually([&] {
    const auto row = tenant.world.row(id);
    return row.reason == one.reason && row.status == Status::errored &&
           row.message.value_or("").find(one.words) != std::string::npos;
  }));
  tenant.world.change(id, "image = 'ghcr.io/acme/web:2'");
  CHECK(tenant.world.is(id, Status::running));
  CHECK_FALSE(tenant.world.row(id).reason.has_value());
  CHECK_FALSE(tenant.world.row(id).message.has_value());
}

TEST_CASE("on a node slowed down ten times no deployment that will run is said to be in trouble") {
  // The containers listen within a second, but the node takes seven to report it: longer than the
  // world's patience.
  using std::chrono::milliseconds;
  embedded::Options slow;
  slow.timing.pull = slow.timing.start = milliseconds(100);
  slow.timing.probe = milliseconds(600);
  embedded::Cluster cluster(slow);
  cluster.slow_down(10);
  World world(config_of(cluster));
  world.options.patience.listening = std::chrono::seconds(3);
  world.wake();
  const std::string app = world.new_app();
  std::vector<std::string> ids;
  for (const char* name : {"one", "two", "three"}) ids.push_back(world.deploy(app, {.name = name}));
  ids.push_back(world.deploy(app, {.name = "deaf", .image = "ghcr.io/acme/wrong-port:1"}));
  for (size_t i = 0; i < 3; ++i) CHECK(world.is(ids[i], Status::running));
  CHECK(eventually([&] { return world.row(ids[3]).reason == Reason::port_not_listening; }));
  const auto failed = world.database().read([](db::Tx& tx) {
    return tx.number(
        "SELECT count(DISTINCT deployment_id) FROM deploy_logs WHERE status = 'failed'");
  });
  CHECK(failed == 1);
}

TEST_CASE("on port 80 nothing arrives, and the reason says why") {
  Tenant tenant;
  const std::string id =
      tenant.world.deploy(tenant.world.new_app(), {.image = "ghcr.io/acme/web:1", .port = 80});
  CHECK(eventually([&] {
    const auto row = tenant.world.row(id);
    return row.reason == Reason::port_not_listening &&
           row.message.value_or("").find("below 1024") != std::string::npos;
  }));
  CHECK(tenant.cluster.page("shop.apps.example").status != 200);
  tenant.world.change(id, "port = 8080");
  CHECK(tenant.world.is(id, Status::running));
  CHECK(tenant.cluster.page("shop.apps.example").status == 200);
}

TEST_CASE("a rollout that fails leaves the old container running and says why") {
  Tenant tenant;
  const std::string id = tenant.world.deploy(tenant.world.new_app());
  REQUIRE(tenant.world.is(id, Status::running));
  tenant.world.change(id, "image = 'ghcr.io/acme/crash:1'");
  // Reads the row once, because the container may be in another attempt at the next reading.
  CHECK(eventually([&] {
    const auto row = tenant.world.row(id);
    return row.reason == Reason::rollout_failed && row.cause == Reason::crash_loop &&
           row.status == Status::running && row.health_status == deployments::HealthStatus::healthy;
  }));
  CHECK(tenant.cluster.page("shop.apps.example").status == 200);
  tenant.world.change(id, "image = 'ghcr.io/acme/web:1'");
  CHECK(eventually([&] {
    const auto row = tenant.world.row(id);
    return row.status == Status::running && !row.reason && !row.cause;
  }));
}

TEST_CASE("a container that crashes later is errored, and running again once it is healthy") {
  Tenant tenant;
  tenant.cluster.set_image("ghcr.io/acme/web:1", embedded::ImageBehaviour::crashes);
  const std::string id = tenant.world.deploy(tenant.world.new_app());
  REQUIRE(tenant.has_reason(id, Reason::crash_loop));
  tenant.cluster.set_image("ghcr.io/acme/web:1", embedded::ImageBehaviour::runs);
  CHECK(tenant.world.is(id, Status::running));
}

TEST_CASE("a quota that has no room") {
  Tenant tenant;
  const std::string app = tenant.world.new_app();
  const std::string first = tenant.world.deploy(app, {.name = "first"});
  REQUIRE(tenant.world.is(first, Status::running));
  tenant.cluster.set_quota(manifests::namespace_of(app), {{"pods", "1"}});
  const std::string second = tenant.world.deploy(app, {.name = "second"});
  REQUIRE(tenant.has_reason(second, Reason::quota_exceeded));
  CHECK(tenant.world.row(second).status == Status::errored);
  tenant.cluster.set_quota(manifests::namespace_of(app), {{"pods", "5"}});
  CHECK(tenant.world.is(second, Status::running));
}

TEST_CASE("objects that the cluster refuses") {
  Tenant tenant;
  tenant.cluster.fail_next(1'000, 422, std::nullopt, {"create", "deployments"});
  const std::string id = tenant.world.deploy(tenant.world.new_app());
  REQUIRE(tenant.has_reason(id, Reason::cluster_refused));
  CHECK(tenant.world.row(id).status == Status::errored);
  CHECK_FALSE(tenant.world.row(id).message.value_or("").empty());
  tenant.cluster.clear_failures();
  tenant.world.engine().enqueue(id);
  CHECK(tenant.world.is(id, Status::running));
}

TEST_CASE("a health path decides whether a container is healthy") {
  Tenant tenant;
  const std::string id = tenant.world.deploy(
      tenant.world.new_app(), {.image = "ghcr.io/acme/not-listening:1", .health_path = "/healthz"});
  REQUIRE(tenant.has_reason(id, Reason::port_not_listening));
  CHECK(tenant.world.row(id).message.value_or("").find("/healthz") != std::string::npos);
}
