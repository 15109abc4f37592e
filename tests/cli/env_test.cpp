// The variables of a deployment with the client.
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
