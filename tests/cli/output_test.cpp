#include "cli/output.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "cli/chart.h"
#include "controller/base/text.h"
#include "controller/base/yaml.h"

using namespace berth::cli;

TEST_CASE("columns are as wide as their widest cell, counted in characters") {
  CHECK(table_of({"NAME", "N"}, {{"ä", "1"}, {"longer", "20"}}) ==
        "NAME    N\n"
        "ä       1\n"
        "longer  20\n");
  CHECK(table_of({"A"}, {}) == "A\n");
  // The widths are those of a terminal: two columns for 世, none for a combining accent.
  CHECK(table_of({"NAME", "N"}, {{"世界", "1"}, {"e\u0301", "2"}, {"\xff", "3"}}) ==
        "NAME  N\n"
        "世界  1\n"
        "e\u0301     2\n"
        "\xff     3\n");
}

TEST_CASE("digests are short in tables, and nothing else is cut") {
  const std::string digest(64, 'a');
  CHECK(with_short_digests("docker.io/x@sha256:" + digest + " and sha256:" + digest) ==
        "docker.io/x@sha256:aaaaaaaaaaaa and sha256:aaaaaaaaaaaa");
  for (const char* text : {"", "sha256:", "sha256:abc", "sha256", "x"})
    CHECK(with_short_digests(text) == text);
  CHECK(with_short_digests("sha256:" + digest + "a") == "sha256:" + digest + "a");
  CHECK(Output::table({{{"image", "x@sha256:" + digest}}}, {{"IMAGE", "image"}}) ==
        "IMAGE\nx@sha256:aaaaaaaaaaaa\n");
}

TEST_CASE("a coloured table has colours for states alone, and is laid out like a plain one") {
  const std::vector<std::string> head = {"NAME", "STATUS"};
  const std::vector<std::vector<std::string>> rows = {{"running", "running"}, {"x", "errored"}};
  std::string coloured = table_of(head, rows, Paint::coloured);
  CHECK(coloured.find("running  \x1b[32mrunning\x1b[0m\n") != std::string::npos);
  CHECK(coloured.find("x        \x1b[31merrored\x1b[0m\n") != std::string::npos);
}

TEST_CASE("the server's texts can't control the terminal") {
  CHECK(printable("a\x1b[31mb\nc\x7f") == "a?[31mb c?");
  CHECK(printable("\xc2\x9b"
                  "31m") == "?31m");
  CHECK(table_of({"A"}, {{"x\x1b]0;title\x07"}}).find('\x1b') == std::string::npos);
  CHECK(printable("Grüße, 日本") == "Grüße, 日本");
}

TEST_CASE("facts without a value are left out") {
  CHECK(facts_of({{"Name", "shop"}, {"Reason", ""}, {"Long name", "x"}}) ==
        "Name:       shop\nLong name:  x\n");
}

TEST_CASE("a cell shows a field's value, also inside objects") {
  const json object = {
      {"a", {{"b", 3}}}, {"l", {"x", "y"}}, {"n", nullptr}, {"t", true}, {"e", json::array()}};
  CHECK(cell(object, "a.b") == "3");
  CHECK(cell(object, "l") == "x, y");
  CHECK(cell(object, "n") == "-");
  CHECK(cell(object, "e") == "-");
  CHECK(cell(object, "absent.b") == "-");
  CHECK(cell(object, "t") == "yes");
}

TEST_CASE("YAML gives back what went in, whatever the texts look like") {
  const json value = {{"texts", {"",           "yes",
                                 "true",       "1",
                                 "0x1f",       "1.5",
                                 "null",       "~",
                                 "a: b",       "# c",
                                 "- d",        " blank ",
                                 "line\nline", "tab\t",
                                 "'q'",        "\"q\"",
                                 "日本",       "{",
                                 "*a",         "&a",
                                 ".inf",       "2026-01-31T12:00:00.000Z",
                                 "@x",         "%y",
                                 "!z",         "|",
                                 ">"}},
                      {"numbers", {0, -1, 9007199254740991, 1.5}},
                      {"others", {true, false, nullptr, json::array(), json::object()}},
                      {"true", 1}};
  CHECK(berth::parse_yaml(to_yaml(value), "it") == value);
  rc::check("any text", [] {
    const auto text = *rc::gen::container<std::string>(rc::gen::inRange(char(0x01), char(0x7f)));
    RC_ASSERT(berth::parse_yaml(to_yaml({{"t", text}, {"l", {text}}}), "it") ==
              json({{"t", text}, {"l", {text}}}));
  });
}

TEST_CASE("a chart's longest bar has the wanted width, and no value above 0 is invisible") {
  const std::vector<Bar> bars = {
      {"2026-01-01", 1'000'000, "a"}, {"2026-01-02", 1, ""}, {"2026-01-03", 0, ""}};
  const auto blanks = [](int count) { return std::string(size_t(count), ' '); };
  CHECK(bar_chart(bars, 10, Characters::ascii) ==
        "2026-01-01  ##########  1000000  a\n"
        "2026-01-02  #" +
            blanks(17) +
            "1\n"
            "2026-01-03" +
            blanks(20) + "0\n");
  const std::string utf8 = bar_chart(bars, 10, Characters::utf8);
  CHECK(utf8.find("██████████  1000000") != std::string::npos);
  CHECK(utf8.find("▏") != std::string::npos);
  CHECK(bar_chart({{"d", 0, ""}}, 5, Characters::ascii) == "d" + blanks(9) + "0\n");
  CHECK(bar_chart({}, 5, Characters::ascii).empty());
  CHECK(bar_chart({{"d", 9'007'199'254'740'991, ""}}, 3, Characters::ascii) ==
        "d  ###  9007199254740991\n");
}
