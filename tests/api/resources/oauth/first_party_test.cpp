// berth's own client and other public clients, over the API.
#include <catch2/catch.hpp>

#include "controller/domain/apps/built_in.h"
#include "controller/domain/oauth/device.h"
#include "tests/api/gate_world.h"

namespace {

using namespace berth;
using namespace berth::api;
using namespace berth::api::test;
using namespace std::chrono_literals;

const std::string device_grant = "urn:ietf:params:oauth:grant-type:device_code";

struct Person {
  GateWorld g;
  accounts::User user = g.world.verified_user("ada");

  Person() {
    g.world.write([](db::Tx& tx) { apps::add_built_in(tx); });
  }

  Answered start(const std::string& scope) {
    return g.ask("POST", "/api/oauth/device_authorization", {},
                 json{{"client_id", "berth"}, {"scope", scope}}.dump());
  }
  Answered poll(const std::string& device_code) {
    return g.ask(
        "POST", "/api/oauth/token", {},
        json{{"grant_type", device_grant}, {"device_code", device_code}, {"client_id", "berth"}}
            .dump());
  }
  bool allow(const std::string& user_code) {
    return g.world.write([&](db::Tx& tx) {
      return oauth::decide_device_request(tx, user, user_code, oauth::DeviceDecision::allow,
                                          g.world.keys.data);
    });
  }
  Header token(const std::string& scope) {
    const auto codes = start(scope).body;
    allow(codes.at("user_code"));
    return bearer(poll(codes.at("device_code")).body.at("access_token"));
  }
  std::string ask(const std::string& method, const std::string& path,
                  const std::vector<Header>& headers, const std::string& body = "") {
    const auto answer = g.ask(method, path, headers, body);
    return answer.status < 400 ? std::to_string(answer.status) : answer.error();
  }
};

TEST_CASE("the device grant over HTTP, with the errors of RFC 8628") {
  Person p;
  const auto codes = p.start("profile:read");
  REQUIRE(codes.status == 200);
  CHECK(codes.body.at("verification_uri") == "https://api.example.org/device");
  CHECK_FALSE(codes.body.contains("verification_uri_complete"));
  CHECK(codes.body.at("expires_in") == 600);
  CHECK(codes.body.at("interval") == 5);
  CHECK(codes.header("Cache-Control") == "no-store");
  const std::string device_code = codes.body.at("device_code");
  const auto pending = p.poll(device_code);
  CHECK(pending.error() == "400 authorization_pending");
  CHECK(pending.body.at("error_description").is_string());
  CHECK(p.poll(device_code).error() == "400 slow_down");
  CHECK(p.allow(codes.body.at("user_code")));
  const auto tokens = p.poll(device_code);
  CHECK(tokens.status == 200);
  CHECK(tokens.body.at("scope") == "profile:read");
  CHECK(tokens.body.at("refresh_token").get<std::string>().starts_with("rt_live_"));
  CHECK_FALSE(tokens.body.contains("session_token"));
  CHECK(p.poll(device_code).error() == "400 invalid_grant");
  CHECK(p.ask("POST", "/api/oauth/device_authorization", {}, R"({"client_id": "nobody"})") ==
        "401 invalid_client");
  CHECK(p.ask("POST", "/api/oauth/device_authorization", {}, "{}") == "400 invalid_request");
}

TEST_CASE("berth's own client works for all apps of the person, and for nobody else's") {
  Person p;
  const Header token = p.token("profile:read deploy:manage app:balance:read");
  CHECK(p.ask("GET", "/api/deploy/tiers", {token}) == "200");
  CHECK(p.ask("GET", "/api/external/app/balance", {token}) == "404 app_not_found");
  const ScopeSet scopes = {Scope::deploy_manage, Scope::app_balance_read};
  const apps::App first = p.g.world.approved_app(p.user, scopes);
  CHECK(p.g.ask("GET", "/api/external/app/balance", {token}).body.at("app_id") == first.id);
  const apps::App second = p.g.world.approved_app(p.user, {Scope::app_balance_read});
  CHECK(p.ask("GET", "/api/external/app/balance", {token}) == "400 malformed_request");
  CHECK(p.g.ask("GET", "/api/external/app/balance", {token, {"Berth-App", second.client_id}})
            .body.at("app_id") == second.id);
  p.g.world.deploy(first, berth::test::order("one"));
  CHECK(p.g.ask("GET", "/api/deploy/apps", {token}).body.at("total") == 1);
  // The app's own approval counts as well as the token's scopes.
  CHECK(p.ask("GET", "/api/deploy/apps", {token, {"Berth-App", second.id}}) ==
        "403 insufficient_scope");
  CHECK(p.ask("GET", "/api/deploy/apps", {p.token("app:balance:read")}) ==
        "403 insufficient_scope");
  const apps::App of_bob = p.g.world.approved_app(p.g.world.verified_user("bob"), scopes);
  CHECK(p.ask("GET", "/api/external/app/balance", {token, {"Berth-App", of_bob.id}}) ==
        "403 forbidden");
  // The header means nothing for an app's own token.
  const auto own = p.g.world.tokens(second, p.user, "app:balance:read");
  CHECK(p.g.ask("GET", "/api/external/app/balance",
                {bearer(own.access_token), {"Berth-App", first.id}})
            .body.at("app_id") == second.id);
}

TEST_CASE("berth's own client manages apps, but changes nothing that protects the account") {
  Person p;
  Header token = p.token("profile:read deploy:manage");
  CHECK(p.g.ask("GET", "/api/auth/me", {token}).body.at("user").at("username") == "ada");
  CHECK(p.ask("GET", "/api/oauth/my-apps", {token}) == "200");
  CHECK(p.ask("POST", "/api/oauth/apps", {token},
              R"({"app_name": "Game", "redirect_uris": ["http://127.0.0.1/callback"]})") == "201");
  CHECK(p.ask("GET", "/api/points/balance", {token}) == "200");
  CHECK(p.ask("POST", "/api/points/transfer", {token}, "{}") == "403 insufficient_scope");
  for (const auto& [method, path] :
       {std::pair{"POST", "/api/auth/change-password"},
        {"POST", "/api/auth/totp/setup"},
        {"POST", "/api/auth/totp/disable"},
        {"POST", "/api/auth/totp/recovery-codes"},
        {"POST", "/api/auth/step-up"},
        {"POST", "/api/auth/passkeys/options"},
        {"POST", "/api/auth/passkeys"},
        {"GET", "/api/auth/passkeys"},
        {"POST", "/api/auth/logout"},
        {"DELETE", "/api/auth/me"},
        {"DELETE", "/api/auth/sessions/01936f5e-7c1a-7000-8000-000000000001"},
        {"DELETE", "/api/auth/devices/01936f5e-7c1a-7000-8000-000000000001"},
        {"DELETE", "/api/oauth/connected-apps/01936f5e-7c1a-7000-8000-000000000001"},
        {"GET", "/api/oauth/authorize"}}) {
    INFO(path);
    CHECK(p.ask(method, path, {token}, "{}") == "401 wrong_token_type");
  }
  CHECK(p.ask("GET", "/api/internal/treasury", {token}) == "403 forbidden");
  // Tokens of other apps open none of them, as ever.
  const apps::App app = p.g.world.approved_app(p.user, {Scope::deploy_manage});
  const auto own = p.g.world.tokens(app, p.user, "profile:read deploy:manage");
  CHECK(p.ask("GET", "/api/auth/me", {bearer(own.access_token)}) == "401 wrong_token_type");
  CHECK(p.ask("GET", "/api/auth/me", {bearer("at_live_unknown")}) == "401 wrong_token_type");
  p.g.world.clock.advance(1h);
  CHECK(p.ask("GET", "/api/auth/me", {bearer(own.access_token)}) == "401 wrong_token_type");
  CHECK(p.ask("GET", "/api/auth/me", {token}) == "401 token_expired");
  token = p.token("profile:read");
  p.g.world.suspend_user(p.user.id);
  CHECK(p.ask("GET", "/api/auth/me", {token}) == "403 account_suspended");
}

TEST_CASE("the person sees the programs that have logged in, and ends them") {
  Person p;
  const Header jwt = bearer(p.g.world.jwt(p.user));
  const auto codes = p.start("profile:read").body;
  p.allow(codes.at("user_code"));
  p.g.remote_address = "198.51.100.7";
  const auto tokens = p.g.ask("POST", "/api/oauth/token", {{"User-Agent", "berth-cli/1"}},
                              json{{"grant_type", device_grant},
                                   {"device_code", codes.at("device_code")},
                                   {"client_id", "berth"},
                                   {"device_name", "laptop"}}
                                  .dump());
  REQUIRE(tokens.status == 200);
  const Header token = bearer(tokens.body.at("access_token"));
  const auto list = [&](const Header& who) {
    return p.g.ask("GET", "/api/auth/devices", {who}).body.at("devices");
  };
  const json device = list(jwt).at(0);
  CHECK(device.at("name") == "laptop");
  CHECK(device.at("program") == "berth-cli/1");
  CHECK(device.at("address") == "198.51.100.7");
  CHECK(device.at("scopes") == json({"profile:read"}));
  CHECK(device.at("current") == false);
  p.g.world.clock.advance(5min);
  CHECK(list(token).at(0).at("current") == true);
  CHECK(list(jwt).at(0).at("last_used") == to_iso8601(p.g.world.clock.now()));
  // Both ways of refreshing record from where.
  p.g.remote_address = "203.0.113.9";
  const auto refreshed = p.g.ask("POST", "/api/auth/refresh", {{"User-Agent", "berth-cli/2"}},
                                 json{{"refresh_token", tokens.body.at("refresh_token")}}.dump());
  REQUIRE(refreshed.status == 200);
  CHECK(list(jwt).at(0).at("address") == "203.0.113.9");
  CHECK(list(jwt).at(0).at("program") == "berth-cli/2");
  p.g.remote_address = "192.0.2.1";
  const auto again = p.g.ask("POST", "/api/oauth/token", {{"User-Agent", "berth-cli/3"}},
                             json{{"grant_type", "refresh_token"},
                                  {"refresh_token", refreshed.body.at("refresh_token")},
                                  {"client_id", "berth"}}
                                 .dump());
  REQUIRE(again.status == 200);
  CHECK(list(jwt).at(0).at("program") == "berth-cli/3");
  const auto mails = p.g.ask("GET", "/api/internal/outbox", p.g.admin).body.at("messages");
  CHECK(mails.at(0).at("subject") == "Your account: a program has logged in with the client berth");
  const std::string path = "/api/auth/devices/" + device.at("id").get<std::string>();
  const auto bob = p.g.world.verified_user("bob");
  CHECK(p.ask("DELETE", path, {bearer(p.g.world.jwt(bob))}) == "404 device_not_found");
  CHECK(p.ask("DELETE", path, {jwt}) == "200");
  CHECK(p.ask("GET", "/api/auth/me", {token}) == "401 token_revoked");
  CHECK(p.ask("DELETE", path, {jwt}) == "404 device_not_found");
  CHECK(list(jwt).empty());
}

TEST_CASE("an admin ends all sessions and tokens of a user, and it is written down") {
  Person p;
  const Header jwt = bearer(p.g.world.jwt(p.user)), token = p.token("profile:read");
  const std::string path = "/api/internal/users/" + p.user.id + "/sessions";
  const auto ended = p.g.ask("DELETE", path, p.g.admin);
  CHECK(ended.status == 200);
  CHECK(ended.body.at("sessions") == 1);
  CHECK(ended.body.at("devices") == json({"unnamed"}));
  CHECK(ended.body.at("apps") == json::array());
  CHECK(p.ask("GET", "/api/auth/me", {jwt}) == "401 token_revoked");
  CHECK(p.ask("GET", "/api/auth/me", {token}) == "401 token_revoked");
  CHECK(p.g.ask("DELETE", "/api/internal/users/nobody/sessions", p.g.admin).error() ==
        "404 user_not_found");
  const auto log = p.g.ask("GET", "/api/internal/audit?action=user.end_sessions", p.g.admin);
  CHECK(log.body.at("total") == 1);
}

TEST_CASE("a public client needs no secret at the token endpoint, and has none to show") {
  Person p;
  const auto created = p.g.ask("POST", "/api/oauth/apps", {bearer(p.g.world.jwt(p.user))},
                               json{{"app_name", "On phones"},
                                    {"redirect_uris", {berth::test::redirect_uri}},
                                    {"token_endpoint_auth_method", "none"}}
                                   .dump());
  REQUIRE(created.status == 201);
  const json app = created.body.at("app");
  CHECK_FALSE(app.contains("client_secret"));
  CHECK(app.at("token_endpoint_auth_method") == "none");
  const std::string client_id = app.at("client_id");
  const auto token_for = [&](json more) {
    json body = {{"client_id", client_id}};
    body.update(more);
    return p.g.ask("POST", "/api/oauth/token", {}, body.dump());
  };
  const apps::App found = p.g.world.find_app(app.at("id"));
  const auto tokens = token_for({{"grant_type", "authorization_code"},
                                 {"code", p.g.world.authorize(found, p.user)},
                                 {"redirect_uri", berth::test::redirect_uri},
                                 {"code_verifier", berth::test::code_verifier}});
  REQUIRE(tokens.status == 200);
  const auto fresh = token_for(
      {{"grant_type", "refresh_token"}, {"refresh_token", tokens.body.at("refresh_token")}});
  REQUIRE(fresh.status == 200);
  CHECK(token_for(
            {{"grant_type", "refresh_token"}, {"refresh_token", tokens.body.at("refresh_token")}})
            .error() == "401 invalid_grant");
  CHECK(token_for({{"grant_type", "client_credentials"}}).error() == "400 unauthorized_client");
  CHECK(token_for({{"grant_type", "client_credentials"}, {"client_secret", "cs_live_x"}}).error() ==
        "401 invalid_client");
  const json token = {{"client_id", client_id}, {"token", fresh.body.at("access_token")}};
  CHECK(p.ask("POST", "/api/oauth/introspect", {}, token.dump()) == "401 invalid_client");
  CHECK(p.ask("POST", "/api/oauth/revoke", {}, token.dump()) == "200");
  CHECK(p.ask("GET", "/api/external/profile", {bearer(fresh.body.at("access_token"))}) ==
        "401 token_revoked");
  // A client with a secret has to show it.
  const apps::App confidential = p.g.world.new_app(p.user).app;
  CHECK(p.ask("POST", "/api/oauth/revoke", {},
              json{{"client_id", confidential.client_id}, {"token", "x"}}.dump()) ==
        "401 invalid_client");
  CHECK(p.ask("POST", "/api/oauth/apps", {bearer(p.g.world.jwt(p.user))},
              json{{"app_name", "Both"},
                   {"redirect_uris", {berth::test::redirect_uri}},
                   {"token_endpoint_auth_method", "none"},
                   {"refresh_requires_client", true}}
                  .dump()) == "422 validation_failed");
}

TEST_CASE("the metadata name the device grant and public clients") {
  Person p;
  const json server = p.g.ask("GET", "/.well-known/oauth-authorization-server").body;
  CHECK(server.at("device_authorization_endpoint") ==
        "https://api.example.org/api/oauth/device_authorization");
  CHECK(server.at("grant_types_supported").dump().find(device_grant) != std::string::npos);
  CHECK(server.at("token_endpoint_auth_methods_supported").dump().find("\"none\"") !=
        std::string::npos);
}

}  // namespace
