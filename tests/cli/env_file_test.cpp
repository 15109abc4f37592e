// Variables as they are typed, and files of them in docker compose's dialect.
#include "cli/env_file.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "cli/failure.h"
#include "tests/process/berthd.h"

using namespace berth::cli;
using berth::process::TempDir;

namespace {

std::string refusal_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Failure& failure) {
    CHECK(failure.exit == Exit::usage);
    return failure.what();
  }
  return "";
}

struct Case {
  const char* text;
  const char* value;  // of A
};

}  // namespace

TEST_CASE("a variable has a value, or takes the one from the environment") {
  ::setenv("BERTH_TEST_VALUE", "a=b", 1);
  CHECK(parse_env("A=b=c") == std::pair<std::string, std::string>("A", "b=c"));
  CHECK(parse_env("BERTH_TEST_VALUE").second == "a=b");
  CHECK(parse_env("A=").second.empty());
  for (const char* text : {"", "=x", "1A=x", "A-B=x", "BERTH_TEST_IS_NOT_SET", "A=@"})
    CHECK_FALSE(refusal_of([&] { parse_env(text); }).empty());
}

TEST_CASE("a variable takes what a file holds") {
  const TempDir dir;
  const std::string file = dir.write("key.pem", "first\nsecond\r\n").string();
  CHECK(parse_env("KEY=@" + file).second == "first\nsecond");
  CHECK(parse_env("HANDLE=@@ada").second == "@ada");
  CHECK(refusal_of([&] { parse_env("KEY=@" + file + ".gone"); }).find("there is no file") == 0);
  CHECK(refusal_of([&] {
          parse_env("KEY=@" + dir.write("odd", "\xff\n").string());
        }).find("isn't UTF-8") != std::string::npos);
}

// The rules are those of docs.docker.com, "Syntax for environment files".
TEST_CASE("a file of variables is read as docker compose reads it") {
  ::setenv("BERTH_TEST_SET", "set", 1);
  ::setenv("BERTH_TEST_EMPTY", "", 1);
  ::unsetenv("BERTH_TEST_UNSET");
  const Case cases[] = {
      // Comments, blanks and line ends.
      {"A=VAL", "VAL"},
      {"A=VAL # comment", "VAL"},
      {"A=VAL# not a comment", "VAL# not a comment"},
      {"A=VAL\t# comment", "VAL"},
      {"A=# comment", ""},
      {"A=VAL   ", "VAL"},
      {"A=  VAL", "VAL"},
      {"A = VAL", "VAL"},
      {"  A=VAL", "VAL"},
      {"\tA=VAL\r\n", "VAL"},
      {"\r\n\n# A=no\n  # no\nA=VAL\n\n", "VAL"},
      {"\xef\xbb\xbf"
       "A=VAL",
       "VAL"},
      {"A=", ""},
      {"A=two words", "two words"},
      {"A=x=y", "x=y"},
      {"A: VAL", "VAL"},
      {"export A=VAL", "VAL"},
      {"  export   A=VAL", "VAL"},
      {"A=1\nA=2", "2"},
      // Quotes.
      {R"(A="VAL")", "VAL"},
      {R"(A='VAL')", "VAL"},
      {R"(A="VAL # not a comment")", "VAL # not a comment"},
      {R"(A="VAL" # comment)", "VAL"},
      {R"(A='VAL' # comment)", "VAL"},
      {R"(A="VAL"   )", "VAL"},
      {R"(A=" VAL ")", " VAL "},
      {R"(A='$BERTH_TEST_SET')", "$BERTH_TEST_SET"},
      {R"(A='${BERTH_TEST_SET}')", "${BERTH_TEST_SET}"},
      {R"(A='Let\'s go!')", "Let's go!"},
      {R"(A="{\"hello\": \"json\"}")", R"({"hello": "json"})"},
      {R"(A="some\tvalue")", "some\tvalue"},
      {R"(A='some\tvalue')", R"(some\tvalue)"},
      {R"(A=some\tvalue)", R"(some\tvalue)"},
      {R"(A="\n")", "\n"},
      {R"(A="\\n")", "\\n"},
      {R"(A="a\r\\b")", "a\r\\b"},
      {R"(A="\q")", R"(\q)"},
      {R"(A='\\')", R"(\\)"},
      {"A='SOME\nVALUE'", "SOME\nVALUE"},
      {"A=\"SOME\r\nVALUE\"\nB=1", "SOME\nVALUE"},
      {"A=\"# no comment\n\nA=no\"", "# no comment\n\nA=no"},
      {R"(A="")", ""},
      {R"(A=a"b")", R"(a"b")"},
      // Variables.
      {"A=$BERTH_TEST_SET", "set"},
      {"A=${BERTH_TEST_SET}", "set"},
      {"A=\"a $BERTH_TEST_SET b\"", "a set b"},
      {"A=$BERTH_TEST_SET-x", "set-x"},
      {"A=${BERTH_TEST_UNSET:-default}", "default"},
      {"A=${BERTH_TEST_EMPTY:-default}", "default"},
      {"A=${BERTH_TEST_EMPTY-default}", ""},
      {"A=${BERTH_TEST_UNSET-default}", "default"},
      {"A=${BERTH_TEST_SET:+other}", "other"},
      {"A=${BERTH_TEST_EMPTY:+other}", ""},
      {"A=${BERTH_TEST_EMPTY+other}", "other"},
      {"A=${BERTH_TEST_UNSET:-${BERTH_TEST_SET}}", "set"},
      {"B=1\nA=${B}2", "12"},
      {"BERTH_TEST_SET=file\nA=$BERTH_TEST_SET", "set"},
      {"A=$BERTH_TEST_UNSET", ""},
      {"A=pa$$word", "pa$word"},
      {R"(A="\$5")", "$5"},
      {"A='pa$word'", "pa$word"},
  };
  size_t count = 0;
  for (const Case& each : cases) {
    CAPTURE(each.text);
    ++count;
    CHECK(parse_env_file(each.text, "f").at("A") == each.value);
  }
  INFO(count << " cases");
  CHECK(count >= 60);
}

TEST_CASE("what a file of variables can't mean is refused with its line") {
  const Case cases[] = {
      {"A=1\nnonsense here\n", "f, line 2 doesn't begin with the name of a variable"},
      {"A=1\n\n1B=2", "f, line 3 doesn't begin with the name of a variable"},
      {"A-B=1", "f, line 1 doesn't begin"},
      {"A=\"x\" y", "f, line 1: only a comment may follow the quotes of A"},
      {"B='\n\n'\nA=\"x\ny", "f, line 4: the quotes of A aren't closed"},
      {"A=${BERTH_TEST_UNSET:?has to be set}", "f, line 1: BERTH_TEST_UNSET: has to be set"},
      {"A=${BERTH_TEST_UNSET?}", "f, line 1: BERTH_TEST_UNSET"},
      {"A=a$", "f, line 1: a $ that doesn't begin a variable"},
      {"A=$1", "f, line 1: a $ that doesn't begin a variable"},
      {"A=${B", "f, line 1: a $ that doesn't begin a variable"},
      {"A=${}", "f, line 1: ${} doesn't begin with a variable"},
      {"A=${B=c}", "f, line 1: ${B=c} doesn't begin with a variable"},
      {"A=1\nBERTH_TEST_UNSET", "f, line 2: the variable BERTH_TEST_UNSET isn't set"},
      {"A=caf\xe9", "f isn't UTF-8"},
  };
  for (const Case& each : cases) {
    CAPTURE(each.text);
    CHECK(refusal_of([&] { parse_env_file(each.text, "f"); }).find(each.value) == 0);
  }
  std::string deep = "A=";
  for (int i = 0; i < 1'000; ++i) deep += "${B:-";
  CHECK_FALSE(refusal_of([&] { parse_env_file(deep + std::string(1'000, '}'), "f"); }).empty());
}

TEST_CASE("a variable that isn't set counts as empty, and somebody is told") {
  std::vector<std::string> told;
  parse_env_file("A=1\nB=$BERTH_TEST_UNSET", "f",
                 [&](const std::string& sentence) { told.push_back(sentence); });
  CHECK(told == std::vector<std::string>{
                    "f, line 2: the variable BERTH_TEST_UNSET isn't set and counts as empty"});
}
