// `berth scale` against the real berthd on the simulated cluster.
#include <catch2/catch.hpp>

#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;
using berth::process::eventually;

namespace {

constexpr int usage = 2;
constexpr int invalid = 7;

struct Fixture {
  Berthd berthd{berth::process::open_flags()};
  Person ada{berthd};

  Fixture() {
    ada.settle_in("ada");
    ada.must({"deploy", "create", "shop", "--image", "docker.io/library/hello:1", "--wait"});
  }
  json row() { return ada.must({"deploy", "get", "shop", "-o", "json"}).body(); }
  json processes() { return ada.must({"scale", "shop", "-o", "json"}).body().at("processes"); }
  json process(const std::string& name) {
    for (const json& each : processes())
      if (each.at("process") == name) return each;
    return nullptr;
  }
};

}  // namespace

TEST_CASE("berth scale sets and shows the number of containers") {
  Fixture f;
  CHECK(f.process("web").at("wanted") == 1);
  f.ada.must({"scale", "shop", "3"});
  CHECK(f.row().at("replicas") == 3);
  CHECK(f.process("web").at("wanted") == 3);
  CHECK(f.process("web").at("scale").is_null());
  CHECK(eventually([&] { return f.process("web").at("ready") == 3; }));
  const std::string table = f.ada.must({"scale", "shop"}).out;
  CHECK(table.find("PROCESS") != std::string::npos);
  CHECK(table.find("web") != std::string::npos);
  CHECK(f.ada.berth({"scale", "shop", "4"}).code == invalid);  // more than the tier allows
}

TEST_CASE("berth scale sets limits by the requests in flight, and a number ends them") {
  Fixture f;
  CHECK(f.ada.berth({"scale", "shop", "--max", "3"}).code == usage);
  f.ada.must({"scale", "shop", "--min", "2", "--max", "3", "--in-flight", "20"});
  const json limits = {{"min", 2}, {"max", 3}, {"in_flight", 20}};
  CHECK(f.row().at("scale") == limits);
  CHECK(f.row().at("scaled_to") == 2);
  CHECK(f.process("web").at("wanted") == 2);
  CHECK(f.process("web").at("scale") == limits);
  // The simulated cluster has no visitors.
  CHECK(eventually([&] { return f.process("web").at("in_flight") == 0; }));
  f.ada.must({"scale", "shop", "--in-flight", "5"});
  CHECK(f.row().at("scale") == json{{"min", 2}, {"max", 3}, {"in_flight", 5}});
  f.ada.must({"scale", "shop", "1"});
  CHECK(f.row().at("scale").is_null());
  CHECK(f.row().at("replicas") == 1);
  CHECK(f.row().at("scaled_to").is_null());
}

TEST_CASE("berth scale sets the numbers of several processes at once") {
  Fixture f;
  f.ada.must({"deploy", "update", "shop", "--processes",
              R"({"web": {}, "worker": {"command": ["./worker"]}})", "--wait"});
  f.ada.must({"scale", "shop", "worker=2", "web=1"});
  CHECK(f.process("worker").at("wanted") == 2);
  CHECK(f.process("web").at("wanted") == 1);
  CHECK(f.row().at("processes").at("worker").at("command") == json{"./worker"});
  const Ran unknown = f.ada.berth({"scale", "shop", "mailer=2"});
  CHECK(unknown.code == usage);
  CHECK(unknown.err.find("worker") != std::string::npos);
  CHECK(f.ada.berth({"scale", "shop", "0"}).code == usage);
  CHECK(f.ada.berth({"scale", "shop", "worker=many"}).code == usage);
}

TEST_CASE("berth restart --process replaces the containers of one process") {
  Fixture f;
  f.ada.must({"deploy", "update", "shop", "--processes",
              R"({"web": {}, "worker": {"command": ["./worker"]}})", "--wait"});
  const auto versions = [&] {
    std::map<std::string, std::string> all;
    // Berth learns of the newest containers from the cluster, a moment after their deployment runs.
    REQUIRE(eventually([&] {
      all.clear();
      const json body = f.ada.must({"deploy", "instances", "shop", "-o", "json"}).body();
      for (const json& one : body.at("instances"))
        if (one.at("newest") == true) all[one.at("process")] = one.at("version");
      return all.contains("web") && all.contains("worker");
    }));
    return all;
  };
  const auto before = versions();
  f.ada.must({"restart", "shop", "--process", "worker", "--wait"});
  const auto after = versions();
  CHECK(after.at("web") == before.at("web"));
  CHECK(after.at("worker") != before.at("worker"));
  CHECK(f.ada.berth({"deploy", "restart", "shop", "--process", "mailer"}).code == invalid);
}
