// Alerts and the events of money, from the API to a receiver, a mail and a stream.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/process/event_client.h"
#include "tests/process/webhook_receiver.h"

using namespace berth::process;

namespace {

Flags with_receivers() {
  Flags flags = open_flags();
  flags.insert(flags.end(), {"--webhook-allow-private", "on"});
  return flags;
}

json make(const Berthd& berthd, const Operator& ada, const json& body) {
  return expect(201, Client(berthd, ada.user.jwt).post("/api/operator/alerts", body))
      .body.at("alert");
}

Answer patch(Client& api, const std::string& path, const json& body) {
  return api.ask({.method = "PATCH", .path = path, .body = body.dump()});
}

json shown(const Berthd& berthd, const Operator& ada) {
  return expect(200, Client(berthd, ada.user.jwt).get("/api/operator/alerts"))
      .body.at("alerts")
      .at(0);
}

}  // namespace

TEST_CASE("a team's chat, a webhook and a stream hear of the same spend") {
  Berthd berthd(with_receivers());
  Operator ada = operator_with_token(berthd, "ada", {"points:spend"});
  WebhookReceiver chat, hook;
  const std::string spend = "/api/external/points/spend";
  expect(201, Client(berthd).post("/api/internal/points/mint",
                                  {{"account", {{"kind", "user"}, {"id", ada.user.id}}},
                                   {"amount", 20},
                                   {"reason", "a test"}},
                                  admin(berthd)));
  expect(200, ada.api.post(spend, {{"amount", 1}, {"description", "not told"}}));
  const json alert = make(
      berthd, ada,
      {{"channel", "discord"}, {"target", {{"url", chat.url()}}}, {"events", {"points.spent"}}});
  CHECK(alert.at("name") == "discord");
  CHECK(alert.at("app_id").is_null());
  expect(201, Client(berthd, ada.user.jwt)
                  .post("/api/operator/apps/" + ada.app.id + "/webhooks",
                        {{"url", hook.url()}, {"events", {"points.spent"}}}));
  EventClient stream(berthd, "/api/events", ada.user.jwt);
  REQUIRE(eventually([&] { return !stream.events().empty(); }));
  const json spent =
      expect(200, ada.api.post(spend, {{"amount", 5}, {"description", "a sword"}})).body;
  REQUIRE(eventually([&] {
    advance(berthd, 5);
    return chat.received().size() == 1 && hook.received().size() == 1;
  }));
  const json told = hook.received()[0];
  CHECK(told.at("type") == "points.spent");
  CHECK(told.at("data").at("spend_id") == spent.at("spend_id"));
  CHECK(told.at("data").at("amount") == 5);
  const json said = chat.received()[0];
  CHECK(said.at("embeds").at(0).at("title") == "A user has spent 5 points");
  CHECK(said.at("embeds").at(0).at("description") == "a sword");
  REQUIRE(eventually([&] { return shown(berthd, ada).at("last_sent_at").is_string(); }));
  const auto streamed = [&] {
    const auto events = stream.events();
    const auto found =
        std::ranges::find(events, "points.spent", &berth::api::test::ReadEvent::name);
    return found == events.end() ? json() : json::parse(found->data);
  };
  REQUIRE(eventually([&] { return !streamed().is_null(); }));
  CHECK(streamed().at("app_id") == ada.app.id);
  CHECK(streamed().at("data").at("spend_id") == spent.at("spend_id"));
}

TEST_CASE("a receiver that is down hears of a crash after a restart of berthd") {
  Berthd berthd(with_receivers());
  Operator ada = operator_with_token(berthd, "ada");
  WebhookReceiver receiver;
  receiver.answer(500);
  make(berthd, ada,
       {{"channel", "slack"},
        {"name", "Team"},
        {"app_id", ada.app.id},
        {"target", {{"url", receiver.url()}}},
        {"events", {"deployment.failed", "deployment.crashed"}}});
  deploy(ada.api, order("shop", "docker.io/library/missing:1"));
  REQUIRE(eventually([&] {
    advance(berthd, 5);
    return shown(berthd, ada).at("last_error") == "it answered with 500";
  }));
  berthd.kill();
  berthd.start();
  receiver.answer(204);
  REQUIRE(eventually([&] {
    advance(berthd, 10);
    return !receiver.received().empty();
  }));
  const std::string text = receiver.received()[0].at("text");
  CHECK(text.find("shop has failed") != std::string::npos);
  REQUIRE(eventually([&] { return shown(berthd, ada).at("last_error").is_null(); }));
}

TEST_CASE("what an answer, an error and a log show of an alert's target") {
  Berthd berthd(with_receivers());
  Operator ada = operator_with_token(berthd, "ada");
  const std::string path = "/api/operator/alerts";
  Client jwt(berthd, ada.user.jwt);
  const json made = make(
      berthd, ada,
      {{"channel", "telegram"},
       {"target",
        {{"bot_token", "123:very-secret"}, {"chat_id", "-100"}, {"url", "http://127.0.0.1:1"}}},
       {"events", {"balance.low"}}});
  const std::string one = path + "/" + made.at("id").get<std::string>();
  CHECK(made.at("target") == "-100");
  expect(202, jwt.post(one + "/test"));
  REQUIRE(eventually([&] { return shown(berthd, ada).at("last_error").is_string(); }));
  CHECK(shown(berthd, ada).dump().find("very-secret") == std::string::npos);
  CHECK(berthd.log_text().find("very-secret") == std::string::npos);

  expect(200, patch(jwt, one, {{"name", "Bot"}, {"app_id", ada.app.id}}));
  CHECK(shown(berthd, ada).at("name") == "Bot");
  expect(422, patch(jwt, one, {{"events", {"no.such"}}}));
  // Another account neither sees it nor names an app of this one.
  const Operator eve = operator_with_token(berthd, "eve");
  Client other(berthd, eve.user.jwt);
  expect(404, patch(other, one, {{"name", "Mine"}}));
  expect(404, other.post(one + "/test"));
  expect(404, other.remove(one));
  expect(
      403,
      other.post(path, {{"channel", "mail"}, {"app_id", ada.app.id}, {"events", {"balance.low"}}}));
  CHECK(expect(200, other.get(path)).body.at("total") == 0);
  expect(200, jwt.remove(one));
  expect(404, jwt.remove(one));
}
