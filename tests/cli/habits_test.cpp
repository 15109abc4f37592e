// What people type who know gh, flyctl, kubectl or docker.
#include <catch2/catch.hpp>
#include <csignal>
#include <regex>

#include "controller/base/clock.h"
#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;
using berth::process::eventually;

namespace {

constexpr int usage = 2;
constexpr int invalid = 7;

size_t lines_in(const std::string& text) { return size_t(std::ranges::count(text, '\n')); }

}  // namespace

TEST_CASE("short forms: ls, ps, rm, up, logs -n and -t, history -n") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  ada.must({"up", "--yes", "--wait", "-f", "-"},
           std::string("{name: shop, image: '") + berth::process::well_image + "'}");
  for (const char* name : {"ls", "ps", "list"})
    CHECK(ada.must({name}).out.find("shop") != std::string::npos);
  CHECK(ada.must({"ls", "-o=json"}).body().at("deployments").size() == 1);

  // The simulated container writes when it starts.
  REQUIRE(eventually([&] { return !ada.must({"logs", "shop"}).out.empty(); }));
  const std::string plain = ada.must({"logs", "shop", "-n", "1"}).out;
  CHECK(lines_in(plain) == 1);
  const std::string timed = ada.must({"logs", "shop", "-n", "1", "-t"}).out;
  CHECK(std::regex_search(timed, std::regex("^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\S*Z ")));
  CHECK(timed.substr(timed.find(' ') + 1) == plain);
  const json line = ada.must({"logs", "shop", "-n1", "-o", "json"}).body();
  CHECK(berth::parse_iso8601(line.at("time").get<std::string>()).has_value());
  CHECK(line.at("line").get<std::string>() + "\n" == plain);
  const auto follower = ada.start({"logs", "shop", "-f", "-t"});
  CHECK(eventually([&] { return follower->out().find(timed) != std::string::npos; }));
  for (const char* since : {"1h30m", "90m", "2d", "1h30m5s", "3600", "1d1h"})
    CHECK_FALSE(ada.must({"logs", "shop", "--since", since}).out.empty());
  for (const char* since : {"30m1h", "h", "1h30", "1x", "1h 30m", "-1h", "400d"}) {
    CAPTURE(since);
    CHECK(ada.berth({"logs", "shop", std::string("--since=") + since}).code == invalid);
  }

  for (int i = 0; i < 3; ++i) ada.must({"deploy", "stop", "shop"});
  ada.must({"deploy", "restart", "shop"});
  const json last = ada.must({"deploy", "history", "shop", "-n", "1", "-o", "json"}).body();
  REQUIRE(last.at("logs").size() == 1);
  CHECK(last.at("logs").at(0).at("action") == "restart");
  const Ran two = ada.must({"deploy", "history", "shop", "-n", "2"});
  CHECK(lines_in(two.out) == 3);
  CHECK(two.err.find("older entries aren't shown") != std::string::npos);
  CHECK(ada.berth({"deploy", "history", "shop", "-n", "0"}).code == usage);

  ada.must({"rm", "shop", "--yes"});
  CHECK(ada.must({"ls", "-o=json"}).body().at("deployments").empty());
}

TEST_CASE("variables are listed with a digest and a date, which a new value changes") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  ada.must({"deploy", "create", "shop", "--image", berth::process::well_image, "--env", "A=1",
            "--env", "B=1"});
  const auto variables = [&] {
    json byname;
    const json body = ada.must({"env", "ls", "shop", "-o", "json"}).body();
    for (const json& each : body.at("variables")) byname[each.at("name").get<std::string>()] = each;
    return byname;
  };
  const json before = variables();
  CHECK(
      std::regex_match(before.at("A").at("digest").get<std::string>(), std::regex("[0-9a-f]{16}")));
  CHECK(before.at("A").at("digest") != before.at("B").at("digest"));
  CHECK(berth::parse_iso8601(before.at("A").at("set_at").get<std::string>()).has_value());
  ada.must({"env", "set", "shop", "A=2", "B=1"});
  const json after = variables();
  CHECK(after.at("A").at("digest") != before.at("A").at("digest"));
  CHECK(after.at("A").at("set_at") > before.at("A").at("set_at"));
  CHECK(after.at("B") == before.at("B"));
  ada.must({"env", "set", "shop", "A=1"});
  CHECK(variables().at("A").at("digest") == before.at("A").at("digest"));
  const std::string table = ada.must({"env", "list", "shop"}).out;
  CHECK(table.find("NAME  DIGEST") == 0);
  CHECK(table.find(before.at("B").at("digest").get<std::string>()) != std::string::npos);
}

TEST_CASE("variables come from stdin and from files") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  const berth::process::TempDir dir;
  ada.must({"deploy", "create", "shop", "--image", berth::process::well_image, "--env-file", "-"},
           "export A=1 # one\n");
  ada.must({"env", "set", "shop", "B=@" + dir.write("b", "two\n").string(), "--env-file", "-"},
           "C='3'\n");
  CHECK(ada.must({"env", "list", "shop", "-o", "json"}).body().at("env_keys") ==
        json{"A", "B", "C"});
  CHECK(ada.berth({"env", "set", "shop", "--env-file", "/nowhere"}).code == usage);
  CHECK(ada.berth({"deploy", "update", "shop", "--env-file", "-", "--registry-username", "u",
                   "--registry-password-stdin"})
            .code == usage);
  const Ran warned = ada.must({"env", "set", "shop", "--env-file", "-"}, "D=$NOT_SET_HERE\n");
  CHECK(warned.err.find("the variable NOT_SET_HERE isn't set and counts as empty") !=
        std::string::npos);
}

TEST_CASE("Ctrl-C while a command waits says that the deployment goes on") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  const auto waits = ada.start(
      {"deploy", "create", "shop", "--image", "docker.io/library/wrong-port:1", "--wait"});
  REQUIRE(eventually([&] { return waits->err().find("deploying") != std::string::npos; }));
  waits->interrupt();
  const Ran ended = waits->wait();
  CHECK(ended.code == -SIGTERM);
  CHECK(
      ended.err.find("The deployment continues without this command; `berth deploy status shop`") !=
      std::string::npos);
  CHECK(ada.must({"deploy", "get", "shop", "-o", "json"}).body().at("status") != "destroyed");
}
