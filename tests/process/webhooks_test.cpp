// Webhooks, from the API to a receiver.
#include <catch2/catch.hpp>

#include "tests/process/client.h"
#include "tests/process/webhook_receiver.h"

using namespace berth::process;

namespace {

std::string add(const Berthd& berthd, const Operator& ada, const std::string& url) {
  const std::string path = "/api/operator/apps/" + ada.app.id + "/webhooks";
  const Answer made = expect(
      201,
      Client(berthd, ada.user.jwt).post(path, {{"url", url}, {"events", {"deployment.status"}}}));
  return path + "/" + made.body.at("webhook").at("id").get<std::string>();
}

json newest(const Berthd& berthd, const Operator& ada, const std::string& webhook) {
  return expect(200, Client(berthd, ada.user.jwt).get(webhook + "/deliveries"))
      .body.at("deliveries")
      .at(0);
}

}  // namespace

TEST_CASE("a receiver gets each status in order, also those of its own outage") {
  Flags flags = open_flags();
  flags.insert(flags.end(), {"--webhook-allow-private", "on"});
  Berthd berthd(flags);
  Operator ada = operator_with_token(berthd, "ada");
  WebhookReceiver receiver;
  const std::string webhook = add(berthd, ada, receiver.url());
  receiver.answer(500);
  const std::string id = deploy(ada.api, order("shop"));
  wait_until_status(ada.api, id, "running");
  REQUIRE(eventually([&] { return newest(berthd, ada, webhook).at("status") == "waiting"; }));
  berthd.kill();
  berthd.start();
  expect(200, ada.api.post("/api/deploy/apps/" + id + "/stop"));
  receiver.answer(204);
  REQUIRE(eventually([&] {
    advance(berthd, 10);
    const auto received = receiver.received();
    return !received.empty() && received.back().at("data").at("status") == "stopped";
  }));
  std::vector<std::string> told;
  for (const json& body : receiver.received()) {
    CHECK(body.at("type") == "deployment.status");
    CHECK(body.at("data").at("id") == id);
    const std::string status = body.at("data").at("status");
    if (told.empty() || told.back() != status) told.push_back(status);
  }
  CHECK(told.front() == "pending");
  CHECK(std::ranges::find(told, "running") != told.end());
  const json first = receiver.received().front().at("data");
  CHECK(first.at("url") == "http://shop.apps.localhost:" + std::to_string(berthd.port()));
  CHECK_FALSE(first.contains("served_domain"));
  REQUIRE(eventually([&] { return newest(berthd, ada, webhook).at("status") == "delivered"; }));
}

TEST_CASE("webhooks to this machine need permission") {
  Berthd berthd(roomy_tier());
  Operator ada = operator_with_token(berthd, "ada");
  WebhookReceiver receiver;
  const std::string webhook = add(berthd, ada, receiver.url());
  expect(202, Client(berthd, ada.user.jwt).post(webhook + "/test"));
  REQUIRE(eventually([&] { return newest(berthd, ada, webhook).at("attempts") == 1; }));
  REQUIRE(eventually([&] { return !newest(berthd, ada, webhook).at("error").is_null(); }));
  CHECK(newest(berthd, ada, webhook).at("error") == "its host has no public address");
  CHECK(receiver.received().empty());
}
