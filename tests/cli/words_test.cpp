// What every command has in common: walks over the whole tree of commands, so that a new command or
// flag can't be forgotten.
#include "cli/words.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "cli/program.h"
#include "cli/tree.h"
#include "tests/cli/person.h"

using namespace berth::cli;
using berth::process::Berthd;

namespace {

constexpr int failed = 1;
constexpr int usage = 2;

// What the program prints to stderr, and its exit code, within this process.
Ran ran(const Words& words) {
  std::vector<std::string> all = {"berth"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& word : all) argv.push_back(word.data());
  std::ostringstream out, err;
  std::streambuf* const out_before = std::cout.rdbuf(out.rdbuf());
  std::streambuf* const err_before = std::cerr.rdbuf(err.rdbuf());
  const int code = run_program(int(argv.size()), argv.data());
  std::cout.rdbuf(out_before);
  std::cerr.rdbuf(err_before);
  return {.code = code, .out = out.str(), .err = err.str()};
}

CommandInfo whole_tree() {
  Run run;
  return tree_of(*make_program(run));
}

Words words_in(const std::string& path) {
  std::istringstream text(path);
  Words words;
  std::string word;
  text >> word;  // the program itself
  while (text >> word) words.push_back(word);
  return words;
}

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// The word with two neighbours swapped, as somebody types it in a hurry.
std::string with_slip(std::string word) {
  for (size_t i = word.size() - 1; i > 0; --i)
    if (word[i] != word[i - 1] && word[i - 1] != '-') {
      std::swap(word[i], word[i - 1]);
      return word;
    }
  return word;
}

std::multiset<std::string> sorted_words(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

void leave_home() {
  ::setenv("HOME", "/nowhere", 1);
  for (const char* name : {"BERTH_URL", "BERTH_TOKEN", "BERTH_APP", "BERTH_OUTPUT",
                           "XDG_CONFIG_HOME", "XDG_STATE_HOME"})
    ::unsetenv(name);
}

}  // namespace

TEST_CASE("no flag and no argument of any command can be empty") {
  leave_home();
  // The values that mean something when they are empty.
  const std::set<std::string> fine = {
      "berth config set VALUE", "berth run WORDS", "berth exec COMMAND",
      "berth admin tiers create --runtime-class", "berth admin tiers update --runtime-class"};
  std::set<std::string> seen_fine;
  size_t count = 0;
  const CommandInfo root = whole_tree();
  for (const CommandInfo* command : flattened(root)) {
    if (!command->commands.empty()) continue;
    std::vector<FlagInfo> flags = command->flags;
    flags.insert(flags.end(), command->inherited.begin(), command->inherited.end());
    if (command->path == "berth tiers")
      flags.insert(flags.end(), root.flags.begin(), root.flags.end());
    Words before = words_in(command->path);
    // A first argument that nothing but the empty flag is wrong with.
    std::string argument = "1";
    for (const FlagInfo& flag : flags)
      if (flag.positional && !flag.choices.empty()) argument = flag.choices[0];
    for (const FlagInfo& flag : flags) {
      if (!flag.takes_value) continue;
      CAPTURE(command->path, flag.names[0]);
      const std::string name = command->path + " " + flag.names[0];
      // Each in one of the three ways in turn, so that every command has several.
      std::vector<Words> ways;
      if (flag.positional) {
        for (const char* empty : {"", " ", "\t\n"}) ways.push_back(with(before, {empty}));
        before.push_back(flag.choices.empty() ? "1" : flag.choices[0]);
      } else {
        const Words start = words_in(command->path);
        ways = {with(start, {flag.names[0], ""}), with(start, {flag.names[0] + "=", argument}),
                with(start, {flag.names[0], "  "})};
      }
      if (fine.contains(name)) {
        seen_fine.insert(name);
        continue;
      }
      const Ran result = ran(ways[count++ % ways.size()]);
      CHECK(result.code == usage);
      CHECK(result.err.find(" is empty\n") != std::string::npos);
      CHECK(result.err.find(flag.positional ? flag.names[0] : "--") != std::string::npos);
    }
  }
  CHECK(seen_fine == fine);
  std::cout << "flags and arguments that can't be empty: " << count << "\n";
  CHECK(count >= 170);
}

TEST_CASE("a slip in any command or flag is answered with what was meant") {
  leave_home();
  size_t commands = 0;
  size_t flags = 0;
  const CommandInfo root = whole_tree();
  for (const CommandInfo* command : flattened(root)) {
    const Words path = words_in(command->path);
    if (!path.empty()) {
      Words wrong = path;
      wrong.back() = with_slip(wrong.back());
      CAPTURE(command->path, wrong.back());
      const Ran result = ran(wrong);
      CHECK(result.code == usage);
      CHECK(result.err.find("did you mean ") != std::string::npos);
      ++commands;
    }
    for (const FlagInfo& flag : command->flags) {
      if (flag.positional || flag.names[0] == "--help") continue;
      CAPTURE(command->path, flag.names[0]);
      const Ran result = ran(with(path, {with_slip(flag.names[0])}));
      CHECK(result.code == usage);
      if (!command->commands.empty()) continue;  // a group shows its commands
      CHECK(result.err.find("did you mean ") != std::string::npos);
      ++flags;
    }
  }
  std::cout << "commands with slips: " << commands << ", flags: " << flags << "\n";
  CHECK(commands >= 110);
  CHECK(flags >= 140);
}

TEST_CASE("other programs' words for a command are known") {
  leave_home();
  for (const auto& [words, meant] :
       std::map<std::string, std::string>{{"deploy destroy", "delete"},
                                          {"apps new", "create"},
                                          {"secrets", "env"},
                                          {"deploy describe", "get"},
                                          {"deploy edit", "update"},
                                          {"deploy releases", "history"},
                                          {"signup", "register"},
                                          {"deploy rest", "restart"}}) {
    CAPTURE(words);
    CHECK(ran(words_in("berth " + words)).err.find("did you mean " + meant + "?") !=
          std::string::npos);
  }
  // The aliases that are commands.
  for (const char* alias : {"ls", "ps", "deploy ls", "deploy ps", "apps ls", "webhooks ls",
                            "campaigns ls", "env ls", "sessions ls", "admin users ls"}) {
    CAPTURE(alias);
    CHECK(ran(with(words_in(std::string("berth ") + alias), {"--help"})).code == 0);
  }
  for (const char* alias : {"rm", "deploy rm", "apps rm", "webhooks rm", "account rm"}) {
    CAPTURE(alias);
    CHECK(ran(with(words_in(std::string("berth ") + alias), {"--help"})).code == 0);
  }
}

TEST_CASE("help explains every command, as its flag does") {
  leave_home();
  size_t count = 0;
  const CommandInfo root = whole_tree();
  for (const CommandInfo* command : flattened(root)) {
    const Words path = words_in(command->path);
    CAPTURE(command->path);
    const Ran help = ran(with({"help"}, path));
    CHECK(help.code == 0);
    // CLI11 lists the flags that exclude each other in the order of their addresses.
    CHECK(sorted_words(help.out) == sorted_words(ran(with(path, {"--help"})).out));
    ++count;
  }
  CHECK(count >= 110);
  CHECK(ran({"help", "deploy", "creat"}).err.find("did you mean create?") != std::string::npos);
  CHECK(ran({"version"}).out == ran({"--version"}).out);
}

TEST_CASE(
    "a flag's value can stand behind an equals sign, and an argument be called as a command") {
  leave_home();
  // Neither reads anything but its arguments; a server isn't there.
  CHECK(json::parse(ran({"version", "-o=json"}).out).contains("commit"));
  CHECK(json::parse(ran({"version", "--output=json"}).out).contains("commit"));
  CHECK(ran({"version", "-o=xml"}).code == usage);
  for (const char* name : {"list", "ls", "up", "rm", "deploy", "help"}) {
    CAPTURE(name);
    // It is taken for a deployment, so the next thing that is missing is a login.
    CHECK(ran({"logs", name}).code == 3);
    CHECK(ran({"open", name}).code == 3);
    CHECK(ran({"deploy", "get", name}).code == 3);
  }
  // Where there is nothing else to do with a name alone, it is listed.
  CHECK(ran({"runs", "shop"}).code == 3);
  CHECK(ran({"crons", "shop"}).code == 3);
  CHECK(ran({"run", "shop", "--", "ls", "-l", "--all=yes"}).code == 3);
}

namespace {

enum class Guard { name, question, none };

// How each command that ends something makes sure that it is wanted.
const std::map<std::string, Guard> guards = {
    {"berth delete", Guard::name},
    {"berth deploy delete", Guard::name},
    {"berth apps delete", Guard::name},
    {"berth account delete", Guard::name},
    {"berth webhooks delete", Guard::name},
    {"berth alerts delete", Guard::name},
    {"berth campaigns cancel", Guard::name},
    {"berth admin delete-message", Guard::name},
    {"berth account disconnect", Guard::question},
    {"berth admin revoke", Guard::question},
    {"berth admin users end-sessions", Guard::question},
    {"berth admin suspend", Guard::question},
    {"berth apps rotate-secret", Guard::question},
    {"berth webhooks rotate-secret", Guard::question},
    {"berth members remove", Guard::question},
    {"berth tokens revoke", Guard::question},
    {"berth trusts delete", Guard::question},
    {"berth admin secrets revoke", Guard::question},
    // What these end can be had again at once.
    {"berth members withdraw", Guard::none},
    {"berth builds cancel", Guard::none},
    {"berth runs cancel", Guard::none},
    {"berth admin rotate-session-key", Guard::none},
    {"berth admin rotate-receipt-key", Guard::none},
    {"berth admin words remove", Guard::none},
    {"berth admin reject", Guard::none},
    {"berth account end-device", Guard::none},
    {"berth deploy stop", Guard::none},
    {"berth env unset", Guard::none},
    {"berth env app unset", Guard::none},
    {"berth scopes withdraw", Guard::none},
    {"berth refunds withdraw", Guard::none},
    {"berth budget remove", Guard::none},
    {"berth sessions end", Guard::none},
    {"berth totp disable", Guard::none},
};

}  // namespace

TEST_CASE("what can't be undone is confirmed by its name") {
  const std::set<std::string> endings = {"delete",
                                         "delete-message",
                                         "cancel",
                                         "disconnect",
                                         "revoke",
                                         "suspend",
                                         "remove",
                                         "reject",
                                         "stop",
                                         "unset",
                                         "withdraw",
                                         "end",
                                         "disable",
                                         "rotate-secret",
                                         "rotate-session-key",
                                         "rotate-receipt-key",
                                         "end-device",
                                         "end-sessions",
                                         "destroy",
                                         "purge",
                                         "erase"};
  std::set<std::string> found;
  const CommandInfo root = whole_tree();
  for (const CommandInfo* command : flattened(root))
    if (command->commands.empty() && endings.contains(command->name)) found.insert(command->path);
  std::set<std::string> known;
  for (const auto& [path, guard] : guards) known.insert(path);
  for (const std::string& path : found) {
    CAPTURE(path);
    CHECK(known.contains(path));
  }

  const Berthd berthd(berth::process::open_flags());
  const Person ada(berthd);
  ada.settle_in("ada", "deploy:manage,campaigns:manage,app:balance:read");
  ada.admin({"mint", "500", "--reason", "a test"});
  const std::string url = "https://example.org/hook";
  ada.must({"webhooks", "create", url, "--events", "deployment.status"});
  ada.must({"alerts", "create", "mail", "--events", "deployment.failed", "--name", "Letters"});
  ada.must({"campaigns", "create", "Spring", "--payment", "100"});
  for (const char* name : {"shop", "forum"})
    ada.must({"deploy", "create", name, "--image", berth::process::well_image});
  const std::string message = "01936f5e-7c1a-7000-8000-00000000000c";
  const berth::process::Variables secret = {{"BERTH_INTERNAL_SECRET", berthd.internal_secret()}};

  struct Deletion {
    std::string path;
    Words words;
    std::string name;
  };
  const std::vector<Deletion> deletions = {
      {"berth webhooks delete", {"webhooks", "delete", url}, url},
      {"berth alerts delete", {"alerts", "delete", "Letters"}, "Letters"},
      {"berth campaigns cancel", {"campaigns", "cancel", "Spring"}, "Spring"},
      {"berth deploy delete", {"deploy", "delete", "shop"}, "shop"},
      {"berth delete", {"rm", "forum"}, "forum"},
      {"berth admin delete-message", {"admin", "delete-message", message}, message},
      {"berth apps delete", {"apps", "rm", "Game of ada"}, "Game of ada"},
      {"berth account delete", {"account", "delete", "--password-stdin"}, "ada"},
  };
  std::set<std::string> tried;
  for (const Deletion& each : deletions) {
    CAPTURE(each.path);
    tried.insert(each.path);
    CHECK(ada.berth(each.words, "", secret).code == usage);  // nobody can be asked
    for (const char* wrong : {"y\n", "yes\n", "\n", "other\n"}) {
      const Ran no = ada.at_terminal(each.words, wrong, secret);
      CHECK(no.code == failed);
      CHECK(no.out.find("Type " + each.name + " to confirm") != std::string::npos);
      CHECK(no.out.find("nothing was done") != std::string::npos);
    }
    if (each.path == "berth admin delete-message") continue;  // there is no such message
    const Ran yes =
        ada.at_terminal(each.words, each.name + "\n" + Person::password() + "\n", secret);
    CAPTURE(yes.out);
    CHECK(yes.code == 0);
  }
  for (const auto& [path, guard] : guards)
    if (guard == Guard::name) CHECK(tried.contains(path));
  std::cout << "commands that ask for the name: " << tried.size() << " of " << found.size()
            << " that end something\n";
}
