#include <catch2/catch.hpp>

#include "tests/embedded/support.h"

using namespace berth::embedded;
using namespace berth::embedded::tests;

namespace {

Json with_resources(Json object, const Json& requests, const Json& limits) {
  Json& container = object["spec"]["template"]["spec"]["containers"][0];
  container["resources"] = {{"requests", requests}, {"limits", limits}};
  return object;
}

Json pod(const std::string& name) {
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", {{"name", name}}},
          {"spec", {{"containers", {container()}}}}};
}

std::vector<std::string> fields_of(const Answer& answer) {
  std::vector<std::string> fields;
  for (const Json& cause : answer.body["details"]["causes"]) fields.push_back(cause["field"]);
  return fields;
}

using Fields = std::vector<std::string>;

}  // namespace

TEST_CASE("names and labels that aren't allowed") {
  World world;
  const Answer bad = world.post(deployments, deployment("Bad_Name"));
  CHECK(bad.status == 422);
  CHECK(bad.body["reason"] == "Invalid");
  CHECK(bad.body["message"].get<std::string>().starts_with(
      "Deployment.apps \"Bad_Name\" is invalid: metadata.name: Invalid value: \"Bad_Name\": a "
      "lowercase RFC 1123 "
      "subdomain must consist of"));
  CHECK(bad.body["details"]["kind"] == "Deployment");
  CHECK(bad.body["details"]["group"] == "apps");
  CHECK(fields_of(bad) == Fields{"metadata.name"});
  CHECK(world.post(core + "services", service("1web")).status == 422);
  CHECK(world.post(core + "configmaps", config_map("a", {{"x", "1"}}, {{"l", "not a label"}}))
            .status == 422);
  CHECK(world.post(core + "configmaps", config_map("a", {{"x", "1"}}, {{"-l", "x"}})).status ==
        422);
  CHECK(world.post(core + "configmaps", config_map(std::string(254, 'a'))).status == 422);
}

TEST_CASE("deployments need a selector that fits, containers and images") {
  World world;
  Json none = deployment("web");
  none["spec"].erase("selector");
  const Answer missing = world.post(deployments, none);
  CHECK(missing.status == 422);
  CHECK(missing.body["message"] ==
        "Deployment.apps \"web\" is invalid: [spec.selector: Required value, "
        "spec.template.metadata.labels: Invalid "
        "value: {\"app\":\"web\"}: `selector` does not match template `labels`]");
  Json other = deployment("web");
  other["spec"]["selector"]["matchLabels"]["app"] = "other";
  CHECK(world.post(deployments, other)
            .body["message"]
            .get<std::string>()
            .find("`selector` does not match template `labels`") != std::string::npos);
  Json empty = deployment("web");
  empty["spec"]["template"]["spec"]["containers"][0].erase("image");
  empty["spec"]["template"]["spec"]["containers"][0]["ports"][0]["containerPort"] = 70000;
  const Answer two = world.post(deployments, empty);
  CHECK(fields_of(two) == Fields{"spec.template.spec.containers[0].image",
                                 "spec.template.spec.containers[0].ports[0].containerPort"});
  CHECK(two.body["message"].get<std::string>().find("is invalid: [spec.template") !=
        std::string::npos);
}

TEST_CASE("a probe has one handler, a volume one source, a port's name is used once") {
  World world;
  Json two = deployment("web");
  Json& container = two["spec"]["template"]["spec"]["containers"][0];
  container["readinessProbe"]["httpGet"] = {{"port", 8080}};
  const Answer handlers = world.post(deployments, two);
  CHECK(fields_of(handlers) == Fields{"spec.template.spec.containers[0].readinessProbe.tcpSocket"});
  CHECK(handlers.body["details"]["causes"][0]["message"] ==
        "Forbidden: may not specify more than 1 handler type");
  container["readinessProbe"].erase("httpGet");
  two["spec"]["template"]["spec"]["volumes"] = {
      {{"name", "v"}, {"emptyDir", Json::object()}, {"secret", {{"secretName", "s"}}}}};
  CHECK(fields_of(world.post(deployments, two)) == Fields{"spec.template.spec.volumes[0].secret"});
  two["spec"]["template"]["spec"].erase("volumes");
  container["ports"] = {{{"containerPort", 1}, {"name", "p"}},
                        {{"containerPort", 2}, {"name", "p"}}};
  CHECK(fields_of(world.post(deployments, two)) ==
        Fields{"spec.template.spec.containers[0].ports[1].name"});
}

TEST_CASE("fields that can't be changed") {
  World world;
  world.post(deployments, deployment("web"));
  Json other = deployment("web");
  other["spec"]["selector"]["matchLabels"]["app"] = "other";
  other["spec"]["template"]["metadata"]["labels"]["app"] = "other";
  const Answer selector = world.apply(deployments + "/web", other);
  CHECK(selector.status == 422);
  CHECK(selector.body["message"].get<std::string>().ends_with(": field is immutable"));
  world.post(core + "services", service("web"));
  CHECK(fields_of(world.merge(core + "services/web", {{"spec", {{"clusterIP", "10.96.9.9"}}}})) ==
        Fields{"spec.clusterIPs[0]"});
  world.post(core + "pods", pod("one"));
  CHECK(world.merge(core + "pods/one", {{"spec", {{"restartPolicy", "Never"}}}}).status == 422);
}

TEST_CASE("ingresses need a path type, services ports within bounds, secrets base64") {
  World world;
  Json without = ingress("web", "a.example.com");
  without["spec"]["rules"][0]["http"]["paths"][0].erase("pathType");
  const Answer answer = world.post(ingresses, without);
  CHECK(answer.status == 422);
  CHECK(answer.body["details"]["causes"][0]["message"] ==
        "Required value: pathType must be specified");
  CHECK(world.post(ingresses, ingress("web", "Not.A.Host")).status == 422);
  CHECK(world.post(ingresses, ingress("web", "*.example.com")).status == 201);
  Json port = service("web");
  port["spec"]["ports"][0]["port"] = 0;
  CHECK(world.post(core + "services", port).status == 422);
  const Json secret{{"apiVersion", "v1"},
                    {"kind", "Secret"},
                    {"metadata", {{"name", "s"}}},
                    {"data", {{"a", "%"}}}};
  CHECK(world.post(core + "secrets", secret).status == 400);
}

TEST_CASE("a quota refuses what exceeds it, in a real server's words") {
  World world;
  world.cluster.set_quota("apps", {{"requests.cpu", "500m"}, {"pods", "10"}}, "compute");
  REQUIRE(world.post(deployments, with_resources(deployment("a"), {{"cpu", "0.5"}}, {{"cpu", "1"}}))
              .status == 201);
  REQUIRE(World::wait([&] { return !world.cluster.list("pods", "apps").empty(); }));
  world.post(deployments, with_resources(deployment("b"), {{"cpu", "100m"}}, {{"cpu", "1"}}));
  REQUIRE(World::wait([&] {
    return condition(world.get(deployments + "/b").body, "ReplicaFailure").is_object() &&
           !condition(world.get(deployments + "/b").body, "ReplicaFailure").empty();
  }));
  const Json failure = condition(world.get(deployments + "/b").body, "ReplicaFailure");
  CHECK(failure["status"] == "True");
  CHECK(failure["reason"] == "FailedCreate");
  const std::string message = failure["message"];
  CHECK(message.starts_with("pods \"b-"));
  CHECK(
      message.ends_with("is forbidden: exceeded quota: compute, requested: requests.cpu=100m, "
                        "used: requests.cpu=500m, "
                        "limited: requests.cpu=500m"));
  CHECK(World::wait([&] {
    for (const Json& event : world.cluster.list("events", "apps"))
      if (event["reason"] == "FailedCreate" &&
          event["message"].get<std::string>().starts_with("Error creating: pods"))
        return true;
    return false;
  }));
  CHECK(World::wait([&] {
    const Json status = world.get(core + "resourcequotas/compute").body["status"];
    return status["used"] == Json{{"pods", "1"}, {"requests.cpu", "500m"}} &&
           status["hard"]["pods"] == "10";
  }));

  world.cluster.set_quota("apps", {{"requests.cpu", "600m"}, {"pods", "10"}}, "compute");
  CHECK(World::wait(
      [&] { return world.get(deployments + "/b").body["status"].value("readyReplicas", 0) == 1; }));
  CHECK(World::wait(
      [&] { return condition(world.get(deployments + "/b").body, "ReplicaFailure").empty(); }));
}

TEST_CASE("a quota requires resources to be stated, and counts objects too") {
  World world;
  world.cluster.set_quota("apps", {{"limits.memory", "1Gi"}, {"secrets", "1"}}, "compute");
  const Answer untold = world.post(core + "pods", pod("one"));
  CHECK(untold.status == 403);
  CHECK(untold.body["message"] ==
        "pods \"one\" is forbidden: failed quota: compute: must specify limits.memory for: web");
  const auto secret = [](const char* name) {
    return Json{{"apiVersion", "v1"}, {"kind", "Secret"}, {"metadata", {{"name", name}}}};
  };
  CHECK(world.post(core + "secrets", secret("a")).status == 201);
  CHECK(world.post(core + "secrets", secret("b")).body["message"] ==
        "secrets \"b\" is forbidden: exceeded quota: compute, requested: secrets=1, used: "
        "secrets=1, limited: secrets=1");
}

TEST_CASE("a limit range fills in defaults and sets bounds") {
  World world;
  world.post(core + "limitranges", {{"apiVersion", "v1"},
                                    {"kind", "LimitRange"},
                                    {"metadata", {{"name", "sizes"}}},
                                    {"spec",
                                     {{"limits",
                                       {{{"type", "Container"},
                                         {"default", {{"memory", "256Mi"}}},
                                         {"max", {{"memory", "1Gi"}}}}}}}}});
  const Json made = world.post(core + "pods", pod("one")).body;
  const Json& resources = made["spec"]["containers"][0]["resources"];
  CHECK(resources["limits"]["memory"] == "256Mi");
  CHECK(resources["requests"]["memory"] == "256Mi");
  CHECK(made["metadata"]["annotations"].contains("kubernetes.io/limit-ranger"));
  Json large = pod("two");
  large["spec"]["containers"][0]["resources"] = {{"limits", {{"memory", "2Gi"}}}};
  CHECK(world.post(core + "pods", large).body["message"] ==
        "pods \"two\" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi");
}

TEST_CASE("PodSecurity restricted") {
  World world;
  world.merge("/api/v1/namespaces/apps",
              {{"metadata", {{"labels", {{"pod-security.kubernetes.io/enforce", "restricted"}}}}}});
  const Answer refused = world.post(core + "pods", pod("one"));
  CHECK(refused.status == 403);
  CHECK(refused.body["message"] ==
        "pods \"one\" is forbidden: violates PodSecurity \"restricted:latest\": "
        "allowPrivilegeEscalation != false "
        "(container \"web\" must set securityContext.allowPrivilegeEscalation=false), unrestricted "
        "capabilities "
        "(container \"web\" must set securityContext.capabilities.drop=[\"ALL\"]), runAsNonRoot != "
        "true (pod or "
        "container \"web\" must set securityContext.runAsNonRoot=true), seccompProfile (pod or "
        "container \"web\" must "
        "set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")");
  Json good = pod("one");
  good["spec"]["securityContext"] = {{"runAsNonRoot", true},
                                     {"seccompProfile", {{"type", "RuntimeDefault"}}}};
  good["spec"]["containers"][0]["securityContext"] = {{"allowPrivilegeEscalation", false},
                                                      {"capabilities", {{"drop", {"ALL"}}}}};
  CHECK(world.post(core + "pods", good).status == 201);
  Json host = good;
  host["metadata"]["name"] = "two";
  host["spec"]["volumes"] = {{{"name", "v"}, {"hostPath", {{"path", "/"}}}}};
  CHECK(world.post(core + "pods", host).status == 403);
}

TEST_CASE("a pod needs its service account") {
  World world;
  Json wanted = pod("one");
  wanted["spec"]["serviceAccountName"] = "nobody";
  CHECK(world.post(core + "pods", wanted).body["message"] ==
        "pods \"one\" is forbidden: error looking up service account apps/nobody: serviceaccount "
        "\"nobody\" not found");
}
