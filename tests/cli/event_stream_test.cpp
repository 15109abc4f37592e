#include "cli/event_stream.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>

using berth::cli::Event;
using berth::cli::EventParser;

namespace {

std::vector<std::string> events_in(const std::string& text, size_t piece) {
  EventParser parser;
  std::vector<std::string> seen;
  for (size_t i = 0; i < text.size(); i += piece)
    parser.feed(text.substr(i, piece), [&](const Event& event) {
      seen.push_back(event.id + "|" + event.name + "|" + event.data);
    });
  return seen;
}

const std::string stream =
    "retry: 500\n: hello\n\nid: 1\nevent: status\ndata: {\"a\":1}\n\n"
    "data: one\r\ndata: two\r\n\r\ndata\rdata:x\r\rid: 7\n\nevent: nothing\n\ndata: cut";

}  // namespace

TEST_CASE("events are the same, however the stream is cut into pieces") {
  const std::vector<std::string> expected = {"1|status|{\"a\":1}", "1|message|one\ntwo",
                                             "1|message|\nx"};
  CHECK(events_in(stream, stream.size()) == expected);
  rc::check("pieces of any size",
            [&] { RC_ASSERT(events_in(stream, *rc::gen::inRange<size_t>(1, 20)) == expected); });
}

TEST_CASE("the last id and the pause survive a broken connection, half an event doesn't") {
  EventParser parser;
  int seen = 0;
  parser.feed(stream, [&](const Event&) { ++seen; });
  CHECK(parser.last_id() == "7");
  CHECK(parser.retry() == std::chrono::milliseconds(500));
  parser.reset();
  parser.feed("\n\n", [&](const Event&) { ++seen; });
  CHECK(seen == 3);
  CHECK(parser.last_id() == "7");
}

TEST_CASE("an event without end is refused") {
  EventParser parser;
  const std::string piece(1'000'000, 'x');
  CHECK_THROWS_AS(
      [&] {
        for (int i = 0; i < 10; ++i) parser.feed(piece, [](const Event&) {});
      }(),
      berth::cli::Failure);
}
