#include "manifests/manifests.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "controller/base/crypto.h"
#include "tests/manifests/shop.h"

using namespace berth;
using deployments::Status;
using manifests::Object;
using nlohmann::json;

namespace {

const manifests::Settings settings = {.instance = "instance-1",
                                      .apps_domain = "apps.example",
                                      .ingress_class = "traefik",
                                      .wildcard_tls_secret = {}};

deployments::DesiredState state_of(Status status = Status::pending) {
  deployments::DesiredState state = test::shop();
  state.deployment.rollout = 4;
  state.deployment.status = status;
  state.secrets.env = {{"COLOR", "blue"}, {"QUOTE", "a: \"b\"\n- $(name)"}};
  return state;
}

const Object* find(const std::vector<Object>& objects, const std::string& kind,
                   const std::string& suffix = "") {
  const auto found = std::find_if(objects.begin(), objects.end(), [&](const Object& object) {
    const std::string name = object["metadata"]["name"];
    return object["kind"] == kind && name.ends_with(suffix);
  });
  return found == objects.end() ? nullptr : &*found;
}

json get(const Object& object, const std::string& pointer) {
  return object.at(json::json_pointer(pointer));
}

std::string text(const Object& object, const std::string& pointer) {
  return get(object, pointer).get<std::string>();
}

}  // namespace

TEST_CASE("a deployment becomes a secret, a service, a deployment and an ingress, in that order") {
  const auto objects = manifests::of_deployment(state_of(), settings);
  std::vector<std::string> kinds;
  for (const Object& object : objects) kinds.push_back(object["kind"]);
  CHECK(kinds == std::vector<std::string>{"Secret", "Service", "Deployment", "Ingress"});
}

TEST_CASE("every object and the pods carry berth's labels and a hash") {
  auto objects = manifests::of_deployment(state_of(), settings);
  const auto shared =
      manifests::of_namespace(state_of().deployment.app_id, test::size_of_one(512, 500), settings);
  for (const Object& object : objects) {
    CHECK(object["metadata"]["labels"]["berth/deployment"] == state_of().deployment.id);
    CHECK(object["metadata"]["labels"]["app.kubernetes.io/name"] == "shop");
  }
  for (const Object& object : shared)
    CHECK(!object["metadata"]["labels"].contains("berth/deployment"));
  objects.insert(objects.end(), shared.begin(), shared.end());
  objects.push_back(find(objects, "Deployment")->at("spec").at("template"));
  for (const Object& object : objects) {
    CHECK(object["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "berth");
    CHECK(object["metadata"]["labels"]["berth/instance"] == "instance-1");
    CHECK(object["metadata"]["labels"]["berth/app"] == state_of().deployment.app_id);
    if (object.contains("kind"))
      CHECK(object["metadata"]["annotations"]["berth/hash"] == manifests::hash_of(object));
  }
}

TEST_CASE("an operator's labels are on what they look at, and replace no pod") {
  const auto before = manifests::of_deployment(state_of(), settings);
  auto state = state_of();
  state.deployment.labels = {{"stage", "test"}, {"app", "mine"}};
  const auto objects = manifests::of_deployment(state, settings);
  for (const char* kind : {"Deployment", "Service", "Ingress"}) {
    const json labels = find(objects, kind)->at("metadata").at("labels");
    CHECK(labels["label.berth/stage"] == "test");
    CHECK(labels["label.berth/app"] == "mine");
    CHECK(labels["berth/app"] == state.deployment.app_id);
  }
  CHECK(*find(objects, "Secret") == *find(before, "Secret"));
  CHECK(get(*find(objects, "Deployment"), "/spec") == get(*find(before, "Deployment"), "/spec"));
  CHECK(manifests::hash_of(*find(objects, "Deployment")) !=
        manifests::hash_of(*find(before, "Deployment")));
}

TEST_CASE("the container is confined") {
  const auto objects = manifests::of_deployment(state_of(), settings);
  const json pod = get(*find(objects, "Deployment"), "/spec/template/spec");
  CHECK(pod["securityContext"]["runAsNonRoot"] == true);
  CHECK(pod["securityContext"]["runAsUser"] == 1000);
  CHECK(pod["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault");
  CHECK(pod["automountServiceAccountToken"] == false);
  CHECK(pod["enableServiceLinks"] == false);
  const json container = pod["containers"][0];
  CHECK(container["securityContext"]["allowPrivilegeEscalation"] == false);
  CHECK(container["securityContext"]["capabilities"]["drop"] == json({"ALL"}));
  CHECK(container["resources"]["limits"]["cpu"] == "500m");
  CHECK(container["resources"]["limits"]["memory"] == "512Mi");
  CHECK(container["resources"]["requests"]["cpu"] == "50m");
  CHECK(container["resources"]["requests"]["memory"] == "256Mi");
  CHECK(container["imagePullPolicy"] == "Always");
  CHECK(container["env"][0] == json({{"name", "PORT"}, {"value", "3000"}}));
  CHECK(container["ports"][0]["containerPort"] == 3000);
  CHECK(pod["volumes"][0]["emptyDir"].contains("sizeLimit"));
}

TEST_CASE("a deployment with an identity has an account and a token for berth, and no other one") {
  manifests::Settings with_audience = settings;
  with_audience.token_audience = "https://berth.example.org";
  auto state = state_of();
  const auto plain = manifests::of_deployment(state, with_audience);
  CHECK(plain == manifests::of_deployment(state, settings));
  CHECK(get(*find(plain, "Deployment"), "/spec/template/spec/serviceAccountName") == "tenant");
  CHECK(find(plain, "ServiceAccount") == nullptr);

  state.deployment.container.identity = true;
  state.deployment.container.processes = {{"web", {}}, {"worker", {}}};
  // Whoever uses the tokens has to know for whom they are.
  CHECK(find(manifests::of_deployment(state, settings), "ServiceAccount") == nullptr);
  const auto objects = manifests::of_deployment(state, with_audience);
  const std::string name = manifests::object_name(state.deployment.id);
  const Object* account = find(objects, "ServiceAccount");
  REQUIRE(account != nullptr);
  CHECK(text(*account, "/metadata/name") == name);
  CHECK(account->at("automountServiceAccountToken") == false);
  int pods = 0;
  for (const Object& object : objects) {
    if (object["kind"] != "Deployment") continue;
    ++pods;
    CHECK(account < &object);  // a pod can't be made before its account
    const json pod = get(object, "/spec/template/spec");
    CHECK(pod["serviceAccountName"] == name);
    CHECK(pod["automountServiceAccountToken"] == false);
    CHECK(pod["volumes"].size() == 2);
    CHECK(pod["volumes"][1]["projected"]["sources"] ==
          json::array({{{"serviceAccountToken",
                         {{"audience", "https://berth.example.org"},
                          {"expirationSeconds", 600},
                          {"path", "token"}}}}}));
    CHECK(pod["containers"][0]["volumeMounts"][1] ==
          json{{"name", "berth"}, {"mountPath", "/var/run/secrets/berth"}, {"readOnly", true}});
    // The policy of the chart compares them.
    CHECK(text(object, "/spec/template/metadata/labels/berth~1deployment") == name.substr(6));
  }
  CHECK(pods == 2);
}

TEST_CASE("the container is ready when its port accepts connections, or its health path answers") {
  auto state = state_of();
  const std::string probe = "/spec/template/spec/containers/0/readinessProbe";
  auto objects = manifests::of_deployment(state, settings);
  CHECK(text(*find(objects, "Deployment"), probe + "/tcpSocket/port") == "http");
  state.deployment.container.health_path = "/healthz?full=1";
  objects = manifests::of_deployment(state, settings);
  CHECK(text(*find(objects, "Deployment"), probe + "/httpGet/path") == "/healthz?full=1");
  CHECK(!get(*find(objects, "Deployment"), probe).contains("tcpSocket"));
}

TEST_CASE("a container gets its command and arguments exactly, whatever dollar signs they have") {
  auto state = state_of();
  const json image_own =
      get(*find(manifests::of_deployment(state, settings), "Deployment"), "/spec/template");
  CHECK(!image_own["spec"]["containers"][0].contains("command"));
  CHECK(!image_own["spec"]["containers"][0].contains("args"));
  state.deployment.container.command = {"/bin/sh", "-c", "echo $$ $(PORT) $PORT \"$@\"\n\t$"};
  state.deployment.container.args = {"", " ", "$(image)", "100 $"};
  const json pod =
      get(*find(manifests::of_deployment(state, settings), "Deployment"), "/spec/template");
  const json container = pod["spec"]["containers"][0];
  CHECK(container["command"] == json{"/bin/sh", "-c", "echo $$$$ $$(PORT) $$PORT \"$$@\"\n\t$$"});
  CHECK(container["args"] == json{"", " ", "$$(image)", "100 $$"});
  CHECK(pod["metadata"]["annotations"]["berth/template"] !=
        image_own["metadata"]["annotations"]["berth/template"]);
}

TEST_CASE("a stopped deployment keeps its objects and has no replicas") {
  const auto objects = manifests::of_deployment(state_of(Status::stopped), settings);
  CHECK(objects.size() == 4);
  CHECK(get(*find(objects, "Deployment"), "/spec/replicas") == 0);
  CHECK(get(*find(manifests::of_deployment(state_of(), settings), "Deployment"),
            "/spec/replicas") == 1);
}

TEST_CASE("variables are in the secret, byte for byte, and nowhere else") {
  const auto objects = manifests::of_deployment(state_of(), settings);
  const json data = find(objects, "Secret")->at("data");
  CHECK(parse_base64(data["COLOR"].get<std::string>()) == "blue");
  CHECK(parse_base64(data["QUOTE"].get<std::string>()) == "a: \"b\"\n- $(name)");
  for (const Object& object : objects) CHECK(object.dump().find("blue") == std::string::npos);
  auto bare = state_of();
  bare.secrets.env.clear();
  const auto without = manifests::of_deployment(bare, settings);
  CHECK(find(without, "Secret") == nullptr);
  const Object& deployment = *find(without, "Deployment");
  CHECK_FALSE(get(deployment, "/spec/template/spec/containers/0").contains("envFrom"));
  CHECK_FALSE(get(deployment, "/spec/template/metadata/annotations").contains("berth/env"));
  // What earlier containers name is the same Secret, but for what was in it.
  Object emptied = manifests::emptied_secret(deployment);
  Object full = *find(objects, "Secret");
  CHECK_FALSE(emptied.contains("data"));
  for (Object* secret : {&emptied, &full}) {
    secret->erase("data");
    (*secret)["metadata"].erase("annotations");
  }
  CHECK(emptied == full);
}

TEST_CASE("a new rollout, new variables or a new image replace pods, and nothing else does") {
  const auto of_template = [](const deployments::DesiredState& state) {
    const auto objects = manifests::of_deployment(state, settings);
    return text(*find(objects, "Deployment"),
                "/spec/template/metadata/annotations/berth~1template");
  };
  const std::string before = of_template(state_of());
  auto state = state_of(Status::stopped);
  state.deployment.generation = 9;
  state.host_is_held = true;
  CHECK(of_template(state) == before);
  state = state_of();
  state.deployment.rollout = 5;
  CHECK(of_template(state) != before);
  state = state_of();
  state.secrets.env["COLOR"] = "red";
  CHECK(of_template(state) != before);
  state = state_of();
  state.deployment.container.image = "ghcr.io/acme/shop:2";
  CHECK(of_template(state) != before);
}

TEST_CASE("registry credentials become a pull secret for the image's host") {
  auto state = state_of();
  state.secrets.registry_credentials = {"robot", "s3cret"};
  const auto host_of = [&](const std::string& image) {
    state.deployment.container.image = image;
    const auto objects = manifests::of_deployment(state, settings);
    const Object& secret = *find(objects, "Secret", "-registry");
    CHECK(secret["type"] == "kubernetes.io/dockerconfigjson");
    CHECK(get(*find(objects, "Deployment"), "/spec/template/spec/imagePullSecrets/0/name") ==
          secret["metadata"]["name"]);
    const json config = json::parse(*parse_base64(text(secret, "/data/.dockerconfigjson")));
    const auto entry = config["auths"].begin();
    CHECK(entry.value()["username"] == "robot");
    CHECK(entry.value()["password"] == "s3cret");
    CHECK(parse_base64(entry.value()["auth"].get<std::string>()) == "robot:s3cret");
    return entry.key();
  };
  CHECK(host_of("ghcr.io/acme/shop:1") == "ghcr.io");
  CHECK(host_of("registry.localhost:5000/shop") == "registry.localhost:5000");
  CHECK(host_of("docker.io/library/nginx") == "https://index.docker.io/v1/");
  const auto without = manifests::of_deployment(state_of(), settings);
  CHECK(!get(*find(without, "Deployment"), "/spec/template/spec").contains("imagePullSecrets"));
}

TEST_CASE("the host name waits while another deployment holds it") {
  auto state = state_of();
  const auto objects = manifests::of_deployment(state, settings);
  CHECK(get(*find(objects, "Ingress"), "/spec/rules/0/host") == "shop.apps.example");
  CHECK(get(*find(objects, "Ingress"), "/spec/ingressClassName") == "traefik");
  state.host_is_held = true;
  CHECK(find(manifests::of_deployment(state, settings), "Ingress") == nullptr);
}

TEST_CASE("the ingress uses TLS if there is a wildcard certificate") {
  auto with = settings;
  const auto tls = [&] {
    return find(manifests::of_deployment(state_of(), with), "Ingress")
        ->at("spec")
        .value("tls", json());
  };
  CHECK(tls().is_null());
  with.wildcard_tls_secret = "wildcard";
  CHECK(tls() == json::array({{{"hosts", {"shop.apps.example"}}, {"secretName", "wildcard"}}}));
  with.wildcard_tls_secret = "certificates/wildcard";
  CHECK(tls() == json::array({{{"hosts", {"shop.apps.example"}}}}));
}

TEST_CASE("the namespace has room for five pods of each of the app's containers, and for runs") {
  const deployments::AppSize size = {.deployments = 1,
                                     .containers = 2,
                                     .memory_mb = 1536,
                                     .cpu_millicores = 1500,
                                     .largest_memory_mb = 1024,
                                     .largest_cpu_millicores = 1000};
  const auto objects = manifests::of_namespace("app-1", size, settings);
  std::set<std::string> kinds;
  for (const Object& object : objects) kinds.insert(object["kind"].get<std::string>());
  CHECK(objects.front()["kind"] == "Namespace");
  CHECK(kinds == std::set<std::string>{"LimitRange", "Namespace", "NetworkPolicy", "ResourceQuota",
                                       "ServiceAccount"});
  const json hard = get(*find(objects, "ResourceQuota"), "/spec/hard");
  // Six runs of each, as large as the largest.
  CHECK(hard["pods"] == "16");
  CHECK(hard["count/jobs.batch"] == "12");
  CHECK(hard["limits.cpu"] == "13500m");
  CHECK(hard["limits.memory"] == "13824Mi");
  CHECK(hard["limits.ephemeral-storage"] == "16Gi");
  CHECK(hard["requests.ephemeral-storage"] == "1Gi");
  CHECK(get(*find(objects, "LimitRange"), "/spec/limits/0/max/ephemeral-storage") == "1Gi");
  const Object& name_space = *find(objects, "Namespace");
  CHECK(name_space["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted");
  CHECK(find(objects, "ServiceAccount")->at("automountServiceAccountToken") == false);
}

TEST_CASE("the quota has room for the requests of all pods, however they are rounded") {
  deployments::AppSize size;
  std::int64_t requested = 0;
  for (const int memory : {65, 129, 513}) {
    auto state = state_of();
    state.deployment.memory_limit_mb = memory;
    const auto objects = manifests::of_deployment(state, settings);
    requested += std::stoll(text(*find(objects, "Deployment"),
                                 "/spec/template/spec/containers/0/resources/requests/memory"));
    ++size.deployments;
    ++size.containers;
    size.memory_mb += memory;
    size.largest_memory_mb = std::max(size.largest_memory_mb, memory);
  }
  const auto objects = manifests::of_namespace("app-1", size, settings);
  CHECK(std::stoll(text(*find(objects, "ResourceQuota"), "/spec/hard/requests.memory")) >=
        requested + 257);
}

TEST_CASE("names have lengths that Kubernetes accepts") {
  const std::string uuid = "0190aaaa-0000-7000-8000-000000000001";
  // A pod's name has two more hashes and hyphens: at most 17 of 63 characters (RFC 1123).
  CHECK(manifests::object_name(uuid).size() + 17 <= 63);
  CHECK(manifests::namespace_of(uuid).size() <= 63);
  CHECK(manifests::selector(settings) ==
        "app.kubernetes.io/managed-by=berth,berth/instance=instance-1");
}

namespace {

using deployments::Processes;
using deployments::Scale;

// The objects of a kind by their names.
std::map<std::string, json> all(const std::vector<Object>& objects, const std::string& kind) {
  std::map<std::string, json> found;
  for (const Object& object : objects)
    if (object["kind"] == kind) found[object["metadata"]["name"].get<std::string>()] = object;
  return found;
}

deployments::DesiredState with_worker() {
  auto state = state_of();
  Processes& processes = state.deployment.container.processes;
  processes["web"] = {};
  processes["worker"] = {
      .command = deployments::Texts{"./worker"}, .replicas = 2, .memory_mb = 256};
  return state;
}

}  // namespace

TEST_CASE("each process has a Deployment of its own, and web keeps its name and selector") {
  const auto state = with_worker();
  const std::string& id = state.deployment.id;
  const auto objects = manifests::of_deployment(state, settings);
  const auto made = all(objects, "Deployment");
  REQUIRE(made.size() == 2);
  const json& web = made.at("berth-" + id);
  const json& worker = made.at("berth-" + id + "-worker");
  CHECK(get(web, "/spec/selector/matchLabels") == json({{"berth/deployment", id}}));
  CHECK(get(worker, "/spec/selector/matchLabels") ==
        json({{"berth/deployment", id}, {"berth/process", "worker"}}));
  for (const auto& [object, process] : {std::pair(web, "web"), std::pair(worker, "worker")}) {
    CHECK(get(object, "/spec/template/metadata/labels/berth~1process") == process);
    CHECK(get(object, "/spec/template/metadata/labels/berth~1deployment") == id);
    CHECK(manifests::process_of(object) == process);
    CHECK(get(object, "/spec/strategy/rollingUpdate") ==
          json({{"maxSurge", "25%"}, {"maxUnavailable", 0}}));
    const json spread = get(object, "/spec/template/spec/topologySpreadConstraints/0");
    CHECK(spread["whenUnsatisfiable"] == "ScheduleAnyway");
    CHECK(spread["labelSelector"]["matchLabels"]["berth/process"] == process);
  }
  CHECK(get(*find(objects, "Service"), "/spec/selector") ==
        json({{"berth/deployment", id}, {"berth/process", "web"}}));
  // Both name the same Secrets.
  for (const char* annotation : {"berth~1env", "berth~1rollout"}) {
    const std::string path = std::string("/spec/template/metadata/annotations/") + annotation;
    CHECK(get(web, path) == get(worker, path));
  }
  CHECK(get(worker, "/spec/template/spec/containers/0/envFrom/0/secretRef/name") == "berth-" + id);
  const Object emptied = manifests::emptied_secret(worker);
  CHECK(emptied["metadata"]["name"] == "berth-" + id);
  CHECK(emptied == manifests::emptied_secret(web));
}

TEST_CASE("a process without a port has no port, probe, PORT and no pause before its end") {
  const auto state = with_worker();
  const auto made = all(manifests::of_deployment(state, settings), "Deployment");
  const json& worker = made.at("berth-" + state.deployment.id + "-worker");
  const json container = get(worker, "/spec/template/spec/containers/0");
  for (const char* field : {"ports", "env", "readinessProbe", "lifecycle"})
    CHECK_FALSE(container.contains(field));
  CHECK(container["command"] == json{"./worker"});
  CHECK(get(worker, "/spec/minReadySeconds") == 10);
  CHECK(container["resources"]["limits"]["memory"] == "256Mi");
  CHECK(container["resources"]["limits"]["cpu"] == "500m");
  const json& web = made.at("berth-" + state.deployment.id);
  CHECK(get(web, "/spec/minReadySeconds") == 3);
  CHECK(get(web, "/spec/template/spec/containers/0/lifecycle/preStop/sleep/seconds") == 5);
  CHECK(get(web, "/spec/template/spec/containers/0/resources/limits/memory") == "512Mi");
}

TEST_CASE("a deployment that isn't served has neither a Service nor an Ingress") {
  auto state = with_worker();
  state.deployment.container.processes.erase("web");
  auto with_certificates = settings;
  with_certificates.cluster_issuer = "acme";
  const auto objects = manifests::of_deployment(state, with_certificates);
  std::set<std::string> kinds;
  for (const Object& object : objects) kinds.insert(object["kind"].get<std::string>());
  CHECK(kinds == std::set<std::string>{"Deployment", "PodDisruptionBudget", "Secret"});
  CHECK(all(objects, "Deployment").size() == 1);
}

TEST_CASE("a Service can also lead to pods from before there were processes") {
  const auto state = state_of();
  json service = *find(manifests::of_deployment(state, settings), "Service");
  const json before = service;
  manifests::select_unlabelled(service);
  CHECK(get(service, "/spec/selector") == json({{"berth/deployment", state.deployment.id}}));
  const json::json_pointer hash("/metadata/annotations/" + std::string("berth~1hash"));
  CHECK(service.at(hash) != before.at(hash));
  CHECK(service.at(hash) == manifests::hash_of(service));
}

TEST_CASE("a process has as many containers as it asks for, or as the autoscaler says") {
  auto state = state_of();
  const auto replicas = [&] {
    return get(*find(manifests::of_deployment(state, settings), "Deployment"), "/spec/replicas");
  };
  const auto budgets = [&] {
    return all(manifests::of_deployment(state, settings), "PodDisruptionBudget");
  };
  CHECK(budgets().empty());
  const json template_before =
      get(*find(manifests::of_deployment(state, settings), "Deployment"), "/spec/template");
  state.deployment.container.replicas = 3;
  CHECK(replicas() == 3);
  const json budget = budgets().at("berth-" + state.deployment.id);
  CHECK(get(budget, "/spec/maxUnavailable") == 1);
  CHECK(get(budget, "/spec/unhealthyPodEvictionPolicy") == "AlwaysAllow");
  CHECK(get(budget, "/spec/selector/matchLabels/berth~1process") == "web");
  CHECK(get(*find(manifests::of_deployment(state, settings), "Deployment"), "/spec/template") ==
        template_before);
  state.deployment.container.scale = Scale{.min = 2, .max = 5, .in_flight = 10};
  CHECK(replicas() == 2);
  state.scaled["web"] = 4;
  CHECK(replicas() == 4);
  state.scaled["web"] = 9;
  CHECK(replicas() == 5);
  state.scaled["web"] = 1;
  CHECK(replicas() == 2);
  CHECK(budgets().size() == 1);
  state.deployment.container.scale = Scale{.min = 1, .max = 1, .in_flight = 10};
  CHECK(budgets().empty());
  state.deployment.status = Status::stopped;
  CHECK(replicas() == 0);
}
