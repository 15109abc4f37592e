// Alerts over the API: access, answers and refusals.
#include "controller/domain/webhooks/alerts.h"

#include <catch2/catch.hpp>

#include "tests/api/gate_world.h"

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

namespace {

struct Fixture {
  Operator op;
  Header jwt = bearer(op.jwt);
  std::string path = "/api/operator/alerts";

  Answered create(const json& body) { return op.g.ask("POST", path, {jwt}, body.dump()); }
  Answered create() {
    return create({{"channel", "webhook"},
                   {"target", {{"url", "https://a.example.org/very-secret"}}},
                   {"events", {"points.spent", "balance.low"}}});
  }
  std::int64_t told() {
    return op.g.world.read([&](db::Tx& tx) {
      return tx.number("SELECT tells_of_spends FROM apps WHERE id = $1", op.app.id);
    });
  }
};

}  // namespace

TEST_CASE("an alert's URL is never shown, and the secret of a webhook once") {
  Fixture f;
  const Answered made = f.create();
  REQUIRE(made.status == 201);
  CHECK(made.body["alert"]["name"] == "webhook");
  CHECK(made.body["alert"]["target"] == "a.example.org");
  CHECK(made.body["alert"]["app_id"].is_null());
  CHECK(made.body["alert"]["secret"].get<std::string>().starts_with("whsec_"));
  CHECK(made.text.find("very-secret") == std::string::npos);
  const Answered list = f.op.g.ask("GET", f.path, {f.jwt});
  CHECK(list.body["total"] == 1);
  CHECK(list.text.find("secret") == std::string::npos);
  const std::string one = f.path + "/" + made.body["alert"]["id"].get<std::string>();
  const Answered changed =
      f.op.g.ask("PATCH", one, {f.jwt}, json{{"name", "Own"}, {"app_id", f.op.app.id}}.dump());
  CHECK(changed.status == 200);
  CHECK(changed.body["alert"]["name"] == "Own");
  CHECK(changed.body["alert"]["app_id"] == f.op.app.id);
  CHECK(changed.body["alert"]["events"] == json({"points.spent", "balance.low"}));
  CHECK(changed.text.find("secret") == std::string::npos);
  CHECK(f.op.g.ask("POST", one + "/test", {f.jwt}).status == 202);
  CHECK(f.op.g.ask("POST", one + "/test", {f.jwt}).error() == "409 invalid_state");
  CHECK(f.op.g.ask("DELETE", one, {f.jwt}).status == 200);
  CHECK(f.op.g.ask("DELETE", one, {f.jwt}).error() == "404 alert_not_found");
}

TEST_CASE("alerts are their owner's, and so are the apps that they are about") {
  Fixture f;
  const std::string one = f.path + "/" + f.create().body["alert"]["id"].get<std::string>();
  const accounts::User eve = f.op.g.world.verified_user("eve");
  const Header of_eve = bearer(f.op.g.world.jwt(eve));
  CHECK(f.op.g.ask("PATCH", one, {of_eve}, R"({"name": "Mine"})").error() == "404 alert_not_found");
  CHECK(f.op.g.ask("POST", one + "/test", {of_eve}).error() == "404 alert_not_found");
  CHECK(f.op.g.ask("DELETE", one, {of_eve}).error() == "404 alert_not_found");
  CHECK(f.op.g.ask("GET", f.path, {of_eve}).body["total"] == 0);
  const json of_ada = {{"channel", "mail"}, {"app_id", f.op.app.id}, {"events", {"balance.low"}}};
  CHECK(f.op.g.ask("POST", f.path, {of_eve}, of_ada.dump()).error() == "403 forbidden");
}

TEST_CASE("wrong targets and events are refused by name") {
  Fixture f;
  const auto refused = [&](const json& body) { return f.create(body).error(); };
  const json events = {"balance.low"};
  CHECK(refused({{"channel", "discord"}, {"events", events}}) == "422 validation_failed");
  CHECK(refused({{"channel", "mail"},
                 {"target", {{"url", "https://a.example.org/"}}},
                 {"events", events}}) == "422 validation_failed");
  CHECK(refused({{"channel", "telegram"},
                 {"target", {{"bot_token", "no token"}, {"chat_id", "1"}}},
                 {"events", events}}) == "422 validation_failed");
  CHECK(refused({{"channel", "mail"}, {"events", {"deployment.status"}}}) ==
        "422 validation_failed");
  CHECK(refused({{"channel", "pigeon"}, {"events", events}}) == "422 validation_failed");
  CHECK(f.create({{"channel", "mail"}, {"events", events}}).status == 201);
}

TEST_CASE("whoever wants the events of spends is noted, and whoever doesn't any more") {
  Fixture f;
  CHECK(f.told() == 0);
  const std::string alert = f.path + "/" + f.create().body["alert"]["id"].get<std::string>();
  CHECK(f.told() == 1);
  CHECK(f.op.g.ask("PATCH", alert, {f.jwt}, R"({"events": ["balance.low"]})").status == 200);
  CHECK(f.told() == 0);
  const std::string hooks = "/api/operator/apps/" + f.op.app.id + "/webhooks";
  const Answered hook =
      f.op.g.ask("POST", hooks, {f.jwt},
                 json{{"url", "https://b.example.org/"}, {"events", {"points.spent"}}}.dump());
  CHECK(f.told() == 1);
  const std::string one = hooks + "/" + hook.body["webhook"]["id"].get<std::string>();
  CHECK(f.op.g.ask("PATCH", one, {f.jwt}, R"({"events": ["points.refunded"]})").status == 200);
  CHECK(f.told() == 0);
  CHECK(f.op.g.ask("PATCH", one, {f.jwt}, R"({"events": ["points.spent"]})").status == 200);
  CHECK(f.op.g.ask("DELETE", one, {f.jwt}).status == 200);
  CHECK(f.told() == 0);
  CHECK(f.op.g.ask("DELETE", alert, {f.jwt}).status == 200);
}
