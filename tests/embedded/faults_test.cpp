#include <catch2/catch.hpp>

#include "tests/embedded/support.h"

using namespace berth::embedded;
using namespace berth::embedded::tests;

namespace {
const std::string maps = core + "configmaps";
}

TEST_CASE("requests fail as often as a test demands") {
  World world;
  world.cluster.fail_next(2, 503);
  CHECK(world.get(maps).status == 503);
  const Answer second = world.get(maps);
  CHECK(second.status == 503);
  CHECK(second.body["reason"] == "ServiceUnavailable");
  CHECK(world.get(maps).status == 200);
}

TEST_CASE("failures for one verb and one kind, with Retry-After") {
  World world;
  world.cluster.fail_next(1, 429, 1, {"apply", "configmaps"});
  CHECK(world.get(maps).status == 200);
  CHECK(world.post(maps, config_map("b")).status == 201);
  CHECK(world.apply(core + "services/web", service("web")).status == 201);
  httplib::Client client = world.client();
  const auto refused = client.Patch(maps + "/a?fieldManager=x", config_map("a").dump(),
                                    "application/apply-patch+yaml");
  REQUIRE(refused);
  CHECK(refused->status == 429);
  CHECK(refused->get_header_value("Retry-After") == "1");
  CHECK(world.get(maps + "/a").status == 404);
  CHECK(world.apply(maps + "/a", config_map("a")).status == 201);
  world.cluster.fail_next(5, 500);
  world.cluster.clear_failures();
  CHECK(world.get(maps).status == 200);
}

TEST_CASE("an API server that is down refuses connections, and comes back with its state") {
  World world;
  world.post(maps, config_map("a"));
  const Watcher watcher(world.cluster, maps + "?watch=true");
  REQUIRE(World::wait([&] { return !watcher.events().empty(); }));
  const std::string url = world.cluster.url();
  world.cluster.go_down();
  CHECK(World::wait([&] { return watcher.ended(); }));
  CHECK(world.get(maps + "/a").status == 0);
  // Running containers aren't affected.
  Json here = deployment("web");
  here["metadata"]["namespace"] = "apps";
  world.cluster.put(here);
  CHECK(World::wait([&] { return !world.cluster.list("pods", "apps").empty(); }));
  world.cluster.come_back();
  CHECK(world.cluster.url() == url);
  CHECK(world.get(maps + "/a").status == 200);
  world.cluster.go_down();
  world.cluster.go_down();
  world.cluster.come_back();
  CHECK(world.get(maps + "/a").status == 200);
}

TEST_CASE("latency, and no answer at all") {
  World world;
  world.cluster.set_latency(std::chrono::milliseconds(50));
  const auto begin = std::chrono::steady_clock::now();
  world.get(maps);
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(50));
  world.cluster.set_latency(std::chrono::milliseconds(0));

  world.cluster.stop_answering();
  httplib::Client impatient(world.cluster.url());
  impatient.set_read_timeout(0, 100'000);
  CHECK_FALSE(impatient.Get(maps));
  world.cluster.answer_again();
  CHECK(world.get(maps).status == 200);
}

TEST_CASE("a cluster that doesn't answer still ends") {
  auto world = std::make_unique<World>();
  world->cluster.stop_answering();
  httplib::Client impatient(world->cluster.url());
  impatient.set_read_timeout(0, 50'000);
  CHECK_FALSE(impatient.Get(maps));
  const auto begin = std::chrono::steady_clock::now();
  world.reset();
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(3));
}

TEST_CASE("requests are recorded, direct access isn't") {
  World world;
  world.cluster.forget_requests();
  world.get(maps);
  world.apply(maps + "/a", config_map("a"));
  world.merge(maps + "/a", {{"data", {{"b", "2"}}}});
  world.remove(maps + "/a");
  world.remove(maps + "/a");
  Json here = config_map("c");
  here["metadata"]["namespace"] = "apps";
  world.cluster.put(here);
  CHECK(world.cluster.count("list", "configmaps") == 1);
  CHECK(world.cluster.count("apply") == 1);
  CHECK(world.cluster.count("delete", "configmaps") == 2);
  CHECK(world.cluster.write_count() == 4);
  const auto writes = world.cluster.writes();
  CHECK(writes[0].manager == "berth");
  CHECK(writes[0].name == "a");
  CHECK(writes[0].status == 201);
  CHECK(writes[3].status == 404);
}

TEST_CASE("somebody else changes objects") {
  World world;
  world.apply(core + "services/web", service("web"));
  world.cluster.patch("services", "apps", "web", {{"spec", {{"selector", {{"app", "stolen"}}}}}});
  const Json changed = world.get(core + "services/web").body;
  CHECK(changed["spec"]["selector"]["app"] == "stolen");
  CHECK(changed["metadata"]["managedFields"].dump().find("kubectl") != std::string::npos);
  CHECK(world.cluster.remove("services", "apps", "web"));
  CHECK_FALSE(world.cluster.remove("services", "apps", "web"));
  CHECK_THROWS_AS(world.cluster.put(config_map("lost")), Refusal);  // it has no namespace
}

TEST_CASE("the page behind a host name") {
  World world;
  CHECK(world.cluster.page("web.apps.localhost").status == 404);
  world.post(ingresses, ingress("web", "web.apps.localhost"));
  CHECK(world.cluster.page("web.apps.localhost").status == 503);
  world.post(core + "services", service("web"));
  world.post(deployments, deployment("web", "acme/shop:1", 2));
  REQUIRE(World::wait([&] { return world.cluster.page("WEB.apps.localhost:8080").status == 200; }));
  REQUIRE(World::wait([&] {
    return world.cluster.page("web.apps.localhost").html.find("<dd>2</dd>") != std::string::npos;
  }));
  const std::string html = world.cluster.page("web.apps.localhost").html;
  for (const char* words : {"simulated", "acme/shop:1", "8080", "web-"})
    CHECK(html.find(words) != std::string::npos);
  CHECK(world.cluster.page("other.apps.localhost").status == 404);
  const Page hostile = world.cluster.page("<script>alert(1)</script>");
  CHECK(hostile.status == 404);
  CHECK(hostile.html.find("<script>") == std::string::npos);

  world.merge(deployments + "/web", {{"spec", {{"replicas", 0}}}});
  CHECK(World::wait([&] { return world.cluster.page("web.apps.localhost").status == 503; }));
}
