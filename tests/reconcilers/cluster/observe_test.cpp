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
      .deployments = {deployment(1, 1, pod.ready ? 1 : 0)}, .pods = {pod.object()}, .events = {}};
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
  const Live no_pod{.deployments = {deployment(1, 0, 0)}, .pods = {}, .events = {}};
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
  Live live{.deployments = {deployment(1, 0, 0)}, .pods = {}, .events = {}};
  live.deployments[0]["status"]["conditions"] = json::array({condition_of(
      "ReplicaFailure", "True", 60s, "Internal error occurred: etcdserver: timeout")});
  CHECK_FALSE(observe(row_in(Status::pending), live, Patience(), now).observation.reason);
  json progress = condition_of("Progressing", "False", 1s, "has timed out progressing");
  progress["reason"] = "ProgressDeadlineExceeded";
  live.deployments[0]["status"]["conditions"].push_back(progress);
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
  Live live{.deployments = {deployment()}, .pods = {ready_pod().object()}, .events = {}};
  live.deployments[0]["status"]["observedGeneration"] = 1;
  CHECK(observe(row_in(Status::deploying), live, Patience(), now).observation.status ==
        Status::deploying);
  live.deployments[0]["status"]["observedGeneration"] = 2;
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
  Live live{.deployments = {deployment(0, 0, 0)}, .pods = {ready_pod().object()}, .events = {}};
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
  Live live{.deployments = {deployment(1, 1, 0)},
            .pods = {pod.object()},
            .events = {{pod.name, {refused}}}};
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
  Live live{.deployments = {deployment(1, 1, 0)}, .pods = {pod.object()}, .events = {}};
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
  Live live{.deployments = {deployment(1, 0, 0)}, .pods = {}, .events = {}};
  const auto fail = [&](const std::string& message, Duration since) {
    live.deployments[0]["status"]["conditions"] =
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
      .deployments = {deployment(1, 1, 1)}, .pods = {old.object(), broken.object()}, .events = {}};
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
  Live live{.deployments = {deployment(1, 1, 0)}, .pods = {pod.object()}, .events = {}};
  json progress = condition_of("Progressing", "False", 1s, "has timed out progressing");
  progress["reason"] = "ProgressDeadlineExceeded";
  live.deployments[0]["status"]["conditions"] = json::array({progress});
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
  live.deployments[0]["metadata"]["generation"] = 3;
  CHECK(observe(row_in(Status::deploying), live, Patience(), now).observation.status ==
        Status::deploying);
}

TEST_CASE("an evicted pod doesn't hide the one that replaces it") {
  json evicted = Pod().object();
  evicted["status"]["phase"] = "Failed";
  evicted["status"]["reason"] = "Evicted";
  evicted["status"]["message"] = "The node was low on resource: ephemeral-storage";
  Live live{.deployments = {deployment()}, .pods = {ready_pod().object(), evicted}, .events = {}};
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
  const Live live{.deployments = {deployment()},
                  .pods = {ready_pod().object(), pod("p-new", json::object()), leaving,
                           pod("p-waits", waiting_state("ContainerCreating")),
                           pod("p-starts", running_state(9s)), pod("p-silent", running_state(10s)),
                           pod("p-ended", ended_state(1))},
                  .events = {}};
  CHECK(pods_with_questions(live, Patience(), now) ==
        std::vector<std::string>{"p-waits", "p-silent"});
}

namespace {

// A deployment of web and worker. Its pods are made by pod_of(), and its Deployments by part_of().
Deployment two_processes(Status status) {
  Deployment row = row_in(status);
  row.container.processes["web"] = {};
  row.container.processes["worker"] = {.command = deployments::Texts{"./worker"}, .memory_mb = 256};
  return row;
}

json with_process(json object, const std::string& process) {
  object["metadata"]["labels"]["berth/process"] = process;
  return object;
}

json part_of(const std::string& process, int wanted, int there, int available) {
  json made = with_process(deployment(wanted, there, there), process);
  made["metadata"]["name"] = process == "web" ? "berth-d-1" : "berth-d-1-" + process;
  made["status"]["availableReplicas"] = available;
  return made;
}

json pod_of(const std::string& process, Pod pod, const std::string& name) {
  pod.name = name;
  return with_process(pod.object(), process);
}

Pod crashing_pod() {
  Pod pod;
  pod.state = waiting_state("CrashLoopBackOff");
  pod.last_state = ended_state(3, "no queue");
  return pod;
}

}  // namespace

TEST_CASE("a deployment runs when each of its processes does") {
  Live live{.deployments = {part_of("web", 1, 1, 1), part_of("worker", 2, 2, 1)},
            .pods = {pod_of("web", ready_pod(), "web-1"), pod_of("worker", ready_pod(), "w-1"),
                     pod_of("worker", ready_pod(), "w-2")},
            .events = {}};
  const auto look = [&](Status before = Status::deploying) {
    return observe(two_processes(before), live, Patience(), now).observation;
  };
  CHECK(look().status == Status::deploying);  // the second worker hasn't run for long enough
  CHECK(look().phase == "starting");
  CHECK(look(Status::pending).status == Status::deploying);
  live.deployments[1]["status"]["availableReplicas"] = 2;
  CHECK(look().status == Status::running);
  CHECK(look().phase.empty());
  // A pod of a process that is no longer wanted.
  live.pods.push_back(pod_of("mailer", ready_pod(), "m-1"));
  CHECK(look().status == Status::deploying);
  CHECK(look().phase == "replacing");
  live.pods.back()["metadata"]["deletionTimestamp"] = ago(1s);
  CHECK(look().status == Status::running);
}

TEST_CASE("a worker that crashes is told of with its name, and has no port that could be silent") {
  Live live{.deployments = {part_of("web", 1, 1, 1), part_of("worker", 1, 1, 0)},
            .pods = {pod_of("web", ready_pod(), "web-1"), pod_of("worker", crashing_pod(), "w-1")},
            .events = {}};
  const auto row = two_processes(Status::deploying);
  check_errored(observe(row, live, Patience(), now), Reason::crash_loop,
                "worker: the container exited with code 3: no queue");
  CHECK(observe(row, live, Patience(), now).observation.container_id == "containerd://abc");
  // It is ready as soon as it runs again, and is still the one that crashed.
  Pod again = ready_pod();
  again.state = running_state(4s);
  again.last_state = ended_state(137, "", "OOMKilled");
  live.pods[1] = pod_of("worker", again, "w-1");
  const Seen seen = observe(row, live, Patience(), now);
  check_errored(seen, Reason::out_of_memory, "worker: ");
  check_errored(seen, Reason::out_of_memory, "256 MB");
  CHECK(seen.look_again == 6s);
  Pod quiet;
  quiet.state = running_state(600s);
  quiet.ready_since = 601s;
  live.pods[1] = pod_of("worker", quiet, "w-1");
  live.events["w-1"] = {event("Unhealthy", "Readiness probe failed", 1s)};
  CHECK_FALSE(observe(row, live, Patience(), now).observation.reason);
}

TEST_CASE("while old pods of a process serve, its failing rollout is a running deployment") {
  Pod old = ready_pod();
  old.of_template = "old";
  Live live{.deployments = {part_of("web", 1, 1, 1), part_of("worker", 1, 1, 1)},
            .pods = {pod_of("web", ready_pod(), "web-1"), pod_of("worker", old, "w-old"),
                     pod_of("worker", crashing_pod(), "w-new")},
            .events = {}};
  const auto row = two_processes(Status::deploying);
  const auto seen = observe(row, live, Patience(), now).observation;
  CHECK(seen.status == Status::running);
  CHECK(seen.reason == Reason::rollout_failed);
  CHECK(seen.cause == Reason::crash_loop);
  CHECK(seen.message->starts_with("worker: "));
  // Old pods of web don't serve for the worker.
  live.pods[1] = pod_of("web", old, "web-old");
  CHECK(observe(row, live, Patience(), now).observation.status == Status::errored);
}

TEST_CASE("one dead container of three leaves a deployment running and healthy") {
  Live live{.deployments = {part_of("web", 3, 3, 2)},
            .pods = {pod_of("web", ready_pod(), "a"), pod_of("web", ready_pod(), "b"),
                     pod_of("web", crashing_pod(), "c")},
            .events = {}};
  const auto look = [&](Status before) {
    return observe(row_in(before), live, Patience(), now).observation;
  };
  CHECK(look(Status::running).status == Status::running);
  CHECK(look(Status::running).health_status == deployments::HealthStatus::healthy);
  CHECK(look(Status::running).phase == "scaling");
  CHECK(look(Status::running).reason == Reason::crash_loop);
  // At a first start it isn't running before all three are there, and nothing has failed either.
  CHECK(look(Status::deploying).status == Status::deploying);
  live.pods[0] = pod_of("web", crashing_pod(), "a");
  live.pods[1] = pod_of("web", crashing_pod(), "b");
  CHECK(look(Status::running).status == Status::errored);
}

TEST_CASE("a deployment that gets more containers stays running, and says that it scales") {
  Live live{.deployments = {part_of("web", 3, 1, 1)},
            .pods = {pod_of("web", ready_pod(), "a")},
            .events = {}};
  const auto look = [&] {
    return observe(row_in(Status::running), live, Patience(), now).observation;
  };
  CHECK(look().status == Status::running);
  CHECK(look().phase == "scaling");
  CHECK_FALSE(look().reason);
  live.deployments[0]["status"]["conditions"] = json::array({condition_of(
      "ReplicaFailure", "True", 60s, "pods \"x\" is forbidden: exceeded quota: tenant")});
  CHECK(look().status == Status::running);
  CHECK(look().reason == Reason::quota_exceeded);
  live.deployments[0] = part_of("web", 3, 3, 3);
  live.pods = {pod_of("web", ready_pod(), "a"), pod_of("web", ready_pod(), "b"),
               pod_of("web", ready_pod(), "c")};
  CHECK(look().phase.empty());
}

TEST_CASE("two pods of each process are asked what happened, those of the newest template first") {
  Live live{.deployments = {part_of("web", 20, 20, 0), part_of("worker", 20, 20, 0)},
            .pods = {},
            .events = {}};
  Pod waits;
  waits.state = waiting_state("ContainerCreating");
  Pod old = waits;
  old.of_template = "old";
  for (int i = 0; i < 20; ++i) {
    live.pods.push_back(pod_of("web", old, "old-" + std::to_string(i)));
    live.pods.push_back(pod_of("web", waits, "web-" + std::to_string(i)));
    live.pods.push_back(pod_of("worker", waits, "w-" + std::to_string(i)));
  }
  CHECK(pods_with_questions(live, Patience(), now) ==
        std::vector<std::string>{"web-0", "web-1", "w-0", "w-1"});
}
