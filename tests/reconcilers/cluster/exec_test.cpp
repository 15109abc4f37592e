#include "reconcilers/cluster/exec.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "controller/base/error.h"
#include "reconcilers/cluster/kube_exec.h"
#include "tests/domain/world.h"
#include "tests/kube_client/web_socket_server.h"
#include "tests/reconcilers/cluster/cluster.h"
#include "tests/reconcilers/cluster/world.h"

using namespace berth;
using namespace berth::reconcilers;
using namespace berth::reconcilers::test;
using namespace std::chrono_literals;
using berth::test::HttpRequest;
using berth::test::ServedSocket;
using berth::test::WebSocketServer;
using nlohmann::json;

namespace {

const RunningContainer some_container{
    .name_space = "berth-app-one", .pod = "web-1", .container = "app", .node = "worker-1"};

exec::Wanted command(std::vector<std::string> argv, bool terminal = false) {
  return {
      .deployment_id = "one",
      .what = exec::Command{.argv = std::move(argv), .has_input = true, .has_terminal = terminal}};
}

exec::Wanted of(const std::string& deployment, std::optional<std::string> instance = {},
                std::optional<std::string> process = {}) {
  return {.deployment_id = deployment,
          .instance = std::move(instance),
          .process = std::move(process),
          .what = exec::Command{.argv = {"sh"}}};
}

std::string sentence_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return std::string(name(error.code)) + ": " + error.what();
  }
  return "no error";
}

// All output of a session until its end.
struct Told {
  std::string output, errors;
  exec::End end;
};
Told all_of(exec::Session& session) {
  Told told;
  for (;;) {
    const auto event = session.receive(20s);
    REQUIRE(event);
    if (const auto* output = std::get_if<exec::Output>(&*event)) {
      const bool is_error = output->stream == exec::Output::Stream::error;
      (is_error ? told.errors : told.output) += output->bytes;
    } else {
      told.end = std::get<exec::End>(*event);
      return told;
    }
  }
}

std::string status_of(int code) {
  if (code == 0) return R"({"metadata":{},"status":"Success"})";
  return json{
      {"status", "Failure"},
      {"reason", "NonZeroExitCode"},
      {"message", "command terminated with non-zero exit code"},
      {"details", {{"causes", {{{"reason", "ExitCode"}, {"message", std::to_string(code)}}}}}}}
      .dump();
}
std::string failure_of(const std::string& message) {
  return json{{"status", "Failure"}, {"reason", "InternalError"}, {"message", message}}.dump();
}

// An API server that gives tokens, and serves sessions.
class ApiServer {
 public:
  explicit ApiServer(std::function<void(ServedSocket&)> serve,
                     const std::string& protocol = "v5.channel.k8s.io")
      : server_({.refuses = [this](const HttpRequest& request) { return refusal(request); },
                 .protocol = protocol,
                 .serve = std::move(serve)}),
        exec_(config(), "berth/berth-exec") {}

  kube::Kubeconfig config() const {
    kube::Kubeconfig config = server_.config();
    config.token = "of-berth";
    return config;
  }
  KubeExec& exec() { return exec_; }
  std::vector<HttpRequest> seen() const { return server_.seen(); }
  std::atomic<int> tokens = 0;
  std::atomic<int> token_life_s = 600;
  std::atomic<bool> gives_no_tokens = false;  // and says so after a second
  std::atomic<int> refused_status = 0;        // of sessions; 0: none
  std::atomic<bool> forgets_first_token = false;

 private:
  std::optional<WebSocketServer::Answer> refusal(const HttpRequest& request) {
    if (request.target().ends_with("/serviceaccounts/berth-exec/token")) {
      if (request["Authorization"] != "Bearer of-berth") return {{401, "{}"}};
      const int number = ++tokens;
      if (gives_no_tokens) {
        std::this_thread::sleep_for(1s);
        return {{500, "{}"}};
      }
      const auto until = system_time() + std::chrono::seconds(token_life_s);
      return {{201, json{{"kind", "TokenRequest"},
                         {"status",
                          {{"token", "token-" + std::to_string(number)},
                           {"expirationTimestamp", to_iso8601(until)}}}}
                        .dump()}};
    }
    if (refused_status != 0)
      return {{refused_status.load(),
               json{{"kind", "Status"}, {"message", "no"}, {"reason", "Forbidden"}}.dump()}};
    if (forgets_first_token && request["Authorization"] == "Bearer token-1") return {{401, "{}"}};
    return std::nullopt;
  }

  WebSocketServer server_;
  KubeExec exec_;
};

}  // namespace

TEST_CASE("a session's container is one that runs, of the process that is wanted") {
  embedded::Cluster cluster{quick()};
  World world(config_of(cluster));
  world.wake();
  const std::string app = world.new_app();
  const std::string id = world.deploy(app);
  REQUIRE(world.is(id, deployments::Status::running));
  const Cache& cache = world.engine().cache();
  const RunningContainer found = running_container(cache, of(id));
  CHECK(found.container == "app");
  CHECK(found.name_space.starts_with("berth-app-"));
  CHECK(running_container(cache, of(id, found.pod)).pod == found.pod);
  CHECK(sentence_of([&] { running_container(cache, of(id, "other")); }) ==
        "invalid_state: the deployment doesn't have this container any more");
  CHECK(sentence_of([&] { running_container(cache, of("none")); }) ==
        "invalid_state: the deployment has no container");
  CHECK(running_container(cache, of(id, {}, "web")).pod == found.pod);
  CHECK(sentence_of([&] { running_container(cache, of(id, {}, "worker")); }) ==
        "invalid_state: the process worker has no container");

  const std::string crashes =
      world.deploy(app, {.name = "crashes", .image = "ghcr.io/acme/crash:1"});
  REQUIRE(eventually([&] {
    return sentence_of([&] { running_container(cache, of(crashes)); }).find("CrashLoopBackOff") !=
           std::string::npos;
  }));
}

TEST_CASE("the runtime's words become a sentence and a shell's exit code") {
  const auto end = end_of_refused(
      R"(error executing command in container: failed to exec in container: failed to start exec "1": OCI runtime exec failed: exec failed: unable to start container process: exec: "psql": executable file not found in $PATH)",
      {"psql", "-l"});
  CHECK(end.exit_code == 127);
  CHECK(end.problem == "the image has no program psql");
  CHECK(end_of_refused("exec: \"sh\": executable file not found in $PATH", {"sh"})
            .problem.starts_with("the image has no shell sh"));
  CHECK(end_of_refused("crun: executable file `nope` not found in $PATH: No such file or directory",
                       {"nope"})
            .exit_code == 127);
  CHECK(end_of_refused("exec: \"/etc\": permission denied", {"/etc"}).exit_code == 126);
  const auto gone = end_of_refused("container not found (\"app\")", {"sh"});
  CHECK_FALSE(gone.exit_code);
  CHECK(gone.problem == container_is_gone);
  const auto unknown = end_of_refused("\x1b[31m" + std::string(10'000, 'x'), {"sh"});
  CHECK_FALSE(unknown.exit_code);
  CHECK(unknown.problem.size() < 500);
  CHECK(unknown.problem.find('\x1b') == std::string::npos);
  CHECK(end_of_refused_port("dial tcp4 127.0.0.1:81: connect: connection refused", 81).problem ==
        "nothing in the container listens on port 81");
}

TEST_CASE("a command on a cluster: output, input, size and exit code") {
  ApiServer server([](ServedSocket& socket) {
    socket.send(std::string("\1", 1));  // the API server says that it is connected
    const auto input = socket.receive();
    const auto size = socket.receive();
    if (!input || !size) return;
    socket.send("\1out:" + input->substr(1));
    socket.send("\1" + size->substr(1));
    socket.send("\3" + status_of(7));
    socket.hang();
  });
  const auto session = server.exec().open(some_container, command({"sh", "-c", "a b&c"}, true));
  CHECK(session->instance() == "web-1");
  CHECK_FALSE(session->receive(0ms));
  session->send("hello");
  session->resize({.columns = 100, .rows = 40});
  const Told told = all_of(*session);
  CHECK(told.output.starts_with("out:hello"));
  CHECK(told.output.find(R"("Width":100)") != std::string::npos);
  CHECK(told.end.exit_code == 7);
  CHECK(told.end.problem.empty());
  CHECK(std::get<exec::End>(*session->receive(0ms)).exit_code == 7);
  session->send("late");  // does nothing
  const auto seen = server.seen();
  REQUIRE(seen.size() == 2);
  CHECK(seen[1].target() ==
        "/api/v1/namespaces/berth-app-one/pods/web-1/exec?container=app&command=sh&command=-c&"
        "command=a%20b%26c&stdin=true&stdout=true&stderr=false&tty=true");
  CHECK(seen[1]["Authorization"] == "Bearer token-1");
}

TEST_CASE("the end of the input reaches a command") {
  const auto echo = [](ServedSocket& socket) {
    std::string input;
    for (;;) {
      const auto message = socket.receive();
      if (!message) return;
      if (*message == std::string("\xff\0", 2)) break;
      input += message->substr(1);
      if (input.ends_with('\4')) break;
    }
    socket.send("\2" + std::to_string(input.size()));
    socket.send("\3" + status_of(0));
    socket.hang();
  };
  {
    ApiServer server(echo);
    const auto session = server.exec().open(some_container, command({"cat"}));
    session->send(std::string(100'000, 'x'));
    session->close_input();
    const Told told = all_of(*session);
    CHECK(told.errors == "100000");
    CHECK(told.end.exit_code == 0);
  }
  {
    ApiServer server(echo);
    const auto session = server.exec().open(some_container, command({"cat"}, true));
    session->close_input();
    CHECK(all_of(*session).errors == "1");  // Control-D
  }
  ApiServer older(echo, "v4.channel.k8s.io");
  const auto session = older.exec().open(some_container, command({"cat"}));
  session->close_input();
  const Told told = all_of(*session);
  CHECK_FALSE(told.end.exit_code);
  CHECK(told.end.problem.find("1.30") != std::string::npos);
}

TEST_CASE("a command that can't be run, or is cut off, says why") {
  const std::string words = "exec: \"bash\": executable file not found in $PATH: unknown";
  ApiServer without([&](ServedSocket& socket) {
    socket.send("\3" + failure_of(words));
    socket.hang();
  });
  const Told refused = all_of(*without.exec().open(some_container, command({"bash"})));
  CHECK(refused.end.exit_code == 127);
  CHECK(refused.end.problem.starts_with("the image has no shell bash"));

  ApiServer dies([](ServedSocket& socket) { socket.send("\1half"); });
  const Told cut = all_of(*dies.exec().open(some_container, command({"sleep", "100"})));
  CHECK(cut.output == "half");
  CHECK_FALSE(cut.end.exit_code);
  CHECK(cut.end.problem == "the connection to the container was lost");

  ApiServer nonsense([](ServedSocket& socket) {
    for (const char* message : {"", "\1", "\7what", "\3"}) socket.send(message);
    socket.send("\3{nonsense");
    socket.hang();
  });
  CHECK(all_of(*nonsense.exec().open(some_container, command({"sh"}))).end.problem ==
        "the cluster didn't say how it ended");
}

TEST_CASE("a session that is cancelled ends for those who wait") {
  ApiServer server([](ServedSocket& socket) { socket.hang(); });
  const auto session = server.exec().open(some_container, command({"sleep", "100"}));
  std::thread canceller([&] {
    std::this_thread::sleep_for(100ms);
    session->cancel();
  });
  const auto event = session->receive(60s);
  canceller.join();
  REQUIRE(event);
  CHECK(std::get<exec::End>(*event).problem == session_was_cancelled);
  CHECK(sentence_of([&] { session->send("x"); }) == "unavailable: the session was ended");
}

TEST_CASE("a port of a container on a cluster") {
  ApiServer server(
      [&](ServedSocket& socket) {
        socket.send(std::string("\0\x90\x1f", 3));
        socket.send("\1\x90\x1f");
        const auto request = socket.receive();
        if (request) socket.send(std::string(1, '\0') + "answer to " + request->substr(1));
      },
      "v4.channel.k8s.io");
  const auto session = server.exec().open(
      some_container, {.deployment_id = "one", .what = exec::Port{.number = 8080}});
  session->send("GET /");
  const Told told = all_of(*session);
  CHECK(told.output == "answer to GET /");
  CHECK_FALSE(told.end.exit_code);
  CHECK(told.end.problem.empty());
  CHECK(server.seen()[1].target() ==
        "/api/v1/namespaces/berth-app-one/pods/web-1/portforward?ports=8080");

  ApiServer closed(
      [&](ServedSocket& socket) {
        socket.send(std::string("\0\x51\0", 3));
        socket.send(std::string("\1\x51\0", 3));
        socket.send(
            "\1error forwarding port 81: dial tcp4 127.0.0.1:81: connect: connection refused");
      },
      "v4.channel.k8s.io");
  const auto none = closed.exec().open(some_container,
                                       {.deployment_id = "one", .what = exec::Port{.number = 81}});
  CHECK(all_of(*none).end.problem == "nothing in the container listens on port 81");
}

TEST_CASE("what the cluster refuses is said without its addresses and accounts") {
  ApiServer server([](ServedSocket& socket) { socket.hang(); });
  const auto sentence = [&](int status) {
    server.refused_status = status;
    return sentence_of([&] { server.exec().open(some_container, command({"sh"})); });
  };
  for (const int status : {401, 403, 422})
    CHECK(sentence(status).starts_with("unavailable: the cluster doesn't allow berth"));
  CHECK(sentence(404) == "invalid_state: the container doesn't run any more");
  CHECK(sentence(500).starts_with("unavailable: the node worker-1"));
  server.refused_status = 0;
  CHECK(sentence_of([&] { server.exec().open(some_container, command({"sh"})); }) == "no error");
}

TEST_CASE("a token is used until it is about to end, and replaced when it is refused") {
  ApiServer server([](ServedSocket& socket) { socket.send("\3" + status_of(0)); });
  const auto open = [&] { server.exec().open(some_container, command({"true"})); };
  open();
  open();
  CHECK(server.tokens == 1);
  server.forgets_first_token = true;
  open();
  CHECK(server.tokens == 2);
  CHECK(server.seen().back()["Authorization"] == "Bearer token-2");

  ApiServer short_lived([](ServedSocket& socket) { socket.send("\3" + status_of(0)); });
  short_lived.token_life_s = 60;
  for (int i = 0; i < 3; ++i) short_lived.exec().open(some_container, command({"true"}));
  CHECK(short_lived.tokens == 3);
}

TEST_CASE("those who wait for a token share what comes of it, also if there is none") {
  ApiServer server([](ServedSocket& socket) { socket.send("\3" + status_of(0)); });
  server.gives_no_tokens = true;
  std::atomic<int> refused = 0;
  const auto since = std::chrono::steady_clock::now();
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i)
    callers.emplace_back([&] {
      try {
        server.exec().open(some_container, command({"true"}));
      } catch (const Error& error) {
        refused += error.code == Code::unavailable ? 1 : 0;
      }
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(refused == 8);
  // Not each after the other.
  CHECK(server.tokens <= 4);
  CHECK(std::chrono::steady_clock::now() - since < 6s);
  server.gives_no_tokens = false;
  CHECK(sentence_of([&] { server.exec().open(some_container, command({"true"})); }) == "no error");
}
