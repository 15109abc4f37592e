#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "tests/embedded/support.h"

using namespace berth::embedded;
using namespace berth::embedded::tests;

namespace {

const std::string maps = core + "configmaps";
const std::string web = deployments + "/web";

std::string version_of(const Answer& answer) { return answer.body["metadata"]["resourceVersion"]; }

const Json* manager(const Json& object, const std::string& name) {
  for (const Json& entry : object["metadata"]["managedFields"])
    if (entry["manager"] == name && !entry.contains("subresource")) return &entry;
  return nullptr;
}

// Returns the fields that a manager owns, or null.
Json owned(const Json& object, const std::string& name) {
  const Json* entry = manager(object, name);
  return entry ? (*entry)["fieldsV1"] : Json();
}

Json with_env(const Json& variables) {
  Json object = deployment("web");
  object["spec"]["template"]["spec"]["containers"][0]["env"] = variables;
  return object;
}

const Json& first_container(const Answer& answer) {
  return answer.body["spec"]["template"]["spec"]["containers"][0];
}

}  // namespace

TEST_CASE("apply creates what is missing, and again changes nothing") {
  World world;
  world.cluster.pause_controllers();
  const Answer made = world.apply(web, deployment("web"));
  REQUIRE(made.status == 201);
  const Answer again = world.apply(web, deployment("web"));
  CHECK(again.status == 200);
  CHECK(again.body == made.body);
  const Json* entry = manager(made.body, "berth");
  REQUIRE(entry);
  CHECK((*entry)["operation"] == "Apply");
  CHECK((*entry)["apiVersion"] == "apps/v1");
  CHECK((*entry)["fieldsType"] == "FieldsV1");
  const Json container = (*entry)["fieldsV1"]["f:spec"]["f:template"]["f:spec"]["f:containers"]
                                 ["k:{\"name\":\"web\"}"];
  CHECK(container["."] == Json::object());
  CHECK(container["f:image"] == Json::object());
  CHECK(
      container["f:ports"]["k:{\"containerPort\":8080,\"protocol\":\"TCP\"}"]["f:containerPort"] ==
      Json::object());
  // Nobody owns the fields that the server has filled in.
  CHECK_FALSE(container.contains("f:imagePullPolicy"));
  CHECK((*entry)["fieldsV1"]["f:spec"]["f:selector"] == Json::object());
}

TEST_CASE("apply needs a field manager, and takes YAML") {
  World world;
  const Answer refused =
      world.patch(maps + "/a", config_map("a").dump(), "application/apply-patch+yaml");
  CHECK(refused.status == 422);
  CHECK(refused.body["message"] ==
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for "
        "apply patch");
  const std::string yaml =
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: \"1\"\n";
  CHECK(world.patch(maps + "/a?fieldManager=m", yaml, "application/apply-patch+yaml")
            .body["data"]["x"] == "1");
  CHECK(world.patch(maps + "/a?fieldManager=m", "a: [", "application/apply-patch+yaml").status ==
        400);
}

TEST_CASE("what a manager no longer applies is removed") {
  World world;
  world.apply(maps + "/a", config_map("a", {{"x", "1"}, {"y", "2"}}));
  const Answer less = world.apply(maps + "/a", config_map("a", {{"y", "2"}}));
  CHECK(less.body["data"] == Json{{"y", "2"}});

  world.apply(web, with_env({{{"name", "A"}, {"value", "1"}}, {{"name", "B"}, {"value", "2"}}}));
  const Answer without = world.apply(web, with_env({{{"name", "B"}, {"value", "2"}}}));
  CHECK(first_container(without)["env"] == Json{{{"name", "B"}, {"value", "2"}}});
  Json none = deployment("web");
  none["spec"]["template"]["spec"]["containers"][0].erase("readinessProbe");
  const Answer bare = world.apply(web, none);
  CHECK_FALSE(first_container(bare).contains("env"));
  CHECK_FALSE(first_container(bare).contains("readinessProbe"));
}

TEST_CASE("the last label and annotation can be removed") {
  World world;
  Json labelled = config_map("a", {{"x", "1"}}, {{"l", "1"}});
  labelled["metadata"]["annotations"] = {{"n", "1"}};
  world.apply(maps + "/a", labelled);
  const Answer bare = world.apply(maps + "/a", config_map("a", {{"x", "1"}}));
  CHECK(bare.status == 200);
  CHECK(bare.body["metadata"]["name"] == "a");
  CHECK_FALSE(bare.body["metadata"].contains("labels"));
  CHECK_FALSE(bare.body["metadata"].contains("annotations"));
  // The remaining field still has an owner. A manager that owns nothing isn't listed.
  world.apply(maps + "/a",
              Json{{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"metadata", {{"name", "a"}}}});
  CHECK_FALSE(world.get(maps + "/a").body["metadata"].contains("managedFields"));
}

TEST_CASE("a manager that joins the owners of an unchanged field changes no time") {
  World world;
  world.apply(maps + "/a", config_map("a"), "one");
  const Answer joined = world.apply(maps + "/a", config_map("a"), "two", "false");
  REQUIRE(manager(joined.body, "two"));
  CHECK_FALSE(manager(joined.body, "two")->contains("time"));
  CHECK(manager(joined.body, "one")->contains("time"));
}

TEST_CASE("a field with another owner stays") {
  World world;
  world.apply(maps + "/a", config_map("a", {{"x", "1"}, {"y", "2"}}), "one");
  world.apply(maps + "/a", config_map("a", {{"x", "1"}}), "two", "false");
  const Answer answer = world.apply(maps + "/a", config_map("a", {{"y", "2"}}), "one");
  CHECK(answer.body["data"] == Json{{"x", "1"}, {"y", "2"}});
  CHECK(owned(answer.body, "one") == Json{{"f:data", {{"f:y", Json::object()}}}});
  CHECK(owned(answer.body, "two") == Json{{"f:data", {{"f:x", Json::object()}}}});
}

TEST_CASE("conflicts, and force") {
  World world;
  world.apply(web, deployment("web", "nginx:1"), "one");
  const Answer refused = world.apply(web, deployment("web", "nginx:2"), "two", "false");
  CHECK(refused.status == 409);
  CHECK(refused.body["reason"] == "Conflict");
  CHECK(refused.body["message"] ==
        "Apply failed with 1 conflict: conflict with \"one\": "
        ".spec.template.spec.containers[name=\"web\"].image");
  const Json cause = refused.body["details"]["causes"][0];
  CHECK(cause["reason"] == "FieldManagerConflict");
  CHECK(cause["message"] == "conflict with \"one\"");
  CHECK(cause["field"] == ".spec.template.spec.containers[name=\"web\"].image");

  const Answer forced = world.apply(web, deployment("web", "nginx:2"), "two", "true");
  CHECK(first_container(forced)["image"] == "nginx:2");
  const Json left = owned(
      forced.body, "one")["f:spec"]["f:template"]["f:spec"]["f:containers"]["k:{\"name\":\"web\"}"];
  CHECK_FALSE(left.contains("f:image"));
  CHECK(left.contains("f:readinessProbe"));
  Json scaled = deployment("web", "nginx:2", 5);
  scaled["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:3";
  world.apply(web, deployment("web", "nginx:2"), "one");
  const Answer many = world.apply(web, scaled, "three", "false");
  CHECK(many.body["message"].get<std::string>().starts_with(
      "Apply failed with 4 conflicts: conflicts with \"one\":\n- ."));
  CHECK(many.body["message"].get<std::string>().find("\nconflicts with \"two\":\n- ") !=
        std::string::npos);
}

TEST_CASE("an update takes fields over, and apply takes them back") {
  World world;
  world.cluster.pause_controllers();
  world.apply(web, deployment("web"));
  world.cluster.patch("deployments", "apps", "web", {{"spec", {{"replicas", 7}}}});
  const Answer changed = world.get(web);
  CHECK_FALSE(owned(changed.body, "berth")["f:spec"].contains("f:replicas"));
  CHECK(owned(changed.body, "kubectl")["f:spec"] == Json{{"f:replicas", Json::object()}});
  const Answer refused = world.apply(web, deployment("web"), "berth", "false");
  CHECK(refused.body["message"] ==
        "Apply failed with 1 conflict: conflict with \"kubectl\" using apps/v1: .spec.replicas");
  const Answer repaired = world.apply(web, deployment("web"));
  CHECK(repaired.body["spec"]["replicas"] == 1);
  CHECK(owned(repaired.body, "kubectl").is_null());
}

TEST_CASE("what others add stays") {
  World world;
  world.apply(web, deployment("web"));
  world.cluster.patch("deployments", "apps", "web",
                      {{"metadata", {{"annotations", {{"note", "x"}}}}}});
  CHECK(world.apply(web, deployment("web")).body["metadata"]["annotations"]["note"] == "x");
  world.cluster.pause_controllers();
  CHECK(version_of(world.apply(web, deployment("web"))) == version_of(world.get(web)));
}

TEST_CASE("lists with duplicates are refused") {
  World world;
  const Answer answer = world.apply(
      web, with_env({{{"name", "A"}, {"value", "1"}}, {{"name", "A"}, {"value", "2"}}}));
  CHECK(answer.status == 500);
  CHECK(answer.body["message"].get<std::string>().find("duplicate entries for key") !=
        std::string::npos);
}

TEST_CASE("items of others keep their place between those of the configuration") {
  World world;
  const auto variable = [](const char* name) { return Json{{"name", name}, {"value", "1"}}; };
  world.apply(web, with_env({variable("A"), variable("X"), variable("B")}), "other");
  const Answer merged = world.apply(web, with_env({variable("B"), variable("C"), variable("A")}));
  std::string order;
  for (const Json& one : first_container(merged)["env"]) order += one["name"].get<std::string>();
  CHECK(order == "XBCA");
}

TEST_CASE("the order of variables is the configuration's") {
  World world;
  const Json a{{"name", "A"}, {"value", "1"}};
  const Json b{{"name", "B"}, {"value", "2"}};
  world.apply(web, with_env({a, b}));
  CHECK(first_container(world.apply(web, with_env({b, a})))["env"] == Json{b, a});
}

TEST_CASE("the server's defaults and canonical forms") {
  World world;
  Json wanted = deployment("web", "ghcr.io/acme/app");
  Json& container = wanted["spec"]["template"]["spec"]["containers"][0];
  container["resources"] = {{"limits", {{"cpu", "0.5"}, {"memory", "1024Mi"}}},
                            {"requests", {{"cpu", 1}, {"memory", "1000Mi"}}}};
  container["resources"]["requests"]["cpu"] = 0.25;
  container["volumeMounts"] = {{{"name", "tmp"}, {"mountPath", "/tmp"}, {"readOnly", false}}};
  container["env"] = {{{"name", "EMPTY"}, {"value", ""}}};
  container["readinessProbe"]["initialDelaySeconds"] = 0;
  wanted["spec"]["template"]["spec"]["volumes"] = {
      {{"name", "tmp"}, {"emptyDir", {{"sizeLimit", "2048Mi"}}}}};
  const Answer made = world.apply(web, wanted);
  const Json& live = first_container(made);
  CHECK(live["resources"]["limits"] == Json{{"cpu", "500m"}, {"memory", "1Gi"}});
  CHECK(live["resources"]["requests"] == Json{{"cpu", "250m"}, {"memory", "1000Mi"}});
  CHECK(live["volumeMounts"] == Json{{{"name", "tmp"}, {"mountPath", "/tmp"}}});
  CHECK(live["env"] == Json{{{"name", "EMPTY"}}});
  CHECK(live["imagePullPolicy"] == "Always");
  CHECK(live["terminationMessagePath"] == "/dev/termination-log");
  CHECK(live["readinessProbe"] == Json{{"tcpSocket", {{"port", 8080}}},
                                       {"timeoutSeconds", 1},
                                       {"periodSeconds", 10},
                                       {"successThreshold", 1},
                                       {"failureThreshold", 3}});
  const Json& pod = made.body["spec"]["template"]["spec"];
  CHECK(pod["volumes"][0]["emptyDir"]["sizeLimit"] == "2Gi");
  CHECK(pod["dnsPolicy"] == "ClusterFirst");
  CHECK(pod["restartPolicy"] == "Always");
  CHECK(pod["terminationGracePeriodSeconds"] == 30);
  CHECK(pod["schedulerName"] == "default-scheduler");
  CHECK(pod["securityContext"] == Json::object());
  CHECK(made.body["spec"]["revisionHistoryLimit"] == 10);
  CHECK(made.body["spec"]["progressDeadlineSeconds"] == 600);
  CHECK(made.body["spec"]["strategy"]["type"] == "RollingUpdate");
  world.cluster.pause_controllers();
  const std::string version = version_of(world.get(web));
  CHECK(version_of(world.apply(web, wanted)) == version);
}

TEST_CASE("the defaults of services, ingresses and policies") {
  World world;
  const Answer made = world.apply(core + "services/web", service("web"));
  const Json& spec = made.body["spec"];
  CHECK(spec["type"] == "ClusterIP");
  CHECK(spec["sessionAffinity"] == "None");
  CHECK(spec["clusterIP"].get<std::string>().starts_with("10."));
  CHECK(spec["clusterIPs"] == Json{spec["clusterIP"]});
  CHECK(spec["ipFamilies"] == Json{"IPv4"});
  CHECK(spec["ipFamilyPolicy"] == "SingleStack");
  CHECK(spec["internalTrafficPolicy"] == "Cluster");
  CHECK(spec["ports"] == Json{{{"port", 80}, {"protocol", "TCP"}, {"targetPort", 8080}}});
  CHECK(made.body["status"] == Json{{"loadBalancer", Json::object()}});
  const Answer again = world.apply(core + "services/web", service("web"));
  CHECK(again.body == made.body);

  const Json policy{{"apiVersion", "networking.k8s.io/v1"},
                    {"kind", "NetworkPolicy"},
                    {"metadata", {{"name", "deny"}}},
                    {"spec",
                     {{"podSelector", Json::object()},
                      {"ingress", Json::array()},
                      {"policyTypes", {"Ingress"}}}}};
  const Answer policed =
      world.apply("/apis/networking.k8s.io/v1/namespaces/apps/networkpolicies/deny", policy);
  CHECK(policed.body["spec"] ==
        Json{{"podSelector", Json::object()}, {"policyTypes", {"Ingress"}}});
}

TEST_CASE("secrets: plain data becomes data") {
  World world;
  const Json secret{{"apiVersion", "v1"},
                    {"kind", "Secret"},
                    {"metadata", {{"name", "s"}}},
                    {"stringData", {{"KEY", "value"}}}};
  const Answer made = world.apply(core + "secrets/s", secret);
  CHECK(made.body["data"]["KEY"] == "dmFsdWU=");
  CHECK(made.body["type"] == "Opaque");
  CHECK_FALSE(made.body.contains("stringData"));
}

namespace {

// Generates fields of a ConfigMap from a small alphabet, so that they overlap.
Json some_fields() {
  const auto field = rc::gen::pair(rc::gen::element<std::string>("a", "b", "c", "d", "e"),
                                   rc::gen::element<std::string>("1", "2"));
  Json object = Json::object();
  for (const auto& [name, value] : *rc::gen::resize(
           6, rc::gen::container<std::vector<std::pair<std::string, std::string>>>(field)))
    object[name] = value;
  return object;
}

}  // namespace

TEST_CASE("properties of apply") {
  const World world;
  int number = 0;
  const auto path = [&] { return "p" + std::to_string(++number); };

  CHECK(rc::check("applying A, then B leaves exactly B", [&] {
    const Json a = some_fields();
    const Json b = some_fields();
    const std::string name = path();
    world.apply(maps + "/" + name, config_map(name, a));
    const Answer second = world.apply(maps + "/" + name, config_map(name, b));
    RC_ASSERT(second.body.value("data", Json::object()) == b);
  }));

  CHECK(rc::check("applying again changes nothing", [&] {
    const Json a = some_fields();
    const std::string name = path();
    const Answer first = world.apply(maps + "/" + name, config_map(name, a));
    RC_ASSERT(world.apply(maps + "/" + name, config_map(name, a)).body == first.body);
  }));

  CHECK(rc::check(
      "two managers: the union, the later one's values, and nobody loses what is theirs", [&] {
        const Json a = some_fields();
        const Json b = some_fields();
        const std::string name = path();
        world.apply(maps + "/" + name, config_map(name, a), "one");
        const Answer second = world.apply(maps + "/" + name, config_map(name, b), "two");
        Json both = a;
        both.update(b);
        RC_ASSERT(second.body.value("data", Json::object()) == both);
        // After the second manager gives up its fields, those of the first one stay, with their
        // present values.
        const Answer third =
            world.apply(maps + "/" + name, config_map(name, Json::object()), "two");
        Json left = Json::object();
        for (const auto& [key, value] : a.items())
          if (!b.contains(key) || b[key] == value) left[key] = value;
        RC_ASSERT(third.body.value("data", Json::object()) == left);
      }));
}
