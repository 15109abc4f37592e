// Commands that a deployment runs once, and its crons, with the client. The simulated cluster runs
// `exit N`, `sleep N` and `echo WORDS`.
#include <catch2/catch.hpp>

#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;
using berth::process::eventually;

namespace {

struct Shop {
  const Berthd berthd;
  const Person ada{berthd};

  Shop() {
    ada.settle_in("ada");
    ada.must({"deploy", "create", "shop", "--image", berth::process::well_image, "--crons",
              R"([{"name": "nightly", "schedule": "0 3 * * *", "command": ["echo", "night"]}])",
              "--wait"});
  }
  json runs() const { return ada.must({"runs", "list", "shop", "-o", "json"}).body().at("runs"); }
};

}  // namespace

TEST_CASE("a command's output and exit code are those of the program") {
  const Shop shop;
  const Ran well = shop.ada.berth({"run", "shop", "--", "echo", "hello", "--world"});
  CHECK(well.code == 0);
  CHECK(well.out == "hello --world\n");
  const Ran ill = shop.ada.berth({"run", "shop", "--", "sh", "-c", "echo no; exit 3"});
  CHECK(ill.code == 3);
  CHECK(ill.out == "no\n");
  CHECK(shop.ada.berth({"run", "shop"}).code == 2);
  CHECK(shop.ada.berth({"run", "shop", "--process", "worker", "--", "ls"}).code == 7);
  CHECK(shop.ada.berth({"run", "nothing", "--", "ls"}).code == 5);
  const json runs = shop.runs();
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].at("exit_code") == 3);
  CHECK(shop.ada.must({"runs", "shop"}).out.find("sh -c echo no; exit 3") != std::string::npos);
}

TEST_CASE("a run that nobody waits for is read later, and can be cancelled") {
  const Shop shop;
  const Ran started = shop.ada.must({"run", "shop", "-d", "--", "echo", "later"});
  const std::string id = started.out.substr(0, started.out.find('\n'));
  CHECK(shop.runs()[0].at("id") == id);
  CHECK(shop.ada.must({"runs", "log", "shop", "--follow"}).out == "later\n");
  CHECK(shop.ada.must({"runs", "log", "shop", id}).out == "later\n");
  const std::string long_one =
      shop.ada.must({"run", "shop", "-d", "--", "sleep", "600"}).out.substr(0, id.size());
  shop.ada.must({"runs", "cancel", "shop", long_one});
  CHECK(shop.ada.must({"runs", "get", "shop", long_one}).out.find("cancelled") !=
        std::string::npos);
}

TEST_CASE("a signal cancels a run") {
  const Shop shop;
  const auto running = shop.ada.start({"run", "shop", "--", "sleep", "600"});
  REQUIRE(eventually([&] { return !shop.runs().empty(); }));
  REQUIRE(eventually([&] { return shop.runs()[0].at("status") == "running"; }));
  running->interrupt();
  CHECK(running->wait().code == 130);
  CHECK(shop.runs()[0].at("status") == "cancelled");
}

TEST_CASE("crons are listed, and run now") {
  const Shop shop;
  const Ran list = shop.ada.must({"crons", "shop"});
  CHECK(list.out.find("nightly") != std::string::npos);
  CHECK(list.out.find("T03:00") != std::string::npos);
  shop.ada.must({"crons", "run", "shop", "nightly"});
  CHECK(shop.ada.must({"runs", "log", "shop", "--follow"}).out == "night\n");
  const Ran none = shop.ada.berth({"crons", "run", "shop", "daily"});
  CHECK(none.code == 5);
  CHECK(none.err.find("berth crons list") != std::string::npos);
}

TEST_CASE("a release command that fails keeps what runs, and says so") {
  const Shop shop;
  const Ran failed = shop.ada.berth({"deploy", "update", "shop", "--release-command", "exit",
                                     "--release-command", "4", "--env", "COLOR=red", "--wait"});
  CHECK(failed.code == 1);
  CHECK(failed.err.find("release_failed") != std::string::npos);
  CHECK(failed.err.find("exit code 4") != std::string::npos);
  CHECK(failed.err.find("The old container keeps serving") != std::string::npos);
  const json run = shop.runs()[0];
  CHECK(run.at("kind") == "release");
  CHECK(run.at("exit_code") == 4);
  shop.ada.must({"deploy", "update", "shop", "--release-command", "exit", "--release-command", "0",
                 "--wait"});
  CHECK(shop.runs()[0].at("status") == "succeeded");
}
