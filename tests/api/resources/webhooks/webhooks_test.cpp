// Webhooks over the API: access, answers and refusals.
#include "controller/domain/webhooks/webhooks.h"

#include <catch2/catch.hpp>

#include "tests/api/gate_world.h"

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

namespace {

struct Fixture {
  Operator op;
  Header jwt = bearer(op.jwt);
  std::string path = "/api/operator/apps/" + op.app.id + "/webhooks";

  Answered create(const std::string& url = "https://a.example.org/x") {
    return op.g.ask("POST", path, {jwt},
                    json{{"url", url}, {"events", {"deployment.status"}}}.dump());
  }
};

}  // namespace

TEST_CASE("a webhook's secret is shown once, and never stored as it is") {
  Fixture f;
  const Answered made = f.create();
  REQUIRE(made.status == 201);
  CHECK(made.header("Cache-Control") == "no-store");
  const std::string secret = made.body["webhook"]["secret"];
  CHECK(secret.starts_with("whsec_"));
  const std::string one = f.path + "/" + made.body["webhook"]["id"].get<std::string>();
  const Answered list = f.op.g.ask("GET", f.path, {f.jwt});
  CHECK(list.body["total"] == 1);
  CHECK(list.text.find("secret") == std::string::npos);
  const Answered changed =
      f.op.g.ask("PATCH", one, {f.jwt}, R"({"events": ["billing.failed", "campaign.ended"]})");
  CHECK(changed.body["webhook"]["url"] == "https://a.example.org/x");
  CHECK(changed.body["webhook"]["events"] == json({"billing.failed", "campaign.ended"}));
  CHECK(changed.text.find("secret") == std::string::npos);
  const auto stored = f.op.g.world.read([](db::Tx& tx) {
    auto rows = tx.query(R"(SELECT secret_sealed FROM webhooks)");
    rows.next();
    return rows.text("secret_sealed");
  });
  CHECK(stored.find(secret) == std::string::npos);
  CHECK(f.op.g.ask("DELETE", one, {f.jwt}).status == 200);
  CHECK(f.op.g.ask("DELETE", one, {f.jwt}).error() == "404 webhook_not_found");
}

TEST_CASE("rotating a webhook's secret keeps everything else") {
  Fixture f;
  json before = f.create().body["webhook"];
  const std::string one = f.path + "/" + before["id"].get<std::string>();
  const accounts::User eve = f.op.g.world.verified_user("eve");
  CHECK(f.op.g.ask("POST", one + "/rotate-secret", {bearer(f.op.g.world.jwt(eve))}).error() ==
        "403 forbidden");
  const Answered rotated = f.op.g.ask("POST", one + "/rotate-secret", {f.jwt});
  REQUIRE(rotated.status == 200);
  CHECK(rotated.header("Cache-Control") == "no-store");
  const json after = rotated.body["webhook"];
  CHECK(after["secret"].get<std::string>().starts_with("whsec_"));
  CHECK(after["secret"] != before["secret"]);
  before["secret"] = after["secret"];
  before["updated_at"] = after["updated_at"];
  CHECK(after == before);

  CHECK(f.op.g.ask("POST", one + "/test", {f.jwt}).status == 202);
  const auto attempt = f.op.g.world.write([&](db::Tx& tx) {
    const auto due = webhooks::due(tx, {.of_all = 1, .of_owner = 1, .of_webhook = 1});
    return webhooks::begin_attempt(tx, f.op.g.world.keys.data, due.at(0).id, tx.now());
  });
  REQUIRE(attempt);
  CHECK(attempt->secret == after["secret"]);
}

TEST_CASE("a test call leaves a delivery that can be read") {
  Fixture f;
  const std::string one = f.path + "/" + f.create().body["webhook"]["id"].get<std::string>();
  const Answered test = f.op.g.ask("POST", one + "/test", {f.jwt});
  CHECK(test.status == 202);
  CHECK(test.body["delivery"]["type"] == "webhook.test");
  const Answered deliveries = f.op.g.ask("GET", one + "/deliveries", {f.jwt});
  CHECK(deliveries.body["deliveries"] == json::array({test.body["delivery"]}));
  CHECK(f.op.g.ask("POST", one + "/test", {f.jwt}).error() == "409 invalid_state");
}

TEST_CASE("only the app's owner sees its webhooks, which are validated") {
  Fixture f;
  const accounts::User eve = f.op.g.world.verified_user("eve");
  CHECK(f.op.g.ask("GET", f.path, {bearer(f.op.g.world.jwt(eve))}).error() == "403 forbidden");
  CHECK(f.op.g.ask("GET", f.path, {f.op.token}).error() == "401 wrong_token_type");
  CHECK(f.create("https://user@a.example.org/").error() == "422 validation_failed");
  CHECK(f.op.g.ask("POST", f.path, {f.jwt}, R"({"url": "https://a.example.org", "events": []})")
            .error() == "422 validation_failed");
  CHECK(f.op.g
            .ask("POST", f.path, {f.jwt},
                 R"({"url": "https://a.example.org", "events": ["webhook.test"]})")
            .error() == "422 validation_failed");
  CHECK(f.create("http://a.example.org/").status == 201);
  Fixture production;
  production.op.g.services.environment = Environment::production;
  CHECK(production.create("http://a.example.org/").error() == "422 validation_failed");
}
