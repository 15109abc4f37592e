// How many containers a tier allows, and what they cost, through the API.
#include <catch2/catch.hpp>

#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

const std::string apps_path = "/api/deploy/apps";
constexpr std::int64_t price = 100;

// An app with 1,000 points, and a tier that costs 100 for 30 days and 2 an hour and allows three
// containers.
struct Priced : Operator {
  std::string tier_id;

  Priced() {
    tier_id = post("/api/internal/deploy/tiers", g.admin,
                   {{"name", "Priced"},
                    {"slug", "priced"},
                    {"memory_limit_mb", 128},
                    {"cpu_limit_millicores", 100},
                    {"monthly_cost_points", price},
                    {"points_per_hour", 2},
                    {"auto_approve", true}})
                  .body["tier"]["id"];
    g.world.mint(ledger::app_account(app.id), 10 * price);
  }

  template <typename Who>
  Answered post(const std::string& path, const Who& who, const json& body) {
    return g.ask("POST", path, who, body.dump());
  }
  Answered create(json fields, const std::string& name = "shop") {
    fields.update({{"name", name}, {"image", "ghcr.io/acme/web:1"}, {"tier", "priced"}});
    return g.ask("POST", apps_path, {token}, fields.dump());
  }
  Answered patch(const std::string& id, const json& fields) {
    return g.ask("PATCH", apps_path + "/" + id, {token}, fields.dump());
  }
  Answered get(const std::string& path) { return g.ask("GET", path, {token}); }
  Answered change_tier(const json& fields) {
    return g.ask("PATCH", "/api/internal/deploy/tiers/" + tier_id, g.admin, fields.dump());
  }
};

std::string why(const Answered& answer, const char* field) {
  REQUIRE(answer.error() == "422 validation_failed");
  const json details = answer.body["error"]["details"];
  REQUIRE(details.contains(field));
  return details[field][0];
}

TEST_CASE("more containers than the tier allows are refused, with the field and the way out") {
  Priced p;
  const std::string way_out = "and the tier priced allows 3; take fewer, or a larger tier";
  CHECK(why(p.create({{"replicas", 4}}), "replicas") == "mean 4 containers at once, " + way_out);
  CHECK(why(p.create({{"scale", {{"max", 5}, {"in_flight", 10}}}}), "scale") ==
        "mean 5 containers at once, " + way_out);
  const json both = {{"processes", {{"web", json::object()}, {"worker", {{"replicas", 3}}}}}};
  CHECK(why(p.create(both), "processes") == "mean 4 containers at once, " + way_out);
  const json large = {{"processes", {{"web", {{"memory_mb", 129}, {"cpu_millicores", 101}}}}}};
  CHECK(why(p.create(large), "processes.web.memory_mb") == "is above the 128 of the tier priced");
  CHECK(why(p.create(large), "processes.web.cpu_millicores") ==
        "is above the 100 of the tier priced");
  const auto made = p.create({{"replicas", 3}});
  REQUIRE(made.status == 201);
  const std::string id = made.body["id"];
  CHECK(why(p.patch(id, {{"replicas", 4}}), "replicas") == "mean 4 containers at once, " + way_out);
  CHECK(p.get(apps_path + "/" + id).body["replicas"] == 3);
  // Another tier that allows less is refused, too.
  p.post("/api/internal/deploy/tiers", p.g.admin,
         {{"name", "Single"},
          {"slug", "single"},
          {"memory_limit_mb", 128},
          {"cpu_limit_millicores", 100},
          {"monthly_cost_points", 0},
          {"max_replicas", 1},
          {"auto_approve", true}});
  CHECK(why(p.patch(id, {{"tier", "single"}}), "replicas").find("single allows 1") !=
        std::string::npos);
  CHECK(p.patch(id, {{"tier", "single"}, {"replicas", 1}}).status == 200);
}

TEST_CASE("admins set how many containers a tier allows, and what runs keeps its number") {
  Priced p;
  for (const json& bad : {json(0), json(101), json(1.5), json("3")})
    CHECK(p.change_tier({{"max_replicas", bad}}).error() == "422 validation_failed");
  const json tier = p.change_tier({{"max_replicas", 5}, {"exec_allowed", true}}).body["tier"];
  CHECK(tier["max_replicas"] == 5);
  CHECK(tier["exec_allowed"] == true);
  const auto made = p.create({{"replicas", 5}});
  REQUIRE(made.status == 201);
  p.change_tier({{"max_replicas", 2}});
  const std::string id = made.body["id"];
  CHECK(p.patch(id, {{"image", "ghcr.io/acme/web:2"}}).status == 200);
  CHECK(p.get(apps_path + "/" + id).body["replicas"] == 5);
  CHECK(p.patch(id, {{"replicas", 6}}).error() == "422 validation_failed");
  CHECK(p.patch(id, {{"replicas", 4}}).status == 200);
}

TEST_CASE("the free tier's limits are in the sandbox's status") {
  Priced p;
  json status = p.get("/api/deploy/sandbox-status").body;
  CHECK(status["tier"] == "free");
  CHECK(status["max_replicas"] == 3);
  CHECK(status["exec_allowed"] == false);
}

TEST_CASE("billing, usage and dry runs say for how many containers a price is") {
  Priced p;
  const auto dry_run = [&](const json& operation) -> json {
    return p
        .post("/api/deploy/dry-run", std::vector<Header>{p.token},
              {{"operations", json::array({operation})}})
        .body["operations"][0];
  };
  json order = {
      {"name", "shop"}, {"image", "ghcr.io/acme/web:1"}, {"tier", "priced"}, {"replicas", 2}};
  json outcome = dry_run({{"create", order}});
  CHECK(outcome["points"] == 2 * price);
  CHECK(outcome["containers"] == 2);
  const auto made = p.create({{"replicas", 2}});
  REQUIRE(made.status == 201);
  const std::string id = made.body["id"], path = apps_path + "/" + id;
  p.g.world.clock.advance(std::chrono::seconds(1));
  outcome = dry_run({{"id", id}, {"change", {{"replicas", 3}}}});
  CHECK(outcome["points"] == price);
  CHECK(outcome["containers"] == 3);
  outcome = dry_run({{"id", id}, {"change", {{"replicas", 9}}}});
  CHECK(outcome["containers"].is_null());
  CHECK(outcome["refusal"]["code"] == "validation_failed");

  REQUIRE(p.patch(id, {{"replicas", 3}}).status == 200);
  const json billing = p.get(path + "/billing").body;
  CHECK(billing["containers"] == 3);
  CHECK(billing["amount"] == 3 * price);
  CHECK(billing["balance"] == 7 * price);
  CHECK(billing["held"] == 6);  // an hour of three
  REQUIRE(billing["history"].size() == 2);
  CHECK(billing["history"][0]["kind"] == "tier_change");
  CHECK(billing["history"][0]["from_tier"] == "priced");
  CHECK(billing["history"][0]["from_containers"] == 2);
  CHECK(billing["history"][0]["containers"] == 3);
  CHECK(billing["history"][1]["containers"] == 2);
  CHECK(billing["history"][1]["from_containers"].is_null());
  const json usage = p.get(path + "/usage").body;
  CHECK(usage["containers"] == 3);
  CHECK(usage["price"]["points_per_hour"] == 2);
  CHECK(usage["forecast"]["points_a_day"] == 24 * 2 * 3);
}

TEST_CASE("more containers without the points for them are refused") {
  Priced p;
  const auto made = p.create({{"replicas", 1}});
  REQUIRE(made.status == 201);
  const std::string id = made.body["id"];
  // 203 points are left, of which 2 are held.
  p.g.world.write([&](db::Tx& tx) {
    REQUIRE(ledger::post(tx, {.kind = "test",
                              .from = ledger::app_account(p.app.id),
                              .to = ledger::treasury(),
                              .amount = 9 * price - 203,
                              .memo = ""}));
  });
  CHECK(p.patch(id, {{"replicas", 3}}).error() == "422 insufficient_balance");  // 200, and 6 held
  CHECK(p.patch(id, {{"replicas", 2}}).status == 200);
}

}  // namespace
