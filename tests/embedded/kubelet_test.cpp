#include <catch2/catch.hpp>

#include "controller/base/crypto.h"
#include "tests/embedded/surviving_world.h"

// What the kubelet asks of a runtime whose containers are real.
using namespace berth::embedded;
using namespace berth::embedded::tests;
using namespace std::chrono_literals;

namespace {

Json& container_in(Json& object) { return object["spec"]["template"]["spec"]["containers"][0]; }

std::vector<std::string> messages(SurvivingWorld& world, const std::string& reason) {
  std::vector<std::string> found;
  for (const Json& event : world.cluster().list("events", "apps"))
    if (event["reason"] == reason) found.push_back(event["message"]);
  return found;
}

bool has_ready_pod(SurvivingWorld& world, const std::string& app) {
  const auto pods = world.pods(app);
  return !pods.empty() && condition(pods[0], "Ready").value("status", "") == "True";
}

}  // namespace

TEST_CASE("variables come from Secrets, ConfigMaps, fields, and one another") {
  SurvivingWorld world;
  world.apply({{"apiVersion", "v1"},
               {"kind", "Secret"},
               {"metadata", {{"name", "vars"}}},
               {"stringData", {{"A", "from secret"}, {"B", "overridden"}}}});
  world.apply(config_map("settings", {{"B", "from map"}, {"C", "c"}}));
  Json wanted = deployment("web", "nginx:1");
  container_in(wanted)["envFrom"] = {{{"secretRef", {{"name", "vars"}}}},
                                     {{"configMapRef", {{"name", "settings"}}}},
                                     {{"prefix", "P_"}, {"configMapRef", {{"name", "settings"}}}}};
  container_in(wanted)["env"] = {
      {{"name", "PORT"}, {"value", "8080"}},
      {{"name", "URL"}, {"value", "http://$(HOST):$(PORT)/$$(PORT)"}},
      {{"name", "KEY"}, {"valueFrom", {{"secretKeyRef", {{"name", "vars"}, {"key", "A"}}}}}},
      {{"name", "NONE"},
       {"valueFrom", {{"secretKeyRef", {{"name", "vars"}, {"key", "Z"}, {"optional", true}}}}}},
      {{"name", "POD"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "metadata.name"}}}}}},
      {{"name", "APP"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "metadata.labels['app']"}}}}}}};
  world.apply(wanted);
  REQUIRE(world.runs("web", 1, "nginx:1"));
  const auto env = world.machine.running().at(0).env;
  CHECK(env == std::map<std::string, std::string>{{"A", "from secret"},
                                                  {"APP", "web"},
                                                  {"B", "from map"},
                                                  {"C", "c"},
                                                  {"KEY", "from secret"},
                                                  {"P_B", "from map"},
                                                  {"P_C", "c"},
                                                  {"POD", name_of(world.pods("web")[0])},
                                                  {"PORT", "8080"},
                                                  {"URL", "http://$(HOST):8080/$(PORT)"}});
}

TEST_CASE("a key that a Secret lacks: CreateContainerConfigError") {
  SurvivingWorld world;
  world.apply({{"apiVersion", "v1"}, {"kind", "Secret"}, {"metadata", {{"name", "vars"}}}});
  Json wanted = deployment("web", "nginx:1");
  container_in(wanted)["env"] = {
      {{"name", "KEY"}, {"valueFrom", {{"secretKeyRef", {{"name", "vars"}, {"key", "A"}}}}}}};
  world.apply(wanted);
  REQUIRE(World::wait([&] {
    return at_path(world.status("web"), "/state/waiting/reason") == "CreateContainerConfigError";
  }));
  CHECK(at_path(world.status("web"), "/state/waiting/message") ==
        "couldn't find key A in Secret apps/vars");
  CHECK(world.machine.count() == 0);
}

TEST_CASE("a container starts once the pod's tokens have been written: FailedMount") {
  SurvivingWorld world;
  world.machine.set_writes_tokens(false);
  Json wanted = deployment("web", "nginx:1");
  const Json token = {{"audience", "https://berth.example.org"}, {"path", "token"}};
  wanted["spec"]["template"]["spec"]["volumes"] = Json::array(
      {{{"name", "berth"},
        {"projected", {{"sources", Json::array({{{"serviceAccountToken", token}}})}}}}});
  world.apply(wanted);
  REQUIRE(World::wait([&] { return !messages(world, "FailedMount").empty(); }));
  CHECK(messages(world, "FailedMount").front() ==
        "MountVolume.SetUp failed for volume \"berth\" : write token: no room");
  CHECK(world.machine.count() == 0);
  CHECK(world.status("web")["state"]["waiting"]["reason"] == "ContainerCreating");
  CHECK(messages(world, "Pulling").empty());
  world.machine.set_writes_tokens(true);
  REQUIRE(World::wait([&] { return has_ready_pod(world, "web"); }));
  // What runs goes on without new tokens.
  world.machine.set_writes_tokens(false);
  world.kill_and_begin();
  CHECK(world.machine.running().size() == 1);
}

TEST_CASE("pull secrets give the logins of the image's registry, in their order") {
  SurvivingWorld world;
  const auto pull_secret = [](const std::string& name, const Json& auths) -> Json {
    return {{"apiVersion", "v1"},
            {"kind", "Secret"},
            {"metadata", {{"name", name}}},
            {"type", "kubernetes.io/dockerconfigjson"},
            {"stringData", {{".dockerconfigjson", Json{{"auths", auths}}.dump()}}}};
  };
  world.apply(pull_secret("one", {{"ghcr.io", {{"username", "a"}, {"password", "1"}}},
                                  {"quay.io", {{"username", "b"}, {"password", "2"}}}}));
  world.apply(pull_secret("two", {{"https://ghcr.io/acme/", {{"auth", berth::base64("c:3:4")}}},
                                  {"ghcr.io/acm", {{"username", "d"}, {"password", "5"}}}}));
  Json wanted = deployment("web", "ghcr.io/acme/web:1");
  wanted["spec"]["template"]["spec"]["imagePullSecrets"] = {
      {{"name", "one"}}, {{"name", "two"}}, {{"name", "three"}}};
  world.apply(wanted);
  REQUIRE(world.runs("web", 1, "ghcr.io/acme/web:1"));
  const auto logins = world.machine.running().at(0).logins;
  REQUIRE(logins.size() == 2);
  CHECK((logins[0].username == "a" && logins[0].password == "1"));
  CHECK((logins[1].username == "c" && logins[1].password == "3:4"));
  CHECK(messages(world, "FailedToRetrieveImagePullSecret") ==
        std::vector<std::string>{"Unable to retrieve some image pull secrets (three); attempting "
                                 "to pull the image may not succeed."});
}

TEST_CASE("a readiness probe takes a pod out after failureThreshold results, and back") {
  SurvivingWorld world;
  Json wanted = deployment("web", "nginx:1");
  container_in(wanted)["readinessProbe"].update(
      Json{{"periodSeconds", 1}, {"failureThreshold", 3}});
  world.apply(wanted);
  REQUIRE(world.runs("web", 1, "nginx:1"));
  world.machine.set_probes_pass(false);
  REQUIRE(World::wait([&] { return !has_ready_pod(world, "web"); }));
  std::int64_t failures = 0;
  for (const Json& event : world.cluster().list("events", "apps"))
    if (event["reason"] == "Unhealthy") failures = event["count"];
  CHECK(failures >= 3);
  CHECK(messages(world, "Unhealthy") ==
        std::vector<std::string>{"Readiness probe failed: it says no"});
  CHECK(world.status("web")["started"] == true);
  world.machine.set_probes_pass(true);
  CHECK(world.runs("web", 1, "nginx:1"));
  CHECK(world.machine.history().size() == 1);
}

TEST_CASE("liveness and startup probes that fail have the container started again") {
  const std::string kind = GENERATE("livenessProbe", "startupProbe");
  SurvivingWorld world;
  world.machine.set_probes_pass(false);
  Json wanted = deployment("web", "nginx:1");
  container_in(wanted)[kind] = {
      {"tcpSocket", {{"port", 8080}}}, {"periodSeconds", 1}, {"failureThreshold", 2}};
  world.apply(wanted);
  REQUIRE(World::wait([&] { return world.status("web").value("restartCount", 0) == 1; }));
  const std::string word = kind == "livenessProbe" ? "liveness" : "startup";
  CHECK(messages(world, "Killing") ==
        std::vector<std::string>{"Container web failed " + word + " probe, will be restarted"});
  CHECK_FALSE(has_ready_pod(world, "web"));
  world.machine.set_probes_pass(true);
  CHECK(world.runs("web", 1, "nginx:1"));
  CHECK_FALSE(world.machine.ran_twice());
}

TEST_CASE("containers without a network are started again, later each time") {
  SurvivingWorld world;
  Json wanted = deployment("web", "nginx:1");
  container_in(wanted)["readinessProbe"].update(
      Json{{"periodSeconds", 1}, {"failureThreshold", 3}});
  world.apply(wanted);
  REQUIRE(world.runs("web", 1, "nginx:1"));
  world.machine.set_has_network(false);
  REQUIRE(World::wait([&] { return world.status("web").value("restartCount", 0) == 2; }));
  CHECK(messages(world, "Killing") ==
        std::vector<std::string>{"Container web has no network, will be restarted"});
  CHECK(messages(world, "BackOff").size() == 1);
  world.machine.set_has_network(true);
  CHECK(world.runs("web", 1, "nginx:1"));
  CHECK_FALSE(world.machine.ran_twice());
}

TEST_CASE("before SIGTERM a pod sleeps as its preStop says, and goes on running") {
  SurvivingWorld world(20ms);
  Json wanted = deployment("web", "nginx:1");
  container_in(wanted)["lifecycle"] = {{"preStop", {{"sleep", {{"seconds", 5}}}}}};
  world.apply(wanted);
  REQUIRE(world.runs("web", 1, "nginx:1"));
  const auto begun = std::chrono::steady_clock::now();
  world.cluster().remove("deployments", "apps", "web");
  REQUIRE(World::wait([&] { return !messages(world, "Killing").empty(); }));
  CHECK(world.machine.running().size() == 1);
  REQUIRE(World::wait([&] { return world.cluster().list("pods", "apps").empty(); }));
  CHECK(std::chrono::steady_clock::now() - begun >= 100ms);
  CHECK(World::wait([&] { return world.machine.count() == 0; }));
}

TEST_CASE("pods that request more than the node has wait until there is room") {
  SurvivingWorld world;
  Json wanted = deployment("web", "nginx:1", 3);
  container_in(wanted)["resources"] = {{"requests", {{"memory", "3Gi"}, {"cpu", "1"}}}};
  world.apply(wanted);
  REQUIRE(World::wait([&] { return world.machine.running().size() == 2; }));
  REQUIRE(World::wait([&] { return !messages(world, "FailedScheduling").empty(); }));
  CHECK(messages(world, "FailedScheduling")[0].starts_with(
      "0/1 nodes are available: 1 Insufficient memory."));
  wanted["spec"]["replicas"] = 2;
  world.apply(wanted);
  REQUIRE(world.runs("web", 2, "nginx:1"));
  Json other = deployment("other", "nginx:1");
  container_in(other)["resources"] = {{"requests", {{"memory", "1Gi"}, {"cpu", "3"}}}};
  world.apply(other);
  CHECK(World::wait([&] {
    const auto all = messages(world, "FailedScheduling");
    return std::ranges::any_of(all, [](const std::string& one) {
      return one.starts_with("0/1 nodes are available: 1 Insufficient cpu.");
    });
  }));
  world.cluster().remove("deployments", "apps", "web");
  CHECK(world.runs("other", 1, "nginx:1"));
}

TEST_CASE("a pod that writes more than its limit is evicted and replaced") {
  SurvivingWorld world;
  Json wanted = deployment("web", "nginx:1");
  container_in(wanted)["resources"] = {{"limits", {{"ephemeral-storage", "100Mi"}}}};
  world.apply(wanted);
  REQUIRE(world.runs("web", 1, "nginx:1"));
  const std::string first = name_of(world.pods("web")[0]);
  world.machine.set_disk_bytes(200 << 20);
  REQUIRE(World::wait([&] {
    const auto pod = world.cluster().get("pods", "apps", first);
    return pod && (*pod)["status"]["phase"] == "Failed" &&
           (*pod)["status"]["containerStatuses"][0]["state"].contains("terminated");
  }));
  world.machine.set_disk_bytes(0);
  const Json pod = *world.cluster().get("pods", "apps", first);
  CHECK(pod["status"]["reason"] == "Evicted");
  CHECK(pod["status"]["message"] ==
        "Pod ephemeral local storage usage exceeds the total limit of containers 100Mi. ");
  CHECK_FALSE(messages(world, "Evicted").empty());
  REQUIRE(World::wait([&] { return has_ready_pod(world, "web"); }));
  CHECK(World::wait([&] { return world.machine.count() == 1; }));
  world.kill_and_begin();
  CHECK(world.machine.running().size() == 1);
  CHECK(world.cluster().get("pods", "apps", first)->at("status").at("reason") == "Evicted");
}

TEST_CASE("a pod that is evicted again and again leaves a few pods behind") {
  SurvivingWorld world;
  world.machine.set_disk_bytes(200 << 20);
  Json wanted = deployment("web", "nginx:1");
  container_in(wanted)["resources"] = {{"limits", {{"ephemeral-storage", "100Mi"}}}};
  world.apply(wanted);
  REQUIRE(World::wait([&] { return world.machine.history().size() >= 20; }));
  CHECK(world.cluster().list("pods", "apps").size() <= 6);
  CHECK_FALSE(world.machine.ran_twice());
}

TEST_CASE("a namespace that is deleted takes its containers and its network with it") {
  SurvivingWorld world;
  world.apply(deployment("web", "nginx:1"));
  REQUIRE(world.runs("web", 1, "nginx:1"));
  world.cluster().remove("namespaces", "", "apps");
  REQUIRE(World::wait([&] { return !world.cluster().get("namespaces", "", "apps"); }));
  CHECK(World::wait([&] { return world.machine.count() == 0; }));
  CHECK(World::wait([&] {
    const auto history = world.machine.history();
    return std::ranges::count(history, "remove namespace apps") == 1;
  }));
}
