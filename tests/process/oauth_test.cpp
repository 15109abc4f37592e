// The authorization server from outside: discovery, clients' own tokens, consents, and changes of
// apps.
#include "tests/process/oauth.h"

#include <catch2/catch.hpp>

using namespace berth::process;
using Catch::Contains;

namespace {

const Flags unlimited = {"--rate-limits", "off"};

Answer patch(Client& client, const std::string& path, const json& body) {
  return client.ask({.method = "PATCH", .path = path, .body = body.dump()});
}
Answer put(Client& client, const std::string& path, const json& body) {
  return client.ask({.method = "PUT", .path = path, .body = body.dump()});
}
Answer as_admin(const Berthd& berthd, const std::string& path, const json& body = nullptr) {
  return Client(berthd).ask({.method = "POST",
                             .path = path,
                             .body = body.is_null() ? "" : body.dump(),
                             .headers = admin(berthd)});
}

}  // namespace

TEST_CASE("the URLs in the metadata are served") {
  const Berthd& berthd = shared_berthd(unlimited);
  const std::string base = berthd.base_url();
  Client anybody(berthd);
  const json server = expect(200, anybody.get("/.well-known/oauth-authorization-server")).body;
  CHECK(server.at("issuer") == base);
  for (const char* field : {"token_endpoint", "introspection_endpoint", "revocation_endpoint"}) {
    const std::string url = server.at(field);
    REQUIRE(url.starts_with(base));
    const Answer answer = post_form(anybody, url.substr(base.size()), {});
    INFO(field);
    CHECK(answer.status == 400);
    CHECK(answer.code() == "invalid_request");
  }
  const std::string authorize = server.at("authorization_endpoint");
  CHECK(anybody.get(authorize.substr(base.size())).status == 401);
  for (const std::string grant : server.at("grant_types_supported")) {
    // A job needs an ID token instead of a client's secret.
    const bool is_exchange = grant.ends_with(":token-exchange");
    CHECK(post_form(anybody, "/api/oauth/token", {{"grant_type", grant}}).code() ==
          (is_exchange ? "invalid_request" : "invalid_client"));
  }
  CHECK(server.at("response_modes_supported") == json({"query"}));
  CHECK(server.at("code_challenge_methods_supported") == json({"S256"}));
  CHECK(server.at("authorization_response_iss_parameter_supported") == true);
  CHECK(server.at("scopes_supported").size() == 16);
  const json resource = expect(200, anybody.get("/.well-known/oauth-protected-resource")).body;
  CHECK(resource.at("resource") == base);
  CHECK(resource.at("authorization_servers") == json({base}));
  CHECK(server.at("protected_resources") == json({base}));
}

TEST_CASE("an operator's CI gets its token by client credentials, in every way to authenticate") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Operator ada = operator_with_token(berthd, fresh_name("ada"));
  Client anybody(berthd);
  const Form grant = {{"grant_type", "client_credentials"}, {"scope", "deploy:manage"}};
  Form in_form = grant;
  in_form.insert({{"client_id", ada.app.client_id}, {"client_secret", ada.app.client_secret}});
  json in_json;
  for (const auto& [name, value] : in_form) in_json[name] = value;
  for (const Answer& answer : {post_form(anybody, "/api/oauth/token", grant, basic(ada.app)),
                               post_form(anybody, "/api/oauth/token", in_form),
                               anybody.post("/api/oauth/token", in_json)}) {
    expect(200, answer);
    CHECK(answer.body.at("token_type") == "Bearer");
    CHECK(answer.body.at("expires_in") == 3600);
    CHECK(answer.body.at("scope") == "deploy:manage");
    CHECK(answer.body.at("player_id") == ada.user.id);
    CHECK(!answer.body.contains("refresh_token"));
    CHECK(!answer.body.contains("session_token"));
    CHECK(answer.header("Cache-Control") == "no-store");
    CHECK(Client(berthd, answer.body.at("access_token")).get("/api/deploy/apps").status == 200);
  }
}

TEST_CASE("a client inspects and revokes its tokens") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Operator ada = operator_with_token(berthd, fresh_name("ada"));
  const json seen = expect(200, inspect(berthd, ada.app, ada.tokens.access_token)).body;
  CHECK(seen.at("active") == true);
  CHECK(seen.at("scope") == "deploy:manage");
  CHECK(seen.at("client_id") == ada.app.client_id);
  CHECK(seen.at("sub") == ada.user.id);
  CHECK(seen.at("iss") == berthd.base_url());
  CHECK(seen.at("token_type") == "Bearer");
  CHECK(seen.at("exp").is_number_integer());
  const Answer unknown = inspect(berthd, ada.app, "at_live_unknown");
  CHECK(expect(200, unknown).body == json{{"active", false}});
  CHECK(unknown.header("Cache-Control") == "no-store");

  CHECK(revoke(berthd, ada.app, "at_live_unknown").status == 200);
  CHECK(revoke(berthd, ada.app, ada.tokens.access_token).status == 200);
  CHECK(Client(berthd, ada.tokens.access_token).get("/api/deploy/apps").code() == "token_revoked");
  CHECK(inspect(berthd, ada.app, ada.tokens.refresh_token).body.at("active") == true);
  CHECK(revoke(berthd, ada.app, ada.tokens.refresh_token).status == 200);
  Client anybody(berthd);
  CHECK(anybody.post("/api/oauth/token", refresh_exchange(ada.app, ada.tokens.refresh_token))
            .status == 401);
}

TEST_CASE("a user sees, limits and disconnects the apps that they connected") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Operator ada = operator_with_token(berthd, fresh_name("ada"));
  Client session(berthd, ada.user.jwt);
  const std::string path = "/api/oauth/connected-apps/" + ada.app.id;
  CHECK(expect(200, session.get(path)).body["connected_app"]["last_used"].is_null());
  expect(200, Client(berthd, ada.tokens.access_token).get("/api/deploy/apps"));
  const json list = expect(200, session.get("/api/oauth/connected-apps")).body;
  CHECK(list.at("total") == 1);
  const json& app = list.at("connected_apps").at(0);
  CHECK(app.at("app_id") == ada.app.id);
  CHECK(app.at("scopes") == json({"deploy:manage"}));
  CHECK(app.at("last_used").is_string());
  CHECK(app.at("daily_spend_limit").is_null());

  const json limited = expect(200, patch(session, path, {{"daily_spend_limit", 50}})).body;
  CHECK(limited["connected_app"]["daily_spend_limit"] == 50);
  CHECK(patch(session, path, {{"daily_spend_limit", -1}}).code() == "validation_failed");
  CHECK(patch(session, path, {{"daily_spend_limit", "5"}}).code() == "validation_failed");
  CHECK(patch(session, path, json::object()).code() == "validation_failed");

  CHECK(session.remove(path).status == 200);
  CHECK(session.remove(path).code() == "app_not_found");
  CHECK(Client(berthd, ada.tokens.access_token).get("/api/deploy/apps").code() == "token_revoked");
  CHECK(Client(berthd, ada.tokens.session_token).get("/api/sessions/status").status == 401);
  CHECK(session.get("/api/oauth/connected-apps").body["total"] == 0);
}

TEST_CASE("a rotated secret is shown once; the old one works for secret-grace") {
  const Berthd berthd({"--rate-limits", "off", "--secret-grace", "1h"});
  const Operator ada = operator_with_token(berthd, "ada");
  Client session(berthd, ada.user.jwt);
  const Answer rotated =
      expect(200, session.post("/api/oauth/my-apps/" + ada.app.id + "/rotate-secret"));
  CHECK(rotated.header("Cache-Control") == "no-store");
  CHECK(rotated.body.at("previous_secret_expires_at").is_string());
  App fresh = ada.app;
  fresh.client_secret = rotated.body.at("app").at("client_secret");
  CHECK(fresh.client_secret != ada.app.client_secret);
  CHECK(inspect(berthd, ada.app, "x").status == 200);
  CHECK(inspect(berthd, fresh, "x").status == 200);
  Client platform(berthd);
  expect(200, platform.post("/api/internal/clock", {{"advance_seconds", 3'600}}, admin(berthd)));
  CHECK(inspect(berthd, ada.app, "x").code() == "invalid_client");
  CHECK(inspect(berthd, fresh, "x").status == 200);
  const User bob = register_verified_user(berthd, "bob");
  CHECK(
      Client(berthd, bob.jwt).post("/api/oauth/my-apps/" + ada.app.id + "/rotate-secret").code() ==
      "forbidden");
}

TEST_CASE("an operator changes, lists and deletes an app") {
  const Berthd& berthd = shared_berthd(unlimited);
  Operator ada = operator_with_token(berthd, fresh_name("ada"));
  Client session(berthd, ada.user.jwt);
  Client anybody(berthd);
  const std::string path = "/api/operator/apps/" + ada.app.id;
  const json before = expect(200, session.get(path)).body.at("app");
  CHECK(before.at("total_users") == 1);
  CHECK(before.at("listed") == false);
  CHECK(expect(200, anybody.get("/api/operators")).body.at("total") == 0);
  CHECK(anybody.get("/api/operators/" + ada.app.id).code() == "app_not_found");
  const json changed =
      expect(200, put(session, path, {{"app_name", "Best game"}, {"listed", true}})).body.at("app");
  CHECK(changed.at("app_name") == "Best game");
  CHECK(changed.at("redirect_uris") == before.at("redirect_uris"));
  CHECK(!changed.contains("total_users"));
  const json operators = expect(200, anybody.get("/api/operators")).body;
  CHECK(operators.at("data").at(0).at("app_name") == "Best game");
  CHECK(!operators.at("data").at(0).contains("client_id"));
  CHECK(expect(200, anybody.get("/api/operators/" + ada.app.id)).body.contains("operator"));
  CHECK(put(session, path, {{"redirect_uris", {"http://evil.example.org"}}}).code() ==
        "validation_failed");
  CHECK(expect(200, session.get("/api/operator/apps")).body.at("apps").size() == 1);

  const User bob = register_verified_user(berthd, fresh_name("bob"));
  Client stranger(berthd, bob.jwt);
  CHECK(stranger.get(path).code() == "forbidden");
  CHECK(put(stranger, path, {{"listed", false}}).code() == "forbidden");
  CHECK(stranger.remove(path).code() == "forbidden");

  const std::string deployment = deploy(ada.api, order("hello"));
  CHECK(session.remove(path).code() == "invalid_state");
  expect(200, ada.api.remove("/api/deploy/apps/" + deployment));
  CHECK(expect(200, session.remove(path)).body.at("id") == ada.app.id);
  CHECK(session.get(path).code() == "app_not_found");
  CHECK(anybody.get("/api/oauth/apps/" + ada.app.client_id).code() == "app_not_found");
  CHECK(ada.api.get("/api/deploy/apps").code() == "token_revoked");
  CHECK(inspect(berthd, ada.app, "x").code() == "invalid_client");
}

TEST_CASE("admins' rejections and suspensions, and owners' withdrawals, work at once") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Operator ada = operator_with_token(berthd, fresh_name("ada"));
  Client session(berthd, ada.user.jwt);
  const std::string requests = "/api/oauth/my-apps/" + ada.app.id + "/scope-request";
  const std::string id =
      expect(201, session.post(requests, {{"requested_scopes", {"points:spend"}}})).body.at("id");
  CHECK(as_admin(berthd, "/api/internal/scope-requests/" + id + "/reject", json::object()).code() ==
        "validation_failed");
  expect(200, as_admin(berthd, "/api/internal/scope-requests/" + id + "/reject",
                       {{"reason", "tell us more"}}));
  const json rejected = expect(200, session.get(requests + "s?status=rejected")).body;
  CHECK(rejected.at("scope_requests").at(0).at("reason") == "tell us more");
  CHECK(session.remove(requests + "s/" + id).code() == "invalid_state");

  Client api(berthd, ada.tokens.access_token);
  const std::string app = "/api/internal/apps/" + ada.app.id;
  CHECK(api.get("/api/deploy/apps").status == 200);
  expect(200, as_admin(berthd, app + "/suspend"));
  CHECK(api.get("/api/deploy/apps").code() == "account_suspended");
  Client anybody(berthd);
  CHECK(
      post_form(anybody, "/api/oauth/token", {{"grant_type", "client_credentials"}}, basic(ada.app))
          .code() == "unauthorized_client");
  expect(200, as_admin(berthd, app + "/reactivate"));
  CHECK(api.get("/api/deploy/apps").status == 200);
  expect(200, as_admin(berthd, app + "/scopes/revoke", {{"scopes", {"deploy:manage"}}}));
  const Answer refused = api.get("/api/deploy/apps");
  CHECK(refused.code() == "insufficient_scope");
  CHECK_THAT(refused.header("WWW-Authenticate"), Contains("scope=\"deploy:read\""));
  CHECK(as_admin(berthd, "/api/internal/apps/unknown/suspend").code() == "app_not_found");
}

TEST_CASE("a session of a user in an app") {
  const Berthd& berthd = shared_berthd(unlimited);
  const Operator ada = operator_with_token(berthd, fresh_name("ada"));
  Client session(berthd, ada.tokens.session_token);
  const json before = expect(200, session.get("/api/sessions/status")).body;
  CHECK(before.at("session_active") == true);
  CHECK(before.at("is_alive") == false);
  CHECK(before.at("last_heartbeat").is_null());
  CHECK(expect(200, session.post("/api/sessions/heartbeat")).body.at("is_alive") == true);
  const Answer refreshed = expect(200, session.post("/api/sessions/refresh"));
  CHECK(session.get("/api/sessions/status").code() == "invalid_token");
  Client next(berthd, refreshed.body.at("session_token"));
  CHECK(next.get("/api/sessions/status").body.at("session_id") == before.at("session_id"));
  CHECK(expect(200, next.post("/api/sessions/end")).body.at("session_id") ==
        before.at("session_id"));
  CHECK(next.post("/api/sessions/heartbeat").code() == "invalid_state");
  CHECK(next.get("/api/sessions/status").body.at("session_active") == false);
}

TEST_CASE("expired rows are removed while berthd runs") {
  const Berthd berthd(unlimited);
  const Operator ada = operator_with_token(berthd, "ada");
  Client anybody(berthd);
  const json verify = {{"token", ada.tokens.access_token}};
  expect(200, anybody.post("/api/internal/clock", {{"advance_seconds", 3 * 3'600}}, admin(berthd)));
  // A token is reported as expired as long as its row exists, and as unknown afterwards.
  CHECK(eventually([&] {
    return anybody.post("/api/oauth/token/verify", verify).body.at("reason") == "not_found";
  }));
  CHECK(anybody.post("/api/oauth/token", refresh_exchange(ada.app, ada.tokens.refresh_token))
            .status == 200);
}
