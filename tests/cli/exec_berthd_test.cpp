// exec and port-forward against berthd, whose simulated containers have a few programs.
#include <catch2/catch.hpp>

#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;
using Catch::Contains;

TEST_CASE("a command runs in a container, once the tier allows it") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada", "deploy:manage,deploy:exec");
  ada.must({"deploy", "create", "shop", "--image", berth::process::well_image, "--wait"});
  const Ran refused = ada.berth({"exec", "shop", "--", "echo", "hello"});
  CHECK(refused.code == 4);
  CHECK_THAT(refused.err, Contains("the tier free allows no commands"));
  CHECK(ada.berth({"port-forward", "shop", "0:8080"}).code == 4);

  ada.admin({"tiers", "update", "free", "--exec", "true"});
  CHECK(ada.must({"exec", "shop", "--", "echo", "hello"}).out == "hello\n");
  CHECK(ada.must({"exec", "shop", "--", "cat"}, "typed\n").out == "typed\n");
  CHECK(ada.berth({"exec", "shop", "--", "false"}).code == 1);
  CHECK(ada.berth({"exec", "shop", "--", "sh", "-c", "exit 3"}).code == 3);
  const Ran missing = ada.berth({"exec", "shop", "--", "no-such-program"});
  CHECK(missing.code == 127);
  CHECK_FALSE(missing.err.empty());
  CHECK_THAT(ada.at_terminal({"exec", "shop", "--", "stty", "size"}).out, Contains("24 80"));
  // What was run is in the log, without its arguments.
  const Ran history = ada.must({"deploy", "history", "shop", "-o", "json"});
  CHECK_THAT(history.out, Contains("no-such-program"));
  CHECK_THAT(history.out, !Contains("exit 3"));

  ada.must({"deploy", "stop", "shop"});
  const Ran stopped = ada.berth({"exec", "shop", "--", "echo", "hello"});
  CHECK(stopped.code == 6);
  CHECK_THAT(stopped.err, Contains("stopped"));
}

TEST_CASE("an app without deploy:exec runs no commands, and is told what to ask for") {
  const Berthd berthd(berth::process::open_flags());
  const Person ben(berthd);
  ben.settle_in("ben");
  ben.must({"deploy", "create", "forum", "--image", berth::process::well_image, "--wait"});
  ben.admin({"tiers", "update", "free", "--exec", "true"});
  const Ran refused = ben.berth({"exec", "forum", "--", "echo", "hello"});
  CHECK(refused.code == 4);
  CHECK_THAT(refused.err, Contains("berth scopes request deploy:exec"));
}
