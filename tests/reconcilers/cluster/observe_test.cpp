#include "reconcilers/cluster/observe.h"

#include <catch2/catch.hpp>

using namespace berth;
using namespace berth::reconcilers;
using namespace std::chrono_literals;
using deployments::Deployment;
using deployments::Reason;
using deployments::Status;
using nlohmann::json;

namespace {

const Instant now = *parse_iso8601("2026-05-01T12:00:00Z");
std::string ago(Duration time) { return to_iso8601(now - time); }

Deployment row_in(Status status) {
  Deployment row;
  row.id = "d-1";
  row.container.port = 3000;
  row.memory_limit_mb = 512;
  row.status = status;
  return row;
}

json deployment(int replicas = 1, int updated = 1, int ready = 1) {
  return {{"metadata", {{"name", "berth-d-1"}, {"namespace", "berth-app-1"}, {"generation", 2}}},
          {"spec",
           {{"replicas", replicas},
            {"template", {{"metadata", {{"annotations", {{"berth/template", "new"}}}}}}}}},
          {"status",
           {{"observedGeneration", 2},
            {"replicas", updated},
            {"updatedReplicas", updated},
            {"readyReplicas", ready}}}};
}

json condition_of(const std::string& type, const std::string& status, Duration since,
                  const std::string& message = "") {
  return {
      {"type", type}, {"status", status}, {"lastTransitionTime", ago(since)}, {"message", message}};
}

struct Pod {
  std::string name = "p-new";
  std::string of_template = "new";
  json state = json::object();  // {"waiting": …}, …
  json last_state = json::object();
  bool ready = false;
  Duration ready_since = 60s;
  json more_conditions = json::array();

  json object() const {
    json conditions = more_conditions;
    conditions.push_back(condition_of("Ready", ready ? "True" : "False", ready_since));
    json status = {{"conditions", conditions}};
    if (!state.empty())
      status["containerStatuses"] = json::array({{{"name", "app"},
                                                  {"state", state},
                                                  {"lastState", last_state},
                                                  {"ready", ready},
                                                  {"containerID", "containerd://abc"},
                                                  {"imageID", "ghcr.io/acme/shop@sha256:1"}}});
    return {{"kind", "Pod"},
            {"metadata",
             {{"name", name},
              {"namespace", "berth-app-1"},
              {"creationTimestamp", ago(60s)},
              {"annotations", {{"berth/template", of_template}}}}},
            {"spec", state.empty() ? json::object() : json({{"nodeName", "node-1"}})},
            {"status", status}};
  }
};

json waiting_state(const std::string& reason, const std::string& message = "") {
  return {{"waiting", {{"reason", reason}, {"message", message}}}};
}
json running_state(Duration since) { return {{"running", {{"startedAt", ago(since)}}}}; }
json ended_state(int code, const std::string& message = "", const std::string& reason = "Error") {
  return {
      {"terminated",
       {{"exitCode", code}, {"reason", reason}, {"message", message}, {"finishedAt", ago(1s)}}}};
}
json event(const std::string& reason, const std::string& message, Duration age = 1s) {
  return {{"reason", reason}, {"message", message}, {"lastTimestamp", ago(age)}};
}

Seen see(const Pod& pod, Status before = Status::pending, std::vector<json> events = {}) {
  Live live{
      .deployment = deployment(1, 1, pod.ready ? 1 : 0), .pods = {pod.object()}, .events = {}};
  live.events[pod.name] = std::move(events);
  return observe(row_in(before), live, Patience(), now);
}

Pod ready_pod() {
  Pod pod;
  pod.ready = true;
  pod.state = running_state(60s);
  return pod;
}

void check_errored(const Seen& seen, Reason reason, const std::string& words) {
  CHECK(seen.observation.status == Status::errored);
  CHECK(seen.observation.reason == reason);
  CHECK(seen.observation.message.value_or("").find(words) != std::string::npos);
  CHECK(seen.observation.health_status == deployments::HealthStatus::unhealthy);
}

}  // namespace

TEST_CASE("a deployment is pending until its first container started") {
  const Live nothing;
  CHECK(observe(row_in(Status::pending), nothing, Patience(), now).observation.status ==
        Status::pending);
  const Live no_pod{.deployment = deployment(1, 0, 0), .pods = {}, .events = {}};
  CHECK(observe(row_in(Status::pending), no_pod, Patience(), now).observation.phase ==
        "scheduling");
  Pod pod;
  pod.state = waiting_state("ContainerCreating");
  CHECK(see(pod).observation.status == Status::pending);
  CHECK(see(pod).observation.phase == "pulling");
  CHECK(
      see(pod, Status::pending, {event("Pulled", "Successfully pulled image")}).observation.phase ==
      "starting");
}

TEST_CASE("a restarted deployment doesn't go back to pending") {
  Pod pod;
  pod.state = waiting_state("ContainerCreating");
  CHECK(see(pod, Status::deploying).observation.status == Status::deploying);
  CHECK(see(pod, Status::errored).observation.status == Status::deploying);
}

TEST_CASE("a started container is deploying until its port answers") {
  Pod pod;
  pod.state = running_state(2s);
  pod.ready_since = 2s;
  const Seen seen = see(pod);
  CHECK(seen.observation.status == Status::deploying);
  CHECK(seen.observation.phase == "probing");
  CHECK_FALSE(seen.observation.reason.has_value());
  CHECK(seen.look_again == 8s);
}

TEST_CASE("a container whose node reports no failed probe isn't said to be silent") {
  Pod pod;
  pod.state = running_state(600s);
  pod.ready_since = 601s;
  const auto quiet = [&](std::vector<json> events) {
    const Seen seen = see(pod, Status::deploying, std::move(events));
    CHECK(seen.observation.status == Status::deploying);
    CHECK(seen.observation.phase == "probing");
    CHECK_FALSE(seen.observation.reason);
    CHECK(seen.look_again == 300s);
  };
  quiet({});
  quiet({event("Started", "Started container app")});
  // Probes that failed before this run of the container, and while it was starting.
  quiet({event("Unhealthy", "Readiness probe failed: connection refused", 700s)});
  quiet({event("Unhealthy", "Readiness probe failed: connection refused", 599s)});
  CHECK(see(pod, Status::deploying, {event("Unhealthy", "Readiness probe failed", 595s)})
            .observation.reason == Reason::port_not_listening);
}

TEST_CASE("a node that was slow to start a container has as long for its port, a minute at most") {
  Pod pod;
  pod.state = running_state(29s);
  pod.ready_since = 60s;
  const auto look = [&](Duration scheduled) {
    pod.more_conditions = json::array({condition_of("PodScheduled", "True", scheduled)});
    return see(pod, Status::deploying, {event("Unhealthy", "Readiness probe failed", 1s)});
  };
  CHECK(look(31s).observation.reason == Reason::port_not_listening);
  CHECK_FALSE(look(59s).observation.reason);
  CHECK(look(59s).look_again == 1s);
  CHECK(look(600s).look_again == 31s);
}

TEST_CASE("a node or API server that is too busy has refused nothing") {
  const auto words = GENERATE(as<std::string>{}, "pull QPS exceeded",
                              "rpc error: code = DeadlineExceeded desc = context deadline exceeded",
                              "failed to reserve container name \"app_0\": it is reserved",
                              "failed to sync secret cache: timed out waiting for the condition");
  Pod pod;
  pod.state = waiting_state(
      GENERATE(as<std::string>{}, "ErrImagePull", "CreateContainerError", "RunContainerError"),
      words);
  const Seen seen = see(pod);
  CHECK(seen.observation.status == Status::pending);
  CHECK_FALSE(seen.observation.reason);
  Live live{.deployment = deployment(1, 0, 0), .pods = {}, .events = {}};
  live.deployment["status"]["conditions"] = json::array({condition_of(
      "ReplicaFailure", "True", 60s, "Internal error occurred: etcdserver: timeout")});
  CHECK_FALSE(observe(row_in(Status::pending), live, Patience(), now).observation.reason);
  json progress = condition_of("Progressing", "False", 1s, "has timed out progressing");
  progress["reason"] = "ProgressDeadlineExceeded";
  live.deployment["status"]["conditions"].push_back(progress);
  check_errored(observe(row_in(Status::pending), live, Patience(), now), Reason::cluster_refused,
                "etcdserver: timeout");
}

TEST_CASE("a ready pod of a complete rollout is running") {
  const Seen seen = see(ready_pod(), Status::deploying);
  CHECK(seen.observation.status == Status::running);
  CHECK(seen.observation.phase.empty());
  CHECK(seen.observation.health_status == deployments::HealthStatus::healthy);
  CHECK(seen.observation.container_id == "containerd://abc");
  CHECK(seen.observation.image_digest == "ghcr.io/acme/shop@sha256:1");
  CHECK(seen.observation.host_server == "node-1");
  CHECK_FALSE(seen.look_again.has_value());
}

TEST_CASE("a rollout is not complete before its controller has seen it and the old pods are gone") {
  Live live{.deployment = deployment(), .pods = {ready_pod().object()}, .events = {}};
  live.deployment["status"]["observedGeneration"] = 1;
  CHECK(observe(row_in(Status::deploying), live, Patience(), now).observation.status ==
        Status::deploying);
  live.deployment["status"]["observedGeneration"] = 2;
  Pod old = ready_pod();
  old.name = "p-old";
  old.of_template = "old";
  live.pods.push_back(old.object());
  CHECK(observe(row_in(Status::deploying), live, Patience(), now).observation.phase == "replacing");
  live.pods.back()["metadata"]["deletionTimestamp"] = ago(1s);
  CHECK(observe(row_in(Status::deploying), live, Patience(), now).observation.status ==
        Status::running);
}

TEST_CASE("an old pod doesn't count for the new template") {
  Pod old = ready_pod();
  old.of_template = "old";
  CHECK(see(old, Status::deploying).observation.status == Status::deploying);
}

TEST_CASE("a stopped deployment is stopping while a pod is left") {
  Live live{.deployment = deployment(0, 0, 0), .pods = {ready_pod().object()}, .events = {}};
  auto row = row_in(Status::stopped);
  CHECK(observe(row, live, Patience(), now).observation.status == Status::stopped);
  CHECK(observe(row, live, Patience(), now).observation.phase == "stopping");
  live.pods.clear();
  CHECK(observe(row, live, Patience(), now).observation.phase.empty());
  CHECK_FALSE(observe(row, live, Patience(), now).observation.reason.has_value());
  row.suspended_at = now;
  CHECK(observe(row, live, Patience(), now).observation.reason == Reason::suspended_by_admin);
}

TEST_CASE("an image that can't be pulled") {
  const auto reason =
      GENERATE(as<std::string>{}, "ErrImagePull", "ImagePullBackOff", "InvalidImageName");
  Pod pod;
  pod.state = waiting_state(reason, "no such host");
  check_errored(see(pod), Reason::image_pull_failed, "no such host");
  check_errored(see(pod, Status::pending,
                    {event("Failed", "Error: ImagePullBackOff"),
                     event("Failed", "Failed to pull image \"x\": 401 Unauthorized", 2s)}),
                Reason::image_pull_failed, "401 Unauthorized");
}

TEST_CASE("a container that ends") {
  Pod pod;
  SECTION("right now") { pod.state = ended_state(3, "no config found"); }
  SECTION("again and again") {
    pod.state = waiting_state("CrashLoopBackOff", "back-off 10s");
    pod.last_state = ended_state(3, "no config found");
  }
  SECTION("and was started again a moment ago") {
    pod.state = running_state(1s);
    pod.last_state = ended_state(3, "no config found");
  }
  check_errored(see(pod), Reason::crash_loop, "exited with code 3: no config found");
}

TEST_CASE("a container that ends with success is a crash too") {
  Pod pod;
  pod.state = ended_state(0, "", "Completed");
  check_errored(see(pod), Reason::crash_loop, "exited with code 0");
}

TEST_CASE("a container that needs more memory than it may use") {
  Pod pod;
  pod.state = waiting_state("CrashLoopBackOff");
  pod.last_state = ended_state(137, "", "OOMKilled");
  check_errored(see(pod), Reason::out_of_memory, "512 MB");
}

TEST_CASE("an image that needs root") {
  Pod pod;
  SECTION("to bind a low port") {
    pod.state = ended_state(1, "bind() to 0.0.0.0:80 failed (13: Permission denied)");
  }
  SECTION("says node") {
    pod.state = ended_state(1, "Error: listen EACCES: permission denied 0.0.0.0:80");
  }
  SECTION("says the program") { pod.state = ended_state(1, "must be run as root"); }
  SECTION("to be started at all") {
    pod.state = waiting_state("RunContainerError", "exec: \"/init\": permission denied");
  }
  CHECK(see(pod).observation.reason == Reason::image_needs_root);
}

TEST_CASE("a container that can't be started") {
  Pod pod;
  pod.state = waiting_state("RunContainerError", "exec: \"/nothing\": no such file or directory");
  check_errored(see(pod), Reason::crash_loop, "no such file");
}

TEST_CASE("a container that doesn't listen on its port") {
  Pod pod;
  pod.state = running_state(11s);
  pod.ready_since = 12s;
  const json refused =
      event("Unhealthy", "Readiness probe failed: dial tcp 10.0.0.1:3000: connection refused");
  check_errored(see(pod, Status::pending, {refused}), Reason::port_not_listening,
                "port 3000: Readiness probe failed");
  Live live{
      .deployment = deployment(1, 1, 0), .pods = {pod.object()}, .events = {{pod.name, {refused}}}};
  auto row = row_in(Status::deploying);
  row.container.health_path = "/healthz";
  check_errored(observe(row, live, Patience(), now), Reason::port_not_listening,
                "GET /healthz on port 3000");
}

TEST_CASE(
    "a pod that was ready has some time before it counts as failing, and is running meanwhile") {
  Pod pod;
  pod.state = running_state(3600s);
  pod.ready_since = 1s;
  const Seen seen = see(pod, Status::running);
  CHECK(seen.observation.status == Status::running);
  CHECK(seen.observation.health_status == deployments::HealthStatus::unhealthy);
  CHECK(seen.look_again == 59s);
  pod.ready_since = 60s;
  CHECK(see(pod, Status::running).observation.reason == Reason::port_not_listening);
}

TEST_CASE("a pod on an unreachable node isn't the container's trouble") {
  Pod pod;
  pod.state = running_state(3600s);
  Live live{.deployment = deployment(1, 1, 0), .pods = {pod.object()}, .events = {}};
  live.pods[0]["status"]["containerStatuses"][0]["ready"] = true;  // its readiness probe succeeds
  const Seen seen = observe(row_in(Status::running), live, Patience(), now);
  CHECK(seen.observation.status == Status::running);
  CHECK_FALSE(seen.observation.reason);
  CHECK(seen.observation.health_status == deployments::HealthStatus::unhealthy);
}

TEST_CASE("a pod that no node accepts") {
  Pod pod;
  pod.more_conditions.push_back(
      condition_of("PodScheduled", "False", 2s, "0/1 nodes: Insufficient memory"));
  pod.more_conditions[0]["reason"] = "Unschedulable";
  CHECK(see(pod).observation.status == Status::pending);
  CHECK(see(pod).look_again == 3s);
  pod.more_conditions[0]["lastTransitionTime"] = ago(5s);
  check_errored(see(pod), Reason::unschedulable, "Insufficient memory");
  pod.more_conditions[0]["reason"] = "SchedulerError";
  CHECK_FALSE(see(pod).observation.reason);
}

TEST_CASE("pods that can't be created") {
  Live live{.deployment = deployment(1, 0, 0), .pods = {}, .events = {}};
  const auto fail = [&](const std::string& message, Duration since) {
    live.deployment["status"]["conditions"] =
        json::array({condition_of("ReplicaFailure", "True", since, message)});
    return observe(row_in(Status::pending), live, Patience(), now);
  };
  const std::string quota = "pods \"x\" is forbidden: exceeded quota: tenant, requested: pods=1";
  check_errored(fail(quota, 5s), Reason::quota_exceeded, "exceeded quota");
  CHECK(fail(quota, 1s).observation.status == Status::pending);
  CHECK(fail(quota, 1s).look_again == 4s);
  Pod ending = ready_pod();
  ending.of_template = "old";
  live.pods = {ending.object()};
  live.pods[0]["metadata"]["deletionTimestamp"] = ago(1s);
  // The end of this pod makes room.
  CHECK(fail(quota, 5s).observation.status == Status::pending);
  live.pods.clear();
  check_errored(fail("pods \"x\" is forbidden: violates PodSecurity", 5s), Reason::cluster_refused,
                "PodSecurity");
  check_errored(
      fail("pods \"x\" is forbidden: pod rejected: RuntimeClass \"gvisor\" not found", 5s),
      Reason::runtime_class_missing, "gvisor");
  CHECK(fail("failed quota: tenant: status unknown for quota", 60s).observation.status ==
        Status::pending);
}

TEST_CASE("while the old pod serves, a failing rollout is a running deployment with a cause") {
  Pod old = ready_pod();
  old.name = "p-old";
  old.of_template = "old";
  Pod broken;
  broken.state = waiting_state("ImagePullBackOff", "not found");
  Live live{
      .deployment = deployment(1, 1, 1), .pods = {old.object(), broken.object()}, .events = {}};
  const auto seen = observe(row_in(Status::deploying), live, Patience(), now).observation;
  CHECK(seen.status == Status::running);
  CHECK(seen.reason == Reason::rollout_failed);
  CHECK(seen.cause == Reason::image_pull_failed);
  CHECK(seen.message == "not found");
  CHECK(seen.health_status == deployments::HealthStatus::healthy);
  const auto no =
      refused(row_in(Status::deploying), live, {Reason::cluster_refused, "denied by policy"});
  CHECK(no.status == Status::running);
  CHECK(no.cause == Reason::cluster_refused);
}

TEST_CASE("a rollout that its controller has given up is in trouble, whatever the pod says") {
  Pod pod;
  pod.state = waiting_state("ContainerCreating");
  Live live{.deployment = deployment(1, 1, 0), .pods = {pod.object()}, .events = {}};
  json progress = condition_of("Progressing", "False", 1s, "has timed out progressing");
  progress["reason"] = "ProgressDeadlineExceeded";
  live.deployment["status"]["conditions"] = json::array({progress});
  check_errored(observe(row_in(Status::deploying), live, Patience(), now),
                Reason::image_pull_failed, "timed out");
  Pod serving = ready_pod();
  serving.name = "p-old";
  serving.of_template = "old";
  live.pods.push_back(serving.object());
  const auto seen = observe(row_in(Status::deploying), live, Patience(), now).observation;
  CHECK(seen.status == Status::running);
  CHECK(seen.reason == Reason::rollout_failed);
  CHECK(seen.cause == Reason::image_pull_failed);
  // What the controller reports about the rollout before doesn't count.
  live.deployment["metadata"]["generation"] = 3;
  CHECK(observe(row_in(Status::deploying), live, Patience(), now).observation.status ==
        Status::deploying);
}

TEST_CASE("an evicted pod doesn't hide the one that replaces it") {
  json evicted = Pod().object();
  evicted["status"]["phase"] = "Failed";
  evicted["status"]["reason"] = "Evicted";
  evicted["status"]["message"] = "The node was low on resource: ephemeral-storage";
  Live live{.deployment = deployment(), .pods = {ready_pod().object(), evicted}, .events = {}};
  CHECK(observe(row_in(Status::deploying), live, Patience(), now).observation.status ==
        Status::running);
  live.pods = {evicted};
  const Seen seen = observe(row_in(Status::deploying), live, Patience(), now);
  CHECK(seen.observation.status == Status::deploying);
  CHECK(seen.observation.phase == "scheduling");
  CHECK_FALSE(seen.observation.reason);
  // This one is evicted because of what it did itself.
  live.pods[0]["status"]["message"] =
      "Usage of EmptyDir volume \"tmp\" exceeds the limit \"256Mi\"";
  check_errored(observe(row_in(Status::deploying), live, Patience(), now), Reason::crash_loop,
                "Evicted: Usage of EmptyDir");
}

TEST_CASE("objects that the cluster refuses, and a cluster that is silent") {
  const auto no = refused(row_in(Status::pending), Live(),
                          {Reason::cluster_refused, "admission webhook denied the request"});
  CHECK(no.status == Status::errored);
  CHECK(no.reason == Reason::cluster_refused);
  CHECK(no.message == "admission webhook denied the request");
  CHECK(refused(row_in(Status::stopped), Live(), {Reason::cluster_refused, "no"}).status ==
        Status::stopped);
  const auto silent = unreachable(row_in(Status::deploying));
  CHECK(silent.status == Status::deploying);
  CHECK(silent.reason == Reason::cluster_unreachable);
}

TEST_CASE("events are requested only for pods that they say something about") {
  const auto pod = [](const std::string& name, const json& state) {
    Pod made;
    made.name = name;
    made.state = state;
    return made.object();
  };
  json leaving = pod("p-leaving", waiting_state("ContainerCreating"));
  leaving["metadata"]["deletionTimestamp"] = ago(1s);
  const Live live{.deployment = deployment(),
                  .pods = {ready_pod().object(), pod("p-new", json::object()), leaving,
                           pod("p-waits", waiting_state("ContainerCreating")),
                           pod("p-starts", running_state(9s)), pod("p-silent", running_state(10s)),
                           pod("p-ended", ended_state(1))},
                  .events = {}};
  CHECK(pods_with_questions(live, Patience(), now) ==
        std::vector<std::string>{"p-waits", "p-silent"});
}
