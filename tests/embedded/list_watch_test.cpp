#include <catch2/catch.hpp>

#include "tests/embedded/support.h"

using namespace berth::embedded;
using namespace berth::embedded::tests;

namespace {

const std::string maps = core + "configmaps";
using Names = std::vector<std::string>;

// Returns the path of a watch of the ConfigMaps with the label `watched`, from the version of a
// list that is made now.
std::string watch_path(const World& world, const std::string& more = "") {
  const Json list = world.get(maps + "?labelSelector=watched").body;
  return maps + "?watch=true&labelSelector=watched&resourceVersion=" +
         list["metadata"]["resourceVersion"].get<std::string>() + more;
}

bool sees(const Watcher& watcher, const Names& events) {
  return World::wait([&] { return watcher.seen() == events; });
}

const Json watched{{"watched", "yes"}};

}  // namespace

TEST_CASE("lists: one namespace, all namespaces, selectors") {
  World world;
  world.post(maps, config_map("a", {{"x", "1"}}, {{"tier", "free"}, {"env", "test"}}));
  world.post(maps, config_map("b", {{"x", "1"}}, {{"tier", "basic"}}));
  world.post("/api/v1/namespaces/default/configmaps",
             config_map("c", {{"x", "1"}}, {{"tier", "free"}}));
  const auto listed = [&](const std::string& query) { return names(world.get(query).body); };
  CHECK(listed(maps + "?labelSelector=tier") == Names{"a", "b"});
  CHECK(listed("/api/v1/configmaps?labelSelector=tier") == Names{"a", "b", "c"});
  CHECK(listed("/api/v1/configmaps?labelSelector=tier%3Dfree") == Names{"a", "c"});
  CHECK(listed("/api/v1/configmaps?labelSelector=tier%3D%3Dfree,env%3Dtest") == Names{"a"});
  CHECK(listed(maps + "?labelSelector=tier,tier!%3Dfree") == Names{"b"});
  CHECK(listed(maps + "?labelSelector=tier%20in%20(free,%20basic)") == Names{"a", "b"});
  CHECK(listed(maps + "?labelSelector=tier,tier%20notin%20(basic)") == Names{"a"});
  CHECK(listed(maps + "?labelSelector=tier,!env") == Names{"b"});
  CHECK(listed(maps + "?fieldSelector=metadata.name%3Db") == Names{"b"});
  CHECK(listed("/api/v1/configmaps?labelSelector=tier&fieldSelector=metadata.namespace!%3Dapps") ==
        Names{"c"});
  CHECK(world.get(maps + "?fieldSelector=spec.none%3Db").status == 400);
  CHECK(world.get(maps + "?labelSelector=a%20b").status == 400);
}

TEST_CASE("the shape of a list") {
  World world;
  world.post(maps, config_map("a"));
  const Json list = world.get(maps + "?fieldSelector=metadata.name%3Da").body;
  CHECK(list["kind"] == "ConfigMapList");
  CHECK(list["apiVersion"] == "v1");
  CHECK_FALSE(list["items"][0].contains("kind"));
  CHECK_FALSE(list["items"][0].contains("apiVersion"));
  CHECK(std::stoull(list["metadata"]["resourceVersion"].get<std::string>()) >=
        std::stoull(list["items"][0]["metadata"]["resourceVersion"].get<std::string>()));

  const std::string certificates = "/apis/cert-manager.io/v1/namespaces/apps/certificates";
  world.post(certificates, {{"apiVersion", "cert-manager.io/v1"},
                            {"kind", "Certificate"},
                            {"metadata", {{"name", "c"}}},
                            {"spec", {{"secretName", "s"}, {"issuerRef", {{"name", "i"}}}}}});
  // Items of a custom resource contain their kind.
  CHECK(world.get(certificates).body["items"][0]["kind"] == "Certificate");
}

TEST_CASE("resource versions that are invalid or in the future") {
  World world;
  CHECK(world.get(maps + "?resourceVersion=abc").status == 400);
  CHECK(world.get(maps + "?watch=true&resourceVersion=abc").status == 500);
  CHECK(world.get(maps + "?limit=1&continue=abc").status == 400);
  const Answer future = world.get(maps + "?resourceVersion=99999999");
  CHECK(future.status == 504);
  CHECK(future.body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge");
  CHECK(world.get(maps + "?resourceVersion=0").status == 200);
}

TEST_CASE("events are found by the object that they are about") {
  World world;
  world.post(deployments, deployment("web"));
  REQUIRE(World::wait([&] {
    return !world.get(core + "events?fieldSelector=involvedObject.kind%3DPod,reason%3DStarted")
                .body["items"]
                .empty();
  }));
  const Json pod = world.cluster.list("pods", "apps")[0];
  const Json events = world
                          .get(core + "events?fieldSelector=involvedObject.uid%3D" +
                               pod["metadata"]["uid"].get<std::string>())
                          .body;
  CHECK(events["items"].size() >= 4);
  for (const Json& event : events["items"]) CHECK(event["involvedObject"]["name"] == name_of(pod));
  CHECK(names(world.get("/api/v1/pods?fieldSelector=status.phase%3DRunning").body).size() == 1);
  CHECK(names(world.get("/api/v1/pods?fieldSelector=status.phase%3DFailed").body).empty());
}

TEST_CASE("pages of a list are of one version") {
  World world;
  for (const char* name : {"a", "b", "c", "d", "e"})
    world.post(maps, config_map(name, {{"x", "1"}}, watched));
  const Json first = world.get(maps + "?labelSelector=watched&limit=2").body;
  CHECK(names(first) == Names{"a", "b"});
  world.remove(maps + "/d");
  world.post(maps, config_map("c1", {{"x", "1"}}, watched));
  const std::string token = first["metadata"]["continue"];
  const Json second = world.get(maps + "?labelSelector=watched&limit=2&continue=" + token).body;
  CHECK(names(second) == Names{"c", "d"});
  CHECK(second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]);
  const std::string last_token = second["metadata"]["continue"];
  const Json last = world.get(maps + "?labelSelector=watched&limit=2&continue=" + last_token).body;
  CHECK(names(last) == Names{"e"});
  CHECK_FALSE(last["metadata"].contains("continue"));
  const Json unfiltered = world.get(maps + "?limit=1").body;
  CHECK(unfiltered["metadata"]["remainingItemCount"] == 5);  // and the one with the cluster's CA

  world.cluster.compact();
  const Answer expired = world.get(maps + "?labelSelector=watched&limit=2&continue=" + token);
  CHECK(expired.status == 410);
  CHECK(expired.body["reason"] == "Expired");
}

TEST_CASE("a watch sees what changes after its version, in order") {
  World world;
  world.post(maps, config_map("before", {{"x", "1"}}, watched));
  const Watcher watcher(world.cluster, watch_path(world));
  world.post(maps, config_map("a", {{"x", "1"}}, watched));
  world.merge(maps + "/a", {{"data", {{"x", "2"}}}});
  world.remove(maps + "/a");
  REQUIRE(sees(watcher, {"ADDED a", "MODIFIED a", "DELETED a"}));
  const auto events = watcher.events();
  CHECK(events[0]["object"]["kind"] == "ConfigMap");
  CHECK(events[1]["object"]["data"]["x"] == "2");
  CHECK(events[2]["object"]["metadata"]["resourceVersion"] !=
        events[1]["object"]["metadata"]["resourceVersion"]);
}

TEST_CASE("a watch without a version begins with what there is") {
  World world;
  world.post(maps, config_map("a", {{"x", "1"}}, watched));
  const Watcher watcher(world.cluster, maps + "?watch=1&labelSelector=watched");
  REQUIRE(sees(watcher, {"ADDED a"}));
  world.post(maps, config_map("b", {{"x", "1"}}, watched));
  CHECK(sees(watcher, {"ADDED a", "ADDED b"}));
}

TEST_CASE("objects that start or stop to match come and go") {
  World world;
  world.post(maps, config_map("a"));
  const Watcher watcher(world.cluster, watch_path(world));
  world.merge(maps + "/a", {{"metadata", {{"labels", watched}}}});
  world.merge(maps + "/a", {{"metadata", {{"labels", {{"watched", nullptr}}}}}});
  world.remove(maps + "/a");
  world.post(maps, config_map("end", {{"x", "1"}}, watched));
  CHECK(sees(watcher, {"ADDED a", "DELETED a", "ADDED end"}));
}

TEST_CASE("a watch of one namespace doesn't see the others") {
  World world;
  const Watcher watcher(world.cluster, watch_path(world));
  world.post("/api/v1/namespaces/default/configmaps", config_map("other", {{"x", "1"}}, watched));
  world.post(maps, config_map("end", {{"x", "1"}}, watched));
  CHECK(sees(watcher, {"ADDED end"}));
}

TEST_CASE("bookmarks tell how far a watch is") {
  Options options = at_once();
  options.bookmark_interval = std::chrono::milliseconds(20);
  World world(options);
  const Watcher silent(world.cluster, watch_path(world));
  const Watcher watcher(world.cluster, watch_path(world, "&allowWatchBookmarks=true"));
  world.post(core + "services", service("web"));
  const std::uint64_t version = world.cluster.version();
  REQUIRE(World::wait([&] {
    for (const Json& event : watcher.events())
      if (event["type"] == "BOOKMARK" &&
          std::stoull(event["object"]["metadata"]["resourceVersion"].get<std::string>()) >= version)
        return event["object"]["kind"] == "ConfigMap";
    return false;
  }));
  CHECK(silent.events().empty());
}

TEST_CASE("a watch ends in the normal way after its time") {
  World world;
  const Watcher watcher(world.cluster, watch_path(world, "&timeoutSeconds=1"));
  REQUIRE(World::wait([&] { return watcher.ended(); }));
  CHECK(watcher.ended_cleanly());
}

TEST_CASE("compaction: an open watch gets 410, and so does one from an old version") {
  World world;
  const std::string path = watch_path(world);
  const Watcher open(world.cluster, path);
  world.post(maps, config_map("a", {{"x", "1"}}, watched));
  REQUIRE(sees(open, {"ADDED a"}));
  world.cluster.compact();
  REQUIRE(World::wait([&] { return open.ended(); }));
  const Json last = open.events().back();
  CHECK(last["type"] == "ERROR");
  CHECK(last["object"]["kind"] == "Status");
  CHECK(last["object"]["code"] == 410);
  CHECK(last["object"]["reason"] == "Expired");

  // A real server also answers 200 and sends the refusal as an event.
  const Watcher old(world.cluster, path);
  REQUIRE(World::wait([&] { return old.ended(); }));
  REQUIRE(old.events().size() == 1);
  CHECK(old.events()[0]["object"]["code"] == 410);
  CHECK(old.events()[0]["object"]["message"].get<std::string>().starts_with(
      "too old resource version: "));

  const Watcher fresh(world.cluster, watch_path(world));
  world.post(maps, config_map("b", {{"x", "1"}}, watched));
  CHECK(sees(fresh, {"ADDED b"}));
}

TEST_CASE("dropped watches break off") {
  World world;
  const Watcher watcher(world.cluster, watch_path(world));
  world.post(maps, config_map("a", {{"x", "1"}}, watched));
  REQUIRE(sees(watcher, {"ADDED a"}));
  world.cluster.drop_watches();
  REQUIRE(World::wait([&] { return watcher.ended(); }));
  CHECK_FALSE(watcher.ended_cleanly());
}

TEST_CASE("many watches at once, and a prompt end") {
  auto world = std::make_unique<World>();
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (int i = 0; i < 60; ++i)
    watchers.push_back(std::make_unique<Watcher>(world->cluster, watch_path(*world)));
  world->post(maps, config_map("a", {{"x", "1"}}, watched));
  for (const auto& watcher : watchers) CHECK(sees(*watcher, {"ADDED a"}));
  const auto begin = std::chrono::steady_clock::now();
  world.reset();
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(3));
}
