// Where containers have user namespaces without anybody asking for them.
#include "reconcilers/cluster/user_namespaces.h"

#include <catch2/catch.hpp>

#include "tests/reconcilers/cluster/cluster.h"
#include "tests/reconcilers/cluster/world.h"

using namespace berth;
using namespace berth::reconcilers;
using namespace berth::reconcilers::test;
using deployments::Status;

namespace {

Object node(const std::string& kubelet = "v1.34.4", const std::string& kernel = "6.12.1-cloud",
            const Object& handlers = Object::array({{{"name", ""},
                                                     {"features", {{"userNamespaces", true}}}}})) {
  return {{"metadata", {{"name", "worker-1"}}},
          {"status",
           {{"nodeInfo", {{"kubeletVersion", kubelet}, {"kernelVersion", kernel}}},
            {"runtimeHandlers", handlers}}}};
}

Object handler(const std::string& name, const Object& features) {
  return {{"name", name}, {"features", features}};
}

struct Shop {
  embedded::Cluster cluster{quick()};
  World world{config_of(cluster)};
  std::string id;

  // Starts an engine on a cluster whose nodes can, or can't.
  void wake(bool possible) {
    world.sleep();
    world.options.user_namespaces = possible;
    world.wake();
    REQUIRE(world.settles());
  }
  void open() {
    id = world.deploy(world.new_app());
    REQUIRE(world.is(id, Status::running));
  }
  bool has_namespace() {
    const Object pod = world.object(kube::deployments, id)["spec"]["template"]["spec"];
    return pod.contains("hostUsers") && pod["hostUsers"] == false;
  }
  std::string pod() { return uid_of(world.objects(kube::pods, id).at(0)); }
  void update(const std::string& tag) {
    world.change(id, "image = 'ghcr.io/acme/web:" + tag + "', status = 'deploying'");
    REQUIRE(world.is(id, Status::running));
    REQUIRE(world.settles());
  }
};

}  // namespace

TEST_CASE("whether nodes can is told by the API server, kubelets, kernels and runtimes") {
  struct Row {
    std::string server;
    std::vector<Object> nodes;
    std::string why_not;  // empty: they can
  };
  const Object off = Object::array({handler("", {{"userNamespaces", false}})});
  const Object elsewhere = Object::array({handler("kata", {{"userNamespaces", true}})});
  const std::string of_runtime =
      "not on the node worker-1: its container runtime doesn't support them";
  const Row rows[] = {
      {"v1.33.0", {node()}, ""},
      {"v1.34.4+k3s1", {node("v1.33.1+k3s1"), node()}, ""},
      {"v2.0.0", {node("v2.0.0", "7.0")}, ""},
      {"v1.32.9", {node()}, "the API server is v1.32.9, and 1.33 is needed"},
      {"", {node()}, "the API server is , and 1.33 is needed"},
      {"v1.33.0", {}, "there are no nodes for containers"},
      {"v1.33.0",
       {node("v1.32.0")},
       "not on the node worker-1: its kubelet is v1.32.0, and 1.33 is needed"},
      {"v1.33.0",
       {node(), node("v1.33.0", "6.1.0-18-amd64")},
       "not on the node worker-1: its kernel is 6.1.0-18-amd64, and 6.3 is needed"},
      {"v1.33.0", {node("v1.33.0", "6.12.1", nullptr)}, of_runtime},
      {"v1.33.0", {node("v1.33.0", "6.12.1", Object::array())}, of_runtime},
      {"v1.33.0", {node("v1.33.0", "6.12.1", off)}, of_runtime},
      {"v1.33.0", {node("v1.33.0", "6.12.1", elsewhere)}, of_runtime},
      {"v1.33.0", {node("v1.33.0", "6.12.1", Object::array({handler("", nullptr)}))}, of_runtime},
  };
  for (const Row& row : rows) {
    const auto seen = kube::user_namespaces_of({{"gitVersion", row.server}}, row.nodes);
    CHECK(seen.why_not == row.why_not);
    CHECK(seen.possible == row.why_not.empty());
  }
  CHECK(std::size(rows) == 13);
}

TEST_CASE("nodes are asked only if it isn't known whether containers have user namespaces") {
  Shop shop;
  shop.wake(true);
  shop.open();
  CHECK(shop.cluster.count("list", "nodes") == 0);
  shop.world.sleep();
  shop.world.options.user_namespaces.reset();
  shop.world.wake();
  CHECK(eventually([&] { return shop.cluster.count("list", "nodes") > 0; }));
}

TEST_CASE("an API server that is busy doesn't say that nodes can't") {
  embedded::Cluster cluster{quick()};
  kube::Client client(config_of(cluster));
  UserNamespaceWatch watch(client, {});
  const std::string before = watch.known().why_not;
  for (const int status : {500, 409, 401}) {
    // The client tries once more with new credentials after a 401.
    cluster.fail_next(2, status, std::nullopt, {"list", "nodes"});
    CHECK_FALSE(watch.refresh());
    CHECK(watch.known().why_not == before);
    cluster.clear_failures();
  }
  cluster.fail_next(1, 403, std::nullopt, {"list", "nodes"});
  CHECK(watch.refresh());
  CHECK(watch.known().why_not.starts_with("berthd may not see them"));
}

TEST_CASE("where nodes can, containers have user namespaces unless their tier says no") {
  struct Row {
    bool possible;
    tiers::Confinement tier;
    bool has;
  };
  const Row rows[] = {
      {true, {}, true},
      {false, {}, false},
      {true,
       {.runtime_class = {}, .user_namespaces = false, .smtp = false, .bandwidth = {}},
       false},
      {false, {.runtime_class = {}, .user_namespaces = true, .smtp = false, .bandwidth = {}}, true},
      {true,
       {.runtime_class = "gvisor", .user_namespaces = {}, .smtp = false, .bandwidth = {}},
       false},
      {true, {.runtime_class = {}, .user_namespaces = {}, .smtp = true, .bandwidth = 5}, true},
  };
  for (const Row& row : rows) {
    Shop shop;
    shop.wake(row.possible);
    shop.world.confine(row.tier);
    shop.id = shop.world.deploy(shop.world.new_app());
    REQUIRE(eventually([&] { return !shop.world.objects(kube::deployments, shop.id).empty(); }));
    CHECK(shop.has_namespace() == row.has);
  }
}

TEST_CASE("no container is replaced because the nodes can now, or can't any more") {
  Shop shop;
  shop.wake(false);
  shop.open();
  const std::string first = shop.pod();
  shop.wake(true);
  shop.world.engine().enqueue(shop.id);
  REQUIRE(shop.world.settles());
  CHECK(shop.pod() == first);
  CHECK_FALSE(shop.has_namespace());
  shop.update("2");
  CHECK(shop.has_namespace());
  REQUIRE(eventually([&] { return shop.world.objects(kube::pods, shop.id).size() == 1; }));
  const std::string second = shop.pod();
  shop.wake(false);
  shop.world.engine().enqueue(shop.id);
  REQUIRE(shop.world.settles());
  CHECK(shop.pod() == second);
  CHECK(shop.has_namespace());
  shop.update("3");
  CHECK_FALSE(shop.has_namespace());
  // An admin's word counts at once.
  shop.world.confine(
      {.runtime_class = {}, .user_namespaces = true, .smtp = false, .bandwidth = {}});
  CHECK(eventually([&] { return shop.has_namespace(); }));
}

TEST_CASE("a container that gets another size in place keeps the user namespace that it has") {
  const bool had = GENERATE(true, false);
  const bool can_now = GENERATE(true, false);
  CAPTURE(had, can_now);
  Shop shop;
  shop.wake(had);
  shop.open();
  REQUIRE(shop.has_namespace() == had);
  const std::string first = shop.pod();
  if (can_now != had) shop.wake(can_now);
  shop.world.change(shop.id,
                    "memory_limit_mb = 256, cpu_limit_millicores = 200, most_memory_mb = 256, "
                    "most_cpu_millicores = 200");
  REQUIRE(shop.world.is(shop.id, Status::running));
  REQUIRE(shop.world.settles());
  CHECK(shop.world.row(shop.id).resized == deployments::Resize::in_place);
  CHECK(shop.has_namespace() == had);
  CHECK(shop.pod() == first);
}
