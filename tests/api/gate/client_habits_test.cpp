// What clients write in more ways than one, and each way is taken.
#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "api/pages/pages.h"
#include "controller/base/url.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;

std::string in_capitals(std::string id) {
  std::ranges::transform(id, id.begin(), [](unsigned char c) { return char(std::toupper(c)); });
  return id;
}

Validator& deployments_validator() {
  static Validator validator("CreateDeploymentRequest");
  return validator;
}

TEST_CASE("a whole number with a point is an integer") {
  Operator o;
  const std::string order =
      R"({"name": "shop", "image": "ghcr.io/acme/web:1", "tier": "wide", "port": 8080.0})";
  const auto created = o.g.ask("POST", "/api/deploy/apps", {o.token}, order);
  REQUIRE(created.status == 201);
  CHECK(created.body["deployment"]["port"].dump() == "8080");
  const auto refused = o.g.ask("POST", "/api/deploy/apps", {o.token},
                               R"({"name": "s", "image": "ghcr.io/a/b", "tier": "wide",
                                   "port": 8080.5})");
  CHECK(refused.error() == "422 validation_failed");
}

TEST_CASE("an amount to spend may have a point, and is refused as an integer beyond the range") {
  Operator o;
  o.g.world.mint(ledger::user_account(o.user.id), 100);
  const auto app = o.g.world.approved_app(o.user, {Scope::points_spend});
  const Header token = bearer(o.g.world.tokens(app, o.user, "points:spend").access_token);
  const auto spend = [&](const std::string& amount) {
    return o.g.ask("POST", "/api/external/points/spend", {token}, R"({"amount": )" + amount + "}");
  };
  const auto spent = spend("10.0");
  REQUIRE(spent.status == 200);
  CHECK(spent.body["amount_spent"].dump() == "10");
  CHECK(spend("10.5").error() == "400 malformed_request");
  CHECK(spend("1e300").error() == "422 validation_failed");
  CHECK(spend("-1e300").error() == "422 validation_failed");
}

TEST_CASE("an id in capitals is the same id, in a path, in a body and in a key's slot") {
  Operator o;
  const auto id = o.g.ask("POST", "/api/deploy/apps", {o.token}, o.order()).body.value("id", "");
  const std::string capitals = in_capitals(id);
  REQUIRE(capitals != id);
  CHECK(o.g.ask("GET", "/api/deploy/apps/" + capitals, {o.token}).body["id"] == id);
  const auto other = o.g.world.verified_user("bob");
  const auto blocked = o.g.ask("POST", "/api/social/blocks", {bearer(o.jwt)},
                               json{{"user_id", in_capitals(other.id)}}.dump());
  REQUIRE(blocked.status == 201);
  CHECK(blocked.body["block"]["user_id"] == other.id);
  CHECK(o.g.ask("DELETE", "/api/social/blocks/" + in_capitals(other.id), {bearer(o.jwt)}).status ==
        200);
  // The same key with the same request, however its path is written, is one request.
  const Header key = {"Idempotency-Key", "once"};
  const auto first = o.g.ask("POST", "/api/deploy/apps/" + id + "/stop", {o.token, key});
  const auto second = o.g.ask("POST", "/api/deploy/apps/" + capitals + "/stop/", {o.token, key});
  CHECK(second.text == first.text);
  CHECK(o.g.world.read([&](db::Tx& tx) {
    return tx.number("SELECT count(*) FROM idempotency_keys WHERE key = $1", std::string("once"));
  }) == 1);
}

TEST_CASE("a slash at the end is the same resource; two aren't, and tables keep their names") {
  Operator o;
  CHECK(o.g.ask("GET", "/api/deploy/apps/", {o.token}).status == 200);
  CHECK(o.g.ask("GET", "/health/").status == 200);
  CHECK(o.g.ask("GET", "/api/deploy/apps//", {o.token}).status == 404);
  CHECK(o.g.ask("GET", "//", {o.token}).status == 404);
  CHECK(o.g.ask("PUT", "/api/deploy/apps/", {o.token}).header("Allow") == "GET, HEAD, POST");
  const std::string table = "/api/social/tables/01936F5E-7C1A-7000-8000-000000000001/presence";
  o.g.ask("PUT", table, {bearer(o.jwt)}, "{}");
  CHECK(o.g.ask("GET", table, {bearer(o.jwt)}).body["total"] == 1);
  std::string lower = table;
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return char(std::tolower(c)); });
  CHECK(o.g.ask("GET", lower, {bearer(o.jwt)}).body["total"] == 0);
}

TEST_CASE("a page's address with a slash at its end leads to the page, and to no other host") {
  GateWorld g;
  prometheus::Registry registry;
  HttpMetrics metrics(registry);
  pages::Pages pages(g.services, metrics);
  const auto location = [&](std::string_view path, std::string_view query = "") {
    Request request;
    request.method = "GET";
    request.path = path;
    request.raw_query = query;
    request.headers.add("Accept", "text/html");
    Response response;
    if (!pages.handle(request, response)) return std::string("not a page");
    const auto field = std::ranges::find(response.headers, "Location",
                                         [](const auto& header) { return header.first; });
    return std::to_string(response.status) +
           (field == response.headers.end() ? "" : " " + field->second);
  };
  CHECK(location("/login/") == "308 /login");
  CHECK(location("/account/totp/", "a=b") == "308 /account/totp?a=b");
  CHECK(location("/api/oauth/authorize/", "x=1") == "308 /api/oauth/authorize?x=1");
  for (const char* path : {"//example.org/", "//login/", "/login//", "/nowhere/"}) {
    INFO(path);
    CHECK(location(path) == "404");
  }
  // A route of the API isn't a page that is missing, wherever it is.
  int asked = 0;
  for (const Route& route : routes()) {
    if (route.method() != "GET") continue;
    INFO(route.path());
    CHECK(location(route.path()) != "404");
    ++asked;
  }
  CHECK(asked > 100);
}

TEST_CASE("a search without q is a 400, as a short one is") {
  Operator o;
  CHECK(o.g.ask("GET", "/api/social/users/search", {bearer(o.jwt)}).error() ==
        "400 query_too_short");
  CHECK(o.g.ask("GET", "/api/social/users/search?q=", {bearer(o.jwt)}).error() ==
        "400 query_too_short");
  CHECK(o.g.ask("GET", "/api/social/users/search?q=a", {bearer(o.jwt)}).error() ==
        "400 query_too_short");
}

TEST_CASE("the window of analytics may be written as a period") {
  Operator o;
  const auto ask = [&](const std::string& query) {
    return o.g.ask("GET", "/api/operator/analytics" + query, {o.token});
  };
  CHECK(ask("?period=7d").body["window_days"] == 7);
  CHECK(ask("?period=7d").body["period"] == "7d");
  CHECK(ask("?period=7d&window_days=7").body["window_days"] == 7);
  CHECK(ask("").body["period"] == "30d");
  for (const char* query : {"?period=7", "?period=d", "?period=0d", "?period=366d", "?period=1w",
                            "?period=-7d", "?period=7d&window_days=8", "?window_days=0"}) {
    INFO(query);
    CHECK(ask(query).error() == "422 validation_failed");
  }
}

TEST_CASE("null, an empty text and a missing field are alike where a field is optional") {
  const auto normalized = [](const std::string& text) {
    json body = json::parse(text);
    deployments_validator().normalize(body);
    return body;
  };
  const std::string start = R"({"name": "shop", "image": "ghcr.io/a/b", "tier": "wide")";
  for (const char* field :
       {R"("custom_domain": "")", R"("custom_domain": null)", R"("health_path": "")",
        R"("port": "")", R"("port": null)", R"("env_vars": null)", R"("env_vars": "")"}) {
    INFO(field);
    const json body = normalized(start + ", " + field + "}");
    CHECK(deployments_validator().check(body).empty());
  }
  // A required field stays what it is, and an empty value of a map is a value.
  CHECK_FALSE(deployments_validator()
                  .check(normalized(R"({"name": "", "image": "ghcr.io/a/b", "tier": "wide"})"))
                  .empty());
  CHECK(normalized(start + R"(, "env_vars": {"A": ""}})")["env_vars"]["A"] == "");
  json event = {{"campaign_id", "x"}, {"event_type", "click"}, {"surface_type", nullptr}};
  Validator("AdEventRequest").normalize(event);
  CHECK_FALSE(event.contains("surface_type"));
}

TEST_CASE("an app is registered with nulls and empty texts as without the fields") {
  Operator o;
  const auto create = [&](const json& more) {
    json body = {{"app_name", "My game"}, {"redirect_uris", {"https://game.example.org/cb"}}};
    body.update(more);
    return o.g.ask("POST", "/api/oauth/apps", {bearer(o.jwt)}, body.dump());
  };
  for (const json& more :
       {json{{"website_url", ""}, {"logo_url", ""}, {"app_description", nullptr}},
        json{{"website_url", nullptr}, {"allowed_scopes", nullptr}, {"session_tokens", nullptr}},
        json{{"allowed_scopes", json::array()}}}) {
    INFO(more.dump());
    const auto created = create(more);
    REQUIRE(created.status == 201);
    CHECK(created.body["app"]["website_url"] == nullptr);
    CHECK(created.body["app"]["app_description"] == "");
    CHECK(created.body["app"]["allowed_scopes"] == json::array({"profile:read"}));
    CHECK(created.body["app"]["session_tokens"] == true);
  }
}

TEST_CASE("what normalizing gives stays as it is when it is normalized again") {
  CHECK(rc::check([] {
    const auto value = *rc::gen::element<json>(nullptr, "", "x", 7, 7.5, true, json::array({""}),
                                               json::object({{"username", ""}}),
                                               "01936F5E-7C1A-7000-8000-000000000001");
    const auto name = *rc::gen::element<std::string>("name", "port", "custom_domain", "env_vars",
                                                     "registry_credentials", "tier");
    json once = {{"name", "shop"}, {"image", "ghcr.io/a/b"}, {"tier", "wide"}};
    once[name] = value;
    deployments_validator().normalize(once);
    json twice = once;
    deployments_validator().normalize(twice);
    RC_ASSERT(twice == once);
  }));
}

TEST_CASE("a code of the authenticator may be a number, which has no zeros in front") {
  const Validator login("LoginRequest");
  const auto code = [&](const json& value) {
    json body = {{"email", "a@b"}, {"password", "secret"}, {"totp_code", value}};
    login.normalize(body);
    return body.value("totp_code", json());
  };
  CHECK(code(123456) == "123456");
  CHECK(code(42) == "000042");
  CHECK(code(0) == "000000");
  CHECK(code("042") == "042");
  CHECK(code(-1) == -1);
  CHECK(code(1.5) == 1.5);
  for (const char* schema : {"EnableTotpRequest", "DisableTotpRequest"}) {
    json body = {{"code", 7}, {"password", "secret"}};
    Validator(schema).normalize(body);
    CHECK(body["code"] == "000007");
  }
}

TEST_CASE("presence may be reported without a body") {
  Operator o;
  const std::string table = "/api/social/tables/one/presence";
  const auto seated = o.g.ask("PUT", table, {bearer(o.jwt)});
  REQUIRE(seated.status == 200);
  CHECK(seated.body["status"] == "online");
  CHECK(o.g.ask("PUT", "/api/social/presence", {bearer(o.jwt)}).body["status"] == "online");
}

TEST_CASE("times are read in every form that clients write") {
  Operator o;
  o.g.world.mint(ledger::app_account(o.app.id), 10'000);
  const auto app = o.g.world.write([&](db::Tx& tx) {
    apps::approve(tx, apps::request_scopes(tx, o.app, {Scope::campaigns_manage}).id, "root");
    return *apps::find(tx, o.app.id);
  });
  const Header token = bearer(o.g.world.tokens(app, o.user, "campaigns:manage").access_token);
  for (const char* start : {"2027-01-02", "2027-01-02T00:00:00", "2027-01-02T00:00",
                            "2027-01-02T02:00:00+0200", "20270102T000000Z"}) {
    INFO(start);
    const auto created = o.g.ask("POST", "/api/external/campaigns", {token},
                                 json{{"name", "Spring"},
                                      {"surface_type", "banner"},
                                      {"total_payment", 100},
                                      {"payout_rate", 1},
                                      {"starts_at", start}}
                                     .dump());
    REQUIRE(created.status == 201);
    CHECK(created.body["campaign"]["starts_at"] == "2027-01-02T00:00:00.000Z");
    CHECK(o.g.ask("GET", "/api/points/history?from=" + percent_encode(start), {bearer(o.jwt)})
              .status == 200);
    const std::string campaign = created.body["campaign"].value("id", "");
    CHECK(o.g.ask("GET",
                  "/api/v1/ads/campaigns/" + campaign +
                      "/analytics?from=2026-01-01&to=" + percent_encode(start),
                  {token})
              .status == 200);
  }
}

}  // namespace
