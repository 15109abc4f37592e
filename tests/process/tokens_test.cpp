// Codes and refresh tokens work once.
#include <catch2/catch.hpp>

#include "tests/process/client.h"

using namespace berth::process;

namespace {

bool is_active(const Berthd& berthd, const std::string& access_token) {
  const json body = {{"token", access_token}};
  return expect(200, Client(berthd).post("/api/oauth/token/verify", body)).body.at("active");
}

Answer refresh(const Berthd& berthd, const Operator& owner, const std::string& refresh_token) {
  return Client(berthd).post("/api/oauth/token", refresh_exchange(owner.app, refresh_token));
}

void check_consumed(const Answer& answer) {
  CHECK(answer.status == 401);
  CHECK(answer.body["error"] == "invalid_grant");
  CHECK(answer.body["error_description"].is_string());
  CHECK(!answer.has_header("WWW-Authenticate"));
}

}  // namespace

TEST_CASE("a refresh token is consumed by its use") {
  const Berthd& berthd = shared_berthd({"--rate-limits", "off"});
  const Operator ada = operator_with_token(berthd, fresh_name("ada"));
  const Answer given = expect(200, refresh(berthd, ada, ada.tokens.refresh_token));
  const Tokens fresh = tokens_of(given);
  CHECK(!given.body.contains("session_token"));
  CHECK(fresh.access_token != ada.tokens.access_token);
  CHECK(Client(berthd, fresh.access_token).get("/api/deploy/apps").status == 200);

  // The answer may have been lost, so within the grace of ten seconds the family isn't revoked.
  check_consumed(refresh(berthd, ada, ada.tokens.refresh_token));
  CHECK(is_active(berthd, fresh.access_token));
  CHECK(refresh(berthd, ada, fresh.refresh_token).status == 200);
}

TEST_CASE("a refresh token that is reused later revokes its family") {
  const Berthd berthd;
  const Operator ada = operator_with_token(berthd, "ada");
  const Tokens fresh = tokens_of(expect(200, refresh(berthd, ada, ada.tokens.refresh_token)));
  Client platform(berthd);
  expect(200, platform.post("/api/internal/clock", {{"advance_seconds", 11}}, admin(berthd)));
  check_consumed(refresh(berthd, ada, ada.tokens.refresh_token));
  CHECK(!is_active(berthd, fresh.access_token));
  CHECK(Client(berthd, fresh.access_token).get("/api/deploy/apps").code() == "token_revoked");
  check_consumed(refresh(berthd, ada, fresh.refresh_token));
}

TEST_CASE("/api/auth/refresh rotates as well, without client authentication") {
  const Berthd berthd({"--refresh-reuse-grace", "0s"});
  const Operator ada = operator_with_token(berthd, "ada");
  Client anybody(berthd);
  const auto refreshed = [&](const std::string& token) {
    return anybody.post("/api/auth/refresh", {{"refresh_token", token}});
  };
  const Tokens fresh = tokens_of(expect(200, refreshed(ada.tokens.refresh_token)));
  const Answer again = refreshed(ada.tokens.refresh_token);
  check_consumed(again);
  CHECK(again.body.value("message", "") == again.body["error_description"]);
  CHECK(!is_active(berthd, fresh.access_token));
  check_consumed(refreshed("rt_live_unknown"));
}

TEST_CASE("using a code twice revokes what it gave") {
  const Berthd& berthd = shared_berthd({"--rate-limits", "off"});
  const User ada = register_verified_user(berthd, fresh_name("ada"));
  const App app = create_app(berthd, ada, {"profile:read"});
  const Code code = authorize(berthd, ada, app, {"profile:read"});
  Client anybody(berthd);
  const Tokens tokens =
      tokens_of(expect(200, anybody.post("/api/oauth/token", code_exchange(app, code))));
  CHECK(is_active(berthd, tokens.access_token));
  const Answer again = anybody.post("/api/oauth/token", code_exchange(app, code));
  CHECK(again.status == 400);
  CHECK(again.code() == "invalid_grant");
  CHECK(!is_active(berthd, tokens.access_token));
  check_consumed(anybody.post("/api/oauth/token", refresh_exchange(app, tokens.refresh_token)));
}

TEST_CASE("a code is bound to its verifier, its redirect URI and its client") {
  const Berthd& berthd = shared_berthd({"--rate-limits", "off"});
  const User ada = register_verified_user(berthd, fresh_name("ada"));
  const App app = create_app(berthd, ada, {"profile:read"});
  const App other = create_app(berthd, ada, {"profile:read"});
  Client anybody(berthd);
  const auto refused_with = [&](const json& changes) {
    json body = code_exchange(app, authorize(berthd, ada, app, {"profile:read"}));
    body.update(changes);
    const Answer answer = anybody.post("/api/oauth/token", body);
    return std::to_string(answer.status) + " " + answer.code();
  };
  CHECK(refused_with({{"code_verifier", std::string(43, 'x')}}) == "400 invalid_grant");
  CHECK(refused_with({{"redirect_uri", "https://evil.example.org/"}}) == "400 invalid_grant");
  CHECK(refused_with({{"code", "ac_live_unknown"}}) == "400 invalid_grant");
  CHECK(refused_with({{"client_id", other.client_id}, {"client_secret", other.client_secret}}) ==
        "400 invalid_grant");
  CHECK(refused_with({{"client_secret", other.client_secret}}) == "401 invalid_client");
  CHECK(refused_with({{"client_id", "client_unknown"}}) == "401 invalid_client");
  CHECK(refused_with({{"grant_type", "password"}}).starts_with("400 "));
  CHECK(refused_with(json::object()) == "200 ");
}

TEST_CASE("authorize refuses requests that it must not redirect") {
  const Berthd& berthd = shared_berthd({"--rate-limits", "off"});
  const User ada = register_verified_user(berthd, fresh_name("ada"));
  const App app = create_app(berthd, ada, {"profile:read"});
  App wrong = app;
  wrong.redirect_uri = app.redirect_uri + "/";
  CHECK_THROWS_WITH(authorize(berthd, ada, wrong, {"profile:read"}),
                    Catch::Contains("invalid_request"));
  CHECK_THROWS_WITH(authorize(berthd, ada, app, {"profile:read", "deploy:manage"}),
                    Catch::Contains("invalid_scope"));
  CHECK_THROWS_WITH(authorize(berthd, ada, app, {"unheard:of"}), Catch::Contains("invalid_scope"));
}

TEST_CASE("tokens expire") {
  const Berthd berthd;
  Operator ada = operator_with_token(berthd, "ada");
  Client platform(berthd);
  const auto advance = [&](int seconds) {
    expect(200,
           platform.post("/api/internal/clock", {{"advance_seconds", seconds}}, admin(berthd)));
  };
  const Code code = authorize(berthd, ada.user, ada.app, {"deploy:manage"});
  advance(601);
  CHECK(platform.post("/api/oauth/token", code_exchange(ada.app, code)).code() == "invalid_grant");
  advance(3'600 - 601 + 1);
  CHECK(ada.api.get("/api/deploy/apps").code() == "token_expired");
  const json body = {{"token", ada.tokens.access_token}};
  CHECK(platform.post("/api/oauth/token/verify", body).body["reason"] == "expired");
  CHECK(refresh(berthd, ada, ada.tokens.refresh_token).status == 200);
  advance(24 * 3'600);
  CHECK(Client(berthd, ada.user.jwt).get("/api/auth/me").code() == "token_expired");
}

TEST_CASE("tokens and sessions survive a restart") {
  Berthd berthd;
  Operator ada = operator_with_token(berthd, "ada");
  CHECK(berthd.terminate() == 0);
  berthd.start();
  CHECK(ada.api.get("/api/deploy/apps").status == 200);
  CHECK(Client(berthd, ada.user.jwt).get("/api/auth/me").status == 200);
  CHECK(refresh(berthd, ada, ada.tokens.refresh_token).status == 200);
}
