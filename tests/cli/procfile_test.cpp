#include "cli/procfile.h"

#include <catch2/catch.hpp>

#include "cli/failure.h"

using namespace berth::cli;
using nlohmann::json;

namespace {

std::string refusal_of(const std::string& text) {
  try {
    order_in_procfile(text, "Procfile");
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

json in_shell(const std::string& text) { return {"/bin/sh", "-c", text}; }

}  // namespace

TEST_CASE("procfile: its lines are the processes", "[cli][procfile_test]") {
  const json order = order_in_procfile(
      "# what runs\nweb: node server.js\r\n\n worker :  ./worker --all\nrelease: ./migrate\n",
      "Procfile");
  CHECK(order == json{{"processes",
                       {{"web", {{"command", in_shell("exec node server.js")}}},
                        {"worker", {{"command", in_shell("exec ./worker --all")}}}}},
                      {"release_command", in_shell("exec ./migrate")}});
}

TEST_CASE("procfile: web alone is the container's command, without processes of before",
          "[cli][procfile_test]") {
  CHECK(order_in_procfile("web: ./serve", "Procfile") ==
        json{{"command", in_shell("exec ./serve")}, {"processes", json::object()}});
  CHECK(order_in_procfile("\n", "Procfile") == json::object());
}

TEST_CASE("procfile: a command that needs the shell stays under it", "[cli][procfile_test]") {
  CHECK(order_in_procfile("web: cd app && ./serve", "Procfile").at("command") ==
        in_shell("cd app && ./serve"));
}

TEST_CASE("procfile: what isn't one is refused, with its line", "[cli][procfile_test]") {
  CHECK(refusal_of("web: a\nworker\n") == "Procfile, line 2: there is no command");
  CHECK(refusal_of("web:") == "Procfile, line 1: there is no command");
  CHECK(refusal_of("web: a\nweb: b").find("line 2: web occurs twice") != std::string::npos);
  CHECK(refusal_of("Web: a").find("can't be the name") != std::string::npos);
  CHECK(refusal_of("1a: a").find("can't be the name") != std::string::npos);
  std::string many;
  for (int i = 0; i < 11; ++i) many += "p" + std::to_string(i) + ": x\n";
  CHECK(refusal_of(many).find("more than 10 processes") != std::string::npos);
}
