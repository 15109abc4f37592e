#include <catch2/catch.hpp>

#include "tests/embedded/support.h"

using namespace berth::embedded;
using namespace berth::embedded::tests;

namespace {

Json of(const World& world, const std::string& name = "web") {
  return world.get(deployments + "/" + name).body;
}

bool ready(const World& world, int replicas, const std::string& name = "web") {
  const Json now = of(world, name);
  return now["status"].value("readyReplicas", 0) == replicas &&
         now["status"].value("replicas", 0) == replicas &&
         now["status"].value("updatedReplicas", 0) == replicas &&
         now["status"].value("observedGeneration", 0) == now["metadata"]["generation"];
}

// Returns the state of the pods' only container, once it satisfies the predicate.
Json waiting_for(const World& world, const std::function<bool(const Json& status)>& wanted) {
  Json found;
  World::wait([&] {
    for (const Json& pod : world.cluster.list("pods", "apps"))
      for (const Json& status : pod["status"].value("containerStatuses", Json::array()))
        if (wanted(status)) found = status;
    return !found.is_null();
  });
  return found;
}

bool has_event(const World& world, const std::string& reason, const std::string& words) {
  return World::wait([&] {
    for (const Json& event : world.cluster.list("events", "apps"))
      if (event["reason"] == reason &&
          event["message"].get<std::string>().find(words) != std::string::npos)
        return true;
    return false;
  });
}

Json state_reason(const Json& status, const char* state) {
  return status["state"].contains(state) ? status["state"][state].value("reason", Json()) : Json();
}

}  // namespace

TEST_CASE("a deployment becomes a replica set and ready pods") {
  World world;
  REQUIRE(world.post(deployments, deployment("web", "nginx:1.27", 2)).status == 201);
  REQUIRE(World::wait([&] { return ready(world, 2); }));

  const Json now = of(world);
  CHECK(now["status"]["availableReplicas"] == 2);
  CHECK(now["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1");
  CHECK(condition(now, "Available")["reason"] == "MinimumReplicasAvailable");
  REQUIRE(World::wait(
      [&] { return condition(of(world), "Progressing")["reason"] == "NewReplicaSetAvailable"; }));

  const Json sets = world.get(replica_sets).body;
  REQUIRE(sets["items"].size() == 1);
  const std::string set = name_of(sets["items"][0]);
  CHECK(condition(of(world), "Progressing")["message"] ==
        "ReplicaSet \"" + set + "\" has successfully progressed.");
  const Json pods = world.get(core + "pods?labelSelector=app%3Dweb").body;
  REQUIRE(pods["items"].size() == 2);
  const Json& pod = pods["items"][0];
  CHECK(name_of(pod).starts_with(set + "-"));
  CHECK(pod["status"]["phase"] == "Running");
  CHECK(pod["spec"]["nodeName"] == "simulated");
  CHECK(pod["status"]["podIP"].get<std::string>().starts_with("10.244."));
  const Json& status = pod["status"]["containerStatuses"][0];
  CHECK(status["ready"] == true);
  CHECK(status["image"] == "docker.io/library/nginx:1.27");
  CHECK(status["imageID"].get<std::string>().find("@sha256:") != std::string::npos);
  CHECK(status["containerID"].get<std::string>().starts_with("containerd://"));
  for (const char* reason :
       {"Scheduled", "Pulled", "Created", "Started", "SuccessfulCreate", "ScalingReplicaSet"})
    CHECK(has_event(world, reason, ""));
}

TEST_CASE("a new image rolls over: old pods go only once new ones are ready") {
  World world;
  world.post(deployments, deployment("web", "nginx:1", 2));
  REQUIRE(World::wait([&] { return ready(world, 2); }));
  std::atomic<bool> done = false;
  std::atomic<int> fewest = 100;
  std::atomic<int> most = 0;
  std::thread looker([&] {
    while (!done) {
      int ready_pods = 0;
      int pods = 0;
      for (const Json& pod : world.cluster.list("pods", "apps", "app=web")) {
        if (pod["metadata"].contains("deletionTimestamp")) continue;
        ++pods;
        if (condition(pod, "Ready").value("status", "") == "True") ++ready_pods;
      }
      fewest = std::min(fewest.load(), ready_pods);
      most = std::max(most.load(), pods);
    }
  });
  world.apply(deployments + "/web", deployment("web", "nginx:2", 2));
  const bool rolled = World::wait([&] {
    const auto pods = world.cluster.list("pods", "apps", "app=web");
    return ready(world, 2) && pods.size() == 2 &&
           pods[0]["spec"]["containers"][0]["image"] == "nginx:2" &&
           pods[1]["spec"]["containers"][0]["image"] == "nginx:2";
  });
  done = true;
  looker.join();
  REQUIRE(rolled);
  CHECK(fewest == 2);
  CHECK(most <= 3);
  CHECK(of(world)["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2");
  CHECK(world.get(replica_sets).body["items"].size() == 2);
}

TEST_CASE("a rollout to an image that fails leaves the old pods, and misses its deadline") {
  World world;
  Json wanted = deployment("web", "nginx:1");
  wanted["spec"]["progressDeadlineSeconds"] = 20;
  world.post(deployments, wanted);
  REQUIRE(World::wait([&] { return ready(world, 1); }));
  wanted["spec"]["template"]["spec"]["containers"][0]["image"] = "missing:1";
  world.apply(deployments + "/web", wanted);
  REQUIRE(World::wait(
      [&] { return condition(of(world), "Progressing")["reason"] == "ProgressDeadlineExceeded"; }));
  const Json now = of(world);
  CHECK(condition(now, "Progressing")["status"] == "False");
  CHECK(condition(now, "Progressing")["message"].get<std::string>().ends_with(
      "has timed out progressing."));
  CHECK(condition(now, "Available")["status"] == "True");
  CHECK(now["status"]["readyReplicas"] == 1);
  CHECK(now["status"]["unavailableReplicas"] == 1);
}

TEST_CASE("scaling up, and down to zero") {
  World world;
  world.post(deployments, deployment("web"));
  REQUIRE(World::wait([&] { return ready(world, 1); }));
  world.merge(deployments + "/web", {{"spec", {{"replicas", 3}}}});
  REQUIRE(World::wait([&] { return ready(world, 3); }));
  world.merge(deployments + "/web", {{"spec", {{"replicas", 0}}}});
  REQUIRE(World::wait([&] { return world.cluster.list("pods", "apps").empty(); }));
  REQUIRE(World::wait([&] { return ready(world, 0); }));
  // As with a real controller, counts of 0 are left out.
  CHECK_FALSE(of(world)["status"].contains("readyReplicas"));
  CHECK(condition(of(world), "Available")["status"] == "True");
}

TEST_CASE("Recreate stops the old pods before the new ones start") {
  World world;
  Json wanted = deployment("web", "nginx:1");
  wanted["spec"]["strategy"] = {{"type", "Recreate"}};
  world.post(deployments, wanted);
  REQUIRE(World::wait([&] { return ready(world, 1); }));
  wanted["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2";
  world.apply(deployments + "/web", wanted);
  REQUIRE(World::wait([&] {
    const auto pods = world.cluster.list("pods", "apps");
    return pods.size() == 1 && pods[0]["spec"]["containers"][0]["image"] == "nginx:2" &&
           ready(world, 1);
  }));
}

TEST_CASE("an image that isn't there: ErrImagePull and ImagePullBackOff") {
  World world;
  world.post(deployments, deployment("web", "ghcr.io/acme/missing-app:1"));
  const Json failed = waiting_for(
      world, [](const Json& s) { return state_reason(s, "waiting") == "ErrImagePull"; });
  REQUIRE_FALSE(failed.is_null());
  CHECK(failed["state"]["waiting"]["message"].get<std::string>().find(
            "ghcr.io/acme/missing-app:1: not found") != std::string::npos);
  const Json waits = waiting_for(
      world, [](const Json& s) { return state_reason(s, "waiting") == "ImagePullBackOff"; });
  REQUIRE_FALSE(waits.is_null());
  CHECK(waits["state"]["waiting"]["message"].get<std::string>().starts_with(
      "Back-off pulling image \"ghcr.io/acme/missing-app:1\": ErrImagePull: "));
  CHECK(
      has_event(world, "Failed", "Failed to pull image \"ghcr.io/acme/missing-app:1\": rpc error"));
  CHECK(has_event(world, "Failed", "Error: ErrImagePull"));
  CHECK(has_event(world, "BackOff", "Back-off pulling image"));
  CHECK(world.cluster.list("pods", "apps")[0]["status"]["phase"] == "Pending");
}

TEST_CASE("an image that crashes: CrashLoopBackOff, restarts, its last output") {
  World world;
  world.post(deployments, deployment("web", "crash-loop:1"));
  const Json status = waiting_for(world, [](const Json& s) {
    return state_reason(s, "waiting") == "CrashLoopBackOff" && s["restartCount"] >= 2;
  });
  REQUIRE_FALSE(status.is_null());
  CHECK(status["lastState"]["terminated"]["exitCode"] == 1);
  CHECK(status["lastState"]["terminated"]["reason"] == "Error");
  CHECK(status["lastState"]["terminated"]["message"].get<std::string>().find("simulated crash") !=
        std::string::npos);
  CHECK(has_event(world, "BackOff", "Back-off restarting failed container web in pod web-"));
}

TEST_CASE("the last output is reported only if the container asks for its log") {
  World world;
  Json wanted = deployment("web", "crash:1");
  wanted["spec"]["template"]["spec"]["containers"][0].erase("terminationMessagePolicy");
  world.post(deployments, wanted);
  const Json status =
      waiting_for(world, [](const Json& s) { return s["lastState"].contains("terminated"); });
  REQUIRE_FALSE(status.is_null());
  CHECK_FALSE(status["lastState"]["terminated"].contains("message"));
}

TEST_CASE("an image that takes too much memory: OOMKilled") {
  World world;
  world.post(deployments, deployment("web", "oom"));
  const Json status =
      waiting_for(world, [](const Json& s) { return s["lastState"].contains("terminated"); });
  REQUIRE_FALSE(status.is_null());
  CHECK(status["lastState"]["terminated"]["exitCode"] == 137);
  CHECK(status["lastState"]["terminated"]["reason"] == "OOMKilled");
}

TEST_CASE("an image that listens elsewhere is never ready") {
  World world;
  world.post(deployments, deployment("web", "acme/wrong-port:1"));
  REQUIRE(has_event(world, "Unhealthy", "Readiness probe failed: dial tcp 10.244."));
  CHECK(has_event(world, "Unhealthy", ":8080: connect: connection refused"));
  const Json pod = world.cluster.list("pods", "apps")[0];
  CHECK(pod["status"]["phase"] == "Running");
  CHECK(condition(pod, "Ready")["status"] == "False");
  CHECK(condition(pod, "Ready")["reason"] == "ContainersNotReady");
  CHECK(condition(pod, "Ready")["message"] == "containers with unready status: [web]");
}

TEST_CASE("without privileges, no container listens on a port below 1024") {
  struct Case {
    int port;
    Json security;
    bool listens;
  };
  const Json first_port = {{"name", "net.ipv4.ip_unprivileged_port_start"}, {"value", "0"}};
  const auto one = GENERATE_COPY(
      Case{80, {{"runAsUser", 1000}}, false}, Case{1023, {{"runAsUser", 1000}}, false},
      Case{1024, {{"runAsUser", 1000}}, true}, Case{80, Json::object(), true},
      Case{80, {{"runAsUser", 1000}, {"sysctls", Json::array({first_port})}}, true});
  World world;
  Json wanted = deployment("web");
  Json& pod = wanted["spec"]["template"]["spec"];
  pod["securityContext"] = one.security;
  pod["containers"][0]["readinessProbe"] = {{"tcpSocket", {{"port", one.port}}}};
  world.post(deployments, wanted);
  if (one.listens) {
    CHECK(World::wait([&] {
      const Json pods = world.cluster.list("pods", "apps");
      return !pods.empty() && condition(pods[0], "Ready").value("status", "") == "True";
    }));
  } else {
    REQUIRE(has_event(world, "Unhealthy",
                      ":" + std::to_string(one.port) + ": connect: connection refused"));
    CHECK(condition(world.cluster.list("pods", "apps")[0], "Ready").value("status", "") == "False");
  }
}

TEST_CASE("a liveness probe restarts what doesn't listen") {
  World world;
  Json wanted = deployment("web", "not-listening");
  wanted["spec"]["template"]["spec"]["containers"][0]["livenessProbe"] = {
      {"httpGet", {{"port", 8080}, {"path", "/up"}}}, {"periodSeconds", 1}};
  world.post(deployments, wanted);
  REQUIRE(has_event(world, "Unhealthy", "Liveness probe failed: Get \"http://10.244."));
  CHECK(has_event(world, "Killing", "Container web failed liveness probe, will be restarted"));
  CHECK_FALSE(waiting_for(world, [](const Json& s) { return s["restartCount"] >= 1; }).is_null());
}

TEST_CASE("an image that needs root fails as user 1000 and runs as root") {
  World world;
  Json wanted = deployment("web", "needs-root:1");
  wanted["spec"]["template"]["spec"]["securityContext"] = {{"runAsUser", 1000}};
  world.post(deployments, wanted);
  const Json status =
      waiting_for(world, [](const Json& s) { return s["lastState"].contains("terminated"); });
  REQUIRE_FALSE(status.is_null());
  CHECK(status["lastState"]["terminated"]["message"].get<std::string>().find("Permission denied") !=
        std::string::npos);
  Json as_root = deployment("root", "needs-root:1");
  world.post(deployments, as_root);
  CHECK(World::wait([&] { return ready(world, 1, "root"); }));
}

TEST_CASE("a pod that fits nowhere stays pending") {
  World world;
  world.post(deployments, deployment("web", "unschedulable"));
  REQUIRE(has_event(world, "FailedScheduling", "0/1 nodes are available: 1 Insufficient memory."));
  const Json pod = world.cluster.list("pods", "apps")[0];
  CHECK(pod["status"]["phase"] == "Pending");
  CHECK(condition(pod, "PodScheduled")["reason"] == "Unschedulable");
  // Events of the scheduler have no count and no firstTimestamp.
  for (const Json& event : world.cluster.list("events", "apps"))
    if (event["reason"] == "FailedScheduling") {
      CHECK(event["firstTimestamp"].is_null());
      CHECK_FALSE(event["eventTime"].is_null());
    }
}

TEST_CASE("a behaviour can be set for an image") {
  World world;
  world.cluster.set_image("nginx:9", ImageBehaviour::missing);
  world.post(deployments, deployment("web", "nginx:9"));
  REQUIRE_FALSE(waiting_for(world, [](const Json& s) {
                  return state_reason(s, "waiting") == "ImagePullBackOff";
                }).is_null());
  world.cluster.set_image("nginx:9", ImageBehaviour::runs);
  CHECK(World::wait([&] { return ready(world, 1); }));
}

TEST_CASE("variables from a secret that isn't there: CreateContainerConfigError") {
  World world;
  Json wanted = deployment("web");
  wanted["spec"]["template"]["spec"]["containers"][0]["envFrom"] = {
      {{"secretRef", {{"name", "vars"}}}}};
  world.post(deployments, wanted);
  const Json status = waiting_for(world, [](const Json& s) {
    return state_reason(s, "waiting") == "CreateContainerConfigError";
  });
  REQUIRE_FALSE(status.is_null());
  CHECK(status["state"]["waiting"]["message"] == "secret \"vars\" not found");
  world.cluster.put(Json{{"apiVersion", "v1"},
                         {"kind", "Secret"},
                         {"metadata", {{"name", "vars"}, {"namespace", "apps"}}}});
  CHECK(World::wait([&] { return ready(world, 1); }));
}

TEST_CASE("repeated events are counted") {
  World world;
  world.post(deployments, deployment("web", "crash"));
  CHECK(World::wait([&] {
    for (const Json& event : world.cluster.list("events", "apps"))
      if (event["reason"] == "BackOff" && event["count"] >= 2) return true;
    return false;
  }));
}

TEST_CASE("old replica sets are kept up to the limit") {
  World world;
  Json wanted = deployment("web");
  wanted["spec"]["revisionHistoryLimit"] = 1;
  for (int i = 1; i <= 4; ++i) {
    wanted["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:" + std::to_string(i);
    world.apply(deployments + "/web", wanted);
    REQUIRE(World::wait([&] {
      const auto pods = world.cluster.list("pods", "apps");
      return ready(world, 1) && pods.size() == 1 &&
             pods[0]["spec"]["containers"][0]["image"] == "nginx:" + std::to_string(i);
    }));
  }
  CHECK(World::wait([&] { return world.cluster.list("replicasets", "apps").size() == 2; }));
}

TEST_CASE("a pod that somebody deletes is replaced, after a graceful end") {
  Options options = at_once();
  options.timing.stop = std::chrono::milliseconds(50);
  World world(options);
  world.post(deployments, deployment("web"));
  REQUIRE(World::wait([&] { return ready(world, 1); }));
  const std::string name = name_of(world.cluster.list("pods", "apps")[0]);
  const Answer answer = world.remove(core + "pods/" + name);
  CHECK(answer.status == 200);
  CHECK(answer.body["kind"] == "Pod");
  CHECK(answer.body["metadata"]["deletionGracePeriodSeconds"] == 30);
  CHECK(answer.body["metadata"].contains("deletionTimestamp"));
  REQUIRE(World::wait([&] { return world.get(core + "pods/" + name).status == 404; }));
  CHECK(World::wait([&] { return ready(world, 1); }));
  CHECK(has_event(world, "Killing", "Stopping container web"));
}

TEST_CASE("before a pod goes, its status says how its container has ended") {
  World world;
  world.post(deployments, deployment("web"));
  REQUIRE(World::wait([&] { return ready(world, 1); }));
  const Json pod = world.cluster.list("pods", "apps")[0];
  const Watcher watcher(world.cluster, core + "pods?watch=true&resourceVersion=" +
                                           std::to_string(world.cluster.version()));
  world.remove(core + "pods/" + name_of(pod));
  const auto events_of_pod = [&] {
    std::vector<Json> found;
    for (const Json& event : watcher.events())
      if (uid_of(event["object"]) == uid_of(pod)) found.push_back(event);
    return found;
  };
  REQUIRE(World::wait([&] {
    const auto events = events_of_pod();
    return !events.empty() && events.back()["type"] == "DELETED";
  }));
  const auto events = events_of_pod();
  REQUIRE(events.size() >= 2);
  CHECK(events[events.size() - 2]["type"] == "MODIFIED");
  for (const Json& event : {events[events.size() - 2], events.back()}) {
    const Json& status = event["object"]["status"];
    CHECK(status["phase"] == "Failed");
    const Json& container = status["containerStatuses"][0];
    const Json& end = container["state"]["terminated"];
    CHECK(end["exitCode"] == 137);
    CHECK(end["startedAt"] ==
          pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]);
    CHECK(end["finishedAt"] >= end["startedAt"]);
    CHECK(container["ready"] == false);
  }
}

TEST_CASE("the log of a pod") {
  World world;
  world.post(deployments, deployment("web"));
  REQUIRE(World::wait([&] { return ready(world, 1); }));
  const std::string pod = core + "pods/" + name_of(world.cluster.list("pods", "apps")[0]);
  const Answer whole = world.get(pod + "/log");
  CHECK(whole.status == 200);
  CHECK(whole.text.find("simulated container web of image nginx:1.27\n") == 0);
  CHECK(whole.text.find("listening on port 8080") != std::string::npos);
  CHECK(world.get(pod + "/log?tailLines=1").text == "listening on port 8080\n");
  CHECK(world.get(pod + "/log?container=other").status == 400);
  const Answer previous = world.get(pod + "/log?previous=true");
  CHECK(previous.status == 400);
  CHECK(previous.body["message"].get<std::string>().starts_with(
      "previous terminated container \"web\" in pod"));

  world.post(deployments, deployment("bad", "missing"));
  REQUIRE_FALSE(waiting_for(world, [](const Json& s) {
                  return state_reason(s, "waiting") == "ImagePullBackOff";
                }).is_null());
  const Json waiting = world.cluster.list("pods", "apps", "app=bad")[0];
  CHECK(world.get(core + "pods/" + name_of(waiting) + "/log").body["message"] ==
        "container \"web\" in pod \"" + name_of(waiting) +
            "\" is waiting to start: trying and failing to pull image");
}

TEST_CASE("paused controllers catch up") {
  World world;
  world.cluster.pause_controllers();
  world.post(deployments, deployment("web"));
  CHECK(world.get(replica_sets).body["items"].empty());
  world.cluster.resume_controllers();
  CHECK(World::wait([&] { return ready(world, 1); }));
}

TEST_CASE("a pod without a node has no log") {
  World world;
  world.post(deployments, deployment("web", "unschedulable"));
  REQUIRE(has_event(world, "FailedScheduling", ""));
  const Answer log =
      world.get(core + "pods/" + name_of(world.cluster.list("pods", "apps")[0]) + "/log");
  CHECK(log.status == 204);
  CHECK(log.text.empty());
}

TEST_CASE("the metrics of pods") {
  World world;
  world.post(deployments, deployment("web"));
  REQUIRE(World::wait([&] { return ready(world, 1); }));
  const Answer answer =
      world.get("/apis/metrics.k8s.io/v1beta1/namespaces/apps/pods?labelSelector=app%3Dweb");
  REQUIRE(answer.body["items"].size() == 1);
  CHECK(answer.body["items"][0]["containers"][0]["usage"]["memory"].get<std::string>().ends_with(
      "Ki"));
}

TEST_CASE("what was begun goes on before a new deployment is begun") {
  constexpr int count = 40;
  World world;
  world.cluster.pause_controllers();
  const Json list = world.get(deployments).body;
  const Watcher watcher(world.cluster,
                        deployments + "?watch=true&resourceVersion=" +
                            list["metadata"]["resourceVersion"].get_ref<const std::string&>());
  const auto name_of_number = [](int number) { return "web-" + std::to_string(number); };
  for (int i = 0; i < count; ++i)
    REQUIRE(world.post(deployments, deployment(name_of_number(i), "nginx:1.27", 1)).status == 201);
  world.cluster.resume_controllers();

  const auto begun = [&](const Json& event) {
    return event["type"] == "MODIFIED" &&
           event["object"]["metadata"]["name"] == name_of_number(count - 1);
  };
  const auto has_ready_pod = [](const Json& event) {
    return event["object"]["status"].value("readyReplicas", 0) == 1;
  };
  // The first look at the last one comes after another one is ready.
  REQUIRE(World::wait([&] { return std::ranges::any_of(watcher.events(), begun); }));
  const auto events = watcher.events();
  CHECK(std::ranges::find_if(events, has_ready_pod) < std::ranges::find_if(events, begun));
}

TEST_CASE("Deployments whose selectors overlap each have their own pods") {
  World world;
  // As berth makes them: the selector of web matches the pods of worker, too.
  const auto of_process = [](const std::string& name, const Json& selector, const Json& labels) {
    Json made = deployment(name);
    made["spec"]["selector"]["matchLabels"] = selector;
    made["spec"]["template"]["metadata"]["labels"] = labels;
    return made;
  };
  const Json web{{"of", "shop"}, {"process", "web"}};
  Json worker{{"of", "shop"}, {"process", "worker"}};
  REQUIRE(world.post(deployments, of_process("shop", {{"of", "shop"}}, web)).status == 201);
  REQUIRE(world.post(deployments, of_process("shop-worker", worker, worker)).status == 201);
  REQUIRE(World::wait([&] { return ready(world, 1, "shop") && ready(world, 1, "shop-worker"); }));
  const auto pods = [&](const char* process) {
    return names(world.get(core + "pods?labelSelector=process%3D" + process).body);
  };
  const auto before = pods("web");
  REQUIRE(world.merge(deployments + "/shop-worker", {{"spec", {{"replicas", 3}}}}).status == 200);
  REQUIRE(World::wait([&] { return ready(world, 3, "shop-worker"); }));
  CHECK(of(world, "shop")["status"]["replicas"] == 1);
  REQUIRE(world.remove(deployments + "/shop-worker").status == 200);
  CHECK(World::wait([&] { return pods("worker").empty(); }));
  CHECK(pods("web") == before);
}

TEST_CASE("a container without a probe is available once it has run for minReadySeconds") {
  Options options;
  options.timing = Timing::instant();
  options.timing.second = std::chrono::milliseconds(100);
  World world(options);
  Json worker = deployment("worker", "nginx:1.27", 2);
  worker["spec"]["minReadySeconds"] = 10;
  Json& container = worker["spec"]["template"]["spec"]["containers"][0];
  container.erase("readinessProbe");
  container.erase("ports");
  const auto began = std::chrono::steady_clock::now();
  REQUIRE(world.post(deployments, worker).status == 201);
  REQUIRE(World::wait([&] { return ready(world, 2, "worker"); }));
  REQUIRE(World::wait(
      [&] { return of(world, "worker")["status"].value("availableReplicas", 0) == 2; }));
  CHECK(std::chrono::steady_clock::now() - began >= std::chrono::seconds(1));
}

TEST_CASE("a rollout of four replaces one at a time, and never has less than four") {
  World world;
  Json four = deployment("web", "nginx:1.27", 4);
  four["spec"]["strategy"]["rollingUpdate"] = {{"maxSurge", "25%"}, {"maxUnavailable", 0}};
  REQUIRE(world.post(deployments, four).status == 201);
  REQUIRE(World::wait([&] { return ready(world, 4); }));
  four["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:1.28";
  REQUIRE(world.put(deployments + "/web", four).status == 200);
  int least = 4;
  int most = 4;
  CHECK(World::wait([&] {
    const Json status = of(world)["status"];
    least = std::min(least, status.value("readyReplicas", 0));
    most = std::max(most, status.value("replicas", 0));
    return ready(world, 4);
  }));
  CHECK(least == 4);
  CHECK(most <= 5);
}

TEST_CASE("a budget for disruptions is kept, and a wrong one refused") {
  World world;
  const std::string budgets = "/apis/policy/v1/namespaces/apps/poddisruptionbudgets";
  Json budget{{"apiVersion", "policy/v1"},
              {"kind", "PodDisruptionBudget"},
              {"metadata", {{"name", "web"}}},
              {"spec", {{"maxUnavailable", 1}, {"selector", {{"matchLabels", {{"app", "web"}}}}}}}};
  REQUIRE(world.post(budgets, budget).status == 201);
  const Json kept = world.get(budgets + "/web").body;
  CHECK(kept["spec"] == budget["spec"]);
  CHECK(kept["metadata"]["generation"] == 1);
  budget["metadata"]["name"] = "both";
  budget["spec"]["minAvailable"] = 1;
  CHECK(world.post(budgets, budget).status == 422);
  CHECK(world.remove(budgets + "/web").status == 200);
}

TEST_CASE("a name that is generated has 63 characters at most") {
  World world;
  const std::string name = "berth-0190aaaa-0000-7000-8000-000000000001-a-long-process-name";
  REQUIRE(world.post(deployments, deployment(name)).status == 201);
  REQUIRE(World::wait([&] { return ready(world, 1, name); }));
  for (const std::string& pod : names(world.get(core + "pods").body)) CHECK(pod.size() <= 63);
}
