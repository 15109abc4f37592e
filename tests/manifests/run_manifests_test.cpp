#include <algorithm>
#include <catch2/catch.hpp>

#include "manifests/manifests.h"
#include "tests/manifests/shop.h"

using namespace berth;
using manifests::Object;
using nlohmann::json;

// The Jobs of runs: release commands, crons, and commands that somebody runs once.

namespace {

const manifests::Settings settings = {.instance = "instance-1",
                                      .apps_domain = "apps.example",
                                      .ingress_class = "traefik",
                                      .wildcard_tls_secret = {},
                                      .node_selector = {{"tenants", "yes"}}};

runs::Wanted wanted(const deployments::Texts& command = {"./migrate", "--cost=$5"}) {
  runs::Wanted made;
  made.state = test::shop();
  made.state.secrets.env = {{"COLOR", "blue"}};
  made.state.confinement.bandwidth = 50;
  made.state.confinement.runtime_class = "gvisor";
  made.run.id = "0190cccc-0000-7000-8000-000000000003";
  made.run.deployment_id = made.state.deployment.id;
  made.run.app_id = made.state.deployment.app_id;
  made.run.timeout = std::chrono::seconds(90);
  made.process.name = "worker";
  made.process.command = command;
  return made;
}

const Object* find(const std::vector<Object>& objects, const std::string& kind) {
  const auto found =
      std::ranges::find_if(objects, [&](const Object& object) { return object["kind"] == kind; });
  return found == objects.end() ? nullptr : &*found;
}

json job_of(const runs::Wanted& run) { return manifests::of_run(run, settings).back(); }

json pod_of_deployment(const runs::Wanted& run) {
  return (*find(manifests::of_deployment(run.state, settings),
                "Deployment"))["spec"]["template"]["spec"];
}

}  // namespace

TEST_CASE("a run's command starts once, and the Job goes away by itself if nobody removes it") {
  const json job = job_of(wanted());
  CHECK(job["apiVersion"] == "batch/v1");
  CHECK(job["kind"] == "Job");
  const json& spec = job["spec"];
  CHECK(spec["backoffLimit"] == 0);
  CHECK(spec["completions"] == 1);
  CHECK(spec["parallelism"] == 1);
  CHECK(spec["podReplacementPolicy"] == "Failed");
  CHECK(spec["template"]["spec"]["restartPolicy"] == "Never");
  CHECK(spec["template"]["spec"]["activeDeadlineSeconds"] == 90);
  CHECK(spec["activeDeadlineSeconds"] == 90 + 3600);
  CHECK(spec["ttlSecondsAfterFinished"] == 48 * 3600);
}

TEST_CASE("a run's pod is that of the deployment but for the command, ports and probes") {
  const runs::Wanted run = wanted();
  json ours = job_of(run)["spec"]["template"]["spec"];
  json theirs = pod_of_deployment(run);
  for (const char* own : {"restartPolicy", "activeDeadlineSeconds"}) ours.erase(own);
  json& container = ours["containers"][0];
  CHECK(container["command"] == json::array({"./migrate", "--cost=$$5"}));
  CHECK(!container.contains("args"));
  CHECK(container["envFrom"][0]["secretRef"]["name"] == manifests::run_object_name(run.run));
  for (const char* own : {"command", "envFrom"}) container.erase(own);
  theirs.erase("topologySpreadConstraints");
  for (const char* own : {"ports", "env", "envFrom", "readinessProbe", "lifecycle"})
    theirs["containers"][0].erase(own);
  CHECK(ours == theirs);
}

TEST_CASE("no Service finds a run's pod, and everybody sees whose it is") {
  const runs::Wanted run = wanted();
  const json job = job_of(run);
  for (const json& labels :
       {job["metadata"]["labels"], job["spec"]["template"]["metadata"]["labels"]}) {
    CHECK(labels["berth/deployment"] == run.run.deployment_id);
    CHECK(labels["berth/app"] == run.run.app_id);
    CHECK(labels["berth/run"] == run.run.id);
    CHECK(!labels.contains("berth/process"));
  }
  CHECK(job["spec"]["template"]["metadata"]["annotations"]["kubernetes.io/egress-bandwidth"] ==
        "50M");
}

TEST_CASE("a run has Secrets of its own, so that those of the serving containers stay") {
  runs::Wanted run = wanted();
  run.state.secrets.registry_credentials = deployments::RegistryCredentials{"ada", "secret"};
  const auto objects = manifests::of_run(run, settings);
  REQUIRE(objects.size() == 3);
  const std::string name = manifests::run_object_name(run.run);
  CHECK(name != manifests::object_name(run.run.deployment_id));
  CHECK(objects[0]["metadata"]["name"] == name);
  CHECK(objects[0]["data"]["COLOR"] == "Ymx1ZQ==");
  CHECK(objects[1]["type"] == "kubernetes.io/dockerconfigjson");
  CHECK(objects[1]["metadata"]["name"] == name + "-registry");
  CHECK(objects[1]["metadata"]["annotations"]["berth/hash"] == manifests::hash_of(objects[1]));
  CHECK(objects[2]["spec"]["template"]["spec"]["imagePullSecrets"][0]["name"] ==
        name + "-registry");

  run.state.secrets = {};
  const auto bare = manifests::of_run(run, settings);
  REQUIRE(bare.size() == 1);
  CHECK(!bare[0]["spec"]["template"]["spec"]["containers"][0].contains("envFrom"));
  CHECK(!bare[0]["spec"]["template"]["spec"].contains("imagePullSecrets"));
}

TEST_CASE("a run is as large as its process, and never larger than the tier allows") {
  runs::Wanted run = wanted();
  run.process.memory_mb = 100;
  run.process.cpu_millicores = 9000;  // of a tier that the deployment had before
  const json resources = job_of(run)["spec"]["template"]["spec"]["containers"][0]["resources"];
  CHECK(resources["limits"]["memory"] == "100Mi");
  CHECK(resources["requests"]["memory"] == "50Mi");
  CHECK(resources["limits"]["cpu"] == "500m");
}

TEST_CASE("a minute of a cron has one name, whoever makes its run") {
  runs::Run run = wanted().run;
  const std::string by_id = manifests::run_object_name(run);
  CHECK(by_id.size() <= 63);
  CHECK(manifests::run_registry_secret_name(run).size() <= 253);
  run.kind = runs::Kind::cron;
  run.name = "nightly";
  CHECK(manifests::run_object_name(run) == by_id);  // started by hand
  run.minute = from_millis(60'000);
  const std::string name = manifests::run_object_name(run);
  CHECK(name != by_id);
  run.id = "0190cccc-0000-7000-8000-000000000009";
  CHECK(manifests::run_object_name(run) == name);
  run.minute = from_millis(120'000);
  CHECK(manifests::run_object_name(run) != name);
  run.minute = from_millis(60'000);
  run.name = "hourly";
  CHECK(manifests::run_object_name(run) != name);
}
