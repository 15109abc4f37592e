#include "reconcilers/kube/exec_plugin.h"

#include <catch2/catch.hpp>
#include <latch>
#include <nlohmann/json.hpp>

#include "reconcilers/kube/program.h"
#include "tests/kube_client/api_server.h"
#include "tests/kube_client/variable.h"
#include "tests/temp_dir.h"

using namespace berth;
using namespace berth::kube;
using berth::test::TempDir;
using namespace std::chrono_literals;

namespace {

const std::string v1 = "client.authentication.k8s.io/v1";

std::string credential(const std::string& status, const std::string& version = v1) {
  return "cat <<'END'\n{\"apiVersion\":\"" + version +
         "\",\"kind\":\"ExecCredential\",\"status\":" + status + "}\nEND\n";
}

ExecPlugin plugin(const std::filesystem::path& command) {
  ExecPlugin result;
  result.api_version = v1;
  result.command = command.string();
  return result;
}

std::string plugin_error(const ExecPlugin& plugin) {
  try {
    run_exec_plugin(plugin, {});
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

Program program(const std::filesystem::path& command) {
  return {command.string(), {}, {}, 20s, 100'000};
}

}  // namespace

TEST_CASE("an exec plugin gets its arguments and variables without a shell") {
  const TempDir dir;
  const auto command =
      dir.script("plugin",
                 "printf '%s|' \"$@\" > \"$OUT/args\"\nprintf '%s' \"$KUBERNETES_EXEC_INFO\" > "
                 "\"$OUT/info\"\nprintf '%s' \"$PLUGIN_MODE\" > \"$OUT/mode\"\n" +
                     credential(R"({"token":"abc"})", "client.authentication.k8s.io/v1beta1"));
  const Variable inherited("PLUGIN_MODE", "ours");
  ExecPlugin asked = plugin(command);
  asked.api_version = "client.authentication.k8s.io/v1beta1";
  asked.args = {"a b", "$(touch " + (dir / "hacked").string() + ")", "*"};
  asked.env = {{"OUT", (dir / "").string()}, {"PLUGIN_MODE", "theirs"}};
  asked.cluster_info = R"({"server":"https://one"})";

  const ExecCredential got = run_exec_plugin(asked, {});
  CHECK(got.token == "abc");
  CHECK_FALSE(got.expires);
  CHECK(dir.read("args") == "a b|" + asked.args[1] + "|*|");
  CHECK(dir.read("mode") == "theirs");
  CHECK_FALSE(std::filesystem::exists(dir / "hacked"));
  const auto info = nlohmann::json::parse(dir.read("info"));
  CHECK(info == nlohmann::json::parse(R"({"apiVersion":"client.authentication.k8s.io/v1beta1",
    "kind":"ExecCredential","spec":{"interactive":false,"cluster":{"server":"https://one"}}})"));
}

TEST_CASE("an exec plugin's certificate and its time are read") {
  const TempDir dir;
  const auto got = run_exec_plugin(
      plugin(dir.script("plugin", credential(R"({"clientCertificateData":"C","clientKeyData":"K",
        "expirationTimestamp":"2030-01-02T03:04:05Z"})"))),
      {});
  CHECK(got.certificate == "C");
  CHECK(got.key == "K");
  CHECK(got.expires == parse_iso8601("2030-01-02T03:04:05Z"));
}

TEST_CASE("errors of an exec plugin are reported without its output") {
  const TempDir dir;
  const auto [text, expected] = GENERATE(table<std::string, std::string>({
      {"echo hunter2; exit 3\n", "ended with exit code 3"},
      {"echo hunter2 >&2; kill -9 $$\n", "was ended by signal 9"},
      {"echo hunter2\n", "didn't print an ExecCredential"},
      {"echo '{\"token\":\"hunter2\"}'\n", "didn't print an ExecCredential"},
      {credential(R"({"token":"hunter2"})", "client.authentication.k8s.io/v1alpha1"),
       "of another version"},
      {credential("3"), "without a status"},
      {credential(R"({"token":["hunter2"]})"), "status.token that isn't a string"},
      {credential("{}"), "neither a token nor a client certificate"},
      {credential(R"({"clientCertificateData":"hunter2"})"), "only one of"},
      {credential(R"({"token":"hunter2","expirationTimestamp":"soon"})"), "isn't a time"},
      {"head -c 2000000 /dev/zero\n", "wrote more than"},
  }));
  const auto command = dir.script("plugin", text);
  const std::string message = plugin_error(plugin(command));
  CHECK_THAT(message, Catch::Contains(expected));
  CHECK_THAT(message, Catch::Contains(command.string()));
  CHECK_THAT(message, !Catch::Contains("hunter2"));
}

TEST_CASE("the message about a missing exec plugin contains the hint how to install it") {
  const TempDir dir;
  ExecPlugin missing = plugin(dir / "gone");
  missing.install_hint = "apt install gone";
  CHECK_THAT(plugin_error(missing), Catch::Contains("can't be started: No such file or directory "
                                                    "(apt install gone)"));
}

TEST_CASE("a program that takes too long is killed with its children") {
  const TempDir dir;
  Program slow = program(dir.script("slow", "sleep 60 & echo $! > \"$OUT\"; wait\n"));
  slow.env = {{"OUT", (dir / "child").string()}};
  slow.timeout = 1s;
  const auto start = std::chrono::steady_clock::now();
  CHECK_THROWS_WITH(run_program(slow, {}), Catch::Contains("took longer than 1000 ms"));
  CHECK(std::chrono::steady_clock::now() - start < 20s);
  const int child = std::stoi(dir.read("child"));
  CHECK(comes_true([&] {  // it is gone, or a zombie that its new parent hasn't noticed
    std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(stat), {}};
    return text.empty() || text.find(") Z ") != std::string::npos;
  }));
}

TEST_CASE("a program that has ended isn't waited for because a child holds its output") {
  const TempDir dir;
  const Program parent = program(dir.script("parent", "sleep 60 &\nprintf hello\n"));
  CHECK(run_program(parent, {}) == "hello");
}

TEST_CASE("a program that closes its output is waited for") {
  const TempDir dir;
  CHECK(run_program(program(dir.script("closes", "printf hi; exec >&-; sleep 0.1\n")), {}) == "hi");
  CHECK(run_program(program(dir.script("much", "head -c 99999 /dev/zero\n")), {}).size() == 99'999);
}

TEST_CASE("a stop ends a running program") {
  const TempDir dir;
  std::stop_source stop;
  const Program slow = program(dir.script("slow", ": > \"$0.started\"; sleep 60\n"));
  std::jthread stopper([&] {
    comes_true([&] { return std::filesystem::exists(dir / "slow.started"); });
    stop.request_stop();
  });
  CHECK_THROWS_WITH(run_program(slow, stop.get_token()), "was stopped");
}

TEST_CASE("a program doesn't inherit berth's open files") {
  const TempDir dir;
  std::FILE* ours = std::fopen((dir / "ours").c_str(), "w");
  const auto command = dir.script("list", "ls -l /proc/$$/fd\n");
  CHECK_THAT(run_program(program(command), {}), !Catch::Contains((dir / "ours").string()));
  std::fclose(ours);
}

TEST_CASE("an exec plugin's token is kept until it expires and renewed after a 401") {
  const TempDir dir;
  // Each run prints the next token: t1, t2, …; `life` says how long it is valid.
  const auto command = dir.script(
      "plugin",
      "n=$(($(cat \"$0.runs\" 2>/dev/null || echo 0) + 1)); echo $n > \"$0.runs\"\n"
      "printf '{\"apiVersion\":\"" +
          v1 +
          "\",\"kind\":\"ExecCredential\","
          "\"status\":{\"token\":\"t%s\",\"expirationTimestamp\":\"%s\"}}' $n \"$LIFE\"\n");
  std::mutex mutex;
  std::string revoked;
  ApiServer server([&](const httplib::Request& request, httplib::Response& response) {
    const std::scoped_lock lock(mutex);
    if (request.get_header_value("Authorization") == revoked)
      return refuse(response, 401, "Unauthorized");
    response.set_content(request.get_header_value("Authorization"), "text/plain");
  });
  Kubeconfig config = server.config();
  config.exec = plugin(command);

  SECTION("kept") {
    config.exec->env = {{"LIFE", "2100-01-01T00:00:00Z"}};
    Client client(config);
    CHECK(client.raw("/a") == "Bearer t1");
    CHECK(client.raw("/b") == "Bearer t1");
    {
      const std::scoped_lock lock(mutex);
      revoked = "Bearer t1";
    }
    CHECK(client.raw("/c") == "Bearer t2");
    CHECK(client.raw("/d") == "Bearer t2");
    CHECK(dir.read("plugin.runs") == "2\n");
  }
  SECTION("expired") {
    config.exec->env = {{"LIFE", "2001-01-01T00:00:00Z"}};
    Client client(config);
    CHECK(client.raw("/a") == "Bearer t1");
    CHECK(client.raw("/b") == "Bearer t2");
  }
  SECTION("one run for all who wait") {
    config.exec->env = {{"LIFE", "2100-01-01T00:00:00Z"}};
    Client client(config);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i) threads.emplace_back([&] { client.raw("/a"); });
    threads.clear();
    CHECK(dir.read("plugin.runs") == "1\n");
  }
  SECTION("a token of our own comes first") {
    config.token = "own";
    Client client(config);
    CHECK(client.raw("/a") == "Bearer own");
    CHECK_FALSE(std::filesystem::exists(dir / "plugin.runs"));
  }
}

TEST_CASE("a plugin that fails makes the cluster unreachable") {
  const TempDir dir;
  ApiServer server([](const auto&, auto&) {});
  Kubeconfig config = server.config();
  config.exec = plugin(dir.script("plugin", "exit 1\n"));
  Client client(config);
  const ApiError error = error_from([&] { client.raw("/a"); });
  CHECK(error.unreachable());
  CHECK_THAT(error.what(), Catch::Contains("exit code 1"));
  CHECK(server.seen().empty());
}

TEST_CASE("callers who waited for a failing plugin don't each run it again") {
  const TempDir dir;
  ApiServer server([](const auto&, auto&) {});
  Kubeconfig config = server.config();
  config.exec = plugin(dir.script("plugin", "echo >> \"$0.runs\"; sleep 0.3; exit 1\n"));
  Client client(config);
  constexpr int callers = 6;
  std::latch together(callers);
  std::atomic<int> failures = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < callers; ++i)
      threads.emplace_back([&] {
        together.arrive_and_wait();
        failures += error_from([&] { client.raw("/a"); }).unreachable();
      });
  }
  CHECK(failures == callers);
  CHECK(dir.read("plugin.runs").size() < callers);
}
