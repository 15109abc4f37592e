#include <rapidcheck.h>

#include <catch2/catch.hpp>

#include "reconcilers/kube/lines.h"
#include "tests/kube_client/api_server.h"

using namespace berth::kube;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

std::string event_line(const std::string& type, const json& object) {
  return json({{"type", type}, {"object", object}}).dump() + "\n";
}

json pod(const std::string& name) {
  return {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", name}}}};
}

enum class Then { end, hold, cut };

// Sends the pieces as chunks, and then ends, stays silent, or drops the connection.
ApiServer::Handler sends(std::vector<std::string> pieces, Then then) {
  return [pieces, then](const httplib::Request&, httplib::Response& response) {
    auto next = std::make_shared<size_t>(0);
    response.set_chunked_content_provider("application/json",
                                          [pieces, then, next](size_t, httplib::DataSink& sink) {
                                            if (*next < pieces.size()) {
                                              const std::string& piece = pieces[(*next)++];
                                              return sink.write(piece.data(), piece.size());
                                            }
                                            if (then == Then::end) sink.done();
                                            if (then == Then::hold)
                                              std::this_thread::sleep_for(5ms);
                                            return then != Then::cut;
                                          });
  };
}

using Events = std::vector<std::pair<EventType, std::string>>;

struct Watched {
  Events events;
  ApiError error{-1, "", "none"};
};

Watched watch(const ApiServer& server, const ClientOptions& options = {}) {
  Watched result;
  Client client(server.config(), options);
  result.error = error_from([&] {
    client.watch(
        pods, {"shop", "a=b", ""}, "17",
        [&](EventType type, const Object& object) {
          const bool bookmark = type == EventType::bookmark;
          result.events.emplace_back(
              type, object["metadata"][bookmark ? "resourceVersion" : "name"].get<std::string>());
        },
        {});
  });
  return result;
}

const std::string stream_text =
    event_line("ADDED", pod("a")) + event_line("MODIFIED", pod("b\xc3\xa9\n")) + "\r\n\n" +
    event_line("BOOKMARK", {{"kind", "Pod"}, {"metadata", {{"resourceVersion", "99"}}}}) +
    event_line("DELETED", pod("c"));
const Events stream_events = {{EventType::added, "a"},
                              {EventType::modified, "b\xc3\xa9\n"},
                              {EventType::bookmark, "99"},
                              {EventType::deleted, "c"}};

// Cuts `text` into pieces of these lengths, which are repeated.
std::vector<std::string> cut(const std::string& text, const std::vector<size_t>& lengths) {
  std::vector<std::string> pieces;
  for (size_t at = 0, i = 0; at < text.size(); ++i) {
    const size_t length = lengths.empty() ? text.size() : lengths[i % lengths.size()];
    pieces.push_back(text.substr(at, length));
    at += length;
  }
  return pieces;
}

}  // namespace

TEST_CASE("lines are complete wherever the stream is cut") {
  CHECK(rc::check([] {
    const auto lines = *rc::gen::container<std::vector<std::string>>(
        rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('a', 'z'))));
    const bool crlf = *rc::gen::arbitrary<bool>();
    std::string text;
    for (const std::string& line : lines) text += line + (crlf ? "\r\n" : "\n");
    if (*rc::gen::arbitrary<bool>() && !crlf && !text.empty()) text.pop_back();
    const auto lengths = *rc::gen::container<std::vector<size_t>>(rc::gen::inRange<size_t>(1, 9));

    LineReader reader(1000);
    std::vector<std::string> got;
    const auto keep = [&](std::string_view line) { got.emplace_back(line); };
    for (const std::string& piece : cut(text, lengths)) reader.feed(piece, keep);
    reader.finish(keep);
    RC_ASSERT(got == lines);
  }));
}

TEST_CASE("a line over the limit is refused, whole or in pieces") {
  const auto ignore = [](std::string_view) {};
  CHECK_NOTHROW(LineReader(4).feed("abcd\nabcd\n", ignore));
  CHECK_THROWS_AS(LineReader(4).feed("abcde", ignore), LineTooLong);
  CHECK_THROWS_AS(LineReader(4).feed("abcde\n", ignore), LineTooLong);
  LineReader reader(4);
  reader.feed("ab", ignore);
  CHECK_THROWS_AS(reader.feed("cde\n", ignore), LineTooLong);
}

TEST_CASE(
    "a watch's events arrive in order, wherever the stream is cut, and it ends when the stream "
    "does") {
  const auto lengths = GENERATE(std::vector<size_t>{}, std::vector<size_t>{1},
                                std::vector<size_t>{7, 1, 30}, std::vector<size_t>{64});
  const ApiServer server(sends(cut(stream_text, lengths), Then::end));
  const Watched result = watch(server);
  CHECK(result.error.status == -1);
  CHECK(result.events == stream_events);
  CHECK(server.seen().at(0).target ==
        "/api/v1/namespaces/shop/pods?labelSelector=a%3Db&watch=true&allowWatchBookmarks=true&"
        "resourceVersion=17");
}

TEST_CASE("a broken connection is told apart from the end of a stream") {
  const ApiServer server(sends({stream_text}, Then::cut));
  const Watched result = watch(server);
  CHECK(result.events == stream_events);
  CHECK(result.error.status == 0);
}

TEST_CASE("a lost history is reported, in the answer or in the stream") {
  SECTION("in the answer") {
    const ApiServer server([](const httplib::Request&, httplib::Response& response) {
      refuse(response, 410, "Expired", "too old resource version");
    });
    const Watched result = watch(server);
    CHECK(result.error.expired());
    CHECK(result.error.reason == "Expired");
    CHECK(std::string(result.error.what()) == "too old resource version");
  }
  SECTION("in the stream") {
    const ApiServer server(sends({event_line("ADDED", pod("a")) +
                                  event_line("ERROR", status_object(410, "Expired", "too old")) +
                                  event_line("ADDED", pod("b"))},
                                 Then::hold));
    const Watched result = watch(server);
    CHECK(result.events == Events{{EventType::added, "a"}});
    CHECK(result.error.expired());
    CHECK(result.error.reason == "Expired");
    CHECK(std::string(result.error.what()) == "too old");
  }
  SECTION("another error in the stream") {
    const ApiServer server(
        sends({event_line("ERROR", status_object(500, "InternalError", "etcd"))}, Then::hold));
    CHECK(watch(server).error.status == 500);
  }
}

TEST_CASE("what isn't an event ends a watch") {
  const std::string text = GENERATE("hunter2\n", "{}\n", "3\n", "{\"type\":\"ADDED\"}\n",
                                    "{\"type\":\"NEW\",\"object\":{}}\n", "{\"type\":\"ADD");
  const ApiServer server(sends({text}, Then::end));
  const Watched result = watch(server);
  CHECK(result.error.status == 0);
  CHECK_THAT(result.error.what(), !Catch::Contains("hunter2"));
  CHECK(result.events.empty());
}

TEST_CASE("an event without an end is refused") {
  const std::string piece(1 << 20, 'x');
  const ApiServer server(sends(std::vector<std::string>(20, piece), Then::hold));
  const Watched result = watch(server);
  CHECK(result.error.status == 0);
  CHECK_THAT(result.error.what(), Catch::Contains("than 16777216 bytes"));
}

TEST_CASE("a watch that is silent for too long is dead") {
  ClientOptions options;
  options.watch_silence = 1s;
  SECTION("after an event") {
    const ApiServer server(sends({event_line("ADDED", pod("a"))}, Then::hold));
    const auto start = std::chrono::steady_clock::now();
    const Watched result = watch(server, options);
    CHECK(std::chrono::steady_clock::now() - start >= 1s);
    CHECK(result.events.size() == 1);
    CHECK(result.error.unreachable());
    CHECK_THAT(result.error.what(), Catch::Contains("nothing was received for"));
  }
  SECTION("not while something comes") {
    const auto start = std::chrono::steady_clock::now();
    const ApiServer server([&](const httplib::Request&, httplib::Response& response) {
      response.set_chunked_content_provider(
          "application/json", [start](size_t, httplib::DataSink& sink) {
            const std::string line = event_line("ADDED", pod("a"));
            sink.write(line.data(), line.size());
            std::this_thread::sleep_for(100ms);
            if (std::chrono::steady_clock::now() - start > 1500ms) sink.done();
            return true;
          });
    });
    CHECK(watch(server, options).error.status == -1);
  }
}

TEST_CASE("a watch stops within a second, even if nothing arrives") {
  const ApiServer server(sends({event_line("ADDED", pod("a"))}, Then::hold));
  Client client(server.config());
  std::stop_source stop;
  std::atomic<int> seen = 0;
  std::chrono::steady_clock::time_point requested;
  std::jthread stopper([&] {
    comes_true([&] { return seen.load() == 1; });
    std::this_thread::sleep_for(20ms);  // lets the watch return to its wait
    requested = std::chrono::steady_clock::now();
    stop.request_stop();
  });
  client.watch(
      pods, {}, "1", [&](EventType, const Object&) { ++seen; }, stop.get_token());
  const auto returned = std::chrono::steady_clock::now();
  stopper.join();
  CHECK(returned - requested < 1s);
  CHECK(seen == 1);
  CHECK_NOTHROW(client.watch(
      pods, {}, "1", [](EventType, const Object&) {}, stop.get_token()));
}

TEST_CASE("no event is passed on after a stop, even if it was received") {
  const ApiServer server(sends({stream_text}, Then::end));
  Client client(server.config());
  std::stop_source stop;
  int seen = 0;
  const auto once = [&](EventType, const Object&) {
    ++seen;
    stop.request_stop();
  };
  client.watch(pods, {}, "1", once, stop.get_token());
  CHECK(seen == 1);
}

TEST_CASE("an exception from a watch's callback is passed on, and the client can be used further") {
  const ApiServer server(sends({stream_text}, Then::hold));
  Client client(server.config());
  struct Odd {};
  for (int i = 0; i < 3; ++i)
    CHECK_THROWS_AS(client.watch(pods, {}, "1", [](EventType, const Object&) { throw Odd(); }, {}),
                    Odd);
}

TEST_CASE(
    "a watch's callback may use the client, and the observer is told when the watch is answered") {
  std::vector<std::string> observed;
  ClientOptions options;
  options.observer = [&](std::string_view verb, std::string_view plural, int status,
                         std::chrono::nanoseconds) {
    observed.push_back(std::string(verb) + " " + std::string(plural) + " " +
                       std::to_string(status));
  };
  const auto stream = sends({event_line("ADDED", pod("a"))}, Then::end);
  const ApiServer server([&](const httplib::Request& request, httplib::Response& response) {
    request.has_param("watch") ? stream(request, response) : answer_json(response, pod("a"));
  });
  Client client(server.config(), options);
  client.watch(pods, {}, "1",
               [&](EventType, const Object&) { CHECK(client.get(pods, "shop", "a") == pod("a")); },
               {});
  CHECK(observed == std::vector<std::string>{"watch pods 200", "get pods 200"});
}

TEST_CASE("destroying a client ends its watches") {
  const ApiServer server(sends({event_line("ADDED", pod("a"))}, Then::hold));
  auto client = std::make_unique<Client>(server.config());
  std::atomic<int> seen = 0;
  std::atomic<int> status = -2;
  std::jthread watcher([&, raw = client.get()] {
    status = error_from([&] {
               raw->watch(pods, {}, "1", [&](EventType, const Object&) { ++seen; }, {});
             }).status;
  });
  REQUIRE(comes_true([&] { return seen.load() == 1; }));
  client.reset();
  watcher.join();
  CHECK(status == 0);
}
