// Tiers and billing over HTTP, with a clock that is moved.
#include <catch2/catch.hpp>
#include <optional>

#include "tests/process/client.h"

using namespace berth::process;

namespace {

constexpr int hour = 3'600;
constexpr int day = 24 * hour;

// berthd with an operator whose app may use the tier basic (1,000 points). After the clock was
// moved, new tokens are needed.
struct Platform {
  Berthd berthd{{"--rate-limits", "off"}};
  Operator ada = operator_with_token(berthd, "ada");
  Client root{berthd};
  std::optional<Client> api;  // the operator's connection

  Platform() {
    api.emplace(berthd, ada.tokens.access_token);
    expect(200, ask_root("POST", "/apps/" + ada.app.id + "/promote", {{"tier", "basic"}}));
  }

  Answer ask_root(const std::string& method, const std::string& path, const json& body = nullptr) {
    return root.ask({.method = method,
                     .path = "/api/internal" + path,
                     .body = body.is_null() ? "" : body.dump(),
                     .headers = admin(berthd)});
  }
  void give(int points) {
    expect(201, ask_root("POST", "/points/mint",
                         {{"account", {{"kind", "app"}, {"id", ada.app.id}}},
                          {"amount", points},
                          {"reason", "test"}}));
  }
  void advance(int seconds) {
    expect(200, ask_root("POST", "/clock", {{"advance_seconds", seconds}}));
    log_in_again();
  }
  void log_in_again() {
    Client anybody(berthd);
    const auto answer =
        expect(200, anybody.post("/api/oauth/token", {{"grant_type", "client_credentials"},
                                                      {"client_id", ada.app.client_id},
                                                      {"client_secret", ada.app.client_secret},
                                                      {"scope", "deploy:manage"}}));
    api.emplace(berthd, answer.body.at("access_token"));
  }
  Answer patch(const std::string& id, const json& body) {
    return api->ask(
        {.method = "PATCH", .path = "/api/deploy/apps/" + id, .body = body.dump(), .headers = {}});
  }
  json billing(const std::string& id) {
    return expect(200, api->get("/api/deploy/apps/" + id + "/billing")).body;
  }
  bool becomes(const std::string& id, const std::string& status) {
    return eventually([&] { return billing(id).at("billing_status") == status; });
  }
  json get(const std::string& id) { return expect(200, api->get("/api/deploy/apps/" + id)).body; }
  std::vector<std::string> actions(const std::string& id) {
    std::vector<std::string> found;
    const Answer logs = expect(200, api->get("/api/deploy/apps/" + id + "/logs"));
    for (const json& entry : logs.body.at("logs"))
      if (entry.at("action") != "deploy") found.push_back(entry.at("action"));
    return found;
  }
  int mails(const std::string& subject) {
    int found = 0;
    const Answer outbox = expect(200, ask_root("GET", "/outbox"));
    for (const json& mail : outbox.body.at("messages"))
      found += mail.at("to") == ada.user.email && mail.at("subject") == subject;
    return found;
  }
};

json basic(const std::string& name) {
  json wanted = order(name);
  wanted["tier"] = "basic";
  return wanted;
}

}  // namespace

TEST_CASE("billing: a deployment is warned, suspended, and runs again when the points arrive") {
  Platform p;
  CHECK(p.api->post("/api/deploy/apps", basic("shop")).code() == "insufficient_balance");
  p.give(1'000);
  const std::string id = deploy(*p.api, basic("shop"));
  wait_until_status(*p.api, id, "running");
  const json first = p.billing(id);
  CHECK(first.at("billing_status") == "current");
  CHECK(first.at("amount") == 1'000);
  CHECK(first.at("balance") == 0);
  CHECK(first.at("period").at("paid") == true);
  CHECK(first.at("next_renewal") == first.at("period").at("end"));
  CHECK(first.at("history").size() == 1);

  p.advance(29 * day + hour);
  CHECK(p.becomes(id, "warning"));
  CHECK(p.get(id).at("billing_status") == "warning");
  CHECK(p.billing(id).at("stops_at") != nullptr);
  CHECK(eventually([&] { return p.mails("Your deployment shop will be stopped") == 1; }));
  p.advance(day + hour);
  wait_until_status(*p.api, id, "stopped");
  CHECK(p.get(id).at("billing_status") == "suspended");
  CHECK(eventually([&] { return page_of(p.berthd, "shop").status != 200; }));
  CHECK(p.api->post("/api/deploy/apps/" + id + "/restart").code() == "insufficient_balance");

  p.give(1'000);  // the app has nothing else
  wait_until_status(*p.api, id, "running");
  CHECK(p.get(id).at("billing_status") == "current");
  CHECK(p.billing(id).at("history").size() == 2);
  CHECK(p.billing(id).at("balance") == 0);
  CHECK(eventually([&] { return page_of(p.berthd, "shop").status == 200; }));
  CHECK(p.actions(id) == std::vector<std::string>{"create", "billing_warning", "billing_failed",
                                                  "suspend", "reactivate"});
  CHECK(p.mails("Your deployment shop was stopped") == 1);
  CHECK(p.mails("Your deployment shop starts again") == 1);
}

TEST_CASE("billing: each period is charged once, whenever berthd is killed") {
  Platform p;
  p.give(10'000);
  const std::string id = deploy(*p.api, basic("shop"));
  wait_until_status(*p.api, id, "running");
  for (int period = 2; period <= 5; ++period) {
    // The renewal is due from now on, and the clock stays ahead when berthd starts again. So the
    // kill comes before, during or after the charge.
    p.advance(30 * day);
    p.berthd.kill();
    p.berthd.start();
    p.log_in_again();
    CHECK(eventually([&] { return int(p.billing(id).at("history").size()) == period; }));
    CHECK(p.billing(id).at("balance") == 10'000 - 1'000 * period);
  }
}

TEST_CASE("billing: an owner's stop lasts, and only an admin ends an admin's suspension") {
  Platform p;
  p.give(3'000);
  const std::string id = deploy(*p.api, basic("shop"));
  wait_until_status(*p.api, id, "running");
  const std::string path = "/deploy/apps/" + id;
  CHECK(expect(200, p.ask_root("POST", path + "/suspend")).body.at("status") == "stopped");
  const json held = wait_until_status(*p.api, id, "stopped");
  CHECK(held.at("reason") == "suspended_by_admin");
  CHECK(p.api->post("/api" + path + "/restart").code() == "deployment_suspended");
  CHECK(p.patch(id, {{"port", 3001}}).code() == "deployment_suspended");
  CHECK(expect(200, p.ask_root("POST", path + "/reactivate")).body.at("status") == "deploying");
  wait_until_status(*p.api, id, "running");

  expect(200, p.api->post("/api" + path + "/stop"));
  p.advance(40 * day);
  CHECK(p.billing(id).at("next_renewal").is_null());
  CHECK(p.billing(id).at("period").at("paid") == false);
  CHECK(p.billing(id).at("balance") == 2'000);
  CHECK(p.get(id).at("status") == "stopped");
  expect(200, p.api->post("/api" + path + "/restart"));
  CHECK(p.billing(id).at("balance") == 1'000);
  wait_until_status(*p.api, id, "running");

  const std::string nobodys = "/deploy/apps/01936f5e-7c1a-7000-8000-000000000005/suspend";
  CHECK(p.ask_root("POST", nobodys).code() == "deployment_not_found");
  CHECK(p.root.post("/api/internal" + nobodys).status == 403);
}

TEST_CASE("tiers: they have both forms, admins change them, and they have their limits") {
  Platform p;
  expect(201, p.ask_root("POST", "/deploy/tiers",
                         {{"name", "Sats"},
                          {"slug", "sats"},
                          {"payment_method", "bitcoin"},
                          {"monthly_cost_sats", 5'000},
                          {"memory_limit_mb", 64},
                          {"cpu_limit_millicores", 100},
                          {"auto_approve", true}}));
  const json tiers = expect(200, p.api->get("/api/deploy/tiers")).body.at("tiers");
  REQUIRE(tiers.size() == 3);
  CHECK(tiers.at(0).at("slug") == "free");
  CHECK(tiers.at(0).at("monthly_cost_points") == 0);
  CHECK(tiers.at(0).at("limits") ==
        json({{"memory_mb", 512}, {"cpus", 0.5}, {"max_deployments", 1}}));
  CHECK(tiers.at(1).at("slug") == "basic");
  CHECK(tiers.at(1).at("auto_approve") == false);
  CHECK(tiers.at(1).at("limits").at("max_deployments") == 3);
  CHECK(tiers.at(1).at("ad_reach_multiplier") == "1.5");
  CHECK(tiers.at(2).at("payment_method") == "bitcoin");
  CHECK(tiers.at(2).at("monthly_cost_points").is_null());

  json wanted = order("sats");
  wanted["tier"] = "sats";
  const Answer refused = p.api->post("/api/deploy/apps", wanted);
  CHECK(refused.status == 422);
  CHECK(refused.code() == "payment_method_unsupported");
  Operator ben = operator_with_token(p.berthd, "ben");
  CHECK(ben.api.post("/api/deploy/apps", basic("bens")).code() == "tier_not_allowed");

  // From free to basic: the rest of the period is charged, and the container gets the new size.
  const std::string id = deploy(*p.api, order("shop"));
  wait_until_status(*p.api, id, "running");
  CHECK(p.api->post("/api/deploy/apps", order("second")).code() == "deployment_limit_reached");
  CHECK(p.patch(id, {{"tier", "gold"}}).code() == "unknown_tier");
  CHECK(p.patch(id, {{"tier", "sats"}}).code() == "payment_method_unsupported");
  CHECK(p.patch(id, {{"tier", "basic"}}).code() == "insufficient_balance");
  p.advance(15 * day);
  p.give(1'000);
  const json changed = expect(200, p.patch(id, {{"tier", "basic"}})).body;
  CHECK(changed.at("tier") == "basic");
  CHECK(changed.at("memory_limit_mb") == 1'024);
  CHECK(changed.at("cpu_limit_millicores") == 1'000);
  CHECK(changed.at("billing_status") == "current");
  wait_until_status(*p.api, id, "running");
  const json up = p.billing(id);
  CHECK(up.at("history").at(0).at("kind") == "tier_change");
  CHECK(up.at("history").at(0).at("amount") == 500);
  CHECK(up.at("balance") == 500);
  expect(200, p.patch(id, {{"tier", "free"}}));
  CHECK(p.billing(id).at("balance") == 999);  // the credit is rounded down
  CHECK(p.billing(id).at("billing_status") == "exempt");
}

TEST_CASE("tiers: a stipend comes once in 30 days") {
  Platform p;
  const std::string free =
      expect(200, p.api->get("/api/deploy/tiers")).body.at("tiers").at(0).at("id");
  expect(200, p.ask_root("PATCH", "/deploy/tiers/" + free,
                         {{"monthly_stipend_points", 70}, {"max_deployments", 5}}));
  const auto points = [&] {
    const User user = log_in(p.berthd, p.ada.user);
    return Client(p.berthd, user.jwt).get("/api/auth/me").body.at("user").at("points").get<int>();
  };
  const int before = points();
  deploy(*p.api, order("one"));
  deploy(*p.api, order("two"));
  CHECK(eventually([&] { return points() == before + 70; }));
  p.advance(29 * day);
  p.advance(day);
  CHECK(eventually([&] { return points() == before + 140; }));
}
