#include "controller/base/yaml.h"

#include <catch2/catch.hpp>

namespace {

using namespace berth;
using nlohmann::json;

json value(const std::string& text) { return parse_yaml("x: " + text, "test").at("x"); }

TEST_CASE("plain scalars get the types of the core schema") {
  const std::pair<const char*, json> cases[] = {{"", nullptr},
                                                {"~", nullptr},
                                                {"null", nullptr},
                                                {"NULL", nullptr},
                                                {"true", true},
                                                {"False", false},
                                                {"0", 0},
                                                {"-7", -7},
                                                {"+12", 12},
                                                {"012", 12},
                                                {"0o17", 15},
                                                {"0x1F", 31},
                                                {"1.5", 1.5},
                                                {"-1e3", -1000.0},
                                                {"+.5", 0.5},
                                                {"5.", 5.0},
                                                {"9223372036854775807", INT64_MAX},
                                                {"-9223372036854775808", INT64_MIN}};
  for (const auto& [text, expected] : cases) {
    INFO(text);
    const json got = value(text);
    CHECK(got == expected);
    CHECK(got.type() == expected.type());
  }
}

TEST_CASE("what only resembles a number or a word stays text") {
  for (const char* text :
       {"yes",        "on",   "tRUE", "1.2.3",        "1-2", "+-1", "0x",    "0xg",
        "0o8",        "0x-1", "1e",   "e3",           "+",   ".",   "1_000", "12:30:45",
        "2026-01-31", ".inf", ".nan", "Null and void"}) {
    INFO(text);
    CHECK(value(text) == text);
  }
}

TEST_CASE("quoted scalars stay text") {
  for (const char* text : {"true", "12", "null", "", "~", "1.5"}) {
    INFO(text);
    CHECK(value("'" + std::string(text) + "'") == text);
    CHECK(value("\"" + std::string(text) + "\"") == text);
  }
  CHECK(value("!!str 12") == "12");
  CHECK(value("|\n  two\n  lines\n") == "two\nlines\n");
}

TEST_CASE("lists and mappings nest, and anchors are followed") {
  const json got = parse_yaml("a: [1, {b: two}]\nc: &it\n  - x\nd: *it\n1: one\n", "test");
  CHECK(got == json::parse(R"({"a": [1, {"b": "two"}], "c": ["x"], "d": ["x"], "1": "one"})"));
}

TEST_CASE("a merged mapping only adds keys that aren't there") {
  const json got = parse_yaml("base: &base {a: 1, b: 2}\nx:\n  b: 3\n  <<: *base\n", "test");
  CHECK(got.at("x") == json{{"a", 1}, {"b", 3}});
}

TEST_CASE("of several mappings that are merged in, the earlier one takes precedence") {
  const json got = parse_yaml("a: &a {k: 1}\nb: &b {k: 2, l: 3}\nx:\n  <<: [*a, *b]\n", "test");
  CHECK(got["x"] == json{{"k", 1}, {"l", 3}});
}

TEST_CASE("a merge key that doesn't refer to a mapping is refused with its source and line") {
  for (const char* value : {"1", "text", "[1, 2]", "[{a: 1}, 2]"})
    CHECK_THROWS_WITH(parse_yaml("x:\n  <<: " + std::string(value) + "\n", "test"),
                      Catch::StartsWith("test: ") && Catch::Contains("line 2"));
}

TEST_CASE("merged values must be mappings, and keys must be text") {
  for (const char* text : {"<<: 1", "<<: [1]", "{<<: }", "a: &a x\n<<: *a",
                           "{<<: {a: 1}, <<: {b: 2}}", "? [a, b]\n: c", "{a: 1}: 2", "~: 1"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_yaml(text, "the text"), std::runtime_error);
  }
}

TEST_CASE("the first of several documents counts, and an empty one is null") {
  CHECK(parse_yaml("a: 1\n---\na: 2\n", "test") == json{{"a", 1}});
  CHECK(parse_yaml("", "test").is_null());
}

TEST_CASE("several documents are counted") {
  CHECK(yaml_documents("a: 1\n", "test") == 1);
  CHECK(yaml_documents("---\na: 1\n---\nb: 1\n", "test") == 2);
}

TEST_CASE("counting documents ends for every text") {
  CHECK_THROWS_AS(yaml_documents(", [", "test"), std::runtime_error);
  CHECK_THROWS_AS(yaml_documents(", [\x01\n\xfb\xfa", "test"), std::runtime_error);
}

TEST_CASE("a key that occurs twice is refused") {
  CHECK_THROWS_WITH(parse_yaml("a: 1\nb: {c: 1, c: 2}\n", "test"),
                    Catch::Contains("line 2") && Catch::Contains("c occurs twice"));
}

TEST_CASE("aliases can't make a document endless") {
  CHECK_THROWS_AS(parse_yaml("&a {b: *a}", "test"), std::runtime_error);
  std::string bomb = "a0: &a0 [x]\n";
  for (int i = 1; i < 30; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before + ", " + before +
            "]\n";
  }
  CHECK_THROWS_AS(parse_yaml(bomb, "test"), std::runtime_error);
}

TEST_CASE("scalars stay as they were written if texts are wanted") {
  const json got = parse_yaml("[1.10, 0x1F, 017, 1e3, True, +5, '1', 12345678901234567890123, ~]",
                              "test", Scalars::texts);
  CHECK(got ==
        json{"1.10", "0x1F", "017", "1e3", "True", "+5", "1", "12345678901234567890123", nullptr});
}

TEST_CASE("a text that isn't UTF-8 is refused") {
  CHECK_THROWS_WITH(parse_yaml("name: caf\xe9\n", "berth.yaml"), "berth.yaml: isn't UTF-8");
  CHECK(parse_yaml("name: caf\xc3\xa9\n", "berth.yaml") == json{{"name", "caf\xc3\xa9"}});
}

TEST_CASE("a broken text names its source and line") {
  try {
    parse_yaml("a: 1\nb: [1, 2\n", "berthd.yaml");
    FAIL("it was taken");
  } catch (const std::runtime_error& failure) {
    const std::string what = failure.what();
    CHECK(what.starts_with("berthd.yaml: "));
    CHECK(what.find("line 3") != std::string::npos);
  }
}

}  // namespace
