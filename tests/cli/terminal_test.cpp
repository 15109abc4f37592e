// What people at a terminal see, and what pipes don't.
#include <catch2/catch.hpp>

#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;

namespace {

constexpr const char* escape = "\x1b[";
constexpr const char* green_running = "\x1b[32mrunning\x1b[0m";
constexpr const char* line_again = "\r\x1b[K";

}  // namespace

TEST_CASE("a terminal gets colours unless NO_COLOR is set, and a pipe gets none") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  ada.must({"deploy", "create", "shop", "--image", berth::process::well_image, "--wait"});
  CHECK(ada.at_terminal({"list"}).out.find(green_running) != std::string::npos);
  CHECK(ada.at_terminal({"list"}, "", {{"NO_COLOR", "1"}}).out.find(escape) == std::string::npos);
  CHECK(ada.must({"list"}, "", {{"TERM", "xterm"}}).out.find(escape) == std::string::npos);
  CHECK(ada.at_terminal({"list", "-o", "json"}).out.find(escape) == std::string::npos);
  CHECK(ada.at_terminal({"get"}).out.find("\x1b[31mberth:\x1b[0m") != std::string::npos);
}

TEST_CASE("waiting shows one live line on a terminal, and a line for each step elsewhere") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  const Words create = {"deploy", "create", "shop", "--image", berth::process::well_image,
                        "--wait"};
  const Ran live = ada.at_terminal(create);
  CHECK(live.code == 0);
  CHECK(live.out.find(line_again) != std::string::npos);
  CHECK(live.out.find("pending") != std::string::npos);
  // The last thing is the result, on a line of its own.
  CHECK(live.out.rfind("shop is running at ") > live.out.rfind(line_again));
  ada.must({"deploy", "stop", "shop"});
  const Ran piped = ada.must({"deploy", "restart", "shop", "--wait"}, "", {{"TERM", "xterm"}});
  CHECK(piped.err.find(line_again) == std::string::npos);
  CHECK(piped.err.find("running\n") != std::string::npos);
}
