// How errors are told: to programs, and to people who have mistyped something.
#include <httplib.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <sstream>

#include "tests/cli/person.h"
#include "tests/listening.h"

using namespace berth::cli;
using berth::process::Berthd;

namespace {

constexpr int usage = 2;
constexpr int invalid = 7;

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
  return lines;
}

json error_of(const Ran& ran) { return lines_of(ran.err).back().at("error"); }

}  // namespace

TEST_CASE("in JSON every line of stderr is an object, and the last one the error") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  const json absent = error_of(ada.berth({"deploy", "get", "absent", "-o", "json"}));
  CHECK(absent.at("code") == "not_found");
  CHECK(absent.at("exit_code") == 5);
  CHECK(absent.at("message") == "there is no deployment absent");

  const Ran refused =
      ada.berth({"deploy", "create", "Not_A_Name", "--image", "docker.io/x:1", "-o", "json"});
  CHECK(refused.code == invalid);
  CHECK(refused.out.empty());
  CHECK(error_of(refused).at("code") == "validation_failed");
  const std::string explained = "/docs/reference/errors#validation_failed";
  CHECK(error_of(refused).at("docs_url").get<std::string>().ends_with(explained));
  // People read it as the last line.
  const Ran told = ada.berth({"deploy", "create", "Not_A_Name", "--image", "docker.io/x:1"});
  CHECK(told.err.ends_with(explained + "\n"));
  CHECK(told.err.contains("\nSee http"));

  CHECK(error_of(ada.berth({"deploy", "list", "--output=json", "--nonsense"})).at("code") ==
        "usage");
  CHECK(error_of(ada.berth({"deploy", "create", "-o", "json"})).at("exit_code") == usage);
  CHECK(error_of(ada.berth({"deploy", "-ojson"})).at("exit_code") == usage);
  CHECK(error_of(ada.berth({"deploy", "list", "--server", "berth"}, "", {{"BERTH_OUTPUT", "json"}}))
            .at("code") == "usage");
  CHECK(error_of(ada.berth({"login", "--email", "a@example.org", "--password-stdin", "--server",
                            "http://127.0.0.1:1", "-o", "json"},
                           "x"))
            .at("code") == "unavailable");

  const Ran crash = ada.berth({"deploy", "create", "crash", "--image", "docker.io/library/crash:1",
                               "--wait", "-o", "json"});
  CHECK(crash.code == 1);
  const auto lines = lines_of(crash.err);
  CHECK(lines.front().contains("message"));
  CHECK(lines.back().at("error").at("code") == "crash_loop");
  CHECK(lines.back().at("error").at("advice").get<std::string>().find("deploy logs crash") !=
        std::string::npos);
  CHECK(ada.berth({"deploy", "get", "absent", "-o", "yaml"}).err.find("error:\n") == 0);
}

TEST_CASE("a command, flag or name that is nearly right is suggested") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  ada.must({"deploy", "create", "shop", "--image", berth::process::well_image});
  const auto says = [&](const Words& words, const char* text) {
    CAPTURE(words.back());
    const Ran ran = ada.berth(words);
    CHECK(ran.code != 0);
    CHECK(ran.err.find(text) != std::string::npos);
  };
  says({"deplyo", "list"}, "berth has no command deplyo: did you mean deploy?");
  says({"deploy", "lst"}, "did you mean list?");
  says({"deploy", "list", "--ouptut", "json"}, "has no flag --ouptut: did you mean --output?");
  says({"deploy", "create", "x", "--imgae", "y"}, "did you mean --image?");
  says({"deploy", "get", "shpo"}, "there is no deployment shpo: did you mean shop?");
  says({"api", "GTE", "/health"}, "did you mean GET?");
  CHECK(ada.berth({"deploy", "get", "elephant"}).err.find("did you mean") == std::string::npos);
}

TEST_CASE("the command that a hint names works") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  const Ran crash =
      ada.berth({"deploy", "create", "crash", "--image", "docker.io/library/crash:1", "--wait"});
  const size_t start = crash.err.find("`berth deploy logs");
  REQUIRE(start != std::string::npos);
  std::istringstream words(crash.err.substr(start + 7, crash.err.find('`', start + 1) - start - 7));
  Words command;
  for (std::string word; words >> word;) command.push_back(word);
  CHECK(command == Words{"deploy", "logs", "crash"});
  CHECK_FALSE(ada.must(command).out.empty());
}

TEST_CASE("a limit of the rate is told as what it is") {
  std::atomic<int> asked = 0;
  httplib::Server http;
  http.Get(".*", [&](const httplib::Request&, httplib::Response& response) {
    if (++asked > 1) {
      response.set_content(R"({"deployments":[],"total":0})", "application/json");
      return;
    }
    response.status = 429;
    response.set_header("Retry-After", "3");
    response.set_header("RateLimit-Limit", "30");
    response.set_content(R"({"error":{"code":"rate_limited","message":"x"}})", "application/json");
  });
  const berth::test::Listening listening(http);
  const berth::process::TempDir home;
  const Ran ran = Running({"deploy", "list"}, "",
                          {{"HOME", home.path().string()},
                           {"BERTH_URL", "http://127.0.0.1:" + std::to_string(listening.port())},
                           {"BERTH_TOKEN", "at_live_x"}})
                      .wait();
  CHECK(ran.code == 0);
  CHECK(ran.err == "the limit of 30 such requests per minute is reached; trying again in 3 s\n");
}

TEST_CASE("a dry run finds what can be known to be wrong") {
  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  const auto dry = [&](const std::string& more, const std::string& name = "shop") {
    return ada.berth({"deploy", "up", "--dry-run", "-f", "-"},
                     "name: " + name + "\nimage: docker.io/library/hello:1\n" + more + "\n");
  };
  CHECK(dry("port: 8080").code == 0);
  for (const char* port : {"port: abc", "port: 0", "port: 65536", "port: 1.5", "port: '80'"}) {
    CAPTURE(port);
    const Ran ran = dry(port);
    CHECK(ran.code == usage);
    CHECK(ran.err.find("port has to be a whole number from 1 to 65535") != std::string::npos);
  }
  CHECK(dry("", "Not_A_Name").code == usage);
  CHECK(dry("health_path: 3").code == usage);
  CHECK(dry("custom_domain: [a]").code == usage);
  const Ran tier = dry("tier: fre");
  CHECK(tier.code == invalid);
  CHECK(tier.err.find("there is no tier fre: did you mean free?") != std::string::npos);
  CHECK(dry("prot: 80").err.find("did you mean port?") != std::string::npos);
}
