#include "controller/base/clock.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>

namespace {

using namespace berth;
using namespace std::chrono_literals;

constexpr std::int64_t year_zero = -62'167'219'200'000;         // 0000-01-01T00:00:00.000Z
constexpr std::int64_t end_of_year_9999 = 253'402'300'799'999;  // 9999-12-31T23:59:59.999Z

TEST_CASE("a standing clock moves only when it is advanced, and never back") {
  Clock clock = Clock::standing_at(from_millis(1'000));
  CHECK(clock.now() == from_millis(1'000));
  clock.advance(2s);
  CHECK(clock.now() == from_millis(3'000));
  CHECK(clock.ahead() == 2s);
  CHECK_THROWS_AS(clock.advance(-1ms), std::invalid_argument);
  CHECK(clock.now() == from_millis(3'000));
}

TEST_CASE("a running clock shows the machine's time, or a time ahead of it") {
  Clock clock;
  const auto before = std::chrono::floor<Duration>(std::chrono::system_clock::now());
  const Instant now = clock.now();
  CHECK(now >= before);
  CHECK(now - before < 1min);
  clock.advance(24h);
  CHECK(clock.now() - before >= 24h);
}

TEST_CASE("a copy of a clock shows the same time") {
  Clock clock = Clock::standing_at(from_millis(5));
  clock.advance(7ms);
  CHECK(Clock(clock).now() == from_millis(12));
}

TEST_CASE("instants are written in UTC with milliseconds") {
  CHECK(to_iso8601(from_millis(0)) == "1970-01-01T00:00:00.000Z");
  CHECK(to_iso8601(from_millis(1'769'860'800'007)) == "2026-01-31T12:00:00.007Z");
  CHECK(to_iso8601(from_millis(-1)) == "1969-12-31T23:59:59.999Z");
}

TEST_CASE("every instant of four-digit years reads back as it was written") {
  CHECK(rc::check([] {
    const Instant at = from_millis(*rc::gen::inRange(year_zero, end_of_year_9999 + 1));
    RC_ASSERT(parse_iso8601(to_iso8601(at)) == at);
  }));
  for (const std::int64_t edge : {year_zero, end_of_year_9999, std::int64_t(0)})
    CHECK(parse_iso8601(to_iso8601(from_millis(edge))) == from_millis(edge));
}

TEST_CASE("instants sort as their texts do") {
  CHECK(rc::check([] {
    const auto a = *rc::gen::inRange(year_zero, end_of_year_9999 + 1);
    const auto b = *rc::gen::inRange(year_zero, end_of_year_9999 + 1);
    RC_ASSERT((a < b) == (to_iso8601(from_millis(a)) < to_iso8601(from_millis(b))));
  }));
}

TEST_CASE("the other forms of RFC 3339 are read") {
  const Instant noon = *parse_iso8601("2026-01-31T12:00:00.000Z");
  for (const char* text :
       {"2026-01-31T12:00:00Z", "2026-01-31t12:00:00z", "2026-01-31 12:00:00Z",
        "2026-01-31T14:00:00+02:00", "2026-01-31T06:30:00-05:30", "2026-02-01T00:00:00+12:00",
        "2026-01-31T12:00:00.0Z", "2026-01-31T12:00:00.0004Z"}) {
    INFO(text);
    CHECK(parse_iso8601(text) == noon);
  }
  CHECK(parse_iso8601("2026-01-31T12:00:00.5Z") == noon + 500ms);
  CHECK(parse_iso8601("2026-01-31T12:00:00.123456789Z") == noon + 123ms);
  CHECK(parse_iso8601("2024-02-29T00:00:00Z").has_value());
}

TEST_CASE("the forms of ISO 8601 that clients write are read, in UTC where they name no zone") {
  const Instant midnight = *parse_iso8601("2027-01-02T00:00:00.000Z");
  for (const char* text :
       {"2027-01-02", "20270102", "2027-01-02T00:00:00", "2027-01-02 00:00:00", "2027-01-02T00:00",
        "2027-01-02T00:00Z", "2027-01-02T02:00:00+0200", "2027-01-02T02:00+02",
        "2027-01-01T18:30:00-0530", "20270102T000000Z", "20270102T0000", "20270102T020000+02:00",
        "20270102T000000.000Z", "2027-01-02T00:00:00,000Z"}) {
    INFO(text);
    CHECK(parse_iso8601(text) == midnight);
  }
  CHECK(parse_iso8601("20270102T000000,25") == midnight + 250ms);
  CHECK(parse_iso8601("2027-01-02T00:01") == midnight + 1min);
}

TEST_CASE("whatever the form, the same fields are the same instant") {
  CHECK(rc::check([] {
    const Instant at = from_millis(*rc::gen::inRange<std::int64_t>(0, 4'000'000'000'000));
    const std::string full = to_iso8601(at);
    const std::string local = full.substr(0, full.size() - 1);
    std::string basic;
    for (const char c : full)
      if (c != '-' && c != ':') basic += c;
    RC_ASSERT(parse_iso8601(local) == at);
    RC_ASSERT(parse_iso8601(local + "+0000") == at);
    RC_ASSERT(parse_iso8601(local + "-00") == at);
    RC_ASSERT(parse_iso8601(basic) == at);
    RC_ASSERT(parse_iso8601(full.substr(0, 16)) == std::chrono::floor<std::chrono::minutes>(at));
    RC_ASSERT(parse_iso8601(full.substr(0, 10)) == std::chrono::floor<std::chrono::days>(at));
  }));
}

TEST_CASE("an offset can't lead out of the range of years") {
  CHECK(parse_iso8601("9999-12-31T23:59:59.999Z").has_value());
  CHECK(parse_iso8601("0000-01-01T00:00:00Z").has_value());
  CHECK(!parse_iso8601("9999-12-31T23:59:59-00:01"));
  CHECK(!parse_iso8601("9999-12-31T23:59:60Z"));
  CHECK(!parse_iso8601("0000-01-01T00:00:00+00:01"));
}

TEST_CASE("what isn't an instant is refused") {
  for (const char* text : {"",
                           "2026",
                           "2026-01",
                           "202601",
                           "2026-0131",
                           "202601-31",
                           "2026-01-31Z",
                           "2026-01-31T",
                           "2026-01-31T12",
                           "2026-01-31T1200",
                           "20260131T12:00",
                           "20260131T12000",
                           "2026-01-31T12:00:0",
                           "2026-01-31T12:00:",
                           "2026-13-01T00:00:00Z",
                           "2026-00-01T00:00:00Z",
                           "2026-02-29T00:00:00Z",
                           "2026-01-32T00:00:00Z",
                           "2026-01-31T24:00:00Z",
                           "2026-01-31T12:60:00Z",
                           "2026-01-31T12:00:61Z",
                           "2026-01-31T12:00:00.Z",
                           "2026-01-31T12:00:00Zx",
                           "2026-01-31T12:00:00+2:00",
                           "2026-01-31T12:00:00+24:00",
                           "2026-01-31T12:00:00+02:60",
                           "2026-01-31T12:00:00+",
                           "2026-01-31T12:00:00+020",
                           "2026-01-31T12:00:00+02:",
                           "2026-01-31T12:00:00+02:00Z",
                           "2026-01-31T12:00:00 02:00",
                           "1798848000",
                           " 2026-01-31T12:00:00Z",
                           "26-01-31T12:00:00Z",
                           "2026/01/31T12:00:00Z",
                           "-026-01-31T12:00:00Z"}) {
    INFO(text);
    CHECK_FALSE(parse_iso8601(text));
  }
}

}  // namespace
