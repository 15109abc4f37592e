#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "controller/base/quantity.h"
#include "reconcilers/cluster/container_logs.h"
#include "reconcilers/cluster/instances.h"
#include "tests/reconcilers/cluster/cluster.h"
#include "tests/reconcilers/cluster/world.h"

using namespace berth;
using namespace berth::reconcilers;
using namespace berth::reconcilers::test;
using deployments::ContainerSpec;
using deployments::Processes;
using deployments::Status;
using nlohmann::json;

// Deployments with several processes and several containers of each, on whichever cluster the tests
// are given.

namespace {

// The same key as in tests/reconcilers/cluster/world.cpp.
const std::string data_key(32, 'k');

const Processes web_and_worker = {{"web", {}}, {"worker", {}}};

struct Tenant {
  TestCluster cluster;
  World world{cluster.config()};
  std::string id;

  explicit Tenant(const Wanted& wanted) {
    world.wake();
    id = world.deploy(world.new_app(), wanted);
    REQUIRE(world.is(id, Status::running));
  }

  void change(const deployments::Change& wanted) {
    const std::string app = world.row(id).app_id;
    world.database().write([&](db::Tx& tx) {
      deployments::change(tx, {app, app, "request-9"}, id, wanted, world.rules, data_key);
    });
  }
  template <typename Value>
  void set(Value ContainerSpec::*member, const std::type_identity_t<Value>& value) {
    deployments::Change wanted;
    wanted.set(member, value);
    change(wanted);
  }

  // The uids of the pods of a process that aren't being deleted.
  std::set<std::string> pods(const std::string& process) {
    std::set<std::string> uids;
    for (const Object& pod : world.objects(kube::pods, id))
      if (!is_being_deleted(pod) && manifests::process_of(pod) == process) uids.insert(uid_of(pod));
    return uids;
  }
  std::set<std::string> names(const kube::Resource& kind) {
    std::set<std::string> all;
    for (const Object& object : world.objects(kind, id)) all.insert(name_of(object));
    return all;
  }
  bool is_at_rest() {
    return eventually([&] {
      const auto row = world.row(id);
      return row.status == Status::running && !row.reason && row.phase.empty();
    });
  }
};

bool is_within(const std::set<std::string>& part, const std::set<std::string>& whole) {
  return std::ranges::includes(whole, part);
}

}  // namespace

TEST_CASE("each process has a Deployment, and only web is served") {
  Tenant tenant({.processes = web_and_worker});
  const std::string web = manifests::object_name(tenant.id);
  CHECK(tenant.names(kube::deployments) == std::set{web, web + "-worker"});
  CHECK(tenant.pods("web").size() == 1);
  CHECK(tenant.pods("worker").size() == 1);
  CHECK(tenant.world.object(kube::services, tenant.id)["spec"]["selector"]["berth/process"] ==
        "web");
  const auto all = instances_of(tenant.world.engine().cache(), tenant.id);
  REQUIRE(all.size() == 2);
  std::set<std::string> processes;
  for (const instances::Instance& one : all) {
    processes.insert(one.process);
    CHECK(one.is_newest);
    CHECK(one.phase == "ready");
    CHECK(one.version.size() == 8);
  }
  CHECK(processes == std::set<std::string>{"web", "worker"});
  CHECK(all[0].version != all[1].version);
}

TEST_CASE("the number of containers rises and falls, and those that stay are the same") {
  Tenant tenant({.processes = web_and_worker});
  const auto web = tenant.pods("web");
  const auto worker = tenant.pods("worker");
  CHECK(tenant.names(kube::pod_disruption_budgets).empty());
  tenant.set(&ContainerSpec::replicas, 3);
  CHECK(tenant.world.row(tenant.id).status == Status::running);
  CHECK(eventually([&] { return tenant.pods("web").size() == 3; }));
  REQUIRE(tenant.is_at_rest());
  CHECK(is_within(web, tenant.pods("web")));
  CHECK(tenant.pods("worker") == worker);
  CHECK(tenant.names(kube::pod_disruption_budgets) == std::set{manifests::object_name(tenant.id)});
  const auto three = tenant.pods("web");
  tenant.set(&ContainerSpec::replicas, 1);
  CHECK(eventually([&] { return tenant.pods("web").size() == 1; }));
  REQUIRE(tenant.is_at_rest());
  CHECK(is_within(tenant.pods("web"), three));
  CHECK(tenant.pods("worker") == worker);
  CHECK(tenant.names(kube::pod_disruption_budgets).empty());
}

TEST_CASE("one process is restarted, and the containers of the others stay") {
  Tenant tenant({.processes = web_and_worker});
  const auto web = tenant.pods("web");
  const auto worker = tenant.pods("worker");
  const std::string app = tenant.world.row(tenant.id).app_id;
  tenant.world.database().write([&](db::Tx& tx) {
    deployments::restart_process(tx, {app, app, "request-9"}, tenant.id, "worker");
  });
  CHECK(eventually([&] {
    const auto now = tenant.pods("worker");
    return now.size() == 1 && now != worker;
  }));
  REQUIRE(tenant.is_at_rest());
  CHECK(tenant.pods("web") == web);
  // A restart of all of it replaces both.
  tenant.world.restart(tenant.id);
  CHECK(eventually([&] {
    const auto now = tenant.pods("web");
    return now.size() == 1 && now != web;
  }));
  REQUIRE(tenant.is_at_rest());
}

TEST_CASE("a process that is gone leaves nothing, and web keeps its containers") {
  Tenant tenant({.processes = web_and_worker});
  const auto web = tenant.pods("web");
  tenant.set(&ContainerSpec::processes, {});
  CHECK(eventually([&] { return tenant.pods("worker").empty(); }));
  REQUIRE(tenant.is_at_rest());
  CHECK(tenant.pods("web") == web);
  CHECK(tenant.names(kube::deployments) == std::set{manifests::object_name(tenant.id)});
}

TEST_CASE("a deployment without web has no address, and gets it back with web") {
  Tenant tenant({.processes = web_and_worker});
  const auto worker = tenant.pods("worker");
  tenant.set(&ContainerSpec::processes, {{"worker", {}}});
  CHECK(eventually([&] {
    return tenant.names(kube::services).empty() && tenant.names(kube::ingresses).empty() &&
           tenant.pods("web").empty();
  }));
  REQUIRE(tenant.is_at_rest());
  CHECK(tenant.pods("worker") == worker);
  tenant.set(&ContainerSpec::processes, web_and_worker);
  CHECK(eventually([&] { return tenant.pods("web").size() == 1; }));
  REQUIRE(tenant.is_at_rest());
  CHECK(tenant.names(kube::ingresses).size() == 1);
  tenant.world.destroy(tenant.id);
  CHECK(tenant.world.is_removed(tenant.id));
  CHECK(tenant.names(kube::deployments).empty());
}

TEST_CASE(
    "a container of three that is deleted is replaced, and the deployment runs all the time") {
  Tenant tenant({.replicas = 3});
  REQUIRE(tenant.is_at_rest());
  const Object pod = tenant.world.objects(kube::pods, tenant.id).front();
  const auto before = tenant.pods("web");
  tenant.world.client().remove(kube::pods, namespace_of(pod), name_of(pod), uid_of(pod));
  bool always_ran = true;
  CHECK(eventually([&] {
    const auto row = tenant.world.row(tenant.id);
    always_ran = always_ran && row.status == Status::running &&
                 row.health_status == deployments::HealthStatus::healthy;
    const auto now = tenant.pods("web");
    return now.size() == 3 && now != before && row.phase.empty();
  }));
  CHECK(always_ran);
}

TEST_CASE("a rollout of three keeps three that are ready") {
  embedded::Cluster cluster{quick()};
  World world(config_of(cluster));
  world.wake();
  const std::string id = world.deploy(world.new_app(), {.replicas = 3});
  REQUIRE(world.is(id, Status::running));
  std::int64_t least = 3;
  world.restart(id);
  CHECK(eventually([&] {
    const Object deployment = world.object(kube::deployments, id);
    least = std::min(least, number_at(deployment, {"status", "readyReplicas"}));
    return world.row(id).status == Status::running && world.objects(kube::pods, id).size() == 3;
  }));
  CHECK(least == 3);
}

TEST_CASE("a container from before there were processes is served until it is replaced") {
  embedded::Cluster cluster{quick()};
  World world(config_of(cluster));
  world.wake();
  const std::string id = world.deploy(world.new_app(), {.processes = web_and_worker});
  REQUIRE(world.is(id, Status::running));
  std::string old;
  for (const Object& pod : world.objects(kube::pods, id)) {
    if (manifests::process_of(pod) != "web") continue;
    old = uid_of(pod);
    world.client().merge({{"apiVersion", "v1"},
                          {"kind", "Pod"},
                          {"metadata",
                           {{"name", name_of(pod)},
                            {"namespace", namespace_of(pod)},
                            {"labels", {{"berth/process", nullptr}}}}}});
  }
  REQUIRE_FALSE(old.empty());
  const auto selector = [&] { return world.object(kube::services, id)["spec"]["selector"]; };
  CHECK(eventually([&] { return selector() == json{{"berth/deployment", id}}; }));
  bool was_served = true;
  world.restart(id);
  CHECK(eventually([&] {
    // What the Service selects is read before the pods: once it has changed, it stays so.
    const bool selects_all = !selector().contains("berth/process");
    const auto pods = world.objects(kube::pods, id);
    was_served = was_served && (selects_all || std::ranges::any_of(pods, [&](const Object& pod) {
                                  return label_of(pod, "berth/process") == "web" && is_ready(pod);
                                }));
    return std::ranges::none_of(pods, [&](const Object& pod) { return uid_of(pod) == old; });
  }));
  CHECK(was_served);
  CHECK(eventually([&] {
    return selector() == json{{"berth/deployment", id}, {"berth/process", "web"}};
  }));
}

TEST_CASE("containers that are replaced by much smaller ones have room in the quota until then") {
  embedded::Cluster cluster{quick()};
  World world(config_of(cluster));
  world.database().write([](db::Tx& tx) {
    tiers::Tier tier = tiers::list(tx).at(0);
    tier.name = tier.slug = "large";
    tier.memory_limit_mb = 4096;
    tiers::create(tx, tier);
  });
  world.wake();
  const std::string app = world.new_app();
  const std::string id = world.deploy(app, {.tier = "large", .replicas = 2});
  REQUIRE(world.is(id, Status::running));
  deployments::Change wanted;
  wanted.tier = "small";
  // So that they don't get it while they run.
  cluster.fail_next(1, 422, std::nullopt, {"patch", "pods"});
  world.database().write([&](db::Tx& tx) {
    deployments::change(tx, {app, app, "request-9"}, id, wanted, world.rules, data_key);
  });
  CHECK(eventually([&] {
    const auto row = world.row(id);
    return row.status == Status::running && row.phase.empty() && !row.reason;
  }));
  CHECK(world.row(id).memory_limit_mb == 128);
  CHECK(eventually([&] {
    const Object quota = world.objects(kube::resource_quotas).at(0);
    return parse_quantity(text_at(quota, {"spec", "hard", "limits.memory"})) ==
           parse_quantity("2048Mi");
  }));
}

TEST_CASE("the log of a process is that of its containers alone") {
  embedded::Cluster cluster{quick()};
  World world(config_of(cluster));
  world.wake();
  const std::string id = world.deploy(world.new_app(), {.processes = web_and_worker});
  REQUIRE(world.is(id, Status::running));
  ContainerLogs logs(world.engine().client(), world.engine().cache());
  const ClaimantOfThread claimant({.account = "ada", .address = "192.0.2.1"});
  const auto text_of = [&](const std::string& process) {
    std::string text;
    const auto reader = logs.open({.deployment_id = id, .process = process});
    while (true) {
      const auto batch = reader(std::chrono::seconds(5));
      for (const auto& line : batch.lines) text += line.text + "\n";
      if (batch.ended) return text;
    }
  };
  CHECK(text_of("web").contains("listening on port 3000"));
  CHECK(text_of("worker").contains("starting"));
  CHECK_FALSE(text_of("worker").contains("listening"));
  CHECK_THROWS(logs.open({.deployment_id = id, .process = "mailer"}));
}

TEST_CASE("the log of several containers is followed in one", "[pool:log_readers]") {
  embedded::Cluster cluster{quick()};
  World world(config_of(cluster));
  world.wake();
  const std::string id =
      world.deploy(world.new_app(), {.image = "ghcr.io/acme/talking:1", .replicas = 3});
  REQUIRE(world.is(id, Status::running));
  ContainerLogs logs(world.engine().client(), world.engine().cache());
  const ClaimantOfThread claimant({.account = "ada", .address = "192.0.2.1"});
  std::map<std::string, std::vector<std::string>> by_pod;
  std::string last;
  const auto read = [&](const container_logs::Reader& reader, size_t pods) {
    return eventually([&] {
      for (const auto& line : reader(std::chrono::milliseconds(100)).lines) {
        const size_t from = line.id.find('/') + 1;
        by_pod[line.id.substr(from, line.id.find('@') - from)].push_back(line.id);
        last = line.id;
      }
      return by_pod.size() == pods &&
             std::ranges::all_of(by_pod, [](const auto& one) { return one.second.size() > 5; });
    });
  };
  {
    const auto reader = logs.open({.deployment_id = id, .follow = container_logs::Follow::yes});
    CHECK(read(reader, 3));
    for (auto& [pod, ids] : by_pod) {
      CHECK(std::ranges::is_sorted(ids));
      CHECK(std::ranges::adjacent_find(ids) == ids.end());
    }
    // One that comes later is read, too.
    const Object pod = world.objects(kube::pods, id).front();
    world.client().remove(kube::pods, namespace_of(pod), name_of(pod), uid_of(pod));
    CHECK(read(reader, 4));
  }
  const std::string before = last;
  by_pod.clear();
  // A log that isn't followed is in the order of its times.
  std::vector<std::string> times;
  const auto whole = logs.open({.deployment_id = id, .tail = 30});
  while (true) {
    const auto batch = whole(std::chrono::seconds(5));
    for (const auto& line : batch.lines) times.push_back(line.id.substr(0, line.id.find('/')));
    if (batch.ended) break;
  }
  CHECK(std::ranges::is_sorted(times));
  CHECK(times.size() > 10);
  CHECK(times.size() <= 30);
  const auto resumed =
      logs.open({.deployment_id = id, .follow = container_logs::Follow::yes, .after = before});
  CHECK(read(resumed, 3));
  const auto time_of = [](const std::string& line) { return line.substr(0, line.find('/')); };
  for (const auto& [pod, ids] : by_pod) CHECK(time_of(ids.front()) >= time_of(before));
}
