// Who may do what, and what others are told.
#include <catch2/catch.hpp>

#include "tests/process/client.h"
#include "tests/process/operations.h"

using namespace berth::process;
using Catch::Contains;

namespace {

const Flags unlimited = {"--rate-limits", "off"};

// Checks that hold for every 401 about a token (RFC 9728, section 5.1).
void check_challenge(const Berthd& berthd, const Answer& answer) {
  CHECK(answer.status == 401);
  const std::string challenge = answer.header("WWW-Authenticate");
  CHECK_THAT(challenge, Catch::StartsWith("Bearer "));
  CHECK_THAT(challenge, Contains("resource_metadata=\"" + berthd.base_url() +
                                 "/.well-known/oauth-protected-resource\""));
}

std::vector<Ask> deployment_calls(const std::string& id) {
  const std::string path = "/api/deploy/apps/" + id;
  return {{.method = "GET", .path = path},
          {.method = "GET", .path = path + "/status"},
          {.method = "GET", .path = path + "/logs"},
          {.method = "GET", .path = path + "/domain"},
          {.method = "PATCH", .path = path, .body = R"({"port": 8080})"},
          {.method = "POST", .path = path + "/stop"},
          {.method = "POST", .path = path + "/restart"},
          {.method = "DELETE", .path = path}};
}

}  // namespace

TEST_CASE("every operation that needs a token says so, and where to get one") {
  const Berthd& berthd = shared_berthd(unlimited);
  Client anybody(berthd);
  size_t asked = 0;
  for (const Operation& operation : operations_of(berthd)) {
    if (operation.access == Access::open || operation.access == Access::internal) continue;
    ++asked;
    const Ask ask = {.method = operation.method,
                     .path = operation.path_with([](const std::string&) { return nobody; }),
                     .body = operation.body_schema.is_null() ? "" : "{}"};
    INFO(ask.method << " " << ask.path);
    const Answer without = anybody.ask(ask);
    check_challenge(berthd, without);
    CHECK(without.code() == "invalid_token");
    CHECK_THAT(without.header("WWW-Authenticate"), !Contains("error="));
    Ask wrong = ask;
    wrong.headers = {{"Authorization", "Bearer at_live_unknown"}};
    const Answer refused = anybody.ask(wrong);
    check_challenge(berthd, refused);
    CHECK_THAT(refused.header("WWW-Authenticate"), Contains("error=\"invalid_token\""));
    operation.check_listed(refused);
  }
  CHECK(asked >= 15);
  const json resource = expect(200, anybody.get("/.well-known/oauth-protected-resource")).body;
  CHECK(resource.at("authorization_servers") == json({berthd.base_url()}));
  CHECK(expect(200, anybody.get("/.well-known/oauth-authorization-server")).body.at("issuer") ==
        berthd.base_url());
}

TEST_CASE("a session isn't accepted as an access token, or the other way round") {
  const Berthd& berthd = shared_berthd(unlimited);
  Operator ada = operator_with_token(berthd, fresh_name("ada"));
  Client anybody(berthd);
  for (const std::string& token :
       {ada.user.jwt, ada.tokens.refresh_token, ada.tokens.session_token}) {
    const Answer answer = Client(berthd, token).get("/api/deploy/apps");
    check_challenge(berthd, answer);
    CHECK(answer.code() == "wrong_token_type");
  }
  for (const std::string& token : {ada.tokens.access_token, ada.tokens.refresh_token}) {
    const Answer answer = Client(berthd, token).get("/api/auth/me");
    check_challenge(berthd, answer);
    CHECK(answer.code() == "wrong_token_type");
  }
  // A JWT that somebody else has signed.
  std::string forged = ada.user.jwt;
  forged[forged.rfind('.') + 1] ^= 1;
  CHECK(Client(berthd, forged).get("/api/auth/me").code() == "invalid_token");
}

TEST_CASE("a token without the scope is refused with the scope's name") {
  const Berthd& berthd = shared_berthd(unlimited);
  Operator ada = operator_with_token(berthd, fresh_name("ada"), {"profile:read"});
  for (const auto& [answer, scope] : {std::pair{ada.api.get("/api/deploy/apps"), "deploy:read"},
                                      {ada.api.post("/api/deploy/apps"), "deploy:write"}}) {
    CHECK(answer.status == 403);
    CHECK(answer.code() == "insufficient_scope");
    CHECK_THAT(answer.header("WWW-Authenticate"), Contains("scope=\"" + std::string(scope) + "\""));
  }
}

TEST_CASE("a revoked scope is lost at once") {
  const Berthd& berthd = shared_berthd(unlimited);
  Operator ada = operator_with_token(berthd, fresh_name("ada"));
  CHECK(ada.api.get("/api/deploy/apps").status == 200);
  const json scopes = {{"scopes", {"deploy:manage"}}};
  expect(200, Client(berthd).post("/api/internal/apps/" + ada.app.id + "/scopes/revoke", scopes,
                                  admin(berthd)));
  CHECK(ada.api.get("/api/deploy/apps").code() == "insufficient_scope");
}

TEST_CASE("only the app's owner gets a token that controls deployments") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Operator ada =
      operator_with_token(berthd, fresh_name("ada"), {"profile:read", "deploy:manage"});
  const User player = register_verified_user(berthd, fresh_name("player"));
  CHECK_NOTHROW(authorize(berthd, player, ada.app, {"profile:read"}));
  CHECK_THROWS_WITH(authorize(berthd, player, ada.app, {"deploy:manage"}),
                    Contains("invalid_scope"));
}

TEST_CASE("another operator's deployment can't be changed") {
  const Berthd& berthd = shared_berthd(unlimited);
  Operator ada = operator_with_token(berthd, fresh_name("ada"));
  Operator eve = operator_with_token(berthd, fresh_name("eve"));
  const std::string id = deploy(ada.api, order("hello"));
  wait_until_status(ada.api, id, "running");
  const auto shown = [&] {
    json body = ada.api.get("/api/deploy/apps/" + id).body;
    for (json* one : {&body, &body.at("deployment")}) one->erase("last_health_check");  // goes on
    return body;
  };
  const json before = shown();
  for (const Ask& call : deployment_calls(id)) {
    INFO(call.method << " " << call.path);
    const Answer answer = eve.api.ask(call);
    CHECK(answer.status == 403);
    CHECK(answer.code() == "forbidden");
    CHECK_THAT(answer.text, !Contains("hello"));
  }
  CHECK(eve.api.get("/api/deploy/apps").body["total"] == 0);
  CHECK(shown() == before);
}

TEST_CASE("what doesn't exist is 404, with or without a well-formed id") {
  const Berthd& berthd = shared_berthd(unlimited);
  Operator ada = operator_with_token(berthd, fresh_name("ada"));
  for (const std::string& id : {nobody, std::string("x"), std::string("%00"), std::string("..%2f"),
                                std::string(2'000, 'x')})
    for (const Ask& call : deployment_calls(id)) {
      INFO(call.method << " " << call.path);
      const Answer answer = ada.api.ask(call);
      CHECK(answer.status == 404);
      CHECK(answer.code() == "deployment_not_found");
    }
  const Answer unknown = ada.api.get("/api/nothing/here");
  CHECK(unknown.status == 404);
  CHECK(unknown.body["errors"]["detail"].is_string());
  const Answer method = ada.api.ask({.method = "PUT", .path = "/api/deploy/apps"});
  CHECK(method.status == 405);
  CHECK(method.header("Allow") == "GET, HEAD, POST");
  CHECK(method.body["errors"]["detail"].is_string());
}

TEST_CASE("internal paths don't exist for those without the secret") {
  const Berthd& berthd = shared_berthd(unlimited);
  Operator ada = operator_with_token(berthd, fresh_name("ada"));
  for (const char* path : {"/api/internal/treasury", "/api/internal/nothing", "/api/internal"})
    for (const std::string& secret :
         {std::string(), std::string("x"), berthd.internal_secret() + "x",
          berthd.internal_secret().substr(1)})
      for (const char* method : {"GET", "POST", "DELETE"}) {
        const Answer answer = ada.api.ask(
            {.method = method, .path = path, .headers = {{"x-internal-secret", secret}}});
        CHECK(answer.status == 403);
        CHECK(answer.body["error"] == "forbidden");
        CHECK(answer.body["message"].is_string());
      }
  CHECK(Client(berthd).get("/api/internal/treasury", admin(berthd)).status == 200);
  CHECK(Client(berthd).get("/api/internal/nothing", admin(berthd)).status == 404);
}

TEST_CASE("the refusals of a deployment come in the documented order") {
  const Berthd& berthd = shared_berthd(unlimited);
  Operator ada = operator_with_token(berthd, fresh_name("ada"));
  Operator ben = operator_with_token(berthd, fresh_name("ben"));
  deploy(ben.api, order("taken"));
  Client platform(berthd);
  const auto refused_with = [&](json changes) {
    json wanted = order("taken");
    wanted["tier"] = "basic";
    wanted.update(changes);
    const Answer answer = ada.api.post("/api/deploy/apps", wanted);
    CHECK(answer.status >= 400);
    return answer.code();
  };
  // Each request has all the faults of those below it.
  CHECK(Client(berthd).post("/api/deploy/apps", "nonsense").code() == "invalid_token");
  CHECK(refused_with({{"port", 0}, {"image", "quay.io/x"}, {"tier", "gold"}}) ==
        "validation_failed");
  CHECK(refused_with({{"image", "quay.io/x"}, {"tier", "gold"}}) == "unsupported_registry");
  CHECK(refused_with({{"tier", "gold"}}) == "unknown_tier");
  CHECK(refused_with(json::object()) == "tier_not_allowed");
  expect(200, platform.post("/api/internal/apps/" + ada.app.id + "/promote", {{"tier", "basic"}},
                            admin(berthd)));
  CHECK(refused_with(json::object()) == "subdomain_taken");
  CHECK(refused_with({{"name", "mine"}}) == "insufficient_balance");
  const json mint = {{"account", {{"kind", "app"}, {"id", ada.app.id}}},
                     {"amount", 3000},
                     {"reason", "three periods"}};
  expect(201, platform.post("/api/internal/points/mint", mint, admin(berthd)));
  for (const char* name : {"one", "two", "three"}) {
    json wanted = order(name);
    wanted["tier"] = "basic";
    deploy(ada.api, wanted);
  }
  CHECK(refused_with(json::object()) == "subdomain_taken");
  const Answer full = ada.api.post("/api/deploy/apps",
                                   {{"name", "mine"}, {"tier", "basic"}, {"image", well_image}});
  CHECK(full.status == 429);
  CHECK(full.code() == "deployment_limit_reached");
  CHECK(ada.api.get("/api/deploy/apps").body["total"] == 3);  // the refused requests left no row
}
