#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/embedded/surviving_world.h"

// The subresource `resize` of pods
// (https://kubernetes.io/docs/tasks/configure-pod-container/resize-container-resources/).
using namespace berth::embedded;
using namespace berth::embedded::tests;

namespace {

constexpr const char* strategic = "application/strategic-merge-patch+json";

Json sized(const std::string& memory, const std::string& cpu) {
  Json object = deployment("web");
  object["spec"]["template"]["spec"]["containers"][0]["resources"] = {
      {"limits", {{"cpu", cpu}, {"memory", memory}}},
      {"requests", {{"cpu", "10m"}, {"memory", "16Mi"}}}};
  return object;
}

Json limits(const std::string& memory, const std::string& cpu) {
  return {
      {"spec",
       {{"containers",
         {{{"name", "web"}, {"resources", {{"limits", {{"cpu", cpu}, {"memory", memory}}}}}}}}}}};
}

struct Fixture {
  World world;
  Json pod;
  std::string path;

  Fixture() {
    REQUIRE(world.post(deployments, sized("128Mi", "100m")).status == 201);
    REQUIRE(World::wait([&] {
      const auto all = world.cluster.list("pods", "apps");
      if (all.empty() || condition(all[0], "Ready").value("status", "") != "True") return false;
      pod = all[0];
      return true;
    }));
    path = core + "pods/" + name_of(pod) + "/resize";
  }
  Answer resize(const Json& change) { return world.patch(path, change.dump(), strategic); }
  Json now() { return world.get(core + "pods/" + name_of(pod)).body; }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a running container gets other limits, and goes on") {
  const Answer answer = resize(limits("256Mi", "200m"));
  REQUIRE(answer.status == 200);
  CHECK(answer.body["spec"]["containers"][0]["resources"]["limits"]["memory"] == "256Mi");
  CHECK(answer.body["metadata"]["generation"] == 2);
  REQUIRE(World::wait([&] {
    return now()["status"]["containerStatuses"][0]["resources"]["limits"]["memory"] == "256Mi";
  }));
  const Json after = now();
  CHECK(after["status"]["containerStatuses"][0]["restartCount"] == 0);
  CHECK(after["status"]["containerStatuses"][0]["containerID"] ==
        pod["status"]["containerStatuses"][0]["containerID"]);
  CHECK(condition(after, "PodResizeInProgress").empty());
  // Nothing else of the template or of the pods changes.
  CHECK(world.cluster.list("replicasets", "apps").size() == 1);
  CHECK(world.cluster.list("pods", "apps").size() == 1);
}

TEST_CASE_METHOD(Fixture, "nothing but memory and CPU can be changed by it") {
  Json image = limits("256Mi", "200m");
  image["spec"]["containers"][0]["image"] = "nginx:2";
  CHECK(resize(image).status == 422);
  Json disk = limits("256Mi", "200m");
  disk["spec"]["containers"][0]["resources"]["limits"]["ephemeral-storage"] = "1Gi";
  CHECK(resize(disk).status == 422);
  CHECK(resize({{"spec", {{"nodeName", "another"}}}}).status == 422);
  // All limits equal to their requests would make another class of service of it.
  CHECK(resize(limits("16Mi", "10m")).status == 422);
  CHECK(now()["spec"] == pod["spec"]);
  CHECK(world.patch(core + "pods/none/resize", limits("256Mi", "200m").dump(), strategic).status ==
        404);
  CHECK(world.post(path, pod).status == 405);
  // The pod itself doesn't take them.
  CHECK(world.patch(core + "pods/" + name_of(pod), limits("256Mi", "200m").dump(), strategic)
            .status == 422);
}

TEST_CASE_METHOD(Fixture, "a quota counts what a pod has come to have") {
  REQUIRE(world
              .post(core + "resourcequotas", {{"apiVersion", "v1"},
                                              {"kind", "ResourceQuota"},
                                              {"metadata", {{"name", "quota"}}},
                                              {"spec", {{"hard", {{"limits.memory", "300Mi"}}}}}})
              .status == 201);
  CHECK(resize(limits("301Mi", "100m")).status == 403);
  CHECK(resize(limits("256Mi", "100m")).status == 200);
  CHECK(resize(limits("300Mi", "100m")).status == 200);
  CHECK(resize(limits("64Mi", "100m")).status == 200);
  CHECK(resize(limits("300Mi", "100m")).status == 200);
}

TEST_CASE_METHOD(Fixture, "memory that is in use isn't taken away, and the pod says so") {
  REQUIRE(resize(limits("17Mi", "50m")).status == 200);
  // A simulated container uses between 16 and 32 MiB.
  const bool refused = World::wait([&] {
    const Json after = now();
    const bool is_given =
        after["status"]["containerStatuses"][0]["resources"]["limits"]["memory"] == "17Mi";
    return is_given || condition(after, "PodResizeInProgress").value("reason", "") == "Error";
  });
  CHECK(refused);
  REQUIRE(resize(limits("128Mi", "100m")).status == 200);
  CHECK(World::wait([&] { return condition(now(), "PodResizeInProgress").empty(); }));
}

TEST_CASE("the API server's list of resources names it") {
  const World world;
  const Json list = world.get("/api/v1").body["resources"];
  CHECK(std::ranges::any_of(list, [](const Json& one) { return one["name"] == "pods/resize"; }));
}

TEST_CASE("what the machine has no room for waits, and a restart knows what a container has") {
  SurvivingWorld world;
  world.apply(sized("1Gi", "1"));
  REQUIRE(world.runs("web", 1, "nginx:1.27"));
  const auto resize = [&](const std::string& memory) {
    Json change = limits(memory, "1");
    change["spec"]["containers"][0]["resources"]["requests"] = {{"memory", memory}, {"cpu", "10m"}};
    httplib::Client client(world.cluster().url());
    const auto answer = client.Patch(core + "pods/" + name_of(world.pods("web")[0]) + "/resize",
                                     change.dump(), strategic);
    return answer ? answer->status : 0;
  };
  const auto given = [&] {
    const Json status = world.status("web");
    return text_at(at_path(status, "/resources/limits"), "memory");
  };
  REQUIRE(resize("2Gi") == 200);
  CHECK(World::wait([&] { return given() == "2Gi"; }));
  REQUIRE(resize("9Gi") == 200);
  CHECK(World::wait([&] {
    return condition(world.pods("web")[0], "PodResizePending").value("reason", "") == "Deferred";
  }));
  CHECK(given() == "2Gi");
  world.kill_and_begin();
  CHECK(given() == "2Gi");
  REQUIRE(resize("3Gi") == 200);
  CHECK(World::wait([&] { return given() == "3Gi"; }));
  CHECK(condition(world.pods("web")[0], "PodResizePending").empty());
}
