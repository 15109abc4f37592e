#pragma once

#include "controller/domain/deployments/metering/meter.h"
#include "controller/domain/deployments/metering/settlement.h"
#include "tests/api/gate_world.h"

// An operator whose app has 100 points, and a deployment on a tier that costs 2 points an hour.
namespace berth::api::test {

struct Metered : Operator {
  std::string tier_id;
  std::string id;  // the deployment's

  Metered() {
    const auto made = g.ask("POST", "/api/internal/deploy/tiers", g.admin,
                            json{{"name", "Metered"},
                                 {"slug", "metered"},
                                 {"memory_limit_mb", 128},
                                 {"cpu_limit_millicores", 100},
                                 {"monthly_cost_points", 0},
                                 {"points_per_hour", 2},
                                 {"auto_approve", true}}
                                .dump());
    REQUIRE(made.status == 201);
    tier_id = made.body["tier"]["id"];
    g.world.mint(ledger::app_account(app.id), 100);
    const auto created =
        g.ask("POST", "/api/deploy/apps", {token},
              json{{"name", "shop"}, {"image", "ghcr.io/acme/web:1"}, {"tier", "metered"}}.dump());
    REQUIRE(created.status == 201);
    id = created.body["id"];
  }

  // What the cluster says of the deployment's runs.
  void record(const std::vector<metering::Run>& runs) {
    g.world.write([&](db::Tx& tx) {
      metering::record(tx, id, runs, std::nullopt);
      metering::set_watched_until(tx, tx.now());
    });
  }
  void settle() {
    g.world.write([&](db::Tx& tx) { metering::settle_due(tx, app.id, g.world.keys.data); });
  }
  // Moves the clock ahead, and gets a token that is valid then.
  void wait(Duration time) {
    g.world.clock.advance(time);
    g.world.write([](db::Tx& tx) { metering::set_watched_until(tx, tx.now()); });
    token = bearer(g.world.tokens(app, user, "profile:read deploy:manage").access_token);
  }
  Answered get(const std::string& target) { return g.ask("GET", target, {token}); }
  json usage(const std::string& query = "") {
    const auto answer = get("/api/deploy/apps/" + id + "/usage" + query);
    REQUIRE(answer.status == 200);
    return answer.body;
  }
};

}  // namespace berth::api::test
