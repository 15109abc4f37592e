#include "cli/ignore_file.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>

using berth::cli::IgnoreFile;
using berth::cli::matches_name;

TEST_CASE("the patterns of a name") {
  for (const auto& [pattern, name] :
       std::vector<std::pair<const char*, const char*>>{{"a", "a"},
                                                        {"*", ""},
                                                        {"*", "abc"},
                                                        {"a*c", "abbc"},
                                                        {"*.log", "x.log"},
                                                        {"?", "x"},
                                                        {"[a-c]x", "bx"},
                                                        {"[^a]", "b"},
                                                        {"\\*", "*"},
                                                        {"a*b*c", "a1b2b3c"},
                                                        {"[]]", "]"}})
    CHECK(matches_name(pattern, name));
  for (const auto& [pattern, name] :
       std::vector<std::pair<const char*, const char*>>{{"a", "b"},
                                                        {"", "a"},
                                                        {"a", ""},
                                                        {"?", ""},
                                                        {"[a-c]", "d"},
                                                        {"[^a]", "a"},
                                                        {"\\*", "a"},
                                                        {"*.log", "x.logs"},
                                                        {"a*b", "ac"}})
    CHECK_FALSE(matches_name(pattern, name));
}

TEST_CASE(
    "names without special characters match themselves alone, and everything matches a star") {
  rc::check([](const std::string& name) {
    if (name.find_first_of("*?[\\") == std::string::npos) RC_ASSERT(matches_name(name, name));
    RC_ASSERT(matches_name("*", name));
    RC_ASSERT(matches_name("**", name));
    RC_ASSERT(!matches_name(std::string(name.size() + 1, '?'), name));
  });
}

TEST_CASE("a pattern that has very many ways to match takes no long time") {
  std::string pattern;
  for (int i = 0; i < 60; ++i) pattern += "*a";
  CHECK_FALSE(matches_name(pattern + "b", std::string(2'000, 'a')));
}

TEST_CASE("lines leave out, take back, and mean what is below a directory") {
  const IgnoreFile file(
      "# comment\n\nnode_modules\n/dist/\n**/*.log\n!keep/me.log\n  tmp  \nbuild/*/cache\n");
  for (const char* path : {"node_modules", "node_modules/a/b", "dist/x", "a.log", "a/b/c.log",
                           "tmp", "build/x/cache", "build/x/cache/y"})
    CHECK(file.leaves_out(path));
  for (const char* path :
       {"src/node_modules", "distance", "keep/me.log", "a.logs", "build/cache", "# comment"})
    CHECK_FALSE(file.leaves_out(path));
  CHECK(file.has_exceptions());
  const IgnoreFile all_but("*\n!src\n!src/../main.c\n");
  CHECK(all_but.leaves_out("README.md"));
  CHECK_FALSE(all_but.leaves_out("src/a.c"));
  CHECK_FALSE(all_but.leaves_out("main.c"));
  CHECK_FALSE(IgnoreFile("").leaves_out("x"));
}
