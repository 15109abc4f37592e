// The variables of a deployment and of an app with the client.
#include <catch2/catch.hpp>

#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;

TEST_CASE("variables are set, listed and removed, and the others stay") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  ada.must({"deploy", "create", "shop", "--image", berth::process::well_image, "--wait"});
  const berth::process::TempDir dir;
  const auto names = [&] {
    std::string text;
    const json body = ada.must({"env", "list", "shop", "-o", "json"}).body();
    for (const json& key : body.at("env_keys")) text += key.get<std::string>() + "\n";
    return text;
  };
  CHECK(names().empty());
  ada.must({"env", "set", "shop", "A=1", "SECRET"}, "", {{"SECRET", "hidden-value"}});
  ada.must({"env", "set", "shop", "--env-file", dir.write("env", "B=2\nC=3\n"), "--wait"});
  CHECK(names() == "A\nB\nC\nSECRET\n");
  ada.must({"env", "unset", "shop", "A", "SECRET"});
  CHECK(names() == "B\nC\n");
  CHECK(ada.must({"env", "list", "shop", "-o", "json"}).body().at("env_keys") == json{"B", "C"});
  CHECK(ada.berth({"env", "unset", "shop", "A"}).code == 5);
  CHECK(ada.berth({"env", "set", "shop"}).code == 2);
  CHECK(ada.berth({"env", "set", "shop", "1A=x"}).code == 2);
  CHECK(ada.berth({"env", "set", "absent", "A=x"}).code == 5);
}

TEST_CASE("variables of an app are set, listed, inherited, overridden and removed") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  ada.must({"deploy", "create", "shop", "--image", berth::process::well_image, "--wait"});
  ada.must({"deploy", "create", "own", "--image", berth::process::well_image, "--env",
            "LEVEL=debug", "--wait"});
  const berth::process::TempDir dir;
  const Ran set = ada.must(
      {"env", "app", "set", "LEVEL=info", "--env-file", dir.write("env", "SHARED=hidden-value\n")});
  CHECK(set.out ==
        "The app has the variables LEVEL, SHARED. The containers of shop, own are being "
        "replaced.\n");
  CHECK(ada.must({"env", "app", "set", "LEVEL=warn"}).out ==
        "The app has the variables LEVEL, SHARED. The containers of shop are being replaced.\n");
  CHECK(ada.must({"env", "app", "set", "LEVEL=warn"}).out ==
        "The app has the variables LEVEL, SHARED. No container is replaced.\n");
  const Ran listed = ada.must({"env", "app", "list"});
  CHECK(listed.out.find("NAME") == 0);
  CHECK(listed.out.find("SHARED") != std::string::npos);
  CHECK(listed.out.find("hidden-value") == std::string::npos);

  const std::string table = ada.must({"env", "list", "own"}).out;
  CHECK(table.find("deployment (overrides the app's)") != std::string::npos);
  const json body = ada.must({"env", "list", "own", "-o", "json"}).body();
  CHECK(body.at("env_keys") == json{"LEVEL"});
  REQUIRE(body.at("variables").size() == 2);
  CHECK(body.at("variables").at(1).at("name") == "SHARED");
  CHECK(body.at("variables").at(1).at("from") == "app");
  CHECK_FALSE(body.at("variables").at(1).contains("shown_from"));
  CHECK(ada.must({"__names", "app-settings"}).out == "LEVEL=\nSHARED=\n");

  CHECK(ada.berth({"env", "unset", "shop", "SHARED"}).code == 5);
  CHECK(ada.berth({"env", "app", "unset", "ABSENT"}).code == 5);
  CHECK(ada.berth({"env", "app", "set"}).code == 2);
  CHECK(
      ada.must({"env", "app", "unset", "LEVEL", "SHARED"}).out.find("The app has no variables.") ==
      0);
}
