#include <signal.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <thread>

#include "reconcilers/embedded/node/podman/podman_runtime.h"
#include "reconcilers/embedded/node/process.h"
#include "tests/local/node.h"

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using nlohmann::json;
using Stage = embedded::RunState::Stage;

namespace {

const json tcp = {{"tcpSocket", {{"port", 8080}}}};

pid_t service_of(const Node& node) {
  std::ifstream file(node.directory() / "podman.pid");
  pid_t pid = 0;
  file >> pid;
  return pid;
}

}  // namespace

TEST_CASE("another runtime finds the containers of an earlier one", "[podman]") {
  NEEDS_PODMAN
  Node node;
  Pod serves(node, "serves", node.image("serve", {"serve"}));
  Pod ends(node, "ends", node.image("serve", {"serve"}));
  Pod killed(node, "killed", node.image("serve", {"serve"}));
  for (Pod* pod : {&serves, &ends, &killed}) {
    REQUIRE(pod->start().stage == Stage::running);
    REQUIRE(pod->probe(tcp).succeeded);
  }
  const auto before = serves.state();
  const pid_t service = service_of(node);
  const auto address = *node.runtime().address(ends.run(), 8080);
  node.end();
  CHECK(http_get(address, "/exit/9").empty());  // while nobody looks
  const auto runs = node.begin_again();
  CHECK(runs.size() == 3);
  CHECK(service_of(node) == service);
  const auto after = serves.state();
  CHECK(after.stage == Stage::running);
  CHECK(after.container_id == before.container_id);
  CHECK(after.image == before.image);
  CHECK(after.image_id == before.image_id);
  CHECK(after.address == before.address);
  CHECK(after.started_at == before.started_at);
  CHECK(serves.get("/") == "hello from serves");
  CHECK(serves.log() == "listening on 8080\n");
  // Starting what runs has no effect.
  CHECK(serves.start().container_id == before.container_id);
  REQUIRE(ends.wait_for(Stage::ended));
  CHECK(ends.state().exit_code == 9);
  CHECK(ends.state().reason == "Error");
  // The end of a container that was adopted is noticed, and its limits are known.
  node.runtime().stop(killed.run(), 0ms, embedded::Moment::clock::now());
  REQUIRE(killed.wait_for(Stage::ended));
  CHECK(killed.state().exit_code == 137);
  CHECK(node.wait([&] {
    const auto usage = node.runtime().usage(serves.run());
    return usage && usage->disk_bytes && usage->memory_bytes > 0 &&
           usage->volume_bytes.contains("tmp");
  }));
}

TEST_CASE("a service of podman that does nothing any more is started again", "[podman]") {
  NEEDS_PODMAN
  Node node;
  const std::string image = node.image("serve", {"serve"});
  Pod runs(node, "runs", image);
  Pod next(node, "next", image);
  REQUIRE(runs.start().stage == Stage::running);
  const auto before = runs.state();
  const pid_t stuck = service_of(node);
  REQUIRE(::kill(stuck, SIGSTOP) == 0);
  CHECK(next.start().stage == Stage::running);
  CHECK(service_of(node) != stuck);
  CHECK(runs.state().container_id == before.container_id);
  CHECK(runs.get("/") == "hello from runs");
}

TEST_CASE("podman's service is killed, and containers don't notice", "[podman]") {
  NEEDS_PODMAN
  Node node;
  Pod pod(node, "serves", node.image("serve", {"serve"}));
  REQUIRE(pod.start().stage == Stage::running);
  REQUIRE(pod.probe(tcp).succeeded);
  const pid_t first = service_of(node);
  REQUIRE(::kill(first, SIGKILL) == 0);
  // The next container waits for the new service.
  Pod next(node, "next", node.image("serve", {"serve"}));
  const auto started = next.start();
  INFO(started.reason << ": " << started.message);
  CHECK(started.stage == Stage::running);
  CHECK(service_of(node) != first);
  CHECK(pod.get("/") == "hello from serves");
  // Also when nobody asks for anything, it is started again.
  const pid_t second = service_of(node);
  REQUIRE(::kill(second, SIGKILL) == 0);
  CHECK(node.wait([&] { return service_of(node) != second; }));
  node.runtime().stop(pod.run(), 10s, embedded::Moment::clock::now());
  CHECK(pod.wait_for(Stage::ended));
  CHECK(pod.state().exit_code == 0);
}

TEST_CASE("a pod that is removed at any moment leaves nothing", "[podman]") {
  NEEDS_PODMAN
  Node node;
  const std::string image = node.image("serve", {"serve"});
  for (const auto pause : {0ms, 20ms, 60ms, 120ms, 200ms, 300ms, 500ms}) {
    Pod pod(node, "short", image);
    pod.pull();
    pod.begin();
    std::this_thread::sleep_for(pause);
    node.runtime().stop(pod.run(), 0ms, embedded::Moment::clock::now());
    node.runtime().remove(pod.run().name_space, pod.run().uid);
    CHECK(pod.state().stage == Stage::unknown);
  }
  const auto containers = [&] {
    return json::parse(node.podman("GET", "/containers/json?all=true").body).size();
  };
  CHECK(node.wait([&] { return containers() == 0; }));
  CHECK(node.wait([&] { return std::filesystem::is_empty(node.directory() / "pods"); }));
  CHECK(node.wait([&] { return std::filesystem::is_empty(node.directory() / "logs"); }));
  node.runtime().remove_namespace("berth-app-one");
  CHECK(node.wait([&] {
    return json::parse(node.podman("GET", "/networks/json").body).size() == 1;  // podman's own
  }));
}

TEST_CASE("clean leaves nothing on the machine", "[podman]") {
  NEEDS_PODMAN
  Node node;
  Pod pod(node, "serves", node.image("serve", {"serve"}));
  Pod two(node, "two", node.image("serve", {"serve"}), "berth-app-two");
  REQUIRE(pod.start().stage == Stage::running);
  REQUIRE(two.start().stage == Stage::running);
  const pid_t service = service_of(node);
  const std::string instance = embedded::podman::instance_of(node.directory());
  const auto shows = [](std::vector<std::string> args, const std::string& text) {
    return embedded::run({.args = std::move(args), .env = embedded::plain_environment()})
               .output.find(text) != std::string::npos;
  };
  CHECK(shows({"nft", "list", "tables"}, embedded::podman::table_of(instance)));
  CHECK(shows({"ip", "-br", "link"}, "b" + instance));
  CHECK(shows({"cat", "/proc/self/mounts"}, node.directory()));
  node.clean();
  CHECK_FALSE(shows({"nft", "list", "tables"}, embedded::podman::table_of(instance)));
  CHECK_FALSE(shows({"ip", "-br", "link"}, "b" + instance));
  CHECK_FALSE(shows({"cat", "/proc/self/mounts"}, node.directory()));
  CHECK_FALSE(shows({"ps", "-eo", "args"}, node.directory()));
  CHECK_FALSE(shows({"iptables-save"}, instance));
  CHECK_FALSE(embedded::daemon_of(service));
  CHECK_FALSE(std::filesystem::exists(node.directory()));
}
