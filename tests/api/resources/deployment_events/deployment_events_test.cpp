// GET /api/deploy/apps/{id}/events, through the gate.
#include <catch2/catch.hpp>

#include "tests/api/gate/event_text.h"
#include "tests/api/gate_world.h"

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

namespace {

struct Fixture {
  Operator op;
  std::string id = op.g.ask("POST", "/api/deploy/apps", {op.token}, op.order()).body.at("id");
  std::string path = "/api/deploy/apps/" + id + "/events";

  Response open(const std::string& last_id = "") {
    std::vector<Header> headers = {op.token};
    if (!last_id.empty()) headers.push_back({"Last-Event-ID", last_id});
    return op.g.respond("GET", path, headers);
  }
  void wake() { op.g.services.memory.events->wake(db::Topic::deployment_seen, id); }
};

// Returns the events that exist now: calls the stream until it would wait.
std::vector<ReadEvent> take(Response& response, size_t count) {
  EventText text;
  std::vector<ReadEvent> events;
  const Sink sink = [&](std::string_view data) {
    for (auto& event : text.read(data)) events.push_back(std::move(event));
  };
  Steps steps(response.stream);
  while (events.size() < count && steps.next(sink)) {
  }
  return events;
}

}  // namespace

TEST_CASE("a stream begins with the present status and resumes after Last-Event-ID") {
  Fixture f;
  Response first = f.open();
  CHECK(first.status == 200);
  CHECK(first.content_type == "text/event-stream");
  const auto begin = take(first, 1);
  REQUIRE(begin.size() == 1);
  CHECK(begin[0].name == "status");
  const json status = json::parse(begin[0].data);
  json shown = f.op.g.ask("GET", "/api/deploy/apps/" + f.id + "/status", {f.op.token}).body;
  shown["at"] = status.at("at");
  CHECK(status == shown);

  f.op.g.ask("POST", "/api/deploy/apps/" + f.id + "/stop", {f.op.token});
  f.op.g.ask("POST", "/api/deploy/apps/" + f.id + "/restart", {f.op.token});
  f.wake();
  const auto more = take(first, 2);
  REQUIRE(more.size() == 2);
  CHECK(json::parse(more[0].data).at("status") == "stopped");
  CHECK(json::parse(more[1].data).at("status") == "deploying");

  Response resumed = f.open(more[0].id);
  const auto rest = take(resumed, 1);
  REQUIRE(rest.size() == 1);
  CHECK(rest[0] == more[1]);
}

TEST_CASE("a stream ends after destroyed, and can't be resumed then") {
  Fixture f;
  f.op.g.ask("DELETE", "/api/deploy/apps/" + f.id, {f.op.token});
  Response last = f.open();
  const auto events = take(last, 100);
  REQUIRE(events.size() == 1);
  CHECK(json::parse(events[0].data).at("status") == "destroyed");
  CHECK(f.op.g.ask("GET", f.path, {f.op.token, {"Last-Event-ID", events[0].id}}).status == 204);
}

TEST_CASE("an unknown id starts anew, a malformed one is refused, and so are other users") {
  Fixture f;
  Response anew = f.open("9000000000000000000");
  CHECK(take(anew, 1).size() == 1);
  CHECK(f.op.g.ask("GET", f.path, {f.op.token, {"Last-Event-ID", "x"}}).error() ==
        "400 malformed_request");
  CHECK(f.op.g.ask("GET", f.path).error() == "401 invalid_token");
  CHECK(
      f.op.g
          .ask("GET", "/api/deploy/apps/01936f5e-7c1a-7000-8000-000000000005/events", {f.op.token})
          .error() == "404 deployment_not_found");
}

TEST_CASE("the number of one user's streams is limited") {
  Fixture f;
  std::vector<Response> open;
  for (int i = 0; i < 32; ++i) open.push_back(f.open());
  const Answered refused = f.op.g.ask("GET", f.path, {f.op.token});
  CHECK(refused.error() == "429 rate_limited");
  CHECK(refused.header("Retry-After") == "15");
  open.pop_back();
  CHECK(f.open().status == 200);
}

namespace {

// The stream of an account, as its session opens it.
Response open_account(Operator& op, const std::string& jwt, const std::string& last_id = "",
                      const std::string& query = "") {
  std::vector<Header> headers = {bearer(jwt)};
  if (!last_id.empty()) headers.push_back({"Last-Event-ID", last_id});
  return op.g.respond("GET", "/api/events" + query, headers);
}

}  // namespace

TEST_CASE("the stream of an account has the events of its apps and of no others") {
  Fixture f;
  Operator& op = f.op;
  const accounts::User other = op.g.world.verified_user("olga");
  Response own = open_account(op, op.jwt);
  Response foreign = open_account(op, op.g.world.jwt(other));
  CHECK(json::parse(take(own, 1).at(0).data) == json{{"resumed", false}});
  CHECK(take(foreign, 1).at(0).name == "ready");

  op.g.ask("POST", "/api/deploy/apps/" + f.id + "/stop", {op.token});
  op.g.services.memory.events->wake(db::Topic::webhook, events_of_all_apps);
  const auto events = take(own, 1);
  REQUIRE(events.size() == 1);
  CHECK(events[0].name == "status");
  const json data = json::parse(events[0].data);
  CHECK(data.at("id") == f.id);
  CHECK(data.at("app_id") == op.app.id);
  CHECK(data.at("status") == "stopped");
  // The other account's stream has read past these rows, and sends nothing.
  EventText nothing;
  bool sent = false;
  const Sink sink = [&](std::string_view text) { sent = sent || !nothing.read(text).empty(); };
  Steps steps(foreign.stream);
  CHECK(steps.next(sink));  // gathers
  CHECK(steps.next(sink));
  CHECK_FALSE(sent);
}

TEST_CASE("the stream of an account resumes, or says that events are missing") {
  Fixture f;
  Response begin = open_account(f.op, f.op.jwt);
  const std::string id = take(begin, 1).at(0).id;
  f.op.g.ask("POST", "/api/deploy/apps/" + f.id + "/stop", {f.op.token});
  Response resumed = open_account(f.op, f.op.jwt, id);
  const auto events = take(resumed, 2);
  REQUIRE(events.size() == 2);
  CHECK(json::parse(events[0].data) == json{{"resumed", true}});
  CHECK(json::parse(events[1].data).at("status") == "stopped");
  Response restored = open_account(f.op, f.op.jwt, "9000000000000000000");
  CHECK(json::parse(take(restored, 1).at(0).data) == json{{"resumed", false}});
}

TEST_CASE("the stream of an account is kept to the apps that the query names") {
  Fixture f;
  Response one = open_account(f.op, f.op.jwt, "", "?apps=" + f.op.app.id);
  CHECK(one.status == 200);
  const accounts::User other = f.op.g.world.verified_user("olga");
  const auto refused = [&](const std::string& apps) {
    return f.op.g.ask("GET", "/api/events?apps=" + apps, {bearer(f.op.g.world.jwt(other))}).error();
  };
  CHECK(refused(f.op.app.id) == "403 forbidden");
  CHECK(refused("x") == "404 app_not_found");
  CHECK(f.op.g.ask("GET", "/api/events", {f.op.token}).error() == "401 wrong_token_type");
}
