#include <catch2/catch.hpp>
#include <fstream>

#include "reconcilers/embedded/node/process.h"
#include "tests/local/node.h"

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using embedded::RunState;
using Stage = embedded::RunState::Stage;

namespace {

// One node for the cases that don't restart it.
Node& shared_node() {
  static Node node;
  return node;
}

const nlohmann::json tcp = {{"tcpSocket", {{"port", 8080}}}};
nlohmann::json http(const std::string& path) {
  return {{"httpGet", {{"path", path}, {"port", 8080}}}};
}

}  // namespace

TEST_CASE("a container runs confined, and answers", "[podman]") {
  NEEDS_PODMAN
  Node& node = shared_node();
  Pod pod(node, "serves", node.image("serve", {"serve"}));
  pod.env()["SECRET"] = "a b\"c\n$HOME";
  pod.spec()["command"] = {"/app", "serve"};
  pod.spec()["args"] = {"8080"};
  const RunState state = pod.start();
  INFO(state.reason << ": " << state.message);
  REQUIRE(state.stage == Stage::running);
  CHECK(state.container_id.starts_with("podman://"));
  CHECK(state.image == "localhost/test/serve:1");
  CHECK(state.image_id.starts_with("localhost/test/serve@sha256:"));
  CHECK(state.address.starts_with("10."));
  CHECK(state.started_at.size() == 20);
  CHECK(pod.probe(tcp).succeeded);
  CHECK(pod.get("/") == "hello from serves");
  CHECK(pod.get("/env/SECRET") == "a b\"c\n$HOME");
  CHECK(pod.get("/id") == "1000:1000");
  CHECK(pod.log() == "listening on 8080\n");

  // No command line has the variable, and the process has no privileges on the machine.
  const auto inspected = nlohmann::json::parse(
      node.podman("GET", "/containers/" + state.container_id.substr(9) + "/json").body);
  const int pid = inspected["State"]["Pid"];
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  const std::string text(std::istreambuf_iterator<char>(status), {});
  CHECK(text.find("CapEff:\t0000000000000000") != std::string::npos);
  CHECK(text.find("CapBnd:\t0000000000000000") != std::string::npos);
  CHECK(text.find("NoNewPrivs:\t1") != std::string::npos);
  CHECK(text.find("Seccomp:\t2") != std::string::npos);
  CHECK(text.find("Uid:\t1000\t") == std::string::npos);  // none of the machine's users
  const auto commands =
      embedded::run({.args = {"ps", "-eo", "args"}, .env = {{"PATH", "/usr/bin:/bin"}}});
  CHECK(commands.output.find("a b\"c") == std::string::npos);
  const auto& limits = inspected["HostConfig"];
  CHECK(limits["Memory"] == 64 << 20);
  CHECK(limits["MemorySwap"] == 64 << 20);
  CHECK(limits["PidsLimit"] == 1024);
  CHECK(limits["CpuQuota"] == 50'000);
}

TEST_CASE("a container has less of the kernel than podman would give it", "[podman]") {
  NEEDS_PODMAN
  Node& node = shared_node();
  Pod pod(node, "kernel", node.image("serve", {"serve"}));
  REQUIRE(pod.start().stage == Stage::running);
  REQUIRE(pod.probe(tcp).succeeded);
  CHECK(pod.get("/calls") ==
        "Operation not permitted, Operation not permitted, Function not implemented");
  const int instances = std::stoi(pod.get("/inotify"));
  CHECK(instances >= 8);
  CHECK(instances <= 128);
}

TEST_CASE("probes speak as a kubelet's", "[podman]") {
  NEEDS_PODMAN
  Node& node = shared_node();
  Pod pod(node, "probed", node.image("serve", {"serve"}));
  const RunState state = pod.start();
  REQUIRE(state.stage == Stage::running);
  CHECK(pod.probe(http("/")).succeeded);
  CHECK(pod.probe(http("/status/302")).succeeded);
  CHECK(pod.probe(http("/status/500")).message == "HTTP probe failed with statuscode: 500");
  CHECK(pod.probe(http("/burn/1500"), 0ms, 200ms).message ==
        "Get \"http://" + state.address +
            ":8080/burn/1500\": context deadline exceeded (Client.Timeout exceeded while awaiting "
            "headers)");
  Pod silent(node, "silent", node.image("silent", {"silent"}));
  const RunState quiet = silent.start();
  REQUIRE(quiet.stage == Stage::running);
  CHECK(silent.probe(tcp, 100ms).message ==
        "dial tcp " + quiet.address + ":8080: connect: connection refused");
  CHECK(silent.probe(http("/x"), 0ms).message == "Get \"http://" + quiet.address +
                                                     ":8080/x\": dial tcp " + quiet.address +
                                                     ":8080: connect: connection refused");
}

TEST_CASE("ends of containers have the kubelet's reasons", "[podman]") {
  NEEDS_PODMAN
  Node& node = shared_node();
  Pod crash(node, "crash", node.image("crash", {"crash", "7"}));
  crash.start();
  REQUIRE(crash.wait_for(Stage::ended));
  CHECK(crash.state().exit_code == 7);
  CHECK(crash.state().reason == "Error");
  CHECK(crash.state().message == "the first words\nthe last words\n");

  Pod oom(node, "oom", node.image("oom", {"oom"}));
  oom.start();
  REQUIRE(oom.wait_for(Stage::ended));
  CHECK(oom.state().exit_code == 137);
  CHECK(oom.state().reason == "OOMKilled");

  Pod root(node, "root", node.image("root", {"root"}));
  root.start();
  REQUIRE(root.wait_for(Stage::ended));
  CHECK(root.state().exit_code == 1);
  CHECK(root.state().message == "mkdir /var/cache/app: Permission denied\n");

  Pod done(node, "done", node.image("crash0", {"crash", "0"}));
  done.start();
  REQUIRE(done.wait_for(Stage::ended));
  CHECK(done.state().reason == "Completed");
}

TEST_CASE("what can't be started says why in containerd's words", "[podman]") {
  NEEDS_PODMAN
  Node& node = shared_node();
  const std::string image = node.image("serve", {"serve"});
  const std::string runc =
      "failed to create containerd task: failed to create shim task: OCI runtime create failed: "
      "runc create failed: unable to start container process: ";
  Pod missing(node, "missing", image);
  missing.spec()["command"] = {"/nothing"};
  RunState state = missing.start();
  CHECK(state.stage == Stage::refused);
  CHECK(state.reason == "RunContainerError");
  CHECK(state.message ==
        runc + "exec: \"/nothing\": stat /nothing: no such file or directory: unknown");
  Pod denied(node, "denied", image);
  denied.spec()["command"] = {"/etc/passwd"};
  state = denied.start();
  CHECK(state.stage == Stage::refused);
  CHECK(state.reason == "RunContainerError");
  CHECK(state.message == runc + "exec: \"/etc/passwd\": permission denied: unknown");
  Pod none(node, "none", node.image("none", {}));
  state = none.start();
  CHECK(state.stage == Stage::refused);
  CHECK(state.reason == "CreateContainerError");
  CHECK(state.message ==
        "failed to generate container spec: failed to generate spec: no command specified");
  // A run that was refused is tried again.
  none.spec()["command"] = {"/app"};
  state = none.start();
  CHECK(state.stage == Stage::running);
}

TEST_CASE("a container that is told to stop has its grace", "[podman]") {
  NEEDS_PODMAN
  Node& node = shared_node();
  Pod polite(node, "polite", node.image("serve", {"serve"}));
  polite.start();
  REQUIRE(polite.probe(tcp).succeeded);
  node.runtime().stop(polite.run(), 20s, embedded::Moment::clock::now());
  REQUIRE(polite.wait_for(Stage::ended));
  CHECK(polite.state().exit_code == 0);
  CHECK(polite.log() == "listening on 8080\ngoodbye\n");

  Pod stubborn(node, "stubborn", node.image("stubborn", {"stubborn"}));
  stubborn.start();
  REQUIRE(stubborn.probe(tcp).succeeded);
  const auto began = std::chrono::steady_clock::now();
  node.runtime().stop(stubborn.run(), 700ms, embedded::Moment::clock::now());
  REQUIRE(stubborn.wait_for(Stage::ended));
  CHECK(std::chrono::steady_clock::now() - began >= 700ms);
  CHECK(stubborn.state().exit_code == 137);
  CHECK(stubborn.state().reason == "Error");

  Pod again(node, "again", node.image("stubborn", {"stubborn"}));
  again.start();
  REQUIRE(again.probe(tcp).succeeded);
  node.runtime().stop(again.run(), 60s, embedded::Moment::clock::now());
  node.runtime().stop(again.run(), 0s, embedded::Moment::clock::now());
  CHECK(again.wait_for(Stage::ended));
}

TEST_CASE("limits hold", "[podman]") {
  NEEDS_PODMAN
  Node& node = shared_node();
  Pod pod(node, "limited", node.image("serve", {"serve"}));
  pod.spec()["resources"]["limits"]["memory"] = "512Mi";
  pod.start();
  REQUIRE(pod.probe(tcp).succeeded);
  // 500m: a second of work needs two.
  const int used = std::stoi(pod.get("/burn/1000"));
  CHECK(used < 650);
  CHECK(std::stoi(pod.get("/fork/2000")) < 1024);
  // The volume's size is measured, so that the kubelet can evict the pod.
  CHECK(pod.get("/write/300//tmp/file") == "written");
  CHECK(node.wait([&] {
    const auto usage = node.runtime().usage(pod.run());
    const auto volume = usage ? usage->volume_bytes.find("tmp")
                              : std::map<std::string, std::uint64_t>::const_iterator();
    return usage && volume != usage->volume_bytes.end() && volume->second > 256U << 20;
  }));
  CHECK(pod.get("/write/20//other") == "Permission denied");  // the image's root belongs to root
  CHECK_THROWS(pod.get("/memory/600"));
  REQUIRE(pod.wait_for(Stage::ended));
  CHECK(pod.state().reason == "OOMKilled");
}

TEST_CASE("a container reads its token, also a new one, and can't change it", "[podman]") {
  NEEDS_PODMAN
  Node& node = shared_node();
  Pod pod(node, "token", node.image("serve", {"serve"}));
  const nlohmann::json token = {{"audience", "https://berth.example.org"}, {"path", "token"}};
  const nlohmann::json sources = nlohmann::json::array({{{"serviceAccountToken", token}}});
  pod.json()["spec"]["volumes"].push_back(
      {{"name", "berth"}, {"projected", {{"sources", sources}}}});
  pod.spec()["volumeMounts"].push_back(
      {{"name", "berth"}, {"readOnly", true}, {"mountPath", "/var/run/secrets/berth"}});
  const auto write = [&](const std::string& text) {
    return node.runtime().write_tokens(pod.run().uid,
                                       {{.volume = "berth", .path = "token", .token = text}});
  };
  REQUIRE_FALSE(write("first").has_value());
  REQUIRE(pod.start().stage == Stage::running);
  REQUIRE(pod.probe(tcp).succeeded);
  CHECK(pod.get("/read//var/run/secrets/berth/token") == "first");
  REQUIRE_FALSE(write("second").has_value());
  CHECK(pod.get("/read//var/run/secrets/berth/token") == "second");
  CHECK(pod.get("/write/1//var/run/secrets/berth/token") == "Read-only file system");
  CHECK(pod.get("/write/1//var/run/secrets/berth/other") == "Read-only file system");
}

TEST_CASE("limits change while a container runs, but not below the memory that it uses",
          "[podman]") {
  NEEDS_PODMAN
  Node& node = shared_node();
  Pod pod(node, "resized", node.image("serve", {"serve"}));
  pod.spec()["resources"]["limits"]["memory"] = "64Mi";
  REQUIRE(pod.start().stage == Stage::running);
  REQUIRE(pod.probe(tcp).succeeded);
  const auto resized = [&](const std::string& memory) {
    pod.spec()["resources"]["limits"]["memory"] = memory;
    embedded::Resize seen;
    REQUIRE(node.wait([&] {
      seen = node.runtime().resize(pod.run(), pod.spec(), embedded::Moment::clock::now());
      return seen.stage != embedded::Resize::Stage::under_way;
    }));
    return seen;
  };
  CHECK(resized("512Mi").stage == embedded::Resize::Stage::done);
  CHECK_NOTHROW(pod.get("/memory/200"));  // more than it had at first
  const embedded::Resize refused = resized("32Mi");
  CHECK(refused.stage == embedded::Resize::Stage::failed);
  CHECK(refused.message.find("below current usage") != std::string::npos);
  CHECK(resized("512Mi").stage == embedded::Resize::Stage::done);
  CHECK(pod.state().stage == Stage::running);
}

TEST_CASE("logs are read from their beginning, their end, and while they are written", "[podman]") {
  NEEDS_PODMAN
  Node& node = shared_node();
  Pod pod(node, "talks", node.image("talk", {"talk", "20000"}));
  pod.start();
  REQUIRE(pod.wait_for(Stage::ended));
  const auto log = node.runtime().log(pod.run(), std::nullopt);
  REQUIRE(log);
  std::size_t lines = 0;
  std::int64_t last = 0;
  bool in_order = true;
  while (!log->over()) {
    for (const auto& line : log->read(1000)) {
      in_order =
          in_order && line.at >= last && line.text == "line " + std::to_string(lines) + " of 20000";
      last = line.at;
      ++lines;
    }
  }
  CHECK(lines == 20'000);
  CHECK(in_order);
  CHECK(pod.log(0, 2) == "line 19998 of 20000\nline 19999 of 20000\n");
  CHECK(pod.log(0, 0).empty());
  CHECK(pod.log(1).empty());
  CHECK_FALSE(node.runtime().log(pod.run(1), std::nullopt));
}

TEST_CASE("a log that has grown too long begins anew, and is read on", "[podman]") {
  NEEDS_PODMAN
  Node& node = shared_node();
  constexpr int count = 250'000;
  Pod pod(node, "talks-much", node.image("talk-much", {"talk", std::to_string(count)}));
  pod.pull();
  pod.begin();
  std::shared_ptr<embedded::RunLog> log;
  REQUIRE(
      node.wait([&] { return (log = node.runtime().log(pod.run(), std::nullopt)) != nullptr; }));
  int last = -1;
  int lines = 0;
  bool in_order = true;
  while (!log->over()) {
    for (const auto& line : log->read(1000)) {
      const int number = std::stoi(line.text.substr(std::string("line ").size()));
      in_order = in_order && number > last;
      last = number;
      ++lines;
    }
  }
  CHECK(in_order);
  CHECK(last == count - 1);
  REQUIRE(pod.wait_for(Stage::ended));
  std::uint64_t bytes = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(node.directory() / "logs" / pod.run().uid))
    bytes += file.file_size();
  CHECK(bytes <= std::uint64_t{10} << 20);
  CHECK(pod.log(0, 1) ==
        "line " + std::to_string(count - 1) + " of " + std::to_string(count) + "\n");
  WARN(lines << " of " << count << " lines were read meanwhile, " << bytes << " bytes are kept");
}

TEST_CASE("a run is the next one after the first, with the same address and volumes", "[podman]") {
  NEEDS_PODMAN
  Node& node = shared_node();
  Pod pod(node, "twice", node.image("serve", {"serve"}));
  const RunState first = pod.start();
  REQUIRE(pod.probe(tcp).succeeded);
  CHECK(pod.get("/write/1//tmp/kept") == "written");
  CHECK(pod.get("/exit/3").empty());
  REQUIRE(pod.wait_for(Stage::ended));
  CHECK(pod.state().exit_code == 3);
  const RunState second = pod.start(1);
  REQUIRE(second.stage == Stage::running);
  CHECK(second.address == first.address);
  CHECK(second.container_id != first.container_id);
  CHECK(node.wait([&] {
    try {
      return pod.get("/write/1//tmp/kept", 1) == "written";  // it belongs to the new run's user
    } catch (const std::runtime_error&) {
      return false;
    }
  }));
  CHECK(pod.log(0) == "listening on 8080\n");
  node.runtime().remove(pod.run(0));
  CHECK(pod.state(0).stage == Stage::unknown);
  CHECK(pod.log(0).empty());
  CHECK(pod.state(1).stage == Stage::running);
}
