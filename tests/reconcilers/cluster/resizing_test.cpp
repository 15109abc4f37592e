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
  CHECK(tenant.size_of_template() == small_size);
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

TEST_CASE("a process that has to be replaced for its size leaves the other one alone") {
  Simulated simulated({.processes = {{"web", {}}, {"worker", {}}}});
  Tenant& tenant = simulated.tenant;
  const auto uids_of = [&](const std::string& process) {
    std::set<std::string> all;
    for (const Object& pod : tenant.pods())
      if (manifests::process_of(pod) == process) all.insert(uid_of(pod));
    return all;
  };
  const auto web = uids_of("web");
  const auto worker = uids_of("worker");
  simulated.cluster.fail_next(1, 422, std::nullopt, {"patch", "pods"});
  deployments::Change change;
  deployments::Processes processes = {{"web", {}}, {"worker", {}}};
  processes["worker"].memory_mb = 64;
  change.set(&deployments::ContainerSpec::processes, processes);
  tenant.change(change);
  REQUIRE(tenant.rests());
  CHECK(eventually([&] { return uids_of("worker").size() == 1 && uids_of("worker") != worker; }));
  CHECK(uids_of("web") == web);
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
    return std::ranges::any_of(pods, [&](const Object& pod) {
      return uid_of(pod) != before &&
             manifests::size_in(container_of(field(pod, {"spec"})))->memory_mb ==
                 large_size.memory_mb;
    });
  }));
  CHECK_FALSE(world.row(id).resized);
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

namespace {

// A process' Deployment and its pods as the cache has them, without a cluster.
struct Shown {
  deployments::DesiredState state;
  json deployment;
  std::vector<json> pods;

  explicit Shown(int replicas = 1) {
    deployments::Deployment& row = state.deployment;
    row.id = "shop";
    row.status = Status::deploying;
    row.memory_limit_mb = large_size.memory_mb;
    row.cpu_limit_millicores = large_size.cpu_millicores;
    row.container.replicas = replicas;
    const json labels = {{"berth/process", "web"}};
    const json annotations = {{"berth/template", "1"}};
    deployment = {
        {"metadata", {{"name", "berth-shop"}, {"labels", labels}}},
        {"spec",
         {{"template",
           {{"metadata", {{"annotations", annotations}}}, {"spec", spec_of(small_size)}}}}}};
    for (int i = 0; i < replicas; ++i)
      pods.push_back({{"metadata",
                       {{"name", "pod-" + std::to_string(i)},
                        {"labels", labels},
                        {"annotations", annotations},
                        {"generation", 1}}},
                      {"spec", spec_of(small_size)},
                      {"status",
                       {{"phase", "Running"},
                        {"conditions", json::array({{{"type", "Ready"}, {"status", "True"}}})},
                        {"containerStatuses", json::array({status_of(small_size)})}}}});
  }
  static json resources_of(const deployments::ContainerSize& size) {
    return {{"limits", manifests::changeable_resources(size)["limits"]}};
  }
  static json spec_of(const deployments::ContainerSize& size) {
    return {{"containers", json::array({{{"name", "app"}, {"resources", resources_of(size)}}})}};
  }
  static json status_of(const deployments::ContainerSize& size) {
    return {{"name", "app"},
            {"state", {{"running", {{"startedAt", "2026-01-31T12:00:00Z"}}}}},
            {"resources", resources_of(size)}};
  }
  json& status(size_t pod = 0) { return pods[pod]["status"]["containerStatuses"][0]; }
  // The pod was asked to have the larger size.
  void ask(size_t pod = 0) { pods[pod]["spec"] = spec_of(large_size); }
  void say(const std::string& type, const std::string& reason) {
    pods[0]["status"]["conditions"].push_back(
        {{"type", type}, {"status", "True"}, {"reason", reason}, {"message", "why"}});
  }

  std::vector<Resizing> seen() const {
    std::vector<ObjectPtr> all;
    for (const json& pod : pods) all.push_back(std::make_shared<const Object>(pod));
    return resizings_of(state, {std::make_shared<const Object>(deployment)}, all);
  }
};

}  // namespace

TEST_CASE("a pod is asked to have another size, and then its kubelet is waited for") {
  Shown shown;
  auto seen = shown.seen();
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].process == "web");
  CHECK(seen[0].wanted == large_size);
  CHECK(seen[0].in_template == small_size);
  CHECK(seen[0].pods.size() == 1);
  CHECK(seen[0].is_under_way);
  shown.ask();
  seen = shown.seen();
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].pods.empty());
  CHECK(seen[0].is_under_way);
  shown.status() = Shown::status_of(large_size);
  seen = shown.seen();
  REQUIRE(seen.size() == 1);  // the template keeps its size
  CHECK_FALSE(seen[0].is_under_way);
  // A kubelet of before 1.33 says nothing, and does nothing.
  shown.status().erase("resources");
  CHECK(shown.seen()[0].is_under_way);
}

TEST_CASE("a container that waits to be started gets its size by that") {
  Shown shown(2);
  shown.ask(0);
  shown.ask(1);
  shown.status(0) = Shown::status_of(large_size);
  shown.status(1)["state"] = {{"waiting", {{"reason", "ContainerCreating"}}}};
  CHECK_FALSE(shown.seen()[0].is_under_way);
  shown.pods[1]["metadata"]["generation"] = 2;
  shown.pods[1]["status"]["observedGeneration"] = 1;
  CHECK(shown.seen()[0].is_under_way);
}

TEST_CASE("what a kubelet can't do is told in its words") {
  Shown shown;
  shown.ask();
  SECTION("for want of room") { shown.say("PodResizePending", "Deferred"); }
  SECTION("never") { shown.say("PodResizePending", "Infeasible"); }
  SECTION("because the memory is in use") { shown.say("PodResizeInProgress", "Error"); }
  CHECK(shown.seen()[0].refusal.ends_with(": why"));
}

TEST_CASE("what is under way is no refusal") {
  Shown shown;
  shown.ask();
  shown.say("PodResizeInProgress", "");
  CHECK(shown.seen()[0].refusal.empty());
}

TEST_CASE("a process is replaced if that was decided, or if none of its containers is ready") {
  Shown shown;
  SECTION("decided") { shown.state.deployment.resized = Resize::rollout; }
  SECTION("none is ready") { shown.pods[0]["status"]["conditions"][0]["status"] = "False"; }
  SECTION("there is none") { shown.pods.clear(); }
  SECTION("they are going") {
    shown.pods[0]["metadata"]["deletionTimestamp"] = "2026-01-31T12:00:00Z";
  }
  SECTION("they are of an older template") {
    shown.pods[0]["metadata"]["annotations"]["berth/template"] = "0";
  }
  SECTION("the deployment is stopped") { shown.state.deployment.status = Status::stopped; }
  CHECK(shown.seen().empty());
}

TEST_CASE("what runs as its template says is left alone, whatever its kubelet says or doesn't") {
  Shown shown;
  deployments::Deployment& row = shown.state.deployment;
  row.memory_limit_mb = small_size.memory_mb;
  row.cpu_limit_millicores = small_size.cpu_millicores;
  for (const Status status : {Status::deploying, Status::running}) {
    row.status = status;
    CHECK(shown.seen().empty());
  }
  shown.status().erase("resources");  // a kubelet of before 1.33
  for (const Status status : {Status::deploying, Status::running}) {
    row.status = status;
    CHECK(shown.seen().empty());
  }
  // Somebody else has changed it.
  shown.ask();
  CHECK(shown.seen().empty());
  // It is to have its template's size again.
  row.status = Status::deploying;
  REQUIRE(shown.seen().size() == 1);
  CHECK(shown.seen()[0].refusal.empty());
  shown.pods[0]["status"]["conditions"][0]["status"] = "False";
  CHECK_FALSE(shown.seen()[0].refusal.empty());
}

TEST_CASE("a template that is too large for the app's limits is kept while no pod is missing") {
  Shown shown(2);
  deployments::Deployment& row = shown.state.deployment;
  row.memory_limit_mb = small_size.memory_mb / 2;
  row.cpu_limit_millicores = small_size.cpu_millicores;
  CHECK(shown.seen().size() == 1);
  shown.pods.pop_back();
  CHECK(shown.seen().empty());
}
