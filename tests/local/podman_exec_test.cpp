#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>

#include "controller/base/error.h"
#include "tests/local/node.h"

using namespace berth;
using namespace berth::test;
using namespace std::chrono_literals;
using embedded::RunSession;
using embedded::SessionEnd;
using embedded::SessionEvent;
using embedded::SessionRequest;
using Stage = embedded::RunState::Stage;

namespace {

const nlohmann::json tcp = {{"tcpSocket", {{"port", 8080}}}};

struct Told {
  std::string output, errors;
  SessionEnd end;
};
Told all_of(RunSession& session) {
  Told told;
  for (;;) {
    const auto event = session.receive(30s);
    REQUIRE(event);
    if (event->kind == SessionEvent::Kind::output) told.output += event->bytes;
    if (event->kind == SessionEvent::Kind::error_output) told.errors += event->bytes;
    if (event->kind != SessionEvent::Kind::end) continue;
    told.end = event->end;
    return told;
  }
}

bool shows(RunSession& session, const std::string& text) {
  std::string output;
  while (output.find(text) == std::string::npos) {
    const auto event = session.receive(30s);
    if (!event || event->kind == SessionEvent::Kind::end) return false;
    output += event->bytes;
  }
  return true;
}

// A container that runs.
struct Running {
  Running() : pod(node, "serves", node.image("serve", {"serve"})) {
    REQUIRE(pod.start().stage == Stage::running);
    REQUIRE(pod.probe(tcp).succeeded);
  }
  std::unique_ptr<RunSession> open(std::vector<std::string> command, bool terminal = false) {
    SessionRequest request;
    request.command = std::move(command);
    request.has_terminal = terminal;
    return node.runtime().open(pod.run(), request)();
  }
  std::unique_ptr<RunSession> open(int port) {
    SessionRequest request;
    request.port = port;
    return node.runtime().open(pod.run(), request)();
  }
  // How many commands of sessions run in the container.
  int commands() {
    const std::string id = pod.state().container_id.substr(std::string("podman://").size());
    const auto container =
        nlohmann::json::parse(node.podman("GET", "/containers/" + id + "/json").body);
    int count = 0;
    for (const auto& exec : container["ExecIDs"]) {
      const auto answer = node.podman("GET", "/exec/" + exec.get<std::string>() + "/json");
      if (answer.good() && nlohmann::json::parse(answer.body)["Running"] == true) ++count;
    }
    return count;
  }

  // Waits until that many do.
  bool has_commands(int wanted) {
    for (int i = 0; i < 200; ++i) {
      if (commands() == wanted) return true;
      std::this_thread::sleep_for(50ms);
    }
    return false;
  }

  Node node;
  Pod pod;
};

}  // namespace

TEST_CASE("a command in a container: streams, input, exit code", "[podman]") {
  NEEDS_PODMAN
  Running running;
  const Told both = all_of(*running.open({"/app", "both", "7"}));
  CHECK(both.output == "out\n");
  CHECK(both.errors == "err\n");
  CHECK(both.end.exit_code == 7);
  CHECK(both.end.failure.empty());

  const auto cat = running.open({"/app", "cat"});
  const std::string much(300'000, 'x');
  std::thread sender([&] {
    cat->send(much, 30s);
    cat->close_input(1s);
  });
  const Told told = all_of(*cat);
  sender.join();
  CHECK(told.output == much);
  CHECK(told.end.exit_code == 0);

  const Told unknown = all_of(*running.open({"nope"}));
  CHECK(unknown.output.empty());
  CHECK(unknown.errors.empty());
  CHECK(unknown.end.exit_code == 127);
  CHECK(unknown.end.failure.find("not found") != std::string::npos);
}

TEST_CASE("a terminal in a container: size, Control-C, Control-D", "[podman]") {
  NEEDS_PODMAN
  Running running;
  const auto size = running.open({"/app", "size", "3"}, true);
  size->resize(100, 40);
  size->send("a\n", 1s);
  CHECK(shows(*size, "40 100\r\n"));
  size->resize(120, 50);
  size->send("b\n", 1s);
  CHECK(shows(*size, "50 120\r\n"));
  size->close_input(1s);
  CHECK(all_of(*size).end.exit_code == 3);

  const auto waits = running.open({"/app", "silent"}, true);
  REQUIRE(running.has_commands(1));
  waits->send("\x03", 1s);
  CHECK(all_of(*waits).end.exit_code == 130);

  const Told unknown = all_of(*running.open({"nope"}, true));
  CHECK(unknown.output.empty());
  CHECK(unknown.end.exit_code == 127);
}

TEST_CASE("the end of a terminal, or of the input, ends the command", "[podman]") {
  NEEDS_PODMAN
  Running running;
  auto terminal = running.open({"/app", "silent"}, true);
  auto reads = running.open({"/app", "cat"});
  REQUIRE(running.has_commands(2));
  terminal.reset();
  reads.reset();
  CHECK(running.has_commands(0));
}

TEST_CASE("a container that ends takes its sessions with it", "[podman]") {
  NEEDS_PODMAN
  Running running;
  const auto session = running.open({"/app", "silent"});
  const auto cancelled = running.open({"/app", "silent"}, true);
  cancelled->cancel();
  CHECK(all_of(*cancelled).end.failure == "the session was ended");
  running.node.runtime().stop(running.pod.run(), 0ms, embedded::Moment::clock::now());
  const Told told = all_of(*session);
  // podman may have forgotten the command with its container.
  CHECK((told.end.exit_code == 137 || !told.end.failure.empty()));
  REQUIRE(running.pod.wait_for(Stage::ended));
  CHECK_THROWS_AS(running.open({"/app", "cat"}), Error);
}

TEST_CASE("twenty commands at once", "[podman]") {
  NEEDS_PODMAN
  Running running;
  std::vector<Told> told(20);
  std::vector<std::string> failures(told.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < told.size(); ++i)
    threads.emplace_back([&, i] {
      try {
        const auto session = running.open({"/app", "cat", std::to_string(i)});
        session->send(std::to_string(i), 5s);
        session->close_input(1s);
        for (;;) {
          const auto event = session->receive(60s);
          if (!event) throw std::runtime_error("nothing came");
          if (event->kind == SessionEvent::Kind::output) told[i].output += event->bytes;
          if (event->kind != SessionEvent::Kind::end) continue;
          told[i].end = event->end;
          break;
        }
      } catch (const std::exception& error) {
        failures[i] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < told.size(); ++i) {
    CHECK(failures[i].empty());
    CHECK(told[i].output == std::to_string(i));
    CHECK(told[i].end.exit_code == int(i));
  }
  CHECK(running.pod.get("/") == "hello from serves");
}

TEST_CASE("a port of a container", "[podman]") {
  NEEDS_PODMAN
  Running running;
  const auto session = running.open(8080);
  session->send("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 1s);
  const Told told = all_of(*session);
  CHECK(told.output.find("hello from serves") != std::string::npos);
  CHECK(told.end.failure.empty());
  CHECK_FALSE(told.end.exit_code);
  if (::geteuid() != 0) return;
  CHECK(all_of(*running.open(81)).end.failure.find("connection refused") != std::string::npos);
}
