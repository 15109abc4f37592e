#include "reconcilers/embedded/node/session.h"

#include <poll.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <thread>

#include "controller/base/error.h"
#include "tests/embedded/support.h"

using namespace berth;
using namespace berth::embedded;
using namespace berth::embedded::tests;
using namespace std::chrono_literals;
using What = SessionEvent::Kind;

namespace {

// Everything until the end.
struct Told {
  std::string output, errors;
  SessionEnd end;
};
Told all_of(RunSession& session) {
  Told told;
  for (;;) {
    const auto event = session.receive(20s);
    REQUIRE(event);
    if (event->kind == What::output) told.output += event->bytes;
    if (event->kind == What::error_output) told.errors += event->bytes;
    if (event->kind != What::end) continue;
    told.end = event->end;
    return told;
  }
}

// Receives until the output has this text.
bool shows(RunSession& session, const std::string& text) {
  std::string output;
  while (output.find(text) == std::string::npos) {
    const auto event = session.receive(20s);
    if (!event || event->kind == What::end) return false;
    output += event->bytes;
  }
  return true;
}

struct Simulated : World {
  Simulated() {
    put_deployment("web", "nginx:1");
    REQUIRE(wait([&] { return !pod("web").empty(); }));
  }
  void put_deployment(const std::string& name, const std::string& image) {
    Json wanted = deployment(name, image);
    wanted["metadata"]["namespace"] = "apps";
    wanted["spec"]["template"]["spec"]["containers"][0]["env"] = {
        {{"name", "COLOR"}, {"value", "secret"}}, {{"name", "PORT"}, {"value", "8080"}}};
    cluster.put(wanted);
  }
  // A pod of the deployment whose container runs.
  std::string pod(const std::string& name) {
    for (const Json& one : cluster.list("pods", "apps", "app=" + name)) {
      const Json& statuses = at_path(one, "/status/containerStatuses");
      if (!statuses.empty() && !at_path(statuses[0], "/state/running").is_null()) {
        container_name = text_at(statuses[0], "name");
        return name_of(one);
      }
    }
    return "";
  }
  std::unique_ptr<RunSession> open(const SessionRequest& request) {
    const std::string name = pod("web");
    return cluster.open_session("apps", name, container_name, request);
  }
  Told run(std::vector<std::string> command) {
    return all_of(*open({.command = std::move(command)}));
  }
  std::string container_name;
};

struct Pair {
  Pair() {
    int both[2] = {-1, -1};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both) == 0);
    ours = Descriptor(both[0]);
    theirs = Descriptor(both[1]);
  }
  void write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(theirs.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(std::size_t(sent));
    }
  }
  Descriptor ours, theirs;
};

std::string frame(char stream, std::string_view bytes) {
  std::string text(1, stream);
  text.append(3, '\0');
  for (const int shift : {24, 16, 8, 0}) text += char(bytes.size() >> shift & 0xff);
  return text.append(bytes);
}

}  // namespace

TEST_CASE("commands of simulated containers") {
  Simulated world;
  CHECK(world.run({"echo", "a", "b"}).output == "a b\n");
  const Told both = world.run({"sh", "-c", "echo out; echo err >&2; exit 7"});
  CHECK(both.output == "out\n");
  CHECK(both.errors == "err\n");
  CHECK(both.end.exit_code == 7);
  CHECK(both.end.failure.empty());
  // The names, and never the values.
  CHECK(world.run({"env"}).output == "COLOR\nPORT\n");
  CHECK(world.run({"sleep", "nan"}).end.exit_code == 0);
  const auto shells = world.open({.command = {"sh"}});
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "sh\n";
  shells->send(many, 20s);
  shells->close_input(20s);
  const Told deep = all_of(*shells);
  CHECK(deep.errors.find("sh: too many shells within each other\n") != std::string::npos);
  CHECK(deep.end.exit_code == 2);
  const Told unknown = world.run({"psql"});
  CHECK(unknown.end.exit_code == 127);
  CHECK(unknown.end.failure == "exec: \"psql\": executable file not found in $PATH");
  CHECK(world.run({"/bin/sh", "-c", "psql"}).end.exit_code == 127);
  CHECK(world.run({"/bin/sh", "-c", "psql"}).end.failure.empty());
  CHECK(world.run({"false"}).end.exit_code == 1);
}

TEST_CASE("the input of a simulated command, and its end") {
  Simulated world;
  const auto session = world.open({.command = {"cat"}});
  CHECK_FALSE(session->receive(0ms));
  std::thread sender([&] {
    for (int i = 0; i < 1000; ++i) session->send(std::string(999, 'x') + "\n", 30s);
    session->close_input(1s);
  });
  const Told told = all_of(*session);
  sender.join();
  CHECK(told.output.size() == 1'000'000);
  CHECK(told.end.exit_code == 0);
}

TEST_CASE("a simulated terminal echoes, is resized, and interrupts") {
  Simulated world;
  const auto session = world.open({.command = {"sh"}, .has_terminal = true});
  CHECK(shows(*session, "$ "));
  session->resize(100, 40);
  session->send(std::string("stty sizf\x7f") + "e\r", 1s);
  CHECK(shows(*session, "40 100\r\n"));
  session->send("sleep 100\r", 1s);
  CHECK(shows(*session, "sleep 100\r\n"));
  session->send("\x03", 1s);
  CHECK(shows(*session, "^C\r\n$ "));
  session->send("exit 3\r", 1s);
  CHECK(all_of(*session).end.exit_code == 3);
  const auto other = world.open({.command = {"sh"}, .has_terminal = true});
  other->close_input(1s);
  CHECK(all_of(*other).end.exit_code == 0);
}

TEST_CASE("ports of simulated containers") {
  Simulated world;
  SessionRequest request;
  request.port = 8080;
  const auto open = world.open(request);
  open->send("GET / HTTP/1.1\r\n\r\n", 1s);
  const Told answered = all_of(*open);
  CHECK(answered.output.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(answered.end.failure.empty());
  request.port = 81;
  CHECK(all_of(*world.open(request)).end.failure.find("connection refused") != std::string::npos);
}

TEST_CASE("a pod that ends takes its sessions with it") {
  Simulated world;
  const auto sleeps = world.open({.command = {"sleep", "1000"}});
  const auto reads = world.open({.command = {"cat"}});
  const auto writes = world.open({.command = {"yes"}});
  const std::string pod = world.pod("web");
  REQUIRE(world.cluster.remove("deployments", "apps", "web"));
  CHECK(all_of(*sleeps).end.exit_code == 137);
  CHECK(all_of(*reads).end.exit_code == 137);
  CHECK(all_of(*writes).end.exit_code == 137);
  REQUIRE(World::wait([&] { return !world.cluster.get("pods", "apps", pod); }));
  CHECK_THROWS_AS(
      world.cluster.open_session("apps", pod, world.container_name, {.command = {"sh"}}), Error);
}

TEST_CASE("who doesn't receive lets a command wait, and leaves when they like") {
  Simulated world;
  for (int i = 0; i < 20; ++i) {
    const auto session = world.open({.command = {"yes"}});
    const auto event = session->receive(20s);
    REQUIRE(event);
    CHECK(event->bytes.size() <= RunSession::max_event_bytes);
    if (i % 2 == 0) session->cancel();
  }
  const auto session = world.open({.command = {"sleep", "1000"}});
  std::thread canceller([&] {
    std::this_thread::sleep_for(50ms);
    session->cancel();
  });
  const auto end = session->receive(60s);
  canceller.join();
  REQUIRE(end);
  CHECK(end->kind == What::end);
  CHECK_THROWS(session->send("x", 1s));
}

TEST_CASE("podman's frames are read in any pieces") {
  Pair pair;
  RunSession::Parts parts;
  parts.socket = std::move(pair.ours);
  parts.is_framed = true;
  parts.how_it_ended = [] { return SessionEnd{.exit_code = 4, .failure = {}}; };
  RunSession session(std::move(parts));
  const std::string large(100'000, 'l');
  const std::string all = frame(1, "one") + frame(2, "two") + frame(1, "") + frame(1, large);
  std::thread writer([&] {
    for (std::size_t at = 0; at < all.size(); at += at < 64 ? 1 : 7000)
      pair.write(std::string_view(all).substr(at, at < 64 ? 1 : 7000));
    ::shutdown(pair.theirs.get(), SHUT_WR);
  });
  const Told told = all_of(session);
  writer.join();
  CHECK(told.output == "one" + large);
  CHECK(told.errors == "two");
  CHECK(told.end.exit_code == 4);
  pollfd waiting{.fd = session.descriptor(), .events = POLLIN, .revents = 0};
  CHECK(::poll(&waiting, 1, 0) == 1);
  CHECK(session.receive(0ms)->kind == What::end);
}

TEST_CASE("a runtime's words about a command that it can't start aren't its output") {
  const std::string words = "Error: runc: exec failed: exec: \"nope\": not found: OCI …\n";
  for (const int code : {127, 126, 0}) {
    Pair pair;
    RunSession::Parts parts;
    parts.socket = std::move(pair.ours);
    parts.how_it_ended = [code] { return SessionEnd{.exit_code = code, .failure = {}}; };
    parts.is_failure = [](std::string_view first) { return first.starts_with("Error: "); };
    RunSession session(std::move(parts));
    pair.write(words);
    ::shutdown(pair.theirs.get(), SHUT_WR);
    const Told told = all_of(session);
    CHECK(told.output == (code == 0 ? words : ""));
    CHECK(told.end.failure == (code == 0 ? "" : words));
    CHECK(told.end.exit_code == code);
  }
}

TEST_CASE("a command that takes nothing is given up, and one that has ended takes all") {
  Pair pair;
  RunSession::Parts parts;
  parts.socket = std::move(pair.ours);
  parts.how_it_ended = [] { return SessionEnd(); };
  bool hung_up = false;
  parts.hang_up = [&] { hung_up = true; };
  {
    RunSession session(std::move(parts));
    CHECK_THROWS_AS(session.send(std::string(16 << 20, 'x'), 100ms), std::runtime_error);
  }
  CHECK(hung_up);
  const auto ended = RunSession::ended({.exit_code = std::nullopt, .failure = "refused"});
  CHECK_NOTHROW(ended->send("x", 1s));
  CHECK(ended->receive(0ms)->end.failure == "refused");
}
