// Two berthd on one PostgreSQL database.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "tests/process/client.h"
#include "tests/process/event_client.h"
#include "tests/process/webhook_receiver.h"

using namespace berth::process;

namespace {

struct Two {
  explicit Two(const Flags& flags) : first(flags), second(first, flags) {}
  Berthd first;
  Berthd second;
};

Flags open_flags() {
  Flags flags = roomy_tier();
  flags.insert(flags.end(), {"--rate-limits", "off", "--webhook-allow-private", "on"});
  return flags;
}

}  // namespace

TEST_CASE("what is written at one berthd is read at the other, and wakes its streams",
          "[.postgres]") {
  Two two(open_flags());
  Operator ada = operator_with_token(two.first, "ada");
  Client at_second(two.second, ada.tokens.access_token);
  const std::string id = deploy(ada.api, order("shop"));
  const EventClient stream(two.first, "/api/deploy/apps/" + id + "/events",
                           ada.tokens.access_token);
  wait_until_status(at_second, id, "running");
  REQUIRE(eventually([&] { return !stream.events().empty(); }));
  expect(200, at_second.post("/api/deploy/apps/" + id + "/stop"));
  CHECK(eventually(
      [&] { return json::parse(stream.events().back().data).at("status") == "stopped"; }));
  CHECK(stream.connections() == 1);
}

TEST_CASE("a session key that one berthd rotates signs at the other within seconds",
          "[.postgres]") {
  Two two(open_flags());
  const User ada = register_verified_user(two.second, "ada");
  const std::string path = "/api/internal/session-keys/rotate";
  const Answer rotated =
      expect(200, Client(two.first).post(path, json::object(), admin(two.first)));
  const User fresh = log_in(two.first, ada);
  CHECK(
      eventually([&] { return Client(two.second, fresh.jwt).get("/api/auth/me").status == 200; }));
  CHECK(Client(two.second, ada.jwt).get("/api/auth/me").status == 200);
  // Both go on from the same list.
  expect(200, Client(two.second).post(path, json::object(), admin(two.second)));
  CHECK(eventually([&] {
    return Client(two.first, log_in(two.second, ada).jwt).get("/api/auth/me").status == 200;
  }));
  // It outlasts a restart.
  CHECK(two.first.terminate() == 0);
  two.first.start();
  CHECK(Client(two.first, fresh.jwt).get("/api/auth/me").status == 200);
}

TEST_CASE("of two berthd, one sends each webhook, and sends it once", "[.postgres]") {
  constexpr size_t webhooks = 10;  // the most that an app may have
  Two two(open_flags());
  Operator ada = operator_with_token(two.first, "ada");
  WebhookReceiver receiver;
  const std::string path = "/api/operator/apps/" + ada.app.id + "/webhooks";
  Client first(two.first, ada.user.jwt), second(two.second, ada.user.jwt);
  std::vector<std::string> ids;
  while (ids.size() < webhooks) {
    const json body = {{"url", receiver.url()}, {"events", {"deployment.status"}}};
    ids.push_back(expect(201, first.post(path, body)).body.at("webhook").at("id"));
  }
  for (const std::string& id : ids)
    expect(202, (id < ids[webhooks / 2] ? first : second).post(path + "/" + id + "/test"));
  REQUIRE(eventually([&] {
    return std::ranges::all_of(ids, [&](const std::string& id) {
      const Answer answer = expect(200, second.get(path + "/" + id + "/deliveries"));
      return answer.body.at("deliveries").at(0).at("status") == "delivered";
    });
  }));
  std::map<std::string, int> times;
  for (const json& body : receiver.received()) ++times[body.at("id").get<std::string>()];
  CHECK(times.size() == webhooks);
  for (const auto& [id, count] : times) CHECK(count == 1);
}
