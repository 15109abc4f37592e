// Container logs on a cluster that keeps running when berthd is restarted.
#include <catch2/catch.hpp>
#include <set>

#include "reconcilers/embedded/cluster.h"
#include "tests/process/event_client.h"
#include "tests/process/event_stream.h"

using namespace berth::process;
namespace embedded = berth::embedded;

namespace {

struct World {
  TempDir dir;
  embedded::Cluster cluster{{.timing = quick(), .seed = 0}};
  std::filesystem::path kubeconfig = dir.write("kubeconfig", R"({
    "apiVersion": "v1", "kind": "Config", "current-context": "c",
    "clusters": [{"name": "c", "cluster": {"server": ")" + cluster.url() +
                                                                 R"("}}],
    "users": [{"name": "u", "user": {}}],
    "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]})");
  Flags flags = [this] {
    Flags all = roomy_tier();
    all.insert(all.end(), {"--rate-limits", "off", "--kubernetes", "kubeconfig", "--kubeconfig",
                           kubeconfig.string()});
    return all;
  }();
  Berthd berthd{flags};
  Operator ada = operator_with_token(berthd, "ada");

  static embedded::Timing quick() {
    embedded::Timing timing;
    timing.pull = std::chrono::milliseconds(50);
    timing.start = std::chrono::milliseconds(50);
    timing.probe = std::chrono::milliseconds(50);
    timing.second = std::chrono::milliseconds(100);
    return timing;
  }
  std::string run(const std::string& image, const std::string& status = "running") {
    const std::string id = deploy(ada.api, order("shop", image));
    wait_until_status(ada.api, id, status);
    return "/api/deploy/apps/" + id;
  }
  Answer logs(const std::string& path, const std::string& query = "") {
    return ada.api.get(path + "/container-logs" + query);
  }
};

// Returns the pod of a line, from the line's id: …Z/POD@…
std::string pod_of(const std::string& id) {
  const size_t slash = id.find('/');
  return id.substr(slash + 1, id.find('@') - slash - 1);
}

// Checks that each pod's ticks and tocks arrived in order, none twice and none missing.
void check_whole(const std::vector<berth::api::test::ReadEvent>& events) {
  std::map<std::string, std::vector<std::string>> by_pod;
  std::set<std::string> ids;
  for (const auto& event : events) {
    CHECK(ids.insert(event.id).second);
    if (event.data.starts_with("t")) by_pod[pod_of(event.id)].push_back(event.data);
  }
  for (const auto& [pod, lines] : by_pod) {
    INFO(pod);
    const int first = std::stoi(lines.front().substr(5));
    for (size_t i = 0; i < lines.size(); ++i) {
      const std::string expected =
          (i % 2 == 0 ? "tick " : "tock ") + std::to_string(first + int(i / 2));
      if (lines[i] != expected) {
        CHECK(lines[i] == expected);
        return;
      }
    }
  }
}

}  // namespace

TEST_CASE(
    "a log is followed across restarts of the pod and of berthd, complete and without repetition") {
  World w;
  const std::string path = w.run("docker.io/library/talking:1");
  EventClient client(w.berthd, path + "/container-logs?follow=true", w.ada.tokens.access_token);
  const auto lines_of = [&](size_t pods, size_t lines) {
    std::map<std::string, size_t> count;
    for (const auto& event : client.events()) ++count[pod_of(event.id)];
    return count.size() >= pods &&
           std::ranges::all_of(count, [&](const auto& entry) { return entry.second >= lines; });
  };
  REQUIRE(eventually([&] { return lines_of(1, 20); }));
  client.reconnect();
  REQUIRE(eventually([&] { return lines_of(1, 40); }));

  CHECK(w.berthd.terminate() == 0);
  const size_t before = client.events().size();
  w.berthd.start();
  REQUIRE(eventually([&] { return client.events().size() > before + 10; }));

  expect(200, w.ada.api.post(path + "/restart"));
  REQUIRE(eventually([&] { return lines_of(2, 20); }));
  client.reconnect();
  w.cluster.drop_watches();  // this also breaks the logs that are being followed
  const size_t then = client.events().size();
  REQUIRE(eventually([&] { return client.events().size() > then + 40; }));
  CHECK(client.connections() >= 4);
  check_whole(client.events());
}

TEST_CASE("after a crash the previous run can be read, and following continues across it") {
  World w;
  const std::string path = w.run("docker.io/library/crash:1", "errored");
  // The container is restarted after a while.
  REQUIRE(eventually([&] { return w.logs(path, "?previous=true").status == 200; }));
  const Answer previous = expect(200, w.logs(path, "?previous=true"));
  CHECK(previous.text ==
        "simulated container app of image docker.io/library/crash:1\nstarting\n"
        "Error: simulated crash: this image always exits with 1\n");
  CHECK(previous.header("Content-Type") == "text/plain; charset=utf-8");
  // The client asks anew every second in which nothing comes, so it needs a line to go on after.
  EventClient client(w.berthd, path + "/container-logs?follow=true", w.ada.tokens.access_token);
  REQUIRE(eventually([&] { return client.events().size() >= 6; }));
  for (const size_t last : {2, 5})
    CHECK(client.events()[last].data == "Error: simulated crash: this image always exits with 1");
  check_whole(client.events());
  // Of a container that isn't there any more, or never was.
  for (const char* id : {"2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z/gone@1"})
    CHECK(w.ada.api.get(path + "/container-logs?previous=true", {{"Last-Event-ID", id}}).code() ==
          "invalid_state");
}

TEST_CASE("a log that can't be read is an error that names who failed") {
  World w;
  const std::string path = w.run("docker.io/library/hello:1");
  struct Row {
    int status;  // of the API server; 0: the kubelet answers with words
    const char* says;
  };
  const Row rows[] = {
      {500, "the Kubernetes API server doesn't give the log (500)"},
      {502, "the Kubernetes API server doesn't give the log (502)"},
      {503, "the Kubernetes API server doesn't give the log (503)"},
      {403, "the Kubernetes API server doesn't give the log (403)"},
      {0, "can't give the log: unable to retrieve container logs for containerd://1"},
  };
  for (const Row& row : rows) {
    INFO(row.says);
    if (row.status == 0)
      w.cluster.answer_logs_with("unable to retrieve container logs for containerd://1");
    else
      w.cluster.fail_next(1000, row.status, std::nullopt, {.verb = "logs", .plural = ""});
    for (const char* query : {"", "?tail=1", "?since=1h"}) {
      const Answer answer = w.logs(path, query);
      CHECK(answer.status == 503);
      CHECK(answer.body["errors"]["code"] == "unavailable");
      CHECK(answer.text.find(row.says) != std::string::npos);
    }
    w.cluster.clear_failures();
    w.cluster.answer_logs_with("");
    CHECK(expect(200, w.logs(path, "?tail=1")).text == "listening on port 3000\n");
  }
  for (const int status : {404, 400}) {
    w.cluster.fail_next(1, status, std::nullopt, {.verb = "logs", .plural = ""});
    CHECK(w.logs(path).code() == "invalid_state");
  }
}

TEST_CASE("while a log is followed, a lasting failure is told, and the log goes on afterwards") {
  World w;
  const std::string path = w.run("docker.io/library/talking:1");
  w.cluster.fail_next(100'000, 500, std::nullopt, {.verb = "logs", .plural = ""});
  const EventStream stream(w.berthd, path + "/container-logs?follow=true&tail=1",
                           w.ada.tokens.access_token);
  const Event problem = stream.events(1).at(0);
  CHECK(problem.name == "problem");
  CHECK(problem.data.find("the Kubernetes API server doesn't give the log (500)") !=
        std::string::npos);
  w.cluster.clear_failures();
  const auto events = stream.events(10);
  REQUIRE(events.size() >= 10);
  for (size_t i = 1; i < events.size(); ++i) CHECK(events[i].name == "message");
}

TEST_CASE("logs of all of a person's apps are sent but those of an app that is suspended") {
  World w;
  const std::string id = deploy(w.ada.api, order("shop", "docker.io/library/talking:1"));
  wait_until_status(w.ada.api, id, "running");
  Client session(w.berthd, w.ada.user.jwt);
  const json wanted = {{"name", "logs"}, {"scopes", {"logs:read"}}};
  const std::string token = expect(201, session.post("/api/auth/tokens", wanted)).body["token"];
  const std::string path = "/api/deploy/container-logs?logs=" + id;
  const EventStream stream(w.berthd, path, token);
  CHECK(stream.events(3).at(2).name == "line");
  expect(200, Client(w.berthd).ask({.method = "POST",
                                    .path = "/api/internal/apps/" + w.ada.app.id + "/suspend",
                                    .body = R"({"reason": "a test"})",
                                    .headers = admin(w.berthd)}));
  CHECK(stream.ends());
  const EventStream refused(w.berthd, path, token);
  CHECK(refused.events(1).at(0).name == "end");
  CHECK(refused.events(1).at(0).data.find("account_suspended") != std::string::npos);
  CHECK(refused.ends());
}

TEST_CASE("a log's end, its newest lines, and refusals") {
  World w;
  const std::string path = w.run("docker.io/library/hello:1");
  CHECK(expect(200, w.logs(path)).text ==
        "simulated container app of image docker.io/library/hello:1\nstarting\n"
        "listening on port 3000\n");
  CHECK(expect(200, w.logs(path, "?tail=1")).text == "listening on port 3000\n");
  CHECK(expect(200, w.logs(path, "?tail=0")).text.empty());
  CHECK(expect(200, w.logs(path, "?since=1h&tail=2")).text == "starting\nlistening on port 3000\n");
  const Answer events =
      expect(200, w.ada.api.get(path + "/container-logs", {{"Accept", "text/event-stream"}}));
  berth::api::test::EventText text;
  const auto read = text.read(events.text);
  REQUIRE(read.size() == 3);
  const Answer rest =
      expect(200, w.ada.api.get(path + "/container-logs",
                                {{"Accept", "text/event-stream"}, {"Last-Event-ID", read[1].id}}));
  CHECK(berth::api::test::EventText().read(rest.text) ==
        std::vector<berth::api::test::ReadEvent>{read[2]});

  CHECK(w.logs(path, "?previous=true").code() == "invalid_state");
  CHECK(w.logs(path, "?previous=true&follow=true").code() == "validation_failed");
  for (const char* wrong : {"?tail=-1", "?tail=10001", "?tail=x", "?since=yesterday", "?follow=2"})
    CHECK(w.logs(path, wrong).code() == "validation_failed");
  CHECK(w.ada.api.get(path + "/container-logs", {{"Last-Event-ID", "7"}}).code() ==
        "malformed_request");

  const std::string missing = deploy(w.ada.api, order("none", "docker.io/library/missing:1"));
  wait_until_status(w.ada.api, missing, "errored");
  const Answer none = w.logs("/api/deploy/apps/" + missing);
  CHECK(none.status == 409);
  CHECK(none.code() == "invalid_state");
  expect(200, w.ada.api.post(path + "/stop"));
  REQUIRE(eventually([&] { return w.logs(path).status == 409; }));
}
