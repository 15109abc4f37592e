// What shows how things are: status, list --watch, top, open, logs of several, doctor.
#include <catch2/catch.hpp>
#include <sstream>

#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;
using berth::process::eventually;

namespace {

constexpr int failed = 1;
constexpr int usage = 2;
constexpr int not_found = 5;

void run(const Person& person, const std::string& name) {
  person.must({"deploy", "create", name, "--image", berth::process::well_image, "--wait"});
}

const json& check_called(const json& body, const std::string& name) {
  for (const json& check : body.at("checks"))
    if (check.at("name") == name) return check;
  throw std::runtime_error("doctor doesn't look at " + name);
}

}  // namespace

TEST_CASE("status without a name shows server, account, app and deployments") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada", "deploy:manage,app:balance:read");
  CHECK(ada.must({"status"}).out.find("berth init IMAGE") != std::string::npos);
  run(ada, "shop");
  const Ran ran = ada.must({"status"});
  for (const char* text : {"simulated", "ada", "Game of ada", "shop", "running"})
    CHECK(ran.out.find(text) != std::string::npos);
  const json body = ada.must({"status", "-o", "json"}).body();
  CHECK(body.at("app_points") == 0);
  CHECK(body.at("deployments").at(0).at("name") == "shop");
  CHECK(ada.must({"status", "shop", "-o", "json"}).body().at("status") == "running");
  CHECK(ada.berth({"status", "absent"}).code == not_found);
  const Person stranger(berthd);
  const Ran without = stranger.must({"status"});
  CHECK(without.out.find("No deployments: not logged in") != std::string::npos);
}

TEST_CASE("list --watch shows each change") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  run(ada, "shop");
  const auto people = ada.start({"list", "--watch"});
  const auto programs = ada.start({"list", "--watch", "-o", "json"});
  REQUIRE(eventually([&] { return people->out().find("running") != std::string::npos; }));
  REQUIRE(eventually([&] { return programs->out().find("running") != std::string::npos; }));
  ada.must({"deploy", "stop", "shop"});
  CHECK(eventually([&] { return people->out().find("stopped") != std::string::npos; }));
  CHECK(eventually([&] { return programs->out().find("stopped") != std::string::npos; }));
  std::istringstream lines(programs->out());
  for (std::string line; std::getline(lines, line);) CHECK_NOTHROW(json::parse(line));
}

TEST_CASE("top shows what deployments use") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  run(ada, "shop");
  run(ada, "forum");
  const auto measured = [&] {
    const json used = ada.must({"top", "-o", "json"}).body().at("usage");
    return used.size() == 2 && used.at(0).value("memory", json()).is_number();
  };
  CHECK(eventually(measured));
  CHECK(ada.must({"top"}).out.find(" Mi") != std::string::npos);
  CHECK(ada.must({"top", "forum", "-o", "json"}).body().at("usage").size() == 1);
  CHECK(ada.berth({"top", "absent"}).code == not_found);
}

TEST_CASE("logs of several deployments have the name before each line") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  run(ada, "shop");
  run(ada, "forum");
  const auto has_both = [](const std::string& text) {
    return text.find("shop  | ") != std::string::npos && text.find("forum | ") != std::string::npos;
  };
  CHECK(eventually([&] { return has_both(ada.must({"logs", "shop", "forum"}).out); }));
  CHECK(has_both(ada.must({"logs", "--all"}).out));
  const auto follower = ada.start({"logs", "shop", "forum", "--follow"});
  CHECK(eventually([&] { return has_both(follower->out()); }));
  std::istringstream lines(ada.must({"logs", "shop", "-o", "json", "--tail", "2"}).out);
  for (std::string line; std::getline(lines, line);)
    CHECK(json::parse(line).at("deployment") == "shop");
  CHECK(ada.berth({"logs"}).code == usage);
  CHECK(ada.berth({"logs", "shop", "absent"}).code == not_found);
}

TEST_CASE("doctor says what is wrong and what to do") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  const Ran stranger = ada.berth({"doctor", "-o", "json"});
  CHECK(stranger.code == failed);
  CHECK(check_called(json::parse(stranger.out), "server").at("result") == "ok");
  CHECK(check_called(json::parse(stranger.out), "account").at("result") == "failed");

  ada.settle_in("ada");
  run(ada, "shop");
  CHECK(ada.must({"doctor", "-o", "json"}).body().at("ok") == true);
  ada.berth({"deploy", "create", "crash", "--image", "docker.io/library/crash:1", "--wait"});
  const json crash = check_called(ada.must({"doctor", "-o", "json"}).body(), "crash");
  CHECK(crash.at("result") == "warning");
  CHECK(crash.at("advice").get<std::string>().find("deploy logs crash") != std::string::npos);

  std::filesystem::permissions(ada.credentials_file(), std::filesystem::perms(0644));
  const Ran open = ada.berth({"doctor"});
  CHECK(open.code == failed);
  CHECK(open.out.find("chmod 600") != std::string::npos);
  const Ran away = ada.berth({"doctor", "--server", "http://127.0.0.1:1"});
  CHECK(away.code == failed);
  CHECK(away.out.find("doesn't answer") != std::string::npos);
}
