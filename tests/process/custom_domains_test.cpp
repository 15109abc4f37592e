// Custom domains over HTTP, from the claim to the next owner.
#include <catch2/catch.hpp>

#include "tests/process/client.h"

using namespace berth::process;

namespace {

// Tiers with room for many deployments with domains, and name servers at which nobody listens, so
// that no name in these tests is looked up outside this machine.
Flags domain_flags() {
  static const std::string tiers =
      "[{slug: free, name: Free, memory-mb: 64, cpu-millicores: 50, monthly-cost-points: 0, "
      "max-deployments: 9, auto-approve: true, custom-domain: true}, "
      "{slug: plain, name: Plain, memory-mb: 64, cpu-millicores: 50, monthly-cost-points: 0, "
      "max-deployments: 9, auto-approve: true}]";
  return {"--rate-limits", "off", "--dns-servers", "127.0.0.1:1", "--tiers", tiers};
}

json order_at(const std::string& name, const std::string& domain) {
  json wanted = order(name);
  wanted["custom_domain"] = domain;
  return wanted;
}

Answer patch(Client& api, const std::string& id, const json& body) {
  return api.ask({.method = "PATCH", .path = "/api/deploy/apps/" + id, .body = body.dump()});
}

Flags with_issuer() {
  Flags flags = domain_flags();
  flags.insert(flags.end(), {"--cluster-issuer", "letsencrypt"});
  return flags;
}

json domain_of(Client& api, const std::string& id) {
  return expect(200, api.get("/api/deploy/apps/" + id + "/domain")).body;
}

}  // namespace

TEST_CASE(
    "a domain is claimed, survives a restart, is released, and must be proven by its next owner") {
  Berthd berthd(domain_flags());
  Operator ada = operator_with_token(berthd, "ada");
  Operator eve = operator_with_token(berthd, "eve");
  const std::string id = deploy(ada.api, order_at("shop", "www.example.com"));
  const json cname = {
      {"type", "CNAME"}, {"name", "www.example.com"}, {"value", "shop.apps.localhost"}};
  CHECK(domain_of(ada.api, id).at("state") == "waiting_for_dns");
  CHECK(domain_of(ada.api, id).at("records") == json({cname}));
  CHECK(domain_of(ada.api, id).at("expires_at").is_null());
  wait_until_status(ada.api, id, "running");  // the container doesn't wait for the DNS

  berthd.kill();
  berthd.start();
  CHECK(domain_of(ada.api, id).at("records") == json({cname}));
  CHECK(eve.api.post("/api/deploy/apps", order_at("mine", "www.example.com")).code() ==
        "domain_taken");
  CHECK(eve.api.get("/api/deploy/apps/" + id + "/domain").code() == "forbidden");

  expect(200, ada.api.remove("/api/deploy/apps/" + id));
  CHECK(ada.api.get("/api/deploy/apps/" + id + "/domain").code() == "domain_not_found");
  const std::string next = deploy(eve.api, order_at("mine", "www.example.com"));
  const json records = domain_of(eve.api, next).at("records");
  REQUIRE(records.size() == 2);
  CHECK(records[0].at("value") == "mine.apps.localhost");
  CHECK(records[1] == json{{"type", "TXT"},
                           {"name", "_berth-challenge.www.example.com"},
                           {"value", "berth=" + next}});
}

TEST_CASE("PATCH claims, moves and releases a domain") {
  const Berthd berthd(domain_flags());
  Operator ada = operator_with_token(berthd, "ada");
  const std::string id = deploy(ada.api, order("shop"));
  CHECK(ada.api.get("/api/deploy/apps/" + id + "/domain").code() == "domain_not_found");
  const json with = expect(200, patch(ada.api, id, {{"custom_domain", "Example.com."}})).body;
  CHECK(with.at("custom_domain") == "example.com");
  CHECK(with.at("url") == "http://shop.apps.localhost:" + std::to_string(berthd.port()));
  const json records = domain_of(ada.api, id).at("records");
  CHECK(records.front().at("type") == "ALIAS");
  CHECK(records.back().at("type") == "TXT");
  expect(200, patch(ada.api, id, {{"custom_domain", "www.example.com"}}));
  CHECK(domain_of(ada.api, id).at("domain") == "www.example.com");
  expect(201, ada.api.post("/api/deploy/apps", order_at("other", "example.com")));
  CHECK(patch(ada.api, id, {{"custom_domain", "example.com"}}).code() == "domain_taken");
  CHECK(expect(200, patch(ada.api, id, {{"custom_domain", nullptr}}))
            .body.at("custom_domain")
            .is_null());
}

TEST_CASE("PATCH rolls out another image and port, and is refused like a new deployment") {
  const Berthd berthd(domain_flags());
  Operator ada = operator_with_token(berthd, "ada");
  const std::string id = deploy(ada.api, order("shop"));
  wait_until_status(ada.api, id, "running");
  const json body = {{"image", "docker.io/library/hello:2"}, {"env_vars", {{"A", "1"}}}};
  CHECK(expect(200, patch(ada.api, id, body)).body.at("status") == "deploying");
  const json running = wait_until_status(ada.api, id, "running");
  CHECK(running.at("reason").is_null());
  expect(200, patch(ada.api, id, {{"image", "docker.io/library/missing:1"}}));
  CHECK(eventually([&] {
    const json status = status_of(ada.api, id);
    return status.at("reason") == "rollout_failed" && status.at("cause") == "image_pull_failed";
  }));
  expect(200, ada.api.remove("/api/deploy/apps/" + id));
  CHECK(patch(ada.api, id, {{"port", 80}}).code() == "deployment_destroyed");
}

TEST_CASE("a platform without an issuer of certificates offers no custom domains") {
  for (const bool has_issuer : {true, false}) {
    CAPTURE(has_issuer);
    const Berthd berthd(has_issuer ? with_issuer() : domain_flags());
    Operator ada = operator_with_token(berthd, "ada");
    const json offer = expect(200, ada.api.get("/api/deploy/tiers")).body;
    CHECK(offer.at("custom_domains") == has_issuer);
    CHECK(offer.at("tiers").at(0).at("custom_domain_allowed") == true);
    Client visitor(berthd);
    const std::string page =
        expect(200,
               visitor.ask({.method = "GET", .path = "/", .headers = {{"Accept", "text/html"}}}))
            .text;
    CHECK(page.find(">Clear costs<") != std::string::npos);
    CHECK((page.find(">Your own domain<") != std::string::npos) == has_issuer);
  }
}

TEST_CASE("domains that nobody can have, and tiers without custom domains") {
  const Berthd berthd(domain_flags());
  Operator ada = operator_with_token(berthd, "ada");
  for (const char* domain :
       {"apps.localhost", "x.apps.localhost", "127.0.0.1", "*.example.com", "co.uk", "com",
        "example", "www.example.com/", "b\303\274cher.example"}) {
    INFO(domain);
    const Answer answer = ada.api.post("/api/deploy/apps", order_at("shop", domain));
    CHECK(answer.status == 422);
    CHECK(answer.body["error"]["details"].contains("custom_domain"));
  }
  json plain = order_at("shop", "www.example.com");
  plain["tier"] = "plain";
  const Answer refused = ada.api.post("/api/deploy/apps", plain);
  CHECK(refused.status == 422);
  CHECK(refused.body["error"]["details"].contains("custom_domain"));
  CHECK(ada.api.get("/api/deploy/apps").body["total"] == 0);
}

TEST_CASE("an admin can raise a tier's limit while it is in use") {
  const Berthd berthd({"--rate-limits", "off"});
  Operator ada = operator_with_token(berthd, "ada");
  Client platform(berthd);
  deploy(ada.api, order("one"));
  CHECK(ada.api.post("/api/deploy/apps", order("two")).code() == "deployment_limit_reached");
  const json tiers =
      expect(200, platform.get("/api/internal/deploy/tiers", admin(berthd))).body.at("tiers");
  REQUIRE(tiers.at(0).at("slug") == "free");
  const std::string path = "/api/internal/deploy/tiers/" + tiers.at(0).at("id").get<std::string>();
  const Answer changed = expect(200, platform.ask({.method = "PATCH",
                                                   .path = path,
                                                   .body = R"({"max_deployments": 2})",
                                                   .headers = admin(berthd)}));
  CHECK(changed.body["tier"]["limits"]["max_deployments"] == 2);
  deploy(ada.api, order("two"));
}
