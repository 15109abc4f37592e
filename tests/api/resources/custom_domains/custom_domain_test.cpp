// Custom domains, PATCH and tiers, as the API shows them.
#include <catch2/catch.hpp>

#include "controller/domain/deployments/custom_domains/custom_domains.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

const std::string apps_path = "/api/deploy/apps";

struct Fixture : Operator {
  Fixture() {
    g.world.write([](db::Tx& tx) {
      tx.execute("UPDATE deploy_tiers SET custom_domain_allowed = 1 WHERE slug = 'wide'");
    });
  }
  Answered create(const std::string& name, const json& domain) {
    return g.ask("POST", apps_path, {token},
                 json{{"name", name},
                      {"image", "ghcr.io/acme/web:1"},
                      {"tier", "wide"},
                      {"custom_domain", domain}}
                     .dump());
  }
  Answered patch(const std::string& id, const json& body) {
    return g.ask("PATCH", apps_path + "/" + id, {token}, body.dump());
  }
  Answered domain(const std::string& id) {
    return g.ask("GET", apps_path + "/" + id + "/domain", {token});
  }
  Answered get(const std::string& id) { return g.ask("GET", apps_path + "/" + id, {token}); }
  // Does what the loop does once the DNS records are right.
  void activate(const std::string& id) {
    g.world.write([&](db::Tx& tx) {
      const auto claim = custom_domains::living(tx, id).value();
      custom_domains::record_check(tx, claim.id, claim.generation,
                                   {.outcome = custom_domains::Outcome::proven,
                                    .reason = {},
                                    .message = {},
                                    .addresses = {}});
      REQUIRE(custom_domains::begin_issuing(tx, claim.id, claim.generation));
      REQUIRE(custom_domains::mark_active(
          tx, claim.id, claim.generation,
          {.expires_at = tx.now() + std::chrono::hours(2160), .renews_at = std::nullopt}));
    });
  }
};

TEST_CASE("a custom domain tells which record it waits for, and becomes the url") {
  Fixture f;
  const auto created = f.create("shop", "WWW.Example.com");
  REQUIRE(created.status == 201);
  CHECK(created.body["deployment"]["custom_domain"] == "www.example.com");
  CHECK(created.body["url"] == "https://shop.apps.example.org");
  const std::string id = created.body["id"];
  CHECK(
      f.domain(id).body ==
      json{{"domain", "www.example.com"},
           {"state", "waiting_for_dns"},
           {"reason", nullptr},
           {"message", nullptr},
           {"records",
            {{{"type", "CNAME"}, {"name", "www.example.com"}, {"value", "shop.apps.example.org"}}}},
           {"txt_reason", nullptr},
           {"last_checked_at", nullptr},
           {"expires_at", nullptr}});
  f.activate(id);
  CHECK(f.domain(id).body["state"] == "active");
  CHECK(f.domain(id).body["last_checked_at"] == "2026-01-31T12:00:00.000Z");
  CHECK(f.domain(id).body["expires_at"] == "2026-05-01T12:00:00.000Z");
  CHECK(f.get(id).body["url"] == "https://www.example.com");
  CHECK(f.get(id).body["deployment"]["url"] == "https://www.example.com");
  CHECK(f.g.ask("GET", apps_path + "/" + id + "/status", {f.token}).body["url"] ==
        "https://www.example.com");
  CHECK(f.patch(id, {{"custom_domain", nullptr}}).body["url"] == "https://shop.apps.example.org");
  CHECK(f.domain(id).error() == "404 domain_not_found");
  CHECK(f.domain("unknown").error() == "404 deployment_not_found");
}

TEST_CASE("each kind of domain that isn't allowed is refused by its field") {
  Fixture f;
  REQUIRE(f.create("first", "www.example.com").status == 201);
  const std::string id = f.create("second", nullptr).body["id"];
  for (const char* domain :
       {"apps.example.org", "x.apps.example.org", "api.example.org", "x.api.example.org",
        "192.0.2.1", "2001:db8::1", "*.example.com", "co.uk", "github.io", "localhost",
        "bücher.example", "https://www.example.com", "www.example.com:443"}) {
    INFO(domain);
    for (const Answered& answer :
         {f.create("third", domain), f.patch(id, {{"custom_domain", domain}})}) {
      CHECK(answer.error() == "422 validation_failed");
      CHECK(answer.body["error"]["details"].contains("custom_domain"));
    }
  }
  CHECK(f.create("third", "www.example.com").error() == "409 domain_taken");
  CHECK(f.create("first", "www.example.com").error() == "409 subdomain_taken");
  CHECK(f.patch(id, {{"custom_domain", "www.example.com"}}).error() == "409 domain_taken");
}

TEST_CASE("labels are ordered, changed, shown and asked for") {
  Fixture f;
  const auto created = f.g.ask("POST", apps_path, {f.token},
                               json{{"name", "shop"},
                                    {"image", "ghcr.io/acme/web:1"},
                                    {"tier", "wide"},
                                    {"labels", {{"stage", "test"}}}}
                                   .dump());
  REQUIRE(created.status == 201);
  CHECK(created.body["deployment"]["labels"] == json{{"stage", "test"}});
  const std::string id = created.body["id"];
  CHECK(f.get(f.create("other", nullptr).body["id"]).body["labels"] == json::object());
  const auto list = [&](const std::string& query) {
    return f.g.ask("GET", apps_path + query, {f.token});
  };
  CHECK(list("?label=stage=test").body["total"] == 1);
  CHECK(list("?label=stage%3Dtest").body["deployments"][0]["labels"] == json{{"stage", "test"}});
  CHECK(list("?label=stage=none").body["deployments"].empty());
  CHECK(list("").body["total"] == 2);
  CHECK(list("?label=stage").error() == "422 validation_failed");
  CHECK(f.patch(id, {{"labels", {{"team", "red"}}}}).body["labels"] == json{{"team", "red"}});
  CHECK(f.patch(id, {{"port", 8080}}).body["labels"] == json{{"team", "red"}});
  CHECK(f.patch(id, {{"labels", nullptr}}).body["deployment"]["labels"] == json::object());
  for (const json& wrong :
       {json{{"a/b", "c"}}, json{{"a", "-"}}, json{{"a", 1}}, json{{"a", nullptr}}})
    CHECK(f.patch(id, {{"labels", wrong}}).error() == "422 validation_failed");
}

TEST_CASE("PATCH merges variables, null removes them, and the answer has both forms") {
  Fixture f;
  const std::string id = f.create("shop", nullptr).body["id"];
  const auto set = f.patch(id, {{"env_vars", {{"A", "1"}, {"B", "2"}}}, {"health_path", "/up"}});
  REQUIRE(set.status == 200);
  CHECK(set.body["env_keys"] == json({"A", "B"}));
  CHECK(set.body["deployment"]["health_path"] == "/up");
  const auto unset = f.patch(id, {{"env", {{"A", nullptr}}}, {"health_path", nullptr}});
  CHECK(unset.body["env_keys"] == json({"B"}));
  CHECK(unset.body["health_path"].is_null());
  CHECK(f.patch(id, json::object()).status == 200);
  CHECK(f.patch(id, {{"env", {{"A", "1"}}}, {"env_vars", {{"A", "1"}}}}).error() ==
        "422 validation_failed");
  CHECK(f.patch(id, {{"port", 0}}).error() == "422 validation_failed");
  CHECK(f.patch(id, {{"port", nullptr}}).body["port"] == 3000);  // as if it were left out
  CHECK(f.patch(id, {{"tier", "basic"}}).error() == "403 tier_not_allowed");
  CHECK(f.patch(id, {{"registry_credentials", {{"username", "x"}}}}).error() ==
        "422 validation_failed");
  CHECK(f.patch(id, {{"image", "quay.io/x/y"}}).error() == "422 unsupported_registry");
}

struct Tiers : Fixture {
  Answered post(const json& body) {
    return g.ask("POST", "/api/internal/deploy/tiers", g.admin, body.dump());
  }
  Answered change(const std::string& id, const json& body) {
    return g.ask("PATCH", "/api/internal/deploy/tiers/" + id, g.admin, body.dump());
  }
};

TEST_CASE("admins add tiers and change them") {
  Tiers t;
  const json body = {{"name", "Large"},         {"slug", "large"},
                     {"memory_limit_mb", 4096}, {"cpu_limit_millicores", 2000},
                     {"max_deployments", 1},    {"monthly_cost_points", 0},
                     {"auto_approve", true},    {"custom_domain_allowed", true}};
  const auto made = t.post(body);
  REQUIRE(made.status == 201);
  const std::string id = made.body["tier"]["id"];
  CHECK(made.body["tier"]["limits"] ==
        json{{"memory_mb", 4096}, {"cpus", 2.0}, {"max_deployments", 1}});
  CHECK(made.body["tier"]["ad_reach_multiplier"] == "1.0");
  const auto listed = t.g.ask("GET", "/api/internal/deploy/tiers", t.g.admin).body["tiers"];
  CHECK(listed.back() == made.body["tier"]);
  CHECK(listed == t.g.ask("GET", "/api/deploy/tiers", {t.token}).body["tiers"]);

  const auto order = [&](const std::string& name) {
    return t.g.ask("POST", apps_path, {t.token},
                   json{{"name", name}, {"image", "ghcr.io/acme/web:1"}, {"tier", "large"}}.dump());
  };
  CHECK(order("one").status == 201);
  CHECK(order("two").error() == "429 deployment_limit_reached");
  CHECK(t.change(id, {{"max_deployments", 2}}).body["tier"]["limits"]["max_deployments"] == 2);
  CHECK(order("two").status == 201);
  CHECK(t.change(id, {{"max_deployments", nullptr}})
            .body["tier"]["limits"]["max_deployments"]
            .is_null());
  CHECK(order("three").status == 201);
  CHECK(t.g.world.read([&](db::Tx& tx) {
    return tx.number("SELECT count(*) FROM audit_log WHERE target = $1 AND action LIKE 'tier.%'",
                     id);
  }) == 3);
}

TEST_CASE("the list of tiers says whether the platform can serve custom domains") {
  const auto offered = [](bool has_issuer) {
    Fixture f;
    f.g.services.cluster.has_issuer = has_issuer;
    return f.g.ask("GET", "/api/deploy/tiers", {f.token}).body.at("custom_domains");
  };
  CHECK(offered(true) == true);
  CHECK(offered(false) == false);
}

TEST_CASE("contradictory tiers are refused") {
  Tiers t;
  json body = {{"name", "Large"},
               {"slug", "large"},
               {"memory_limit_mb", 4096},
               {"cpu_limit_millicores", 2000}};
  CHECK(t.post(body).body["error"]["details"].contains("monthly_cost_points"));
  body["monthly_cost_points"] = 5;
  body["monthly_cost_sats"] = 5;
  CHECK(t.post(body).body["error"]["details"].contains("monthly_cost_sats"));
  body.erase("monthly_cost_sats");
  body["slug"] = "free";
  CHECK(t.post(body).body["error"]["details"].contains("slug"));
  body["slug"] = "Large";
  CHECK(t.post(body).error() == "422 validation_failed");
  const std::string free =
      t.g.ask("GET", "/api/internal/deploy/tiers", t.g.admin).body["tiers"][0]["id"];
  CHECK(t.change(free, {{"memory_limit_mb", 0}}).error() == "422 validation_failed");
  CHECK(t.change(free, {{"monthly_cost_sats", 5}}).error() == "422 validation_failed");
  CHECK(t.change("unknown", {{"name", "x"}}).error() == "404 tier_not_found");
  CHECK(t.g.ask("GET", "/api/internal/deploy/tiers").error() == "403 forbidden");
}

}  // namespace
