#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <random>

#include "controller/base/clock.h"
#include "tests/embedded/surviving_world.h"

using namespace berth::embedded;
using namespace berth::embedded::tests;

namespace {

Json secret(const std::string& name, const std::string& value) {
  return {{"apiVersion", "v1"},
          {"kind", "Secret"},
          {"metadata", {{"name", name}}},
          {"stringData", {{"TOKEN", value}}}};
}

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("after a kill everything is as before, and no container was started again") {
  SurvivingWorld world;
  world.apply(secret("vars", "s3cret"));
  Json wanted = deployment("web", "nginx:1", 2);
  wanted["spec"]["template"]["spec"]["containers"][0]["envFrom"] = {
      {{"secretRef", {{"name", "vars"}}}}};
  world.apply(wanted);
  world.apply(service("web"));
  REQUIRE(world.runs("web", 2, "nginx:1"));
  const auto before = world.cluster().list("pods", "apps");
  const auto events = world.cluster().list("events", "apps").size();
  const auto version = world.cluster().version();
  REQUIRE(world.machine.running().size() == 2);
  CHECK(world.machine.running()[0].env.at("TOKEN") == "s3cret");

  world.kill_and_begin();
  const auto after = world.cluster().list("pods", "apps");
  REQUIRE(after.size() == 2);
  for (size_t i = 0; i < 2; ++i) {
    CHECK(name_of(after[i]) == name_of(before[i]));
    CHECK(uid_of(after[i]) == uid_of(before[i]));
    CHECK(condition(after[i], "Ready") == condition(before[i], "Ready"));
    CHECK(after[i]["status"]["containerStatuses"] == before[i]["status"]["containerStatuses"]);
  }
  CHECK(world.cluster().version() > version);
  CHECK(world.cluster().get("secrets", "apps", "vars")->at("data").at("TOKEN") == "czNjcmV0");
  CHECK(world.cluster().list("events", "apps").size() >= events);
  CHECK(bytes_of(world.file()).find("czNjcmV0") == std::string::npos);
  // Whoever watched before has to list again.
  httplib::Client reader(world.cluster().url());
  const auto watch =
      reader.Get("/api/v1/pods?watch=true&resourceVersion=" + std::to_string(version));
  REQUIRE(watch);
  CHECK(watch->body.find("\"code\":410") != std::string::npos);

  // It goes on: a new Service gets an address of its own, and a change rolls over.
  world.apply(service("other"));
  CHECK(world.cluster().get("services", "apps", "other")->at("spec").at("clusterIP") !=
        world.cluster().get("services", "apps", "web")->at("spec").at("clusterIP"));
  CHECK(world.machine.history().size() == 2);
  wanted["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2";
  world.apply(wanted);
  CHECK(world.runs("web", 2, "nginx:2"));
  CHECK_FALSE(world.machine.ran_twice());
}

TEST_CASE("a pod that was available stays so after a restart, although it must be ready for long") {
  SurvivingWorld world(std::chrono::milliseconds(100));
  Json wanted = deployment("web", "nginx:1");
  wanted["spec"]["minReadySeconds"] = 30;  // three seconds
  world.apply(wanted);
  const auto available = [&] {
    return at_path(*world.cluster().get("deployments", "apps", "web"),
                   "/status/availableReplicas") == 1;
  };
  REQUIRE(World::wait(available));
  const Json before = *world.cluster().get("deployments", "apps", "web");
  world.kill_and_begin();
  // Once another one is through, the controllers have looked at this one.
  world.apply(deployment("other", "nginx:1"));
  REQUIRE(world.runs("other", 1, "nginx:1"));
  CHECK(*world.cluster().get("deployments", "apps", "web") == before);
}

TEST_CASE("restart counts and back-off go on after a kill") {
  // The back-off is three seconds, of which at least two are left, because time stamps on disk are
  // whole seconds.
  constexpr std::chrono::seconds shortest_wait{2};
  SurvivingWorld world(std::chrono::milliseconds(300));
  world.apply(deployment("web", "nginx:1"));
  REQUIRE(world.runs("web", 1, "nginx:1"));
  const std::string pod = name_of(world.pods("web")[0]);
  world.machine.end(pod, 1);
  REQUIRE(World::wait([&] { return world.status("web").value("restartCount", 0) == 1; }));
  REQUIRE(world.runs("web", 1, "nginx:1"));
  // The next start isn't seen before the state has been looked at, however long that takes here;
  // when it was asked for is known afterwards.
  world.machine.hold_starts(true);
  world.machine.end(pod, 7);
  const auto backs_off = [&] {
    return at_path(world.status("web"), "/state/waiting/reason") == "CrashLoopBackOff";
  };
  REQUIRE(World::wait(backs_off));
  world.kill_and_begin();
  CHECK(backs_off());
  CHECK(world.status("web")["restartCount"] == 1);
  const Json ended = world.status("web")["lastState"]["terminated"];
  CHECK(ended["exitCode"] == 7);
  world.machine.hold_starts(false);
  REQUIRE(World::wait([&] { return world.status("web").value("restartCount", 0) == 2; }));
  CHECK(world.runs("web", 1, "nginx:1"));
  REQUIRE(world.machine.running().size() == 1);
  const auto started = berth::parse_iso8601(world.machine.running()[0].started_at);
  const auto finished = berth::parse_iso8601(text_at(ended, "finishedAt"));
  REQUIRE((started && finished));
  CHECK(*started - *finished >= shortest_wait);
  CHECK(world.machine.history().back() == "start " + pod + "/web 2");
  CHECK_FALSE(world.machine.ran_twice());
}

TEST_CASE("what happened to containers while berthd was away is noticed") {
  SurvivingWorld world;
  world.apply(deployment("web", "nginx:1"));
  world.apply(deployment("gone", "nginx:1"));
  REQUIRE(world.runs("web", 1, "nginx:1"));
  REQUIRE(world.runs("gone", 1, "nginx:1"));
  const std::string web = name_of(world.pods("web")[0]);
  const std::string gone = name_of(world.pods("gone")[0]);
  world.kill();
  world.machine.end(web, 3);
  world.machine.lose(gone);
  world.begin();
  REQUIRE(World::wait([&] {
    return world.status("web").value("restartCount", 0) == 1 &&
           world.status("gone").value("restartCount", 0) == 1;
  }));
  CHECK(world.runs("web", 1, "nginx:1"));
  CHECK(world.runs("gone", 1, "nginx:1"));
  CHECK(world.status("web")["lastState"]["terminated"]["exitCode"] == 3);
  CHECK(world.status("gone")["lastState"]["terminated"]["reason"] == "ContainerStatusUnknown");
}

TEST_CASE("containers of pods that nobody knows are removed before others are started") {
  SurvivingWorld world;
  world.kill();
  world.machine.put({"apps", "old", "uid-of-old", "web", 3}, "nginx:1");
  world.begin();
  world.apply(deployment("web", "nginx:1"));
  REQUIRE(world.runs("web", 1, "nginx:1"));
  const auto history = world.machine.history();
  REQUIRE(history.size() == 2);
  CHECK(history[0] == "remove uid-of-old");
  CHECK(history[1].starts_with("start web-"));
}

TEST_CASE("a deployment that was deleted and a rollout that was begun are finished after a kill") {
  SurvivingWorld world(std::chrono::milliseconds(50));
  Json wanted = deployment("web", "nginx:1", 3);
  // Pods end slowly, so that the kill meets the rollout and the deletion.
  wanted["spec"]["template"]["spec"]["containers"][0]["lifecycle"] = {
      {"preStop", {{"sleep", {{"seconds", 5}}}}}};
  world.apply(wanted);
  Json other = wanted;
  other["metadata"]["name"] = "other";
  other["spec"]["selector"]["matchLabels"] = {{"app", "other"}};
  other["spec"]["template"]["metadata"]["labels"] = {{"app", "other"}};
  world.apply(other);
  REQUIRE(world.runs("web", 3, "nginx:1"));
  REQUIRE(world.runs("other", 3, "nginx:1"));
  wanted["spec"]["template"]["spec"]["containers"][0]["image"] = "nginx:2";
  world.apply(wanted);
  world.cluster().remove("deployments", "apps", "other");
  REQUIRE(World::wait([&] { return world.machine.running().size() == 7; }));
  world.kill_and_begin();
  CHECK(world.runs("web", 3, "nginx:2"));
  CHECK(World::wait([&] { return world.cluster().list("pods", "apps", "app=other").empty(); }));
  CHECK(World::wait([&] { return world.machine.count() == 3; }));
  CHECK_FALSE(world.machine.ran_twice());
}

TEST_CASE("a file that is damaged or of another version: everything is made again") {
  SurvivingWorld world;
  world.apply(deployment("web", "nginx:1"));
  REQUIRE(world.runs("web", 1, "nginx:1"));
  world.kill();
  if (GENERATE(true, false)) {
    std::ofstream(world.file(), std::ios::binary) << std::string(8192, 'x');
  } else {
    sqlite3* database = nullptr;
    REQUIRE(sqlite3_open(world.file().c_str(), &database) == SQLITE_OK);
    CHECK(sqlite3_exec(database, "PRAGMA user_version = 99", nullptr, nullptr, nullptr) ==
          SQLITE_OK);
    sqlite3_close(database);
  }
  world.begin();
  CHECK(world.cluster().list("deployments", "apps").empty());
  world.apply(deployment("web", "nginx:1"));
  CHECK(world.runs("web", 1, "nginx:1"));
  CHECK(world.machine.running().size() == 1);
  CHECK(world.machine.count() == 1);
}

TEST_CASE("while the disk takes nothing, nothing is started, and what runs goes on") {
  SurvivingWorld world;
  world.apply(deployment("web", "nginx:1"));
  REQUIRE(world.runs("web", 1, "nginx:1"));
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(world.file().c_str(), &database) == SQLITE_OK);
  sqlite3_busy_timeout(database, 5'000);
  REQUIRE(sqlite3_exec(database, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
  world.apply(deployment("other", "nginx:1"));
  REQUIRE(World::wait([&] { return !world.pods("other").empty(); }));
  CHECK(world.runs("web", 1, "nginx:1"));
  CHECK(world.machine.running().size() == 1);
  REQUIRE(sqlite3_exec(database, "COMMIT", nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
  CHECK(world.runs("other", 1, "nginx:1"));
  CHECK(world.machine.running().size() == 2);
}

TEST_CASE("kills at random moments: no container twice, none lost, every wish fulfilled") {
  constexpr int rounds = 20;
  SurvivingWorld world;
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::map<std::string, std::pair<int, int>> wishes;  // replicas and the image's version, by name
  for (int round = 0; round < rounds; ++round) {
    for (int change = 0; change < 3; ++change) {
      const std::string name = "app-" + std::to_string(random() % 4);
      auto& [replicas, version] = wishes[name];
      if (random() % 4 == 0 && world.cluster().get("deployments", "apps", name)) {
        world.cluster().remove("deployments", "apps", name);
        replicas = 0;
        continue;
      }
      replicas = int(random() % 3) + 1;
      version = int(random() % 3);
      world.apply(deployment(name, "nginx:" + std::to_string(version), replicas));
      if (const auto pods = world.pods(name); !pods.empty() && random() % 3 == 0)
        world.machine.end(name_of(pods[0]), int(random() % 2));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    world.kill_and_begin();
    // berth's reconcilers apply what is wished after each start.
    for (const auto& [name, wish] : wishes) {
      const auto& [replicas, version] = wish;
      if (replicas > 0)
        world.apply(deployment(name, "nginx:" + std::to_string(version), replicas));
      else
        world.cluster().remove("deployments", "apps", name);
    }
  }
  size_t wished = 0;
  for (const auto& [name, wish] : wishes) {
    wished += size_t(wish.first);
    if (wish.first > 0)
      CHECK(world.runs(name, size_t(wish.first), "nginx:" + std::to_string(wish.second)));
    else
      CHECK(
          World::wait([&] { return world.cluster().list("pods", "apps", "app=" + name).empty(); }));
  }
  CHECK(World::wait([&] { return world.machine.running().size() == wished; }));
  CHECK_FALSE(world.machine.ran_twice());
}
