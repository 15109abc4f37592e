#include "api/gate/event_stream.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <future>
#include <regex>

#include "api/gate/authenticate.h"
#include "tests/api/gate/event_text.h"
#include "tests/api/gate_world.h"

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;

namespace {

Request with_last_event_id(std::string_view id) {
  Request request = {};
  request.headers.add("Last-Event-ID", id);
  return request;
}

const Route& route_named(std::string_view name) {
  for (const Route& route : routes())
    if (route.name == name) return route;
  throw std::logic_error("no such route");
}

// A stream that follows the numbers an operator has made so far.
struct Followed {
  Operator op;
  Request request = {};
  std::string authorization = op.token.value;
  std::shared_ptr<std::atomic<int>> newest = std::make_shared<std::atomic<int>>(0);

  Reply follow(const std::string& after, int last = 1'000'000) {
    request.headers.clear();
    request.headers.add("Authorization", authorization);
    Call call = {.http = request,
                 .route = &route_named("deploymentStatus"),
                 .request_id = "r",
                 .path = {},
                 .body = {},
                 .address = "192.0.2.1",
                 .user = {},
                 .session_id = {},
                 .caller = {},
                 .play = {},
                 .admin = {}};
    call.caller = op.g.world.read([&](db::Tx& tx) {
      return check_bearer(tx, *call.route, call.path, {.token = bearer_token(request)},
                          op.g.services)
          .caller;
    });
    return follow_events(
        call, op.g.services,
        {.topic = db::Topic::chat,
         .id = "c",
         .after = after,
         .read = [numbers = newest, last](db::Tx&, const std::string& behind) {
           EventBatch batch;
           int number = behind.empty() ? 0 : std::stoi(behind);
           while (number < std::min(last, numbers->load()) && batch.events < event_batch_size) {
             ++number;
             batch.add(
                 {.id = std::to_string(number), .name = "tick", .data = std::to_string(number)});
           }
           batch.is_last = number == last;
           return batch;
         }});
  }
  void make(int number) {
    *newest = number;
    op.g.services.memory.events->wake(db::Topic::chat, "c");
  }
};

// Calls the stream until it ends or `enough` returns true, and returns what it sent.
template <typename Enough>
std::vector<ReadEvent> drain(Stream& stream, Enough enough) {
  EventText text;
  std::vector<ReadEvent> events;
  const auto sink = [&](std::string_view data) {
    for (auto& event : text.read(data)) events.push_back(std::move(event));
    return true;
  };
  Steps steps(stream);
  while (!enough(events) && steps.next(sink)) {
  }
  return events;
}

}  // namespace

TEST_CASE("an event is encoded as the standard requires") {
  CHECK(encode_event({.id = "7", .name = "status", .data = "{}"}) ==
        "id: 7\nevent: status\ndata: {}\n\n");
  CHECK(encode_event({.id = "", .name = "", .data = ""}) == "data: \n\n");
  CHECK(encode_event({.id = "", .name = "", .data = "a\nb\r\nc\rd\n"}) ==
        "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n");
  CHECK(encode_event({.id = "", .name = "", .data = " x: y"}) == "data:  x: y\n\n");
  CHECK(encode_heartbeat() == ":\n\n");
  CHECK(encode_retry(1500ms) == "retry: 1500\n\n");
  CHECK(encode_position("0") == "id: 0\n\n");
  CHECK(encode_position("").empty());
  CHECK(encode_position("-1").empty());
  EventText text;
  CHECK(text.read(encode_position("7")).empty());
  CHECK(text.last_id() == "7");
}

TEST_CASE("every event can be decoded again") {
  rc::check([] {
    const auto character = rc::gen::element(' ', ':', '\n', '\r', 'a', 'b', '"', '\t', '\xc3');
    const auto data = *rc::gen::container<std::string>(character);
    const Event event = {.id = "9", .name = "n", .data = data};
    EventText text;
    const auto events = text.read(encode_heartbeat() + encode_event(event) + encode_event(event));
    const auto expected = std::regex_replace(data, std::regex("\r\n|\r"), "\n");
    RC_ASSERT(events == (std::vector<ReadEvent>{{"9", "n", expected}, {"9", "n", expected}}));
  });
}

TEST_CASE("a Last-Event-ID that isn't one of berth's is refused") {
  CHECK(last_event_id(Request{}) == std::nullopt);
  CHECK(last_event_id(with_last_event_id("")) == std::nullopt);
  CHECK(last_event_id(with_last_event_id("2026-01-01T00:00:00Z/1")) == "2026-01-01T00:00:00Z/1");
  CHECK_THROWS_AS(last_event_id(with_last_event_id(std::string(129, '1'))), Error);
  CHECK_THROWS_AS(last_event_id(with_last_event_id("a b")), Error);
  CHECK(last_event_number(with_last_event_id("9223372036854775807")) == INT64_MAX);
  CHECK(last_event_number(with_last_event_id("0")) == 0);
  for (const char* wrong : {"-1", "+1", "1x", "9223372036854775808", "x"})
    CHECK_THROWS_AS(last_event_number(with_last_event_id(wrong)), Error);
}

TEST_CASE("a wake reaches all subscribers of the topic, once until they have taken the news") {
  EventHub hub;
  int woken = 0;
  const auto waker = std::make_shared<Waker>();
  const auto one = hub.subscribe(db::Topic::chat, "a", waker);
  const auto another = hub.subscribe(db::Topic::chat, "a", waker);
  const auto other = hub.subscribe(db::Topic::chat, "b", waker);
  // This comes before anybody waits.
  hub.wake(db::Topic::chat, "a");
  CHECK(one->take_news());
  CHECK_FALSE(one->take_news());
  CHECK(another->take_news());
  CHECK_FALSE(other->take_news());
  waker->connect([&] { ++woken; });
  for (int i = 0; i < 3; ++i) hub.wake(db::Topic::chat, "a");
  CHECK(woken == 2);
  CHECK(one->take_news());
  hub.wake_all();
  CHECK(woken == 4);
  CHECK(other->take_news());
}

TEST_CASE("the number of streams is limited, in total and for each user") {
  EventHub hub({.streams = 3, .streams_of_one = 2});
  auto first = hub.admit("ada");
  const auto second = hub.admit("ada");
  CHECK_THROWS_WITH(hub.admit("ada"), Catch::Contains("at most 2 streams"));
  const auto third = hub.admit("bob");
  CHECK_THROWS_WITH(hub.admit("cyd"), Catch::Contains("too many streams"));
  first.reset();
  CHECK_NOTHROW(hub.admit("cyd"));
  CHECK(hub.open_streams() == 2);
}

TEST_CASE("exports have places of their own, in total and for each user") {
  EventHub hub({.streams = 1, .streams_of_one = 1, .exports = 3, .exports_of_one = 2});
  const auto stream = hub.admit("ada");
  auto first = hub.admit_export("ada");
  const auto second = hub.admit_export("ada");
  CHECK_THROWS_WITH(hub.admit_export("ada"), Catch::Contains("at most 2 exports"));
  const auto third = hub.admit_export("bob");
  CHECK_THROWS_WITH(hub.admit_export("cyd"), Catch::Contains("too many exports"));
  first.reset();
  CHECK_NOTHROW(hub.admit_export("cyd"));
  CHECK(hub.open_streams() == 1);
}

TEST_CASE("a stream continues where it was, in batches, and ends when nothing more can follow") {
  Followed f;
  f.make(250);
  Reply reply = f.follow("20", 251);
  CHECK(reply.content_type == "text/event-stream");
  auto before = drain(reply.stream, [](const auto& events) { return events.size() == 230; });
  CHECK(before.front() == ReadEvent{"21", "tick", "21"});
  CHECK(before.back() == ReadEvent{"250", "tick", "250"});
  auto rest = std::async(std::launch::async,
                         [&] { return drain(reply.stream, [](const auto&) { return false; }); });
  f.make(251);
  CHECK(rest.get() == std::vector<ReadEvent>{{"251", "tick", "251"}});
}

TEST_CASE("a stream says where it begins before there is an event") {
  Followed f;
  f.make(20);
  EventText text;
  const auto sink = [&](std::string_view data) { CHECK(text.read(data).empty()); };
  const Reply first = f.follow("20");
  CHECK(Steps(first.stream).next(sink));
  CHECK(text.last_id() == "20");
  // Whoever comes back with this id gets what has happened meanwhile.
  f.make(22);
  Reply resumed = f.follow(text.last_id());
  CHECK(drain(resumed.stream, [](const auto& events) { return events.size() == 2; }) ==
        std::vector<ReadEvent>{{"21", "tick", "21"}, {"22", "tick", "22"}});
}

TEST_CASE("nothing is sent after the token was revoked or has expired") {
  Followed f;
  f.make(1);
  Reply revoked = f.follow("");
  CHECK(drain(revoked.stream, [](const auto& events) { return events.size() == 1; }).size() == 1);
  f.op.g.world.write([&](db::Tx& tx) { oauth::revoke(tx, f.op.app, f.op.tokens.access_token); });
  f.make(2);
  CHECK(drain(revoked.stream, [](const auto&) { return false; }).empty());

  Followed late;
  Reply over = late.follow("");
  late.op.g.world.clock.advance(std::chrono::hours(24));
  late.make(1);
  CHECK(drain(over.stream, [](const auto&) { return false; }).empty());
}

TEST_CASE("an idle stream notices that its token was revoked") {
  Followed f;
  Reply reply = f.follow("");
  const auto sink = [](std::string_view) { return true; };
  Steps steps(reply.stream);
  REQUIRE(steps.next(sink));
  f.op.g.world.write([&](db::Tx& tx) { oauth::revoke(tx, f.op.app, f.op.tokens.access_token); });
  const auto start = std::chrono::steady_clock::now();
  while (steps.next(sink)) {
  }
  CHECK(std::chrono::steady_clock::now() - start < bearer_check_interval + 10s);
}
