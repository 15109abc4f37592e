// Output that arrives bit by bit, with the client against the real berthd.
#include <catch2/catch.hpp>
#include <set>
#include <sstream>

#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;
using berth::process::eventually;

namespace {

const char* const well = "docker.io/library/hello:1";

size_t count(const std::string& text, const std::string& what) {
  size_t times = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++times;
  return times;
}

}  // namespace

TEST_CASE("events are followed across a change, each line once, until the deployment is gone") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  ada.must({"deploy", "create", "shop", "--image", well, "--wait"});
  const auto follower = ada.start({"deploy", "events", "shop", "-o", "json"});
  REQUIRE(eventually([&] { return count(follower->out(), "\"status\":\"running\"") == 1; }));
  ada.must({"deploy", "stop", "shop"});
  REQUIRE(eventually([&] { return count(follower->out(), "\"status\":\"stopped\"") >= 1; }));
  ada.must({"deploy", "delete", "shop", "--yes"});
  const Ran ended = follower->wait();
  CHECK(ended.code == 0);
  CHECK(ended.out.find("\"status\":\"destroyed\"") != std::string::npos);
  std::set<std::string> ids;
  std::istringstream lines(ended.out);
  for (std::string line; std::getline(lines, line);)
    CHECK(ids.insert(json::parse(line).at("id")).second);
}

TEST_CASE("the container's output is shown and followed") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  ada.must({"deploy", "create", "shop", "--image", well, "--wait"});
  REQUIRE(eventually([&] { return !ada.must({"deploy", "logs", "shop"}).out.empty(); }));
  const std::string all = ada.must({"deploy", "logs", "shop"}).out;
  CHECK(count(ada.must({"deploy", "logs", "shop", "--tail", "1"}).out, "\n") == 1);
  const auto follower = ada.start({"deploy", "logs", "shop", "-f"});
  CHECK(eventually([&] { return follower->out().find(all.substr(0, all.find('\n'))) == 0; }));
  follower->interrupt();
  follower->wait();
  CHECK(ada.berth({"deploy", "logs", "shop", "-f", "--previous"}).code == 2);
}

TEST_CASE("rollback goes back to the version before") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  ada.must({"deploy", "create", "shop", "--image", well, "--wait"});
  ada.must({"deploy", "update", "shop", "--image", "docker.io/library/hello:2", "--wait"});
  ada.must({"deploy", "rollback", "shop", "--wait"});
  // The image is named by its digest, so it is the one that ran.
  const json row = ada.must({"deploy", "get", "shop", "-o", "json"}).body();
  CHECK(row.at("container_image").get<std::string>().starts_with(std::string(well) + "@sha256:"));
  CHECK(ada.must({"deploy", "metrics", "shop"}).out.find("Restarts:") != std::string::npos);
}
