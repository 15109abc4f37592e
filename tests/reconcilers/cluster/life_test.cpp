#include <catch2/catch.hpp>
#include <set>

#include "reconcilers/cluster/differ.h"
#include "tests/reconcilers/cluster/cluster.h"
#include "tests/reconcilers/cluster/world.h"

using namespace berth;
using namespace berth::reconcilers;
using namespace berth::reconcilers::test;
using deployments::Status;
using nlohmann::json;

// The life of a deployment, on whichever cluster the tests are given.

namespace {

const std::vector<const kube::Resource*> own_kinds = {&kube::secrets,      &kube::services,
                                                      &kube::deployments,  &kube::ingresses,
                                                      &kube::replica_sets, &kube::pods};

size_t count_objects(World& world, const std::string& deployment) {
  size_t count = 0;
  for (const kube::Resource* kind : own_kinds) count += world.objects(*kind, deployment).size();
  return count;
}

std::set<std::string> living_pods(World& world, const std::string& deployment) {
  std::set<std::string> uids;
  for (const Object& pod : world.objects(kube::pods, deployment))
    if (!is_being_deleted(pod)) uids.insert(uid_of(pod));
  return uids;
}

}  // namespace

TEST_CASE("a new deployment is brought to running") {
  TestCluster cluster;
  World world(cluster.config());
  world.wake();
  const std::string id = world.deploy(world.new_app(), {.env = {{"COLOR", "blue"}}});
  REQUIRE(world.is(id, Status::running));
  const auto row = world.row(id);
  CHECK(row.phase.empty());
  CHECK(row.health_status == deployments::HealthStatus::healthy);
  CHECK(row.host_server.has_value());
  CHECK(row.deployed_at.has_value());
  CHECK(world.objects(kube::services, id).size() == 1);
  CHECK(world.object(kube::ingresses, id)["spec"]["rules"][0]["host"] == "shop.apps.example");
  CHECK(world.object(kube::secrets, id)["data"]["COLOR"] == "Ymx1ZQ==");
  CHECK(world.objects(kube::pods, id).size() == 1);
  CHECK(world.objects(kube::resource_quotas).size() == 1);
  CHECK(world.objects(kube::network_policies).size() == 1);
}

TEST_CASE("a stopped deployment has no pods and comes back with a new one") {
  TestCluster cluster;
  World world(cluster.config());
  world.wake();
  const std::string id = world.deploy(world.new_app());
  REQUIRE(world.is(id, Status::running));
  world.stop(id);
  CHECK(eventually([&] { return world.objects(kube::pods, id).empty(); }));
  CHECK(world.is(id, Status::stopped));
  CHECK(eventually([&] { return world.row(id).phase.empty(); }));
  CHECK(world.objects(kube::ingresses, id).size() == 1);
  world.restart(id);
  CHECK(world.is(id, Status::running));
  CHECK(world.objects(kube::pods, id).size() == 1);
}

TEST_CASE("a restart replaces the pod") {
  TestCluster cluster;
  World world(cluster.config());
  world.wake();
  const std::string id = world.deploy(world.new_app());
  REQUIRE(world.is(id, Status::running));
  const auto before = living_pods(world, id);
  REQUIRE(before.size() == 1);
  world.restart(id);
  REQUIRE(world.is(id, Status::running));
  const auto after = living_pods(world, id);
  CHECK(after.size() == 1);
  CHECK(after != before);
}

TEST_CASE("a destroyed deployment leaves nothing, and its row says so") {
  TestCluster cluster;
  World world(cluster.config());
  world.wake();
  const std::string app = world.new_app();
  const std::string id = world.deploy(app);
  REQUIRE(world.is(id, Status::running));
  world.destroy(id);
  REQUIRE(world.is_removed(id));
  CHECK(count_objects(world, id) == 0);
  CHECK_FALSE(world.client().get(kube::namespaces, "", manifests::namespace_of(app)).has_value());
}

TEST_CASE("a deployment that was destroyed while berthd was down leaves nothing") {
  TestCluster cluster;
  World world(cluster.config());
  world.wake();
  const std::string id = world.deploy(world.new_app());
  REQUIRE(world.is(id, Status::running));
  REQUIRE(world.settles());
  world.sleep();
  world.destroy(id);
  world.wake();
  CHECK(world.is_removed(id));
  CHECK(count_objects(world, id) == 0);
  CHECK(world.objects(kube::namespaces).empty());
}

TEST_CASE("the app's namespace stays while another deployment is in it") {
  TestCluster cluster;
  World world(cluster.config());
  world.wake();
  const std::string app = world.new_app();
  const std::string first = world.deploy(app, {.name = "first"});
  const std::string second = world.deploy(app, {.name = "second"});
  REQUIRE(world.is(first, Status::running));
  REQUIRE(world.is(second, Status::running));
  const auto quota_is_for = [&](int deployments) {
    const deployments::AppSize size{.deployments = deployments,
                                    .containers = deployments,
                                    .memory_mb = 128 * deployments,
                                    .cpu_millicores = 100 * deployments,
                                    .largest_memory_mb = 128,
                                    .largest_cpu_millicores = 100};
    const Object wanted = manifests::of_namespace(app, size, world.settings()).back();
    return world.objects(kube::resource_quotas).at(0)["spec"]["hard"]["pods"] ==
           wanted["spec"]["hard"]["pods"];
  };
  CHECK(quota_is_for(2));
  world.destroy(first);
  REQUIRE(world.is_removed(first));
  CHECK(world.row(second).status == Status::running);
  CHECK(living_pods(world, second).size() == 1);
  CHECK(eventually([&] { return quota_is_for(1); }));
}

TEST_CASE("a deployment that is destroyed before anything was made is removed at once") {
  TestCluster cluster;
  World world(cluster.config());
  const std::string id = world.deploy(world.new_app());
  world.destroy(id);
  world.wake();
  CHECK(world.is_removed(id));
  CHECK(world.settles());
  CHECK(world.objects(kube::namespaces).empty());
}

TEST_CASE("what somebody changes or deletes is restored") {
  TestCluster cluster;
  World world(cluster.config());
  world.wake();
  const std::string id = world.deploy(world.new_app());
  REQUIRE(world.is(id, Status::running));
  REQUIRE(world.settles());
  const auto update = [&](const kube::Resource& kind, const std::function<void(json&)>& change) {
    REQUIRE(eventually([&] {
      Object object = world.object(kind, id);
      change(object);
      try {
        world.client().update(object);
        return true;
      } catch (const kube::ApiError& error) {
        if (error.status != 409) throw;
        return false;
      }
    }));
  };
  SECTION("replicas") {
    update(kube::deployments, [](json& object) { object["spec"]["replicas"] = 3; });
    CHECK(eventually([&] { return world.object(kube::deployments, id)["spec"]["replicas"] == 1; }));
  }
  SECTION("the image") {
    update(kube::deployments, [](json& object) {
      object["spec"]["template"]["spec"]["containers"][0]["image"] = "ghcr.io/evil/miner:1";
    });
    CHECK(eventually([&] {
      return world.object(kube::deployments,
                          id)["spec"]["template"]["spec"]["containers"][0]["image"] ==
             "ghcr.io/acme/web:1";
    }));
    CHECK(world.is(id, Status::running));
  }
  SECTION("a deleted service") {
    const std::string uid = uid_of(world.object(kube::services, id));
    const Object service = world.object(kube::services, id);
    world.client().remove(kube::services, namespace_of(service), name_of(service));
    CHECK(eventually([&] {
      const Object now = world.object(kube::services, id);
      return !now.is_null() && uid_of(now) != uid;
    }));
  }
  SECTION("a deleted quota") {
    const Object quota = world.objects(kube::resource_quotas).at(0);
    world.client().remove(kube::resource_quotas, namespace_of(quota), name_of(quota));
    CHECK(eventually([&] {
      const auto quotas = world.objects(kube::resource_quotas);
      return quotas.size() == 1 && uid_of(quotas[0]) != uid_of(quota);
    }));
  }
  SECTION("a hash that somebody takes away") {
    update(kube::ingresses,
           [](json& object) { object["metadata"]["annotations"].erase("berth/hash"); });
    CHECK(eventually([&] {
      return !text_at(world.object(kube::ingresses, id), {"metadata", "annotations", "berth/hash"})
                  .empty();
    }));
  }
  SECTION("labels, without which it isn't seen any more") {
    update(kube::services,
           [](json& object) { object["metadata"]["labels"].erase("berth/instance"); });
    CHECK(eventually([&] { return world.objects(kube::services, id).size() == 1; }));
    REQUIRE(world.settles());
    const int before = world.writes();
    world.engine().enqueue(id);
    REQUIRE(world.settles());
    CHECK(world.writes() == before);
  }
  SECTION("but not what others add") {
    REQUIRE(world.settles());
    const int before = world.writes();
    update(kube::services, [](json& object) { object["metadata"]["labels"]["theirs"] = "1"; });
    CHECK(world.settles());
    CHECK(world.object(kube::services, id)["metadata"]["labels"]["theirs"] == "1");
    CHECK(world.writes() == before);
  }
}

TEST_CASE("in the steady state nothing is written, also after a restart") {
  TestCluster cluster;
  World world(cluster.config());
  world.wake();
  const std::string app = world.new_app();
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i)
    ids.push_back(world.deploy(app, {.name = "shop-" + std::to_string(i)}));
  for (const auto& id : ids) REQUIRE(world.is(id, Status::running));
  REQUIRE(world.settles());
  const int before = world.writes();
  const auto commits = world.database().commits();
  for (int i = 0; i < 3; ++i)
    for (const auto& id : ids) world.engine().enqueue(id);
  REQUIRE(world.settles());
  CHECK(world.writes() == before);
  world.sleep();
  world.wake();
  REQUIRE(world.settles());
  CHECK(world.writes() == before);
  CHECK(world.database().commits() == commits);
}

TEST_CASE("a first start writes each object once") {
  TestCluster cluster;
  World world(cluster.config());
  world.wake();
  const std::string id = world.deploy(world.new_app(), {.env = {{"A", "1"}}});
  REQUIRE(world.is(id, Status::running));
  REQUIRE(world.settles());
  CHECK(world.writes() == 5 + 4);  // of the namespace, and of the deployment
}

// What docs/performance.md and `make scale` promise of a real API server.
TEST_CASE("an app's twenty deployments cost at most 3.3 writes each, and none afterwards") {
  constexpr int count = 20;
  constexpr double most_writes = 3.3;
  const bool with_certificates = GENERATE(false, true);
  embedded::Cluster cluster(quick());
  World world(config_of(cluster));
  if (with_certificates) world.settings().cluster_issuer = "letsencrypt";
  const std::string app = world.new_app();
  std::vector<std::string> ids;
  for (int i = 0; i < count; ++i)
    ids.push_back(world.deploy(app, {.name = "shop-" + std::to_string(i), .env = {}}));
  world.wake();
  for (const auto& id : ids) REQUIRE(world.is(id, Status::running));
  REQUIRE(world.settles());
  const auto writes_of_each = static_cast<double>(cluster.write_count()) / count;
  CHECK(writes_of_each <= most_writes + (with_certificates ? 1 : 0));
  CHECK(cluster.write_count() == static_cast<size_t>(world.writes()));
  CHECK(cluster.count("create") == (with_certificates ? 4u : 3u) * count);
  cluster.forget_requests();
  for (int i = 0; i < 3; ++i)
    for (const auto& id : ids) world.engine().enqueue(id);
  REQUIRE(world.settles());
  world.sleep();
  world.wake();
  REQUIRE(world.settles());
  CHECK(cluster.write_count() == 0);
}

namespace {

// The operations of berth that own fields of the object itself.
std::vector<std::string> owning_operations(const Object& object) {
  std::vector<std::string> found;
  for (const Object& entry : field(object, {"metadata", "managedFields"}))
    if (text_at(entry, {"manager"}) == field_manager && !entry.contains("subresource"))
      found.push_back(text_at(entry, {"operation"}));
  return found;
}

}  // namespace

TEST_CASE("what berth created it owns by its applies from the first change on") {
  using Operations = std::vector<std::string>;
  TestCluster cluster;
  World world(cluster.config());
  world.wake();
  const std::string id = world.deploy(world.new_app(), {.health_path = "/healthz"});
  REQUIRE(world.is(id, Status::running));
  REQUIRE(world.settles());
  CHECK(owning_operations(world.object(kube::deployments, id)) == Operations{"Update"});
  const auto probe = [&] {
    const Object all = world.object(kube::deployments, id);
    return field(all, {"spec", "template", "spec", "containers"}).at(0).at("readinessProbe");
  };
  REQUIRE(probe().contains("httpGet"));
  world.change(id, "health_path = NULL");
  // An apply takes the field away only because it is berth's as a field of an apply.
  CHECK(eventually([&] { return !probe().contains("httpGet"); }));
  CHECK(probe().contains("tcpSocket"));
  CHECK(owning_operations(world.object(kube::deployments, id)) == Operations{"Apply"});
  CHECK(owning_operations(world.object(kube::services, id)) == Operations{"Update"});
  REQUIRE(world.is(id, Status::running));
  REQUIRE(world.settles());
  const int before = world.writes();
  world.engine().enqueue(id);
  REQUIRE(world.settles());
  CHECK(world.writes() == before);
}

TEST_CASE("an object that is there without berth's labels is taken over, fields and all") {
  TestCluster cluster;
  World world(cluster.config());
  world.wake();
  const std::string id = world.deploy(world.new_app());
  REQUIRE(world.is(id, Status::running));
  REQUIRE(world.settles());
  Object service = world.object(kube::services, id);
  service["metadata"]["labels"] = Object::object();
  world.sleep();
  world.client().update(service);
  world.wake();
  CHECK(eventually([&] { return world.objects(kube::services, id).size() == 1; }));
  CHECK(owning_operations(world.object(kube::services, id)) == std::vector<std::string>{"Apply"});
}

TEST_CASE(
    "a deployment without variables has no Secret, and given up variables leave an empty one") {
  TestCluster cluster;
  World world(cluster.config());
  world.wake();
  const std::string app = world.new_app();
  const std::string bare = world.deploy(app, {.name = "bare", .env = {}});
  const std::string id = world.deploy(app);
  REQUIRE(world.is(bare, Status::running));
  REQUIRE(world.is(id, Status::running));
  CHECK(world.objects(kube::secrets, bare).empty());
  CHECK(world.object(kube::secrets, id).contains("data"));
  world.unset(id, "COLOR");
  // The container that serves until the new one is ready still names the Secret.
  CHECK(eventually([&] { return !world.object(kube::secrets, id).contains("data"); }));
  CHECK(eventually([&] {
    const Object pod = world.object(kube::deployments, id)["spec"]["template"]["spec"];
    return !pod["containers"][0].contains("envFrom");
  }));
  CHECK(world.is(id, Status::running));
  world.destroy(id);
  REQUIRE(world.is_removed(id));
  CHECK(world.objects(kube::secrets, id).empty());
}

TEST_CASE("removed credentials are removed from the cluster") {
  TestCluster cluster;
  World world(cluster.config());
  world.wake();
  const std::string id =
      world.deploy(world.new_app(),
                   {.registry_credentials = deployments::RegistryCredentials{"robot", "secret"}});
  REQUIRE(world.is(id, Status::running));
  CHECK(world.objects(kube::secrets, id).size() == 2);
  world.change(id, "credentials_sealed = NULL");
  CHECK(eventually([&] { return world.objects(kube::secrets, id).size() == 1; }));
  CHECK(world.is(id, Status::running));
  CHECK_FALSE(
      world.object(kube::deployments, id)["spec"]["template"]["spec"].contains("imagePullSecrets"));
}

TEST_CASE("a name passes to its next owner, and never has two") {
  TestCluster cluster;
  World world(cluster.config());
  world.wake();
  const std::string first = world.deploy(world.new_app());
  REQUIRE(world.is(first, Status::running));
  world.destroy(first);
  const std::string second = world.deploy(world.new_app());
  CHECK(eventually([&] {
    CHECK(world.objects(kube::ingresses).size() <= 1);
    return world.row(second).status == Status::running;
  }));
  CHECK(label_of(world.object(kube::ingresses, ""), manifests::deployment_label) == second);
  CHECK(world.is_removed(first));
  CHECK(world.row(second).status == Status::running);
  CHECK(world.objects(kube::ingresses).size() == 1);
}

TEST_CASE("an app whose namespace is still terminating can deploy again") {
  TestCluster cluster;
  World world(cluster.config());
  world.wake();
  const std::string app = world.new_app();
  const std::string first = world.deploy(app);
  REQUIRE(world.is(first, Status::running));
  world.destroy(first);
  CHECK(eventually([&] {
    const auto left = world.client().get(kube::namespaces, "", manifests::namespace_of(app));
    return !left || is_being_deleted(*left);
  }));
  const std::string second = world.deploy(app);
  CHECK(world.is(second, Status::running));
  CHECK(world.is_removed(first));
}

TEST_CASE("objects without a row are left alone and reported") {
  TestCluster cluster;
  World world(cluster.config());
  world.wake();
  const std::string id = world.deploy(world.new_app());
  REQUIRE(world.is(id, Status::running));
  world.sleep();
  World empty(cluster.config(), world.settings().instance);  // the database was lost
  empty.wake();
  CHECK(eventually([&] { return empty.engine().orphans() == std::set<std::string>{id}; }));
  CHECK(empty.settles());
  CHECK(empty.writes() == 0);
  CHECK(living_pods(world, id).size() == 1);
}

TEST_CASE("a namespace with objects of a deployment that the database has lost isn't removed") {
  TestCluster cluster;
  World world(cluster.config());
  world.wake();
  const std::string app = world.new_app();
  const std::string known = world.deploy(app, {.name = "known"});
  const std::string lost = world.deploy(app, {.name = "lost"});
  REQUIRE(world.is(known, Status::running));
  REQUIRE(world.is(lost, Status::running));
  world.sleep();
  world.forget(lost);
  world.wake();
  world.destroy(known);
  REQUIRE(world.is_removed(known));
  CHECK(living_pods(world, lost).size() == 1);
  CHECK(world.engine().orphans() == std::set<std::string>{lost});
}

TEST_CASE("objects of a removed deployment that come back are removed again") {
  TestCluster cluster;
  World world(cluster.config());
  world.wake();
  const std::string app = world.new_app();
  const std::string id = world.deploy(app, {.name = "first"});
  const std::string other = world.deploy(app, {.name = "second"});
  REQUIRE(world.is(id, Status::running));
  REQUIRE(world.is(other, Status::running));
  Object service = world.object(kube::services, id);
  world.destroy(id);
  REQUIRE(world.is_removed(id));
  const json copy = {{"apiVersion", "v1"},
                     {"kind", "Service"},
                     {"metadata",
                      {{"name", service["metadata"]["name"]},
                       {"namespace", service["metadata"]["namespace"]},
                       {"labels", service["metadata"]["labels"]}}},
                     {"spec", {{"ports", service["spec"]["ports"]}}}};
  world.client().create(copy);
  CHECK(eventually([&] { return world.objects(kube::services, id).empty(); }));
  CHECK(world.row(other).status == Status::running);
}
