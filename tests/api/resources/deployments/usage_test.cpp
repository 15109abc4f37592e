// What the API shows of prices by the hour, and of what ran and was charged.
#include <catch2/catch.hpp>

#include "tests/api/resources/deployments/metered.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;

Instant at(const char* text) { return *parse_iso8601(text); }

// Three runs of one pod until 13:30, the last of which goes on.
std::vector<metering::Run> three_runs() {
  return {{.name = "pod-1/0",
           .started_at = at("2026-01-31T12:00:00Z"),
           .ended_at = at("2026-01-31T12:30:00Z")},
          {.name = "pod-1/1",
           .started_at = at("2026-01-31T12:30:00Z"),
           .ended_at = at("2026-01-31T13:00:00Z")},
          {.name = "pod-1/2", .started_at = at("2026-01-31T13:00:00Z"), .ended_at = {}}};
}

TEST_CASE("a tier's price by the hour is set, changed and removed by admins") {
  Metered m;
  const std::string path = "/api/internal/deploy/tiers/" + m.tier_id;
  const auto change = [&](const json& price) {
    return m.g.ask("PATCH", path, m.g.admin, json{{"points_per_hour", price}}.dump());
  };
  const auto shown = [&]() -> json {
    const json tiers = m.get("/api/deploy/tiers").body["tiers"];
    for (const json& tier : tiers)
      if (tier["slug"] == "metered") return tier["points_per_hour"];
    return "no tier";
  };
  CHECK(shown() == 2);
  CHECK(change(3).body["tier"]["points_per_hour"] == 3);
  CHECK(shown() == 3);
  for (const json& bad : {json(0), json(-1), json(1'000'001), json(0.5), json("3")})
    CHECK(change(bad).error() == "422 validation_failed");
  CHECK(change(1'000'000).status == 200);
  CHECK(change(nullptr).body["tier"]["points_per_hour"].is_null());
  const json in_bitcoin = {{"name", "Sats"},
                           {"slug", "by-the-hour"},
                           {"payment_method", "bitcoin"},
                           {"monthly_cost_sats", 5},
                           {"points_per_hour", 3},
                           {"memory_limit_mb", 128},
                           {"cpu_limit_millicores", 100}};
  CHECK(m.g.ask("POST", "/api/internal/deploy/tiers", m.g.admin, in_bitcoin.dump()).error() ==
        "422 validation_failed");
}

TEST_CASE("admins see what another price would do, before it does it") {
  Metered m;
  const std::string path = "/api/internal/deploy/tiers/" + m.tier_id;
  const auto preview = [&](const std::string& query) {
    return m.g.ask("GET", path + "/price-change" + query, m.g.admin);
  };
  json seen = preview("?points_per_hour=3").body;
  CHECK(seen["tier"] == "metered");
  CHECK(seen["points_per_hour"] == json{{"now", 2}, {"then", 3}});
  CHECK(seen["applies_from"] == "2026-02-01T00:00:00.000Z");
  CHECK(seen["deployments"] == 1);
  CHECK(seen["apps"] == 1);
  CHECK(seen["points_a_day"] == json{{"now", 48}, {"then", 72}});
  CHECK(seen["apps_short_of_points"] == 0);
  CHECK(seen["short_of_points"].empty());
  seen = preview("?points_per_hour=5").body;
  CHECK(seen["apps_short_of_points"] == 1);
  REQUIRE(seen["short_of_points"].size() == 1);
  CHECK(seen["short_of_points"][0] == json{{"app_id", m.app.id},
                                           {"app_name", m.app.app_name},
                                           {"balance", 100},
                                           {"points_a_day", 120}});
  seen = preview("").body;
  CHECK(seen["points_per_hour"] == json{{"now", 2}, {"then", nullptr}});
  CHECK(seen["points_a_day"]["then"] == 0);
  CHECK(preview("?points_per_hour=0").error() == "422 validation_failed");
  CHECK(preview("?points_per_hour=1000001").error() == "422 validation_failed");
  CHECK(m.g.ask("GET", "/api/internal/deploy/tiers/" + m.id + "/price-change", m.g.admin).error() ==
        "404 tier_not_found");
  CHECK(m.get("/api/internal/deploy/tiers/" + m.tier_id + "/price-change").status == 403);
  // Nothing has changed, and nothing does before midnight.
  CHECK(m.usage()["price"] == json{{"points_per_hour", 2}, {"next", nullptr}});
  REQUIRE(m.g.ask("PATCH", path, m.g.admin, R"({"points_per_hour": 3})").status == 200);
  CHECK(m.usage()["price"] ==
        json{{"points_per_hour", 2},
             {"next", {{"points_per_hour", 3}, {"from", "2026-02-01T00:00:00.000Z"}}}});
  CHECK(preview("?points_per_hour=4").body["points_per_hour"]["now"] == 2);
}

TEST_CASE("a deployment's usage has its runs in pages, and what isn't charged yet") {
  Metered m;
  CHECK(m.get("/api/deploy/apps/" + m.id + "/billing").body["held"] == 2);
  m.wait(90min);
  m.record(three_runs());
  const json first = m.usage("?page_size=2");
  CHECK(first["deployment_id"] == m.id);
  CHECK(first["tier"] == "metered");
  CHECK(first["from"] == "2026-01-02");
  CHECK(first["to"] == "2026-01-31");
  CHECK(first["total"] == 3);
  REQUIRE(first["intervals"].size() == 2);
  CHECK(first["intervals"][0] == json{{"process", "web"},
                                      {"item", "base"},
                                      {"run", "pod-1/2"},
                                      {"quantity", 1},
                                      {"started_at", "2026-01-31T13:00:00.000Z"},
                                      {"ended_at", nullptr},
                                      {"vanished", false},
                                      {"seconds", 1800}});
  CHECK(first["intervals"][1]["run"] == "pod-1/1");
  CHECK(first["intervals"][1]["ended_at"] == "2026-01-31T13:00:00.000Z");
  REQUIRE(first["next_cursor"].is_string());
  const json second = m.usage("?page_size=2&cursor=" + first["next_cursor"].get<std::string>());
  REQUIRE(second["intervals"].size() == 1);
  CHECK(second["intervals"][0]["run"] == "pod-1/0");
  CHECK(second["next_cursor"].is_null());
  for (const json& page : {first, second}) {
    CHECK(page["charges"] == json::array({{{"date", "2026-01-31"},
                                           {"process", "web"},
                                           {"item", "base"},
                                           {"seconds", 5400},
                                           {"points", 0},
                                           {"pending_seconds", 5400},
                                           {"unpaid_seconds", 0}}}));
    CHECK(page["accrued"] == 3);
    CHECK(page["forecast"] == json{{"points_a_day", 48}, {"days", 0}});
  }
  // The day before has nothing.
  CHECK(m.usage("?from=2026-01-30&to=2026-01-30")["intervals"].empty());
  CHECK(m.usage("?from=2026-01-30&to=2026-01-30")["charges"].empty());
}

TEST_CASE("what was charged for a day is shown, and what a day will cost") {
  Metered m;
  m.wait(90min);
  m.record(three_runs());
  m.wait(at("2026-02-01T00:00:10Z") - m.g.world.clock.now());
  m.settle();
  const json usage = m.usage("?from=2026-01-31&to=2026-01-31");
  CHECK(usage["totals"] ==
        json{{"seconds", 43'200}, {"points", 24}, {"pending_seconds", 0}, {"unpaid_seconds", 0}});
  CHECK(usage["accrued"] == 0);
  CHECK(usage["forecast"] == json{{"points_a_day", 24}, {"days", 1}});
  CHECK(m.get("/api/deploy/apps/" + m.id + "/billing").body["balance"] == 76);
}

TEST_CASE("usage is the owner's to see, for at most 400 days at once") {
  Metered m;
  const auto error = [&](const std::string& id, const std::string& query = "") {
    return m.get("/api/deploy/apps/" + id + "/usage" + query).error();
  };
  CHECK(error(m.tier_id) == "404 deployment_not_found");
  CHECK(error(m.id, "?from=2024-12-01&to=2026-01-31") == "422 validation_failed");
  CHECK(error(m.id, "?from=2026-02-01&to=2026-01-31") == "422 validation_failed");
  CHECK(error(m.id, "?from=yesterday") == "422 validation_failed");
  CHECK(error(m.id, "?cursor=x") == "422 validation_failed");
  const apps::App of_bob =
      m.g.world.approved_app(m.g.world.verified_user("bob"), {Scope::deploy_manage});
  const auto deployment = m.g.world.deploy(of_bob, berth::test::order("foreign"));
  CHECK(error(deployment.id) == "403 forbidden");
  // A tier without a price by the hour has nothing to show.
  const auto plain = m.g.ask("POST", "/api/deploy/apps", {m.token}, m.order("plain"));
  REQUIRE(plain.status == 201);
  m.id = plain.body["id"];
  const json usage = m.usage();
  CHECK(usage["price"] == json{{"points_per_hour", nullptr}, {"next", nullptr}});
  CHECK(usage["intervals"].empty());
  CHECK(usage["accrued"] == 0);
  CHECK(usage["forecast"]["points_a_day"] == 0);
}

}  // namespace
