#include <catch2/catch.hpp>

#include "tests/embedded/support.h"

using namespace berth::embedded;
using namespace berth::embedded::tests;

namespace {

const std::string maps = core + "configmaps";

std::string version_of(const Json& object) { return object["metadata"]["resourceVersion"]; }

void check_status(const Answer& answer, int code, const std::string& reason,
                  const std::string& message) {
  CHECK(answer.status == code);
  CHECK(answer.body["kind"] == "Status");
  CHECK(answer.body["apiVersion"] == "v1");
  CHECK(answer.body["status"] == "Failure");
  CHECK(answer.body["code"] == code);
  CHECK(answer.body.value("reason", "") == reason);
  CHECK(answer.body["message"] == message);
}

}  // namespace

TEST_CASE("what the server says about itself") {
  World world;
  CHECK(world.get("/version").body["minor"] == "37");
  CHECK(world.get("/version").body["gitVersion"].get<std::string>().find("simulated") !=
        std::string::npos);
  for (const char* path : {"/readyz", "/livez"}) {
    CHECK(world.get(path).status == 200);
    CHECK(world.get(path).text == "ok");
  }
  CHECK(world.get("/api").body["versions"] == Json{"v1"});
  CHECK(world.get("/apis").body["groups"].size() == 7);
  CHECK(world.get("/apis/apps/v1").body["resources"].size() == 4);
  check_status(world.get("/apis/apps/v1/namespaces/apps/statefulsets"), 404, "NotFound",
               "the server could not find the requested resource");
  CHECK(world.get("/apis/unknown.example.com/v1/things").text == "404 page not found\n");
}

TEST_CASE("create, get and delete objects, and missing ones") {
  World world;
  const Answer made = world.post(maps, config_map("one"));
  REQUIRE(made.status == 201);
  CHECK(made.body["metadata"]["namespace"] == "apps");
  CHECK(made.body["metadata"]["uid"].get<std::string>().size() == 36);
  CHECK(made.body["metadata"]["creationTimestamp"].get<std::string>().size() == 20);
  CHECK(world.get(maps + "/one").body == made.body);
  check_status(world.post(maps, config_map("one")), 409, "AlreadyExists",
               "configmaps \"one\" already exists");

  const Answer gone = world.remove(maps + "/one");
  CHECK(gone.status == 200);
  CHECK(gone.body["status"] == "Success");
  CHECK(gone.body["details"] ==
        Json{{"name", "one"}, {"kind", "configmaps"}, {"uid", made.body["metadata"]["uid"]}});
  const Answer missing = world.get(maps + "/one");
  check_status(missing, 404, "NotFound", "configmaps \"one\" not found");
  CHECK(missing.body["details"] == Json{{"name", "one"}, {"kind", "configmaps"}});
  check_status(world.remove(maps + "/one"), 404, "NotFound", "configmaps \"one\" not found");

  const Answer other = world.get(deployments + "/x");
  check_status(other, 404, "NotFound", "deployments.apps \"x\" not found");
  CHECK(other.body["details"] == Json{{"name", "x"}, {"group", "apps"}, {"kind", "deployments"}});
}

TEST_CASE("services and pods answer a deletion with themselves") {
  World world;
  world.post(core + "services", service("web"));
  CHECK(world.remove(core + "services/web").body["kind"] == "Service");
}

TEST_CASE("objects need a namespace that exists") {
  World world;
  const Answer answer = world.post("/api/v1/namespaces/nowhere/configmaps", config_map("one"));
  check_status(answer, 404, "NotFound", "namespaces \"nowhere\" not found");
  CHECK(world.apply("/api/v1/namespaces/nowhere/configmaps/one", config_map("one")).status == 404);
  CHECK(world.get("/api/v1/namespaces/nowhere/configmaps").body["items"].empty());
}

TEST_CASE("names in body and URL agree") {
  World world;
  check_status(world.apply(maps + "/two", config_map("one")), 400, "BadRequest",
               "the name of the object (one) does not match the name on the URL (two)");
  Json elsewhere = config_map("one");
  elsewhere["metadata"]["namespace"] = "default";
  check_status(
      world.post(maps, elsewhere), 400, "BadRequest",
      "the namespace of the provided object does not match the namespace sent on the request");
  CHECK(world.post(maps, deployment("one")).status == 400);
}

TEST_CASE("bodies that aren't objects") {
  World world;
  httplib::Client client = world.client();
  for (const char* body : {"", "{", "[]", "1", "\xff"}) {
    CAPTURE(body);
    const auto answer = client.Post(maps, body, "application/json");
    REQUIRE(answer);
    CHECK(answer->status == 400);
    CHECK(Json::parse(answer->body)["reason"] == "BadRequest");
  }
  Json wrong = deployment("web");
  wrong["spec"] = "text";
  CHECK(world.post(deployments, wrong).status == 400);
  const std::string deep(10'000, '[');
  CHECK(world.patch(maps + "/one?fieldManager=x", deep, "application/apply-patch+yaml").status ==
        400);
  CHECK(world.patch(maps + "/one", "{}", "text/plain").status == 415);
  const auto large = client.Post(maps, std::string(4 * 1024 * 1024, ' '), "application/json");
  REQUIRE(large);
  CHECK(large->status == 413);
}

TEST_CASE("update: only from the latest version") {
  World world;
  const Json first = world.post(maps, config_map("one")).body;
  Json next = first;
  next["data"]["a"] = "2";
  const Answer second = world.put(maps + "/one", next);
  REQUIRE(second.status == 200);
  CHECK(second.body["data"]["a"] == "2");
  CHECK(version_of(second.body) != version_of(first));
  next["data"]["a"] = "3";
  const Answer stale = world.put(maps + "/one", next);
  check_status(stale, 409, "Conflict",
               "Operation cannot be fulfilled on configmaps \"one\": the object has been modified; "
               "please apply your "
               "changes to the latest version and try again");
  next["metadata"].erase("resourceVersion");
  CHECK(world.put(maps + "/one", next).status == 200);
  check_status(world.put(maps + "/two", config_map("two")), 404, "NotFound",
               "configmaps \"two\" not found");
}

TEST_CASE("an update that changes nothing keeps the version") {
  World world;
  const Json first = world.post(maps, config_map("one")).body;
  CHECK(version_of(world.put(maps + "/one", first).body) == version_of(first));
  CHECK(version_of(world.merge(maps + "/one", {{"data", {{"a", "1"}}}}).body) == version_of(first));
}

TEST_CASE("leases: updates need a version, and create what is missing") {
  World world;
  const std::string leases = "/apis/coordination.k8s.io/v1/namespaces/apps/leases";
  Json lease{{"apiVersion", "coordination.k8s.io/v1"},
             {"kind", "Lease"},
             {"metadata", {{"name", "leader"}}},
             {"spec", {{"holderIdentity", "a"}, {"leaseDurationSeconds", 15}}}};
  CHECK(world.put(leases + "/leader", lease).status == 201);
  const Answer blind = world.put(leases + "/leader", lease);
  CHECK(blind.status == 422);
  CHECK(blind.body["message"].get<std::string>().find("metadata.resourceVersion: Invalid value") !=
        std::string::npos);
}

TEST_CASE("merge, strategic and JSON patches") {
  World world;
  world.post(deployments, deployment("web"));
  const std::string path = deployments + "/web";
  const Json labelled = world.merge(path, {{"metadata", {{"labels", {{"x", "1"}}}}}}).body;
  CHECK(labelled["metadata"]["labels"]["x"] == "1");
  CHECK(world.merge(path, {{"metadata", {{"labels", {{"x", nullptr}}}}}})
            .body["metadata"]
            .contains("labels") == false);

  const Json image{{"name", "web"}, {"image", "nginx:2"}};
  const Json patch{{"spec", {{"template", {{"spec", {{"containers", {image}}}}}}}}};
  const Json patched =
      world.patch(path, patch.dump(), "application/strategic-merge-patch+json").body;
  CHECK(patched["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:2");
  CHECK(patched["spec"]["template"]["spec"]["containers"][0].contains("readinessProbe"));

  const Json operations{{{"op", "replace"}, {"path", "/spec/replicas"}, {"value", 3}}};
  CHECK(world.patch(path, operations.dump(), "application/json-patch+json")
            .body["spec"]["replicas"] == 3);
  CHECK(world
            .patch(path, "[{\"op\":\"remove\",\"path\":\"/spec/none\"}]",
                   "application/json-patch+json")
            .status == 422);
}

TEST_CASE("generation counts changes of the spec, not of the status or the labels") {
  World world;
  const std::string path = ingresses + "/web";
  CHECK(world.post(ingresses, ingress("web", "a.example.com")).body["metadata"]["generation"] == 1);
  CHECK(world.merge(path, {{"metadata", {{"labels", {{"x", "1"}}}}}})
            .body["metadata"]["generation"] == 1);
  const Json status{{"loadBalancer", {{"ingress", {{{"ip", "10.0.0.1"}}}}}}};
  const Answer reported = world.merge(path + "/status", {{"status", status}});
  CHECK(reported.body["status"] == status);
  CHECK(reported.body["metadata"]["generation"] == 1);
  const Json rule{{"host", "b.example.com"}};
  CHECK(world.merge(path, {{"spec", {{"rules", {rule}}}}, {"status", nullptr}})
            .body["metadata"]["generation"] == 2);
  // The object's own path doesn't write the status, and the status's path doesn't write the spec.
  CHECK(world.get(path).body["status"] == status);
  world.merge(path + "/status", {{"spec", {{"ingressClassName", "other"}}}});
  CHECK_FALSE(world.get(path).body["spec"].contains("ingressClassName"));
}

TEST_CASE("preconditions, finalizers and their deletion") {
  World world;
  Json object = config_map("one");
  object["metadata"]["finalizers"] = {"example.com/wait"};
  const Json made = world.post(maps, object).body;
  const Answer other = world.remove(maps + "/one", {{"preconditions", {{"uid", "not-this-one"}}}});
  CHECK(other.status == 409);
  CHECK(other.body["message"].get<std::string>().find(
            "the UID in the precondition (not-this-one) does not match") != std::string::npos);

  const Answer lingers =
      world.remove(maps + "/one", {{"preconditions", {{"uid", made["metadata"]["uid"]}}}});
  CHECK(lingers.status == 200);
  CHECK(lingers.body["kind"] == "ConfigMap");
  CHECK(lingers.body["metadata"].contains("deletionTimestamp"));
  CHECK(world.get(maps + "/one").status == 200);
  world.merge(maps + "/one", {{"metadata", {{"finalizers", nullptr}}}});
  CHECK(world.get(maps + "/one").status == 404);
}

TEST_CASE("dependents are deleted with their owner") {
  World world;
  world.post(deployments, deployment("web", "nginx", 2));
  REQUIRE(World::wait([&] { return world.cluster.list("pods", "apps").size() == 2; }));
  CHECK(world.remove(deployments + "/web", {{"propagationPolicy", "Background"}}).body["status"] ==
        "Success");
  CHECK(World::wait([&] {
    return world.cluster.list("pods", "apps").empty() &&
           world.cluster.list("replicasets", "apps").empty();
  }));
}

TEST_CASE("in the foreground the owner is deleted last; orphans stay") {
  World world;
  world.post(deployments, deployment("web"));
  REQUIRE(World::wait([&] { return world.cluster.list("pods", "apps").size() == 1; }));
  const Answer answer = world.remove(deployments + "/web", {{"propagationPolicy", "Foreground"}});
  CHECK(answer.body["kind"] == "Deployment");
  CHECK(answer.body["metadata"]["finalizers"] == Json{"foregroundDeletion"});
  REQUIRE(World::wait([&] { return world.get(deployments + "/web").status == 404; }));
  CHECK(world.cluster.list("replicasets", "apps").empty());

  world.post(deployments, deployment("kept"));
  REQUIRE(World::wait([&] { return world.cluster.list("replicasets", "apps").size() == 1; }));
  world.remove(deployments + "/kept?propagationPolicy=Orphan");
  REQUIRE(World::wait([&] { return world.get(deployments + "/kept").status == 404; }));
  const auto sets = world.cluster.list("replicasets", "apps");
  REQUIRE(sets.size() == 1);
  CHECK_FALSE(sets[0]["metadata"].contains("ownerReferences"));
  CHECK(world.remove(deployments + "/kept?propagationPolicy=Nonsense").status == 422);
}

TEST_CASE("an object whose owner doesn't exist is removed") {
  World world;
  Json object = config_map("lost");
  object["metadata"]["ownerReferences"] = {{{"apiVersion", "v1"},
                                            {"kind", "ConfigMap"},
                                            {"name", "gone"},
                                            {"uid", "00000000-0000-4000-8000-000000000000"}}};
  CHECK(world.post(maps, object).status == 201);
  CHECK(World::wait([&] { return world.get(maps + "/lost").status == 404; }));
}

TEST_CASE("a terminating namespace removes its contents and refuses new ones") {
  Options options = at_once();
  options.timing.stop = std::chrono::milliseconds(200);
  World world(options);
  world.post(deployments, deployment("web"));
  world.post(maps, config_map("one"));
  REQUIRE(World::wait([&] { return !world.cluster.list("pods", "apps", "app=web").empty(); }));
  REQUIRE(World::wait([&] {
    const auto pods = world.cluster.list("pods", "apps", "app=web");
    return condition(pods[0], "Ready").value("status", "") == "True";
  }));
  const Answer ending = world.remove("/api/v1/namespaces/apps");
  CHECK(ending.status == 200);
  CHECK(ending.body["status"]["phase"] == "Terminating");
  const Answer refused = world.post(maps, config_map("two"));
  check_status(refused, 403, "Forbidden",
               "configmaps \"two\" is forbidden: unable to create new content in namespace apps "
               "because it is being "
               "terminated");
  CHECK(refused.body["details"]["causes"][0]["reason"] == "NamespaceTerminating");
  REQUIRE(World::wait([&] { return world.get("/api/v1/namespaces/apps").status == 404; }));
  for (const char* plural :
       {"pods", "configmaps", "deployments", "replicasets", "events", "serviceaccounts"})
    CHECK(world.cluster.list(plural, "apps").empty());
}

TEST_CASE("a new namespace gets its default contents") {
  World world;
  CHECK(world.get("/api/v1/namespaces/apps")
            .body["metadata"]["labels"]["kubernetes.io/metadata.name"] == "apps");
  CHECK(world.get("/api/v1/namespaces/apps").body["status"]["phase"] == "Active");
  CHECK(World::wait([&] { return world.get(maps + "/kube-root-ca.crt").status == 200; }));
  CHECK(world.get("/api/v1/nodes").body["items"].size() == 1);
}

TEST_CASE("deleting a collection by label") {
  World world;
  world.post(maps, config_map("a", {{"x", "1"}}, {{"kind", "old"}}));
  world.post(maps, config_map("b", {{"x", "1"}}, {{"kind", "new"}}));
  const Answer gone = world.remove(maps + "?labelSelector=kind%3Dold");
  CHECK(gone.body["kind"] == "ConfigMapList");
  CHECK(names(gone.body) == std::vector<std::string>{"a"});
  CHECK(world.get(maps + "/a").status == 404);
  CHECK(world.get(maps + "/b").status == 200);
  CHECK(world.remove("/api/v1/namespaces").status == 405);
}

TEST_CASE("dry runs write nothing") {
  World world;
  CHECK(world.post(maps + "?dryRun=All", config_map("one")).status == 201);
  CHECK(world.get(maps + "/one").status == 404);
}

TEST_CASE("a cluster with a token answers nobody who doesn't have it") {
  Options options = at_once();
  options.token = "0123456789";
  const Cluster cluster(options);
  httplib::Client client(cluster.url());
  for (const char* path : {"/version", "/api/v1/pods", "/api/v1/secrets?watch=true", "/nothing"}) {
    for (const char* sent : {"", "Bearer ", "Bearer 012345678", "Bearer 01234567890", "0123456789",
                             "Basic 0123456789"}) {
      const auto answer = client.Get(path, {{"Authorization", sent}});
      REQUIRE(answer);
      CHECK(answer->status == 401);
      CHECK(Json::parse(answer->body)["reason"] == "Unauthorized");
    }
  }
  CHECK(client.Get("/api/v1/pods", {{"Authorization", "Bearer 0123456789"}})->status == 200);
}
