#include "reconcilers/cluster/log_lines.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <vector>

using namespace berth::reconcilers;

namespace {

std::vector<std::string> cut(LogLines& lines, std::string_view text, size_t piece) {
  std::vector<std::string> found;
  const auto on_line = [&](std::string_view line) { found.emplace_back(line); };
  while (!text.empty()) {
    lines.feed(text.substr(0, piece), on_line);
    text.remove_prefix(std::min(piece, text.size()));
  }
  lines.finish(on_line);
  return found;
}

struct Entry {
  std::int64_t at;
  int number;
};

}  // namespace

TEST_CASE("the kubelet's times are read to the nanosecond, with any offset") {
  CHECK(parse_nanoseconds("1970-01-01T00:00:01.000000002Z") == 1'000'000'002);
  CHECK(parse_nanoseconds("1970-01-01T00:00:01Z") == 1'000'000'000);
  CHECK(parse_nanoseconds("1970-01-01T02:00:01.5+02:00") == 1'500'000'000);
  CHECK(nanosecond_text(1'000'000'002) == "1970-01-01T00:00:01.000000002Z");
  for (const char* wrong : {"", "x", "1970-01-01T00:00:01.Z", "1970-01-01T00:00:01.1234567890Z"})
    CHECK_FALSE(parse_nanoseconds(wrong));
  rc::check([] {
    const auto at = *rc::gen::inRange<std::int64_t>(0, 4'000'000'000'000'000'000);
    RC_ASSERT(parse_nanoseconds(nanosecond_text(at)) == at);
  });
}

TEST_CASE("a stamped line keeps its text, blanks and all") {
  const auto line = parse_stamped("1970-01-01T00:00:01Z   two blanks \r");
  REQUIRE(line);
  CHECK(line->text == "  two blanks ");
  CHECK(parse_stamped("1970-01-01T00:00:01Z")->text.empty());
  CHECK(parse_stamped("1970-01-01T00:00:01Z ")->text.empty());
  CHECK_FALSE(parse_stamped("no time"));
}

TEST_CASE("lines are found wherever the pieces end, also empty and long ones") {
  for (const size_t piece : {1, 2, 3, 100}) {
    LogLines lines(5);
    CHECK(cut(lines, "ab\n\n12345\n123456789\nend", piece) ==
          std::vector<std::string>{"ab", "", "12345", "12345 … (cut)", "end"});
  }
}

TEST_CASE("what isn't UTF-8 is replaced") {
  CHECK(as_utf8("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80") == "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80");
  CHECK(as_utf8("a\xff"
                "b") ==
        "a\xef\xbf\xbd"
        "b");
  CHECK(as_utf8("\xc0\xaf") == "\xef\xbf\xbd\xef\xbf\xbd");
  CHECK(as_utf8("\xed\xa0\x80") == "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  CHECK(as_utf8("\xc3") == "\xef\xbf\xbd");
}

TEST_CASE("a position is the id of a line, and read as it was written") {
  const LogPosition one{.at = 1'000'000'002, .of_that_time = 1, .pod = "web-1", .pod_made = 77};
  CHECK(one.text() == "1970-01-01T00:00:01.000000002Z/web-1@77");
  const LogPosition third{.at = 5, .of_that_time = 3, .pod = "web-1", .pod_made = 77};
  CHECK(third.text() == "1970-01-01T00:00:00.000000005Z/web-1@77+3");
  const auto read = LogPosition::parse(third.text());
  REQUIRE(read);
  CHECK(read->text() == third.text());
  CHECK(LogPosition::parse("1970-01-01T00:00:01Z")->pod.empty());
  for (const char* wrong : {"", "x", "1970-01-01T00:00:01Z/", "1970-01-01T00:00:01Z/web",
                            "1970-01-01T00:00:01Z/@1", "1970-01-01T00:00:01Z/web@1+1",
                            "1970-01-01T00:00:01Z/web@-1", "1970-01-01T00:00:01Z/web@x"})
    CHECK_FALSE(LogPosition::parse(wrong));
}

TEST_CASE("a log that is read in several attempts is complete and without repetition") {
  rc::check([] {
    std::vector<Entry> log;
    std::int64_t at = 100;
    const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 3));
    for (const int step : steps) log.push_back({at += step, int(log.size())});
    std::vector<int> seen;
    std::string id = LogPosition{.at = 0, .of_that_time = 0, .pod = "p", .pod_made = 1}.text();
    while (seen.size() < log.size()) {
      LogCursor cursor(id.starts_with("1970-01-01T00:00:00.000000000Z")
                           ? LogPosition{.at = 0, .of_that_time = 0, .pod = "p", .pod_made = 1}
                           : *LogPosition::parse(id));
      cursor.rewind();
      auto lines_until_break = *rc::gen::inRange(1, 5);
      for (const Entry& entry : log) {
        if (!cursor.passes(entry.at)) continue;
        seen.push_back(entry.number);
        id = cursor.position().text();
        if (--lines_until_break == 0) break;
      }
    }
    for (size_t i = 0; i < seen.size(); ++i) RC_ASSERT(seen[i] == int(i));
    RC_ASSERT(seen.size() == log.size());
  });
}
