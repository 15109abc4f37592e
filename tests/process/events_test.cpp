// Changes of status as they happen, with broken connections and restarts.
#include <catch2/catch.hpp>

#include "tests/process/event_client.h"

using namespace berth::process;

namespace {

std::vector<std::string> statuses(const EventClient& client) {
  std::vector<std::string> all;
  for (const auto& event : client.events()) {
    const std::string status = json::parse(event.data).at("status");
    if (all.empty() || all.back() != status) all.push_back(status);
  }
  return all;
}

// Returns each event's id and content without the port, which is different after a restart.
std::vector<std::string> without_urls(const std::vector<berth::api::test::ReadEvent>& events) {
  std::vector<std::string> all;
  for (const auto& event : events) {
    json data = json::parse(event.data);
    data.erase("url");
    all.push_back(event.id + " " + event.name + " " + data.dump());
  }
  return all;
}

}  // namespace

TEST_CASE("a client that resumes with Last-Event-ID misses nothing and gets nothing twice") {
  Berthd berthd(open_flags());
  Operator ada = operator_with_token(berthd, "ada");
  const std::string id = deploy(ada.api, order("shop"));
  EventClient client(berthd, "/api/deploy/apps/" + id + "/events", ada.tokens.access_token);
  REQUIRE(eventually(
      [&] { return !statuses(client).empty() && statuses(client).back() == "running"; }));
  client.reconnect();
  expect(200, ada.api.post("/api/deploy/apps/" + id + "/stop"));
  REQUIRE(eventually([&] { return statuses(client).back() == "stopped"; }));
  REQUIRE(eventually([&] { return client.connections() == 2; }));

  berthd.kill();
  berthd.start();
  expect(200, ada.api.post("/api/deploy/apps/" + id + "/restart"));
  REQUIRE(eventually([&] { return statuses(client).back() == "running"; }));
  expect(200, ada.api.remove("/api/deploy/apps/" + id));
  REQUIRE(eventually([&] { return statuses(client).back() == "destroyed"; }));
  // The client resumes a stream that is over.
  REQUIRE(eventually([&] { return client.last_status() == 204; }));
  CHECK(client.connections() >= 3);

  std::int64_t last = 0;
  for (const auto& event : client.events()) {
    CHECK(event.name == "status");
    CHECK(std::stoll(event.id) > last);
    last = std::stoll(event.id);
  }
  // A client that begins now sees only the end; one that begins after the first event sees what
  // this one saw.
  const auto events = client.events();
  const auto again = expect(
      200, ada.api.get("/api/deploy/apps/" + id + "/events", {{"Last-Event-ID", events[0].id}}));
  berth::api::test::EventText text;
  CHECK(without_urls(text.read(again.text)) == without_urls({events.begin() + 1, events.end()}));
  CHECK(again.header("Content-Type") == "text/event-stream");
}

TEST_CASE("a stream ends with its token") {
  Berthd berthd(roomy_tier());
  Operator ada = operator_with_token(berthd, "ada");
  const std::string id = deploy(ada.api, order("shop"));
  EventClient client(berthd, "/api/deploy/apps/" + id + "/events", ada.tokens.access_token);
  REQUIRE(eventually([&] { return client.connections() == 1 && !client.events().empty(); }));
  expect(200, Client(berthd).post("/api/oauth/revoke", {{"token", ada.tokens.access_token},
                                                        {"client_id", ada.app.client_id},
                                                        {"client_secret", ada.app.client_secret}}));
  REQUIRE(eventually([&] { return client.last_status() == 401; }));
}

TEST_CASE("streams end when berthd ends") {
  Berthd berthd(roomy_tier());
  Operator ada = operator_with_token(berthd, "ada");
  const std::string id = deploy(ada.api, order("shop"));
  EventClient client(berthd, "/api/deploy/apps/" + id + "/events", ada.tokens.access_token);
  REQUIRE(eventually([&] { return !client.events().empty(); }));
  CHECK(berthd.terminate() == 0);
  CHECK(berthd.log().back().value("drained", false));
}
