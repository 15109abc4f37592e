#include "reconcilers/cluster/resizing.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "controller/base/quantity.h"
#include "reconcilers/cluster/pod_trouble.h"
#include "tests/reconcilers/cluster/cluster.h"
#include "tests/reconcilers/cluster/world.h"

using namespace berth;
using namespace berth::reconcilers;
using namespace berth::reconcilers::test;
using deployments::Resize;
using deployments::Status;
using nlohmann::json;

// Containers that get another size while they run, on the simulated cluster: the nodes of the real
// one that other tests run on are only claimed, and have no kubelet that could do it
// (tests/kube/end_to_end/resize.py has).

namespace {

// The same key as in tests/reconcilers/cluster/world.cpp.
const std::string data_key(32, 'k');
const deployments::ContainerSize small_size = {.memory_mb = 128, .cpu_millicores = 100};
const deployments::ContainerSize large_size = {.memory_mb = 256, .cpu_millicores = 200};

const Object& container_of(const Object& spec) { return field(spec, {"containers"}).at(0); }

struct Tenant {
  World world;
  std::string app = world.new_app();
  std::string id;

  explicit Tenant(kube::Kubeconfig cluster, const Wanted& wanted = {}) : world(std::move(cluster)) {
    world.database().write([](db::Tx& tx) {
      tiers::Tier tier = tiers::list(tx).at(0);
      tier.name = tier.slug = "large";
      tier.memory_limit_mb = large_size.memory_mb;
      tier.cpu_limit_millicores = large_size.cpu_millicores;
      tiers::create(tx, tier);
    });
    world.wake();
    id = world.deploy(app, wanted);
    REQUIRE(world.is(id, Status::running));
    REQUIRE(world.settles());
  }

  void change(const deployments::Change& wanted) {
    world.database().write([&](db::Tx& tx) {
      deployments::change(tx, {app, app, "request-9"}, id, wanted, world.rules, data_key);
    });
  }
  void put_on(const std::string& tier) {
    deployments::Change wanted;
    wanted.tier = tier;
    change(wanted);
  }
  bool rests() {
    return eventually([&] {
      const auto row = world.row(id);
      return row.status == Status::running && !row.reason && row.phase.empty();
    });
  }
  std::vector<Object> pods() {
    std::vector<Object> all;
    for (const Object& pod : world.objects(kube::pods, id))
      if (!is_being_deleted(pod)) all.push_back(pod);
    return all;
  }
  std::set<std::string> uids() {
    std::set<std::string> all;
    for (const Object& pod : pods()) all.insert(uid_of(pod));
    return all;
  }
  // Whether all containers have the size, by what their kubelet says.
  bool all_have(const deployments::ContainerSize& size) {
    const auto all = pods();
    return !all.empty() && std::ranges::all_of(all, [&](const Object& pod) {
      return manifests::size_in(container_of(field(pod, {"spec"}))) == size &&
             manifests::size_in(container_status(pod)) == size;
    });
  }
  std::optional<deployments::ContainerSize> size_of_template() {
    return manifests::size_in(
        container_of(field(world.object(kube::deployments, id), {"spec", "template", "spec"})));
  }
};

struct Simulated {
  embedded::Cluster cluster{quick()};
  Tenant tenant;
  World& world = tenant.world;
  explicit Simulated(const Wanted& wanted = {}) : tenant(config_of(cluster), wanted) {}
};

}  // namespace

TEST_CASE("another tier comes to the running containers, and back") {
  Simulated simulated({.replicas = 2});
  Tenant& tenant = simulated.tenant;
  const auto before = tenant.uids();
  tenant.put_on("large");
  CHECK(tenant.world.row(tenant.id).status == Status::deploying);
  REQUIRE(tenant.rests());
  CHECK(tenant.all_have(large_size));
  CHECK(tenant.uids() == before);
  CHECK(tenant.world.row(tenant.id).resized == Resize::in_place);
  // Another template would replace the containers.
  CHECK(tenant.size_of_template() == small_size);
  const auto logs = tenant.world.database().read(
      [&](db::Tx& tx) { return deployments::newest_logs(tx, tenant.id); });
  CHECK(logs.back().status == deployments::LogStatus::succeeded);
  CHECK(json::parse(*logs.back().details)["resized"] == "in_place");

  tenant.put_on("small");
  CHECK(tenant.world.row(tenant.id).resized == std::nullopt);
  REQUIRE(tenant.rests());
  CHECK(tenant.all_have(small_size));
  CHECK(tenant.uids() == before);
  CHECK(tenant.world.row(tenant.id).resized == Resize::in_place);
}

TEST_CASE("the next rollout brings the new size into the template") {
  Simulated simulated;
  Tenant& tenant = simulated.tenant;
  const auto before = tenant.uids();
  tenant.put_on("large");
  REQUIRE(tenant.rests());
  tenant.world.restart(tenant.id);
  REQUIRE(tenant.rests());
  CHECK(eventually([&] { return tenant.uids() != before && tenant.all_have(large_size); }));
  CHECK(tenant.size_of_template() == large_size);
  CHECK(tenant.world.row(tenant.id).resized == std::nullopt);
}

TEST_CASE("a container that is added to larger ones gets their size") {
  Simulated simulated;
  Tenant& tenant = simulated.tenant;
  const auto before = tenant.uids();
  tenant.put_on("large");
  REQUIRE(tenant.rests());
  deployments::Change more;
  more.set(&deployments::ContainerSpec::replicas, 3);
  tenant.change(more);
  CHECK(eventually([&] { return tenant.pods().size() == 3 && tenant.all_have(large_size); }));
  REQUIRE(tenant.rests());
  CHECK(std::ranges::includes(tenant.uids(), before));
  CHECK(tenant.size_of_template() == small_size);
}

TEST_CASE("a container that is added to smaller ones replaces them: it can't have their template") {
  Simulated simulated({.tier = "small"});
  Tenant& tenant = simulated.tenant;
  tenant.put_on("large");
  REQUIRE(tenant.rests());
  tenant.world.restart(tenant.id);
  REQUIRE(tenant.rests());
  REQUIRE(tenant.size_of_template() == large_size);
  tenant.put_on("small");
  REQUIRE(tenant.rests());
  REQUIRE(tenant.size_of_template() == large_size);
  deployments::Change more;
  more.set(&deployments::ContainerSpec::replicas, 2);
  tenant.change(more);
  CHECK(eventually([&] { return tenant.pods().size() == 2 && tenant.all_have(small_size); }));
  CHECK(tenant.size_of_template() == small_size);
  CHECK(tenant.rests());
}

TEST_CASE("one process gets another size, and the other keeps its own") {
  Simulated simulated({.processes = {{"web", {}}, {"worker", {}}}});
  Tenant& tenant = simulated.tenant;
  const auto before = tenant.uids();
  deployments::Change change;
  deployments::Processes processes = {{"web", {}}, {"worker", {}}};
  processes["worker"].memory_mb = 64;
  change.set(&deployments::ContainerSpec::processes, processes);
  tenant.change(change);
  REQUIRE(tenant.rests());
  for (const Object& pod : tenant.pods())
    CHECK(manifests::size_in(container_of(field(pod, {"spec"})))->memory_mb ==
          (manifests::process_of(pod) == "worker" ? 64 : 128));
  CHECK(tenant.uids() == before);
  CHECK(tenant.world.row(tenant.id).resized == Resize::in_place);
}

TEST_CASE("where the cluster refuses, the containers are replaced") {
  Simulated simulated({.replicas = 2});
  Tenant& tenant = simulated.tenant;
  const auto before = tenant.uids();
  const int status = GENERATE(403, 405, 422);
  simulated.cluster.fail_next(1, status, std::nullopt, {"patch", "pods"});
  tenant.put_on("large");
  REQUIRE(tenant.rests());
  CHECK(eventually([&] { return tenant.pods().size() == 2 && tenant.all_have(large_size); }));
  CHECK(tenant.size_of_template() == large_size);
  for (const std::string& uid : tenant.uids()) CHECK_FALSE(before.contains(uid));
  CHECK(tenant.world.row(tenant.id).resized == Resize::rollout);
}

TEST_CASE("a refusal that may pass is tried again") {
  Simulated simulated;
  Tenant& tenant = simulated.tenant;
  const auto before = tenant.uids();
  const int status = GENERATE(409, 429, 500);
  simulated.cluster.fail_next(1, status, std::nullopt, {"patch", "pods"});
  tenant.put_on("large");
  REQUIRE(tenant.rests());
  CHECK(tenant.uids() == before);
  CHECK(tenant.all_have(large_size));
  CHECK(tenant.world.row(tenant.id).resized == Resize::in_place);
}

TEST_CASE("containers that use more memory than they are to have are replaced") {
  Simulated simulated;
  Tenant& tenant = simulated.tenant;
  const auto before = tenant.uids();
  deployments::Change change;
  deployments::Processes processes = {{"web", {}}};
  processes["web"].memory_mb = 1;  // less than any container of the simulated node uses
  processes["web"].cpu_millicores = 50;
  // The API allows no such size, so that it is given to the row.
  tenant.world.change(tenant.id, "processes = '" + json(processes).dump() + "'");
  REQUIRE(tenant.rests());
  CHECK(eventually([&] { return tenant.uids() != before; }));
  CHECK(tenant.world.row(tenant.id).resized == Resize::rollout);
  CHECK(tenant.size_of_template()->memory_mb == 1);
}

TEST_CASE("a change of the image carries the new size with it") {
  Simulated simulated;
  Tenant& tenant = simulated.tenant;
  const auto before = tenant.uids();
  deployments::Change change;
  change.tier = "large";
  change.set(&deployments::ContainerSpec::image, "ghcr.io/acme/web:2");
  tenant.change(change);
  REQUIRE(tenant.rests());
  CHECK(eventually([&] { return tenant.uids() != before && tenant.all_have(large_size); }));
  CHECK(tenant.size_of_template() == large_size);
  CHECK(tenant.world.row(tenant.id).resized == std::nullopt);
}

TEST_CASE("a container that crashes for want of memory is replaced by a larger one at once") {
  embedded::Cluster cluster{quick()};
  World world(config_of(cluster));
  world.database().write([](db::Tx& tx) {
    tiers::Tier tier = tiers::list(tx).at(0);
    tier.name = tier.slug = "large";
    tier.memory_limit_mb = large_size.memory_mb;
    tiers::create(tx, tier);
  });
  world.wake();
  const std::string app = world.new_app();
  const std::string id = world.deploy(app, {.image = "ghcr.io/acme/oom:1"});
  REQUIRE(world.is(id, Status::errored));
  const std::string before = uid_of(world.object(kube::pods, id));
  deployments::Change change;
  change.tier = "large";
  world.database().write([&](db::Tx& tx) {
    deployments::change(tx, {app, app, "request-9"}, id, change, world.rules, data_key);
  });
  CHECK(eventually([&] {
    const auto pods = world.objects(kube::pods, id);
    return pods.size() == 1 && uid_of(pods[0]) != before &&
           manifests::size_in(container_of(field(pods[0], {"spec"})))->memory_mb ==
               large_size.memory_mb;
  }));
}

TEST_CASE("a change of size in place needs no release command") {
  Simulated simulated({.release_command = {"true"}});
  Tenant& tenant = simulated.tenant;
  const auto releases = [&] {
    return tenant.world.database().read([&](db::Tx& tx) {
      return tx.number("SELECT count(*) FROM deployment_runs WHERE deployment_id = $1", tenant.id);
    });
  };
  const auto before = releases();
  tenant.put_on("large");
  REQUIRE(tenant.rests());
  CHECK(tenant.world.row(tenant.id).resized == Resize::in_place);
  REQUIRE(tenant.world.settles());
  CHECK(releases() == before);
  tenant.put_on("small");
  REQUIRE(tenant.rests());
  REQUIRE(tenant.world.settles());
  CHECK(releases() == before);
}

TEST_CASE("sizes are read from the API server's own form of amounts") {
  const auto size = [](const std::string& memory, const json& cpu) {
    return manifests::size_in({{"resources", {{"limits", {{"memory", memory}, {"cpu", cpu}}}}}});
  };
  CHECK(size("1Gi", "1") == deployments::ContainerSize{1024, 1000});
  CHECK(size("128Mi", "1500m") == deployments::ContainerSize{128, 1500});
  CHECK(size("134217728", "0.1") == deployments::ContainerSize{128, 100});
  CHECK_FALSE(size("1000", "1"));
  CHECK_FALSE(size("128M", "1"));
  CHECK_FALSE(size("lots", "1"));
  CHECK_FALSE(size("128Mi", nullptr));
  CHECK_FALSE(manifests::size_in(json()));
  CHECK_FALSE(manifests::size_in({{"resources", json::object()}}));
}
