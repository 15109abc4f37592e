// What is generated from the tree of commands.
#include "cli/program.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <regex>
#include <set>

#include "cli/completion.h"
#include "cli/failure.h"
#include "cli/http.h"
#include "cli/manual.h"
#include "cli/tree.h"
#include "tests/cli/person.h"
#include "tests/process/berthd.h"
#include "tests/programs.h"

using namespace berth::cli;

namespace {

struct Tree {
  Run run;
  std::unique_ptr<CLI::App> program = make_program(run);
  CommandInfo root = tree_of(*program);
};

// Returns the words that bash would offer after these.
std::set<std::string> offered(const std::vector<std::string>& words) {
  const Tree tree;
  const berth::process::TempDir dir;
  std::string line = "COMP_WORDS=(";
  for (const std::string& word : words) line += "'" + word + "' ";
  const std::string script = completion_script(*tree.program, "bash") + line +
                             ")\nCOMP_CWORD=" + std::to_string(words.size() - 1) +
                             "\n_berth\nprintf '%s\\n' \"${COMPREPLY[@]}\" > " +
                             (dir.path() / "out").string() + "\n";
  const std::string file = dir.write("script", script);
  REQUIRE(std::system(("bash -u " + file).c_str()) == 0);
  std::set<std::string> result;
  std::istringstream lines(dir.read("out"));
  for (std::string word; std::getline(lines, word);)
    if (!word.empty()) result.insert(word);
  return result;
}

}  // namespace

TEST_CASE("every command and flag has a description, and no two are the same") {
  const Tree tree;
  for (const CommandInfo* command : flattened(tree.root)) {
    CAPTURE(command->path);
    CHECK_FALSE(command->description.empty());
    std::set<std::string> names;
    for (const FlagInfo& flag : command->flags) {
      CAPTURE(flag.names[0]);
      CHECK_FALSE(flag.description.empty());
      CHECK_FALSE(flag.description.ends_with('.'));
      for (const std::string& name : flag.names) CHECK(names.insert(name).second);
      if (command == &tree.root) continue;
      for (const FlagInfo& global : tree.root.flags)
        for (const std::string& name : global.names)
          if (name != "--help" && name != "-h")
            for (const std::string& own : flag.names) CHECK(own != name);
    }
  }
}

TEST_CASE("every command has an example of itself, with flags that it has") {
  const Tree tree;
  for (const CommandInfo* command : flattened(tree.root)) {
    if (!command->commands.empty()) continue;
    CAPTURE(command->path, command->example);
    CHECK(command->example.find(command->path) != std::string::npos);
    std::istringstream words(command->example);
    for (std::string word; words >> word;) {
      if (!word.starts_with('-') || word == "-" || word == "-l" || word == "--")
        continue;  // `man -l -`, and what is behind --
      bool known = false;
      for (const auto* flags : {&command->flags, &command->inherited, &tree.root.flags})
        for (const FlagInfo& flag : *flags)
          known = known || std::ranges::find(flag.names, word) != flag.names.end();
      CAPTURE(word);
      CHECK(known);
    }
  }
}

TEST_CASE("names are completed from the server, also those with spaces") {
  const berth::process::Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada");
  ada.must({"deploy", "create", "shop", "--image", berth::process::well_image});
  ada.must({"deploy", "create", "ship", "--image", berth::process::well_image});
  CHECK(ada.must({"__names", "deployments"}).out.find("shop\n") != std::string::npos);
  CHECK(ada.must({"__names", "tiers"}).out == "free\n");
  CHECK(ada.must({"__names", "apps"}).out == "Game of ada\n");
  CHECK(ada.berth({"__names", "secrets"}).code == 2);
  CHECK(ada.must({"--help"}).out.find("__names") == std::string::npos);

  ::setenv("HOME", ada.home().c_str(), 1);
  ::setenv("BERTH_URL", berthd.base_url().c_str(), 1);
  CHECK(offered({berth::test::berth_program, "deploy", "status", "sh"}) ==
        std::set<std::string>{"ship", "shop"});
  CHECK(offered({berth::test::berth_program, "env", "set", "sho"}) ==
        std::set<std::string>{"shop"});
  CHECK(offered({berth::test::berth_program, "apps", "use", "Ga"}) ==
        std::set<std::string>{"Game\\ of\\ ada"});
  CHECK(offered({berth::test::berth_program, "deploy", "create", "x", "--tier", ""}) ==
        std::set<std::string>{"free"});
  CHECK(offered({berth::test::berth_program, "deploy", "create", "sh"}).empty());  // a new name
  // What fits the place: names behind names, and the variables of the deployment that was named.
  CHECK(offered({berth::test::berth_program, "rm", "sh"}) == std::set<std::string>{"ship", "shop"});
  CHECK(offered({berth::test::berth_program, "logs", "-o", "json", "shop", "shi"}) ==
        std::set<std::string>{"ship"});
  CHECK(offered({berth::test::berth_program, "deploy", "get", "shop", "sh"}).empty());
  ada.must({"env", "set", "shop", "LEVEL=1", "LIMIT=2"});
  CHECK(offered({berth::test::berth_program, "env", "unset", "shop", "LE"}) ==
        std::set<std::string>{"LEVEL"});
  CHECK(offered({berth::test::berth_program, "env", "set", "shop", "LI"}) ==
        std::set<std::string>{"LIMIT="});
  CHECK(offered({berth::test::berth_program, "deploy", "rollback", "shop", "--to", ""}).size() >=
        2);
  CHECK(offered({berth::test::berth_program, "scopes", "request", "deploy:"}) ==
        std::set<std::string>{"deploy:exec", "deploy:manage", "deploy:read", "deploy:write"});
  CHECK(offered({berth::test::berth_program, "webhooks", "create", "x", "--events", "billing.f"}) ==
        std::set<std::string>{"billing.failed"});
  CHECK(offered({berth::test::berth_program, "help", "camp"}) ==
        std::set<std::string>{"campaigns"});
  ::unsetenv("BERTH_URL");
}

TEST_CASE("bash completes commands, flags and values") {
  CHECK(offered({"berth", "dep"}) == std::set<std::string>{"deploy"});
  CHECK(offered({"berth", "deploy", "re"}) == std::set<std::string>{"restart"});
  CHECK(offered({"berth", "-o", "json", "deploy", "sto"}) == std::set<std::string>{"stop"});
  CHECK(offered({"berth", "deploy", "list", "-o", ""}) ==
        std::set<std::string>{"table", "json", "yaml"});
  CHECK(offered({"berth", "deploy", "create", "--wa"}) == std::set<std::string>{"--wait"});
  CHECK(offered({"berth", "deploy", "create", "--ser"}) == std::set<std::string>{"--server"});
  CHECK(offered({"berth", "completion", ""}).contains("fish"));
  CHECK(offered({"berth", "deploy", "create", "--image", ""}).empty());
  // A flag of a group is accepted after its commands, too.
  CHECK(offered({"berth", "admin", "approve", "--sec"}) == std::set<std::string>{"--secret-file"});
}

TEST_CASE("the scripts for zsh and fish name every command") {
  const Tree tree;
  for (const char* shell : {"zsh", "fish"}) {
    const std::string script = completion_script(*tree.program, shell);
    for (const CommandInfo* command : flattened(tree.root))
      CHECK(script.find("'" + command->path + "'") != std::string::npos);
    // If the shell is installed, it reads the script without a message.
    const berth::process::TempDir dir;
    const std::string file = dir.write("script", script);
    if (std::system((std::string("command -v ") + shell + " >/dev/null").c_str()) == 0)
      CHECK(std::system((std::string(shell) + " -n " + file).c_str()) == 0);
  }
}

TEST_CASE("the manual has every command, flag and exit code, and groff reports nothing") {
  const Tree tree;
  const std::string page = manual_page(*tree.program);
  for (const CommandInfo* command : flattened(tree.root))
    if (command->commands.empty())
      CHECK(page.find(".SS \"" + std::regex_replace(command->path, std::regex("-"), "\\-")) !=
            std::string::npos);
  for (const CommandInfo* command : flattened(tree.root))
    for (const FlagInfo& flag : command->flags)
      CHECK(page.find(std::regex_replace(flag.names[0], std::regex("-"), "\\-")) !=
            std::string::npos);
  for (const ExitInfo& info : exit_codes())
    CHECK(page.find(".B " + std::to_string(int(info.exit)) + "\n") != std::string::npos);
  for (const char* flag : {"\\-\\-totp\\-code", "\\-\\-wait", "\\-\\-output"})
    CHECK(page.find(flag) != std::string::npos);
  if (std::system("command -v groff >/dev/null") != 0) return;
  const berth::process::TempDir dir;
  const std::string file = dir.write("berth.1", page);
  const std::string out = (dir.path() / "out").string();
  CHECK(std::system(
            ("groff -man -Tutf8 -ww -P-c -P-b -P-o -P-u " + file + " >" + out + " 2>&1").c_str()) ==
        0);
  CHECK(dir.read("out").find(": warning") == std::string::npos);
  CHECK(dir.read("out").find("EXIT STATUS") != std::string::npos);
}

TEST_CASE("an unknown command is named, together with the known ones") {
  const auto berth = [](const Words& words) { return Running(words, "", {{"HOME", "/"}}).wait(); };
  const Ran typo = berth({"deploy", "creat", "x"});
  CHECK(typo.code == 2);
  CHECK(typo.err.find("berth deploy has no command creat") != std::string::npos);
  CHECK(typo.err.find("create, up, list") != std::string::npos);
  const Ran group = berth({"deploy"});
  CHECK(group.code == 2);
  CHECK(group.err.find("Usage: berth deploy") != std::string::npos);
  CHECK(group.err.find("rollback") != std::string::npos);
  CHECK(berth({"deploy", "logs", "x", "--tail", "-1"}).err.size() < 200);
}

TEST_CASE("a refusal is understood in each of its forms") {
  const auto failure = [](int status, const char* body) {
    return failure_of({.status = status, .body = body});
  };
  const Failure nested = failure(
      422,
      R"({"error":{"code":"validation_failed","message":"two fields are wrong","details":{"name":["is too long","is odd"],"port":["is 0"]},
         "docs_url":"https://berth.example.org/docs/reference/errors#validation_failed"}})");
  const std::string explained = "https://berth.example.org/docs/reference/errors#validation_failed";
  CHECK(nested.docs_url == explained);
  CHECK(as_json(nested).at("error").at("docs_url") == explained);
  CHECK(failure(403, R"({"error":{"code":"forbidden","message":"x","docs_url":3}})")
            .docs_url.empty());
  CHECK(nested.exit == Exit::invalid);
  CHECK(nested.server_code == "validation_failed");
  CHECK(nested.details == std::vector<std::string>{"name is too long", "name is odd", "port is 0"});
  CHECK(std::string(nested.what()).find("two fields are wrong") == 0);
  CHECK(failure(403, R"({"error":"forbidden","message":"no"})").exit == Exit::forbidden);
  CHECK(failure(400, R"({"error":"invalid_grant","error_description":"used"})").exit ==
        Exit::not_logged_in);
  CHECK(failure(404, R"({"errors":{"detail":"no such path"}})").exit == Exit::not_found);
  CHECK(failure(409, R"({"error":{"code":"subdomain_taken","message":"x"}})").exit ==
        Exit::conflict);
  CHECK(failure(429, R"({"error":{"code":"deployment_limit_reached","message":"x"}})").exit ==
        Exit::invalid);
  CHECK(failure(429, R"({"error":{"code":"rate_limited","message":"x"}})").exit ==
        Exit::unavailable);
  CHECK(failure(502, "<html>Bad gateway</html>").exit == Exit::unavailable);
  CHECK(failure(500, "").exit == Exit::unavailable);
  for (const char* odd : {"[]", "3", "null", R"({"error":3})", R"({"error":{"code":3}})",
                          R"({"errors":[]})", "\xff\xfe"})
    CHECK(failure(422, odd).exit == Exit::invalid);
}

TEST_CASE("forms and queries are decoded as they were encoded") {
  CHECK(encoded({{"a b", "c&d=e"}, {"ä", "+"}}) == "a%20b=c%26d%3De&%C3%A4=%2B");
  CHECK(decoded("a%20b=c%26d%3De&%C3%A4=%2B&x&=y&z=1+2&broken=%4") ==
        std::map<std::string, std::string>{{"a b", "c&d=e"},
                                           {"ä", "+"},
                                           {"x", ""},
                                           {"", "y"},
                                           {"z", "1 2"}});  // without what is badly encoded
}
